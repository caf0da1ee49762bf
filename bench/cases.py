"""Workloads of the benchmarks: sources as in the validation cases, a short run and longer ones of each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bench.accuracy.cases import CASES_FILE, read_cases
from commanalyzer.request import AnalysisRequest, CompilerOptions

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Case:
    """A workload and its arguments; ``{0}`` is replaced by a number that the run time depends on.

    Attributes:
        name: Workload.
        arguments: Of the program.
        size: Number for a short run, some tenths of a second.
        longer: How many times as long the longer runs take: more than a second, several seconds.
        exponent: Of the run time in the number.
        remark: What a reader of its times must know.
        is_extra: A further input of a workload: shown, but not part of means over all workloads.
    """

    name: str
    arguments: str
    size: int
    longer: tuple[float, ...] = (5.0, 25.0)
    exponent: float = 1.0
    remark: str = ""
    is_extra: bool = False

    def command(self, scale: float) -> tuple[str, ...]:
        """Arguments for ``scale`` times the short run's time."""
        size = max(2, round(self.size * scale ** (1.0 / self.exponent)))
        return tuple(self.arguments.format(size).split())


_GROWING = (
    "The graph grows with the steps, as particles enter cells for the first time. The last argument is the "
    "charge of a particle: Debye length 3.4 cells, 4.9 % of the particles change their cell in every step."
)
_HEATING = (
    "With unit charges (Debye length 0.1 cells) the scheme heats the plasma: 6 % of the particles change "
    "their cell in step 40, 30 % in step 80, 86 to 90 % from step 120 on."
)

CASES = (
    Case("heat2d", "1000 {0}", 250),
    Case("stencil3d", "100 {0}", 125),
    Case("matmul", "{0}", 200, (8.0, 64.0), 3.0),
    Case("spmv", "100000 random 8 {0}", 250),
    Case("kmeans", "20000 16 10 {0}", 40),
    Case("cg", "256 2d natural {0}", 600),
    Case("adi", "400 {0}", 90),
    Case("pic", "128 8 {0} 4 0.03", 40, remark=_GROWING),
    Case("pic", "128 8 {0} 4", 40, (5.0,), remark=_HEATING, is_extra=True),
    Case("pagerank", "100000 smallworld 8 {0}", 120),
    Case("fem2d", "200 {0}", 150),
    Case("hydro3d", "20 {0}", 25),
)


def chosen(names: Iterable[str]) -> tuple[Case, ...]:
    """Cases of the given workloads, all for none."""
    wanted = set(names)
    return tuple(case for case in CASES if not wanted or case.name in wanted)


def request_of(name: str, arguments: tuple[str, ...], nodes: tuple[int, ...] = (16,)) -> AnalysisRequest:
    """Analysis of a whole run, its output discarded."""
    workload = next(w for w in read_cases(CASES_FILE) if w.name == name)
    compiler = CompilerOptions(flags=workload.flags)
    return AnalysisRequest(
        workload.sources,
        arguments,
        nodes=nodes,
        models=("volume",),
        compiler=compiler,
        program_output="discard",
    )
