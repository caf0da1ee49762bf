"""Workloads of the benchmarks: sources as in the validation cases, a short run and a longer one of each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from commanalyzer.request import AnalysisRequest, CompilerOptions
from commanalyzer.validation.cases import read_cases

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Case:
    """A workload and its arguments; ``{0}`` is replaced by a number that the run time depends on.

    Attributes:
        name: Workload.
        arguments: Of the program.
        size: Number for a short run, some tenths of a second.
        longer: How many times as long the longer run takes: a second and more.
        exponent: Of the run time in the number.
    """

    name: str
    arguments: str
    size: int
    longer: float = 5.0
    exponent: float = 1.0

    def command(self, scale: float) -> tuple[str, ...]:
        """Arguments for ``scale`` times the short run's time."""
        size = max(2, round(self.size * scale ** (1.0 / self.exponent)))
        return tuple(self.arguments.format(size).split())


CASES = (
    Case("heat2d", "1000 {0}", 250),
    Case("stencil3d", "100 {0}", 125),
    Case("matmul", "{0}", 200, 8.0, 3.0),
    Case("spmv", "100000 random 8 {0}", 250),
    Case("kmeans", "20000 16 10 {0}", 40),
    Case("cg", "256 2d natural {0}", 600),
    Case("adi", "400 {0}", 90),
    Case("pic", "128 8 {0} 4", 40),
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
    workload = next(w for w in read_cases(ROOT / "workloads" / "validation.toml") if w.name == name)
    compiler = CompilerOptions(flags=workload.flags)
    return AnalysisRequest(
        workload.sources, arguments, nodes, ("volume",), compiler=compiler, program_output="discard"
    )
