"""Wall-clock time of the stages behind the recording, per workload.

    python -m tests.bench.stages [--parts 16] [--only heat2d,spmv] [--json FILE]

Run from the checkout. Seconds for building the graph, finding hubs, making the affinity graph, METIS and
counting one decomposition, beside the number of distinct flows they are expected to be linear in.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.table import Table

from commanalyzer.communication.volume import charge_volume
from commanalyzer.frontend.compile import compile_sources
from commanalyzer.instrument.plan import PlanOptions, plan_module
from commanalyzer.instrument.rewrite import rewrite
from commanalyzer.ir.parser import parse_module
from commanalyzer.partition.affinity import build_affinity
from commanalyzer.partition.metis import partition
from commanalyzer.partition.owners import extend_to_hubs
from commanalyzer.runtime.build import build_instrumented
from commanalyzer.runtime.launch import run_target
from commanalyzer.trace.reader import read_trace
from commanalyzer.vcg.build import build_graph
from commanalyzer.vcg.hubs import find_hubs

ROOT = Path(__file__).resolve().parents[2]
CASES = (
    "heat2d 500 10",
    "heat2d 1000 10",
    "stencil3d 64 10",
    "matmul 64",
    "matmul 128",
    "spmv 100000 random 8 10",
    "kmeans 20000 8 5 5",
)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Measurement:
    """One workload; times in seconds."""

    case: str
    flows: int
    graph_s: float
    hubs_s: float
    affinity_s: float
    metis_s: float
    count_s: float


def measure(case: str, parts: int) -> Measurement:
    """Record one workload and time what follows."""
    name, *arguments = case.split()
    program = compile_sources([ROOT / "workloads" / name / f"{name}.c"])
    module = parse_module(program.ir_text)
    plan = plan_module(module, PlanOptions())
    executable = build_instrumented(rewrite(module, plan), program)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace"
        run_target(
            executable,
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            environment={"COMMANALYZER_TRACE": str(path)},
        )
        graph_s, graph = _timed(lambda: build_graph(read_trace(path), plan.sites))
    hubs_s, hubs = _timed(lambda: find_hubs(graph))
    affinity_s, affinity = _timed(lambda: build_affinity(graph, hubs.mask))
    metis_s, core = _timed(lambda: partition(affinity.adjacency, parts))
    owners = extend_to_hubs(graph, hubs.mask, affinity, core)
    count_s, _ = _timed(lambda: charge_volume(graph, owners.part, parts, hubs.mask))
    return Measurement(case, graph.num_flows, graph_s, hubs_s, affinity_s, metis_s, count_s)


def _timed(action: Callable[[], T]) -> tuple[float, T]:
    start = time.perf_counter()
    result = action()
    return time.perf_counter() - start, result


def _table(measurements: Sequence[Measurement], parts: int) -> Table:
    table = Table(title=f"seconds per stage, {parts} parts")
    for title in ("workload", "flows", "graph", "hubs", "affinity", "metis", "count"):
        table.add_column(title, justify="left" if title == "workload" else "right")
    for m in measurements:
        stages = (m.graph_s, m.hubs_s, m.affinity_s, m.metis_s, m.count_s)
        table.add_row(m.case, f"{m.flows:,}", *(f"{s:.2f}" for s in stages))
    return table


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and optionally write JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--parts", type=int, default=16)
    parser.add_argument("--only", default="", help="comma-separated workloads")
    parser.add_argument("--json", type=Path, help="write the measurements to this file")
    options = parser.parse_args(argv)
    wanted = set(options.only.split(",")) if options.only else None
    cases = [case for case in CASES if wanted is None or case.split()[0] in wanted]
    measurements = [measure(case, options.parts) for case in cases]
    Console(width=100).print(_table(measurements, options.parts))
    if options.json:
        options.json.write_text(json.dumps([asdict(m) for m in measurements], indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
