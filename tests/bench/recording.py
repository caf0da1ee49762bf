"""Cost of recording: CPU time and memory of recorded programs against the plain ones, side by side.

    python -m tests.bench.recording [--scale S] [--repeat N]

Run from the checkout. Prints the median over the repetitions and their spread; the number of steps grows with
the scale so that the plain run takes about S seconds on a current core. Matrix products stay small, because
their graph has 2 N^3 flows.
"""

from __future__ import annotations

import argparse
import math
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from commanalyzer.frontend.compile import compile_sources
from commanalyzer.instrument.plan import PlanOptions, plan_module
from commanalyzer.instrument.rewrite import rewrite
from commanalyzer.ir.parser import parse_module
from commanalyzer.runtime.build import build_instrumented, build_native
from commanalyzer.runtime.launch import TargetRun, run_target
from commanalyzer.trace.reader import read_trace
from commanalyzer.vcg.build import build_graph

ROOT = Path(__file__).resolve().parents[2]
_COLUMNS = "{:<22}{:>10}{:>12}{:>8}{:>10}{:>12}{:>12}{:>12}\n"


@dataclass(frozen=True, slots=True)
class Case:
    """A workload and its arguments; ``{0}`` is replaced by a number that grows with the scale."""

    name: str
    arguments: str
    size: int
    exponent: float  # of the run time in the size

    def command(self, scale: float) -> tuple[str, ...]:
        """Arguments at a scale."""
        size = max(2, round(self.size * scale ** (1.0 / self.exponent)))
        return tuple(self.arguments.format(size).split())


CASES = (
    Case("heat2d", "1000 {0}", 500, 1.0),
    Case("stencil3d", "100 {0}", 250, 1.0),
    Case("matmul", "{0}", 250, 3.0),
    Case("spmv", "100000 random 8 {0}", 500, 1.0),
    Case("kmeans", "20000 16 10 {0}", 80, 1.0),
    Case("cg", "200 2d natural {0}", 2000, 1.0),
    Case("adi", "500 {0}", 60, 1.0),
    Case("fem2d", "128 {0}", 400, 1.0),
    Case("pagerank", "20000 smallworld 10 {0}", 400, 1.0),
    Case("pic", "64 10 {0}", 30, 1.0),
    Case("hydro3d", "16 {0}", 60, 1.0),
)


@dataclass(frozen=True, slots=True)
class Measured:
    """Medians of one case: seconds of CPU time, bytes, distinct flows."""

    plain_s: float
    recorded_s: float
    spread: float
    plain_bytes: int
    recorded_bytes: int
    num_flows: int
    graph_bytes: int


def measure(case: Case, scale: float, repeat: int) -> Measured:
    """Run a case plainly and recorded, alternating."""
    folder = ROOT / "workloads" / case.name
    sources = sorted(folder.glob("*.cpp")) or [folder / f"{case.name}.c"]
    frontend = compile_sources(sources)
    module = parse_module(frontend.ir_text)
    plan = plan_module(module, PlanOptions())
    native, instrumented = build_native(frontend), build_instrumented(rewrite(module, plan), frontend)
    plain: list[TargetRun] = []
    recorded: list[TargetRun] = []
    with tempfile.TemporaryDirectory() as scratch:
        trace = Path(scratch) / "trace"
        for _ in range(repeat):
            plain.append(_run(native, case.command(scale), {}))
            recorded.append(_run(instrumented, case.command(scale), {"COMMANALYZER_TRACE": str(trace)}))
        graph = build_graph(read_trace(trace), plan.sites)
    times = [run.cpu_s for run in recorded]
    return Measured(
        statistics.median(run.cpu_s for run in plain),
        statistics.median(times),
        (max(times) - min(times)) / statistics.median(times),
        max(run.peak_rss_bytes for run in plain),
        max(run.peak_rss_bytes for run in recorded),
        graph.num_flows,
        graph.nbytes,
    )


def _run(program: Path, arguments: Sequence[str], environment: dict[str, str]) -> TargetRun:
    return run_target(program, arguments, stdin=subprocess.DEVNULL, capture=True, environment=environment)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure all cases and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--scale", type=float, default=0.5, help="plain seconds per case, roughly")
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args(argv)
    write = sys.stdout.write
    write(
        f"{platform.machine()}, {platform.system()} {platform.release()}, median of {options.repeat} runs\n"
    )
    write(
        _COLUMNS.format(
            "case", "plain s", "recorded s", "ratio", "spread", "plain MB", "recorded MB", "B/flow"
        )
    )
    ratios = []
    for case in CASES:
        m = measure(case, options.scale, options.repeat)
        ratios.append(m.recorded_s / m.plain_s)
        write(
            _COLUMNS.format(
                f"{case.name} {' '.join(case.command(options.scale))}",
                f"{m.plain_s:.3f}",
                f"{m.recorded_s:.3f}",
                f"{ratios[-1]:.1f}",
                f"{m.spread:.0%}",
                f"{m.plain_bytes / 1e6:.0f}",
                f"{m.recorded_bytes / 1e6:.0f}",
                f"{m.graph_bytes / max(1, m.num_flows):.1f}",
            )
        )
        sys.stdout.flush()
    write(f"geometric mean of the ratios {math.exp(statistics.fmean(map(math.log, ratios))):.2f}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
