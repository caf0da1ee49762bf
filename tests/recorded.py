"""Runs the front of the pipeline on a source text, for tests that look at graphs and traces."""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from commanalyzer.frontend.compile import FrontendResult, compile_sources
from commanalyzer.instrument.plan import ModulePlan, PlanOptions, plan_module
from commanalyzer.instrument.rewrite import rewrite
from commanalyzer.ir.model import Module
from commanalyzer.ir.parser import parse_module
from commanalyzer.record import work_counts
from commanalyzer.results import WorkCounts
from commanalyzer.runtime.build import build_instrumented, build_native
from commanalyzer.runtime.launch import RunLimits, TargetRun, run_target
from commanalyzer.trace.reader import Trace, TraceStatistics, read_trace
from commanalyzer.vcg.build import build_graph
from commanalyzer.vcg.graph import ValueGraph

LIMITS = RunLimits(timeout_s=60.0)


@dataclass(frozen=True)
class Recorded:
    """Everything about one recorded program."""

    module: Module
    frontend: FrontendResult
    plan: ModulePlan
    plain: TargetRun
    traced: TargetRun
    graph: ValueGraph
    work: WorkCounts
    statistics: TraceStatistics


def record_source(
    text: str,
    *arguments: str,
    suffix: str = ".c",
    regions: tuple[str, ...] = (),
    control_flows: bool = True,
    flags: tuple[str, ...] = (),
) -> Recorded:
    """Compile, instrument and run ``text``."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / f"program{suffix}"
        source.write_text(text)
        return record_file(source, *arguments, regions=regions, control_flows=control_flows, flags=flags)


def record_file(
    source: Path,
    *arguments: str,
    regions: tuple[str, ...] = (),
    control_flows: bool = True,
    flags: tuple[str, ...] = (),
) -> Recorded:
    """Compile, instrument and run the program in ``source``."""
    frontend = compile_sources([source], regions=regions, flags=flags)
    module = parse_module(frontend.ir_text)
    plan = plan_module(module, PlanOptions(control_flows, frontend.region_functions))
    executable = build_instrumented(rewrite(module, plan), frontend)
    plain = run_target(
        build_native(frontend), arguments, stdin=subprocess.DEVNULL, limits=LIMITS, capture=True
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace"
        traced = run_target(
            executable,
            arguments,
            stdin=subprocess.DEVNULL,
            limits=LIMITS,
            capture=True,
            environment={"COMMANALYZER_TRACE": str(path)},
        )
        trace: Trace = read_trace(path)
        graph = build_graph(trace, plan.sites, has_regions=bool(regions))
        work = work_counts(trace, plan.sites)
        return Recorded(module, frontend, plan, plain, traced, graph, work, trace.statistics)
