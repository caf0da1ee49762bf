"""Workloads as cases of extrapolation: sequential profiles, divided among the ranks of regular blocks."""

from __future__ import annotations

from collections.abc import Iterator

from commanalyzer.profiles.values import Profile

Row = tuple[str, tuple[Profile, ...], tuple[list[int], ...], Profile, list[int]]


def workload_cases() -> Iterator[Row]:
    """Nothing yet."""
    yield from ()
