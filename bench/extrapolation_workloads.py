"""Workloads as cases of extrapolation: sequential profiles, divided among the ranks of regular blocks."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from commanalyzer.api import analyze
from commanalyzer.foundation.progress import SilentProgress
from commanalyzer.profiles.ranks import rank_profiles
from commanalyzer.profiles.run.measure import ProfileRequest, profile_program
from commanalyzer.profiles.values import Profile
from commanalyzer.request import AnalysisRequest, CompilerOptions
from commanalyzer.scaling.laws.terms import most_cubic_grid
from tests.made_profiles import places_of

FAR = 64
_ROOT = Path(__file__).resolve().parents[1] / "workloads"
_HYDRO = ("hydro3d", "mesh", "setup", "forces", "motion", "kinematics", "viscosity", "eos", "timestep")


@dataclass(frozen=True)
class Workload:
    """A program, the runs to learn from, and the one to predict on ``FAR`` ranks.

    Attributes:
        name: As in ``workloads``.
        sources: In its folder.
        arguments: With ``{}`` for the size n.
        sizes: To learn from.
        nodes: Ranks to learn from.
        far: Size to predict: eight times the cells of the largest one, if the time suffices.
        dimensions: Of the most cubic grid of ranks, which tells true classes apart; 0: all are alike.
        region: Its main loop, whose communication is that of the ranks.
        flags: Of the compiler.
    """

    name: str
    sources: tuple[str, ...]
    arguments: str
    sizes: tuple[int, ...]
    nodes: tuple[int, ...]
    far: int
    dimensions: int
    region: str
    flags: tuple[str, ...] = ()

    def places(self, processes: int) -> list[int]:
        """True class of each rank."""
        if not self.dimensions:
            return [0] * processes
        return places_of(sorted(most_cubic_grid(processes, self.dimensions)))

    def profiles(self, size: int, nodes: Sequence[int]) -> list[Profile]:
        """Profiles of the ranks of the cheapest regular blocks."""
        sources = tuple(_ROOT / self.name / source for source in self.sources)
        arguments = tuple(self.arguments.format(size).split())
        result = analyze(
            sources,
            arguments,
            nodes=nodes,
            regions=(self.region,),
            effort="quick",
            program_output="discard",
            cflags=self.flags,
        )
        request = AnalysisRequest(
            sources, arguments, program_output="discard", compiler=CompilerOptions(flags=self.flags)
        )
        measured = profile_program(ProfileRequest(request, scale={"n": float(size)}), SilentProgress())
        divisions = [result.regular(p) or result.best(p) for p in nodes]
        return [rank_profiles(measured.profile, result, division) for division in divisions]


# Blocks of equal size: of others, the regular ones that are found differ from p to p.
_FLAT, _SOLID = (4, 6, 9, 12, 16), (8, 12, 18, 27)
_KMEANS = "kmeans", ("kmeans.c",), "{} 4 5 3", (864, 1296, 1728), (4, 8, 16, 27), 13824, 0, "kmeans"
_HYDRO_SOURCES = tuple(f"{name}.cpp" for name in _HYDRO)
WORKLOADS = (
    Workload("heat2d", ("heat2d.c",), "{} 3", (24, 48, 96), _FLAT, 272, 2, "heat_solve"),
    Workload("stencil3d", ("stencil3d.c",), "{} 3", (12, 18, 24), _SOLID, 48, 3, "stencil_run"),
    Workload("cg", ("cg.c",), "{} 2d natural 4", (24, 36, 48), _FLAT, 136, 2, "cg_solve"),
    Workload(*_KMEANS),
    Workload("hydro3d", _HYDRO_SOURCES, "{} 2", (4, 6), _SOLID, 8, 3, "hydro_run", ("-std=c++17",)),
    # Nobody looked at these while rules of models were chosen.
    Workload("adi", ("adi.c",), "{} 2", (24, 36, 48), _FLAT, 136, 2, "adi_solve"),
    Workload("spmv", ("spmv.c",), "{} banded 9 3", (864, 1296, 1728), _FLAT, 13824, 1, "spmv_iterate"),
)


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raises ``TimeoutError`` in what takes longer."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"not finished within {seconds:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
