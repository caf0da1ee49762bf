"""Recording cost and offline times of the workloads, side by side in one run.

    python -m tests.bench.run [--repeats 5] [--only heat2d,spmv] [--json FILE]

Prints per workload: CPU time of the plain and of the recorded program (medians), their ratio, the recorder's
bytes per distinct flow, peak memory, and the seconds of each later stage for 16 parts. Ratios of one run are
comparable, absolute times depend on the machine.
"""

from __future__ import annotations

import argparse
import json
import statistics
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
from commanalyzer.frontend.compile import FrontendResult, compile_sources
from commanalyzer.instrument.plan import ModulePlan, PlanOptions, plan_module
from commanalyzer.instrument.rewrite import rewrite
from commanalyzer.ir.parser import parse_module
from commanalyzer.partition.affinity import build_affinity
from commanalyzer.partition.metis import partition
from commanalyzer.partition.owners import extend_to_hubs
from commanalyzer.runtime.build import build_instrumented, build_native
from commanalyzer.runtime.launch import TargetRun, run_target
from commanalyzer.trace.reader import read_trace
from commanalyzer.vcg.build import build_graph
from commanalyzer.vcg.hubs import find_hubs

ROOT = Path(__file__).resolve().parents[2]
PARTS = 16
CASES: dict[str, tuple[str, ...]] = {
    "heat2d": ("1000", "40"),
    "heat2d swap": ("1000", "40", "swap"),
    "stencil3d": ("64", "20"),
    "matmul": ("256",),
    "spmv": ("100000", "random", "8", "20"),
    "kmeans": ("20000", "8", "5", "10"),
}
T = TypeVar("T")


@dataclass(frozen=True)
class Measurement:
    """One workload; times in seconds of CPU (programs) or wall clock (stages)."""

    case: str
    native_s: float
    recorded_s: float
    ratio: float
    flows: int
    bytes_per_flow: float
    peak_rss_bytes: int
    graph_s: float
    hubs_s: float
    affinity_s: float
    metis_s: float
    count_s: float


def measure(case: str, repeats: int) -> Measurement:
    """Run one workload ``repeats`` times plain and recorded, alternating."""
    name = case.split()[0]
    arguments = CASES[case]
    program = compile_sources([ROOT / "workloads" / name / f"{name}.c"])
    plan, plain, recorded = _executables(program)
    native: list[float] = []
    traced: list[TargetRun] = []
    with tempfile.TemporaryDirectory() as folder:
        trace_path = Path(folder) / "trace"
        environment = {"COMMANALYZER_TRACE": str(trace_path)}
        for _ in range(repeats):
            native.append(_run(plain, arguments, {}).cpu_s)
            traced.append(_run(recorded, arguments, environment))
        trace = read_trace(trace_path)
        graph_s, graph = _timed(lambda: build_graph(trace, plan.sites))
        recorder_bytes = trace.statistics.recorder_bytes
    hubs_s, hubs = _timed(lambda: find_hubs(graph))
    affinity_s, affinity = _timed(lambda: build_affinity(graph, hubs.mask))
    metis_s, core = _timed(lambda: partition(affinity.adjacency, PARTS))
    owners = extend_to_hubs(graph, hubs.mask, affinity, core)
    count_s, _ = _timed(lambda: charge_volume(graph, owners.part, PARTS, hubs.mask))
    native_s = statistics.median(native)
    recorded_s = statistics.median(run.cpu_s for run in traced)
    return Measurement(
        f"{case} {' '.join(a for a in arguments if a != 'swap')}",
        native_s,
        recorded_s,
        recorded_s / native_s,
        graph.num_flows,
        recorder_bytes / max(1, graph.num_flows),
        max(run.peak_rss_bytes for run in traced),
        graph_s,
        hubs_s,
        affinity_s,
        metis_s,
        count_s,
    )


def _executables(program: FrontendResult) -> tuple[ModulePlan, Path, Path]:
    module = parse_module(program.ir_text)
    plan = plan_module(module, PlanOptions())
    return plan, build_native(program), build_instrumented(rewrite(module, plan), program)


def _run(executable: Path, arguments: Sequence[str], environment: dict[str, str]) -> TargetRun:
    return run_target(
        executable,
        arguments,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        environment=environment,
    )


def _timed(action: Callable[[], T]) -> tuple[float, T]:
    start = time.perf_counter()
    result = action()
    return time.perf_counter() - start, result


def _table(measurements: Sequence[Measurement]) -> Table:
    table = Table(title=f"recording (CPU s, median) and offline stages (s, {PARTS} parts)")
    for title in ("workload", "plain", "recorded", "ratio", "flows", "B/flow", "peak MB"):
        table.add_column(title, justify="left" if title == "workload" else "right")
    for title in ("graph", "hubs", "affinity", "metis", "count"):
        table.add_column(title, justify="right")
    for m in measurements:
        stages = (m.graph_s, m.hubs_s, m.affinity_s, m.metis_s, m.count_s)
        table.add_row(
            m.case,
            f"{m.native_s:.3f}",
            f"{m.recorded_s:.3f}",
            f"{m.ratio:.1f}",
            f"{m.flows:,}",
            f"{m.bytes_per_flow:.1f}",
            f"{m.peak_rss_bytes / 1e6:.0f}",
            *(f"{s:.2f}" for s in stages),
        )
    ratios = [m.ratio for m in measurements]
    table.caption = f"geometric mean of the ratios: {statistics.geometric_mean(ratios):.1f}"
    return table


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and optionally write JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", default="", help="comma-separated workloads")
    parser.add_argument("--json", type=Path, help="write the measurements to this file")
    options = parser.parse_args(argv)
    wanted = set(options.only.split(",")) if options.only else None
    cases = [case for case in CASES if wanted is None or case.split()[0] in wanted]
    measurements = [measure(case, options.repeats) for case in cases]
    Console(width=140).print(_table(measurements))
    if options.json:
        options.json.write_text(json.dumps([asdict(m) for m in measurements], indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
