"""Profiles as rows of numbers: what clusters are made of.

All metrics of Table 2 take part: scalars, fractions of instructions (all vector and data lengths), reuse
functions at powers of two, and communication (what is received, from how many, and, if told apart, from lower
or higher ranks).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from commanalyzer.profiles.metrics import Metrics, metrics_of
from commanalyzer.profiles.values import Profile

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """Features of all threads of several runs.

    Attributes:
        names: One per column.
        tables: float64[T, F] per run.
    """

    names: tuple[str, ...]
    tables: tuple[Floats, ...]


def processes_of(profile: Profile) -> int:
    """Number of processes of a run."""
    return 1 + max(rank.process_id for rank in profile.ranks)


def run_metrics(profile: Profile) -> list[Metrics]:
    """Metrics of every thread of a run."""
    return [metrics_of(rank, processes_of(profile)) for rank in profile.ranks]


def features_of(profiles: Sequence[Profile], *, directed: bool) -> Features:
    """Features of all threads; what is not known of some thread is left out for all.

    Args:
        profiles: Runs.
        directed: Sources at lower and at higher ranks are told apart.
    """
    rows = [[_features(m, processes_of(p), directed) for m in run_metrics(p)] for p in profiles]
    common = set.intersection(*(set(row) for run in rows for row in run))
    names = tuple(name for name in rows[0][0] if name in common)
    return Features(names, tuple(np.array([[row[n] for n in names] for row in run]) for run in rows))


def _features(metrics: Metrics, processes: int, directed: bool) -> dict[str, float]:
    found = {name: float(value) for name, value in metrics.scalars.items()}
    for name, mix in metrics.mixes.items():
        found[name] = float(mix.sum())
        found |= {f"{name}[{i},{j}]": float(mix[i, j]) for i, j in zip(*np.nonzero(mix), strict=True)}
    for name, function in metrics.functions.items():
        if len(function):
            found[f"{name}:end"] = float(function[-1, 1])
            found[f"{name}:mean"] = float(function[:, 1].mean())
    relative, size, _ = metrics.communication.T
    found["sources"] = float(len(relative))
    found["largest_source_bytes"] = float(size.max(initial=0.0))
    if directed:
        ahead = relative <= processes / 2
        found["sources_ahead"] = float(ahead.sum())
        found["sources_behind"] = float((~ahead | (relative == processes / 2)).sum())
    return found
