"""Runs the front of the pipeline on a source text, for tests that look at graphs and traces."""

import subprocess
import tempfile
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.work import DEFAULT_WEIGHTS
from commanalyzer.graph.build import build_store
from commanalyzer.graph.contraction.workspaces import write_workspaces
from commanalyzer.graph.storage.store import GraphStore
from commanalyzer.graph.value_graph import ValueGraph
from commanalyzer.program.frontend.compile import FrontendResult, compile_sources
from commanalyzer.program.frontend.decisions import with_decisions
from commanalyzer.program.ir.libcalls import library_with
from commanalyzer.program.ir.model import Module
from commanalyzer.program.ir.parsing.parser import parse_module
from commanalyzer.recording.abi import EVERY, Mechanisms
from commanalyzer.recording.instrument.calls import with_thunks
from commanalyzer.recording.instrument.plan import ModulePlan, PlanOptions, plan_module
from commanalyzer.recording.instrument.rewrite import rewrite
from commanalyzer.recording.instrument.sites import SiteTable
from commanalyzer.recording.record import work_counts
from commanalyzer.recording.runtime import RunLimits, TargetRun, build_instrumented, build_native, run_target
from commanalyzer.recording.trace import Trace, TraceStatistics, read_trace
from commanalyzer.result.results import WorkCounts
from tests.graphs import assert_same_graph
from tests.reference.build import build_graph as build_reference

LIMITS = RunLimits(timeout_s=600.0)  # for programs that do not end, however busy the machine is


def run_to_end(executable: Path, *arguments: str, **environment: str) -> TargetRun:
    """Run a program without input; what it prints is part of the result."""
    run = partial(run_target, stdin=subprocess.DEVNULL, limits=LIMITS, capture=True)
    return run(executable, arguments, environment=environment)


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
    trace: Trace


def record_source(text: str, *arguments: str, suffix: str = ".c", **options: Any) -> Recorded:
    """Compile, instrument and run ``text``; options are those of :func:`record_file`."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / f"program{suffix}"
        source.write_text(text)
        return record_file(source, *arguments, **options)


def record_file(
    source: Path,
    *arguments: str,
    regions: tuple[str, ...] = (),
    control_flows: bool = True,
    flags: tuple[str, ...] = (),
    library_models: tuple[Path, ...] = (),
    mechanisms: Mechanisms = EVERY,
    has_cpp_library: bool = True,
) -> Recorded:
    """Compile, instrument and run the program in ``source``; C++ may do without its compiled library."""
    frontend = compile_sources([source], regions=regions, flags=flags)
    if not has_cpp_library:
        frontend = replace(frontend, language="c")
    module, plan, executable = instrumented(frontend, control_flows, library_models, mechanisms)
    plain = run_to_end(build_native(frontend), *arguments)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace"
        traced = run_to_end(executable, *arguments, COMMANALYZER_TRACE=str(path))
        trace: Trace = read_trace(path)
        graph = _checked_graph(trace, plan.sites)
        work = work_counts(trace, plan.sites, graph.sites, DEFAULT_WEIGHTS)
        return Recorded(module, frontend, plan, plain, traced, graph, work, trace.statistics, trace)


def instrumented(
    frontend: FrontendResult,
    control_flows: bool = True,
    library_models: tuple[Path, ...] = (),
    mechanisms: Mechanisms = EVERY,
) -> tuple[Module, ModulePlan, Path]:
    library = library_with(*library_models)
    module = parse_module(frontend.ir_text)
    module = with_thunks(with_decisions(module) if control_flows else module, library)
    plan = plan_module(module, PlanOptions(control_flows, frontend.region_functions, library, mechanisms))
    return module, plan, build_instrumented(rewrite(module, plan), frontend)


def record_again(recorded: Recorded, mask: NDArray[np.bool_], folder: Path) -> ValueGraph:
    """Graph of a second run in which the vertices in ``mask`` are words of workspaces."""
    executable = build_instrumented(rewrite(recorded.module, recorded.plan), recorded.frontend)
    trace, workspace, sites = folder / "trace", folder / "workspace", recorded.plan.sites
    write_workspaces(workspace, GraphStore.of(recorded.graph), mask, sites, recorded.trace)
    run = run_to_end(executable, COMMANALYZER_TRACE=str(trace), COMMANALYZER_WORKSPACE=str(workspace))
    assert (run.stdout, run.exit_status) == (recorded.plain.stdout, recorded.plain.exit_status)
    return _checked_graph(read_trace(trace), sites)


def _checked_graph(trace: Trace, sites: SiteTable) -> ValueGraph:
    """Graph of a trace, compared with the one that the reference builds from expanded rows."""
    graph = build_store(trace, sites).graph()
    assert_same_graph(graph, build_reference(trace, sites))
    return graph
