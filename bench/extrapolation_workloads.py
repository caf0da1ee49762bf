"""Workloads as cases of extrapolation: sequential profiles, divided among the ranks of regular blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from commanalyzer.api import analyze
from commanalyzer.foundation.progress import SilentProgress
from commanalyzer.profiles.ranks import rank_profiles
from commanalyzer.profiles.run.measure import ProfileRequest, profile_program
from commanalyzer.profiles.values import Profile
from commanalyzer.request import AnalysisRequest
from commanalyzer.scaling.laws.terms import most_cubic_grid
from tests.made_profiles import places_of

Row = tuple[str, tuple[Profile, ...], tuple[list[int], ...], Profile, list[int]]
ROOT = Path(__file__).resolve().parents[1]
STEPS = "3"
HEAT = ROOT / "workloads" / "heat2d" / "heat2d.c"
NODES = (4, 6, 9, 12, 16)
SIZES = (24, 48, 96)
FAR, FAR_SIZE = 64, 272


def workload_cases() -> Iterator[Row]:
    """The plate of ``heat2d``, ranks in two dimensions."""
    runs = [profile for size in SIZES for profile in heat_profiles(size, NODES)]
    (target,) = heat_profiles(FAR_SIZE, (FAR,))
    places = tuple(_places(len(profile.ranks)) for profile in runs)
    yield "heat2d", tuple(runs), places, target, _places(FAR)


def _places(processes: int) -> list[int]:
    return places_of(sorted(most_cubic_grid(processes, 2)))


def heat_profiles(size: int, nodes: Sequence[int]) -> list[Profile]:
    """Profiles of the ranks of square blocks of the plate."""
    arguments = (str(size), STEPS)
    result = analyze(HEAT, arguments, nodes=tuple(nodes), effort="quick", program_output="discard")
    request = AnalysisRequest((HEAT,), arguments, program_output="discard")
    sequential = profile_program(ProfileRequest(request, scale={"n": float(size)}), SilentProgress()).profile
    return [rank_profiles(sequential, result, result.regular(p) or result.best(p)) for p in nodes]
