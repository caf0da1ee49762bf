"""Clusters of every run -> classes that mean the same in all runs, by votes of neighbouring scales.

The run with the most clusters defines the classes. Then the nearest run that is not matched yet (in the
logarithms of the scaling parameters) is matched: each of its nearest matched runs votes for the assignment
with the least distance of mean profiles, and the majority decides.

Reference: G. Mariani et al., *Classification of thread profiles for scaling application behavior*; *IBM
Exascale Extrapolator manual*, Section 5.1 and ``absoluteEdgeMatching`` in Appendix B.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

Floats = NDArray[np.float64]
Index = NDArray[np.int64]
Votes = Mapping[tuple[int, int], tuple[int, ...]]
_VOTERS = 3
"""Neighbours that vote: an odd number decides; more would let far scales outvote near ones."""


def match_runs(
    tables: Sequence[Floats], clusters: Sequence[Index], scales: Floats
) -> tuple[list[Index], dict[tuple[int, int], tuple[int, ...]]]:
    """Classes int64[T] of every run, and the votes.

    Args:
        tables: float64[T, F] per run, features.
        clusters: int64[T] per run, from 0.
        scales: float64[runs, parameters], positive.
    """
    means = _means(tables, clusters)
    places = np.log(scales)
    first = max(range(len(means)), key=lambda i: (len(means[i]), len(tables[i]), -i))
    number: dict[int, Index] = {first: np.arange(len(means[first]))}
    while len(number) < len(means):
        waiting = [i for i in range(len(means)) if i not in number]
        run = min(waiting, key=lambda i: (min(_far(places, i, j) for j in number), i))
        near = sorted(number, key=lambda j: (_far(places, run, j), j))[:_VOTERS]
        ballots = [number[j][_nearest(means[run], means[j])] for j in near]
        number[run] = _majority(ballots, len(means[first]), means[run], means[near[0]], number[near[0]])
    votes = {
        (voter, voted): tuple(number[voter][_nearest(means[voted], means[voter])].tolist())
        for voted in number
        for voter in sorted((j for j in number if j != voted), key=lambda j: _far(places, voted, j))[:_VOTERS]
        if len(means[voter]) >= len(means[voted])
    }
    return [number[i][clusters[i]] for i in range(len(means))], votes


def _means(tables: Sequence[Floats], clusters: Sequence[Index]) -> list[Floats]:
    """Mean profiles in units of each feature's spread over all threads of all runs, extents in logarithms."""
    every = np.concatenate(tables)
    logs = (every >= 0).all(axis=0)
    shown = [np.where(logs, np.log1p(np.maximum(t, 0)), t) for t in tables]
    spread = np.concatenate(shown).std(axis=0)
    scaled = [t / np.where(spread > 0, spread, 1.0) for t in shown]
    return [
        np.stack([table[own == c].mean(axis=0) for c in range(int(own.max()) + 1)])
        for table, own in zip(scaled, clusters, strict=True)
    ]


def _far(places: Floats, first: int, second: int) -> float:
    return float(np.linalg.norm(places[first] - places[second]))


def _nearest(own: Floats, other: Floats) -> Index:
    """int64, cluster of ``other`` for each one of ``own``: each once, with the least sum of distances."""
    distance = np.linalg.norm(own[:, None, :] - other[None, :, :], axis=2)
    if len(own) > len(other):
        return np.asarray(np.argmin(distance, axis=1), dtype=np.int64)
    return np.asarray(linear_sum_assignment(distance)[1], dtype=np.int64)


def _majority(ballots: Sequence[Index], count: int, own: Floats, other: Floats, numbers: Index) -> Index:
    """Class of each cluster: each class once, with the most votes; the nearest voter decides ties."""
    votes = np.zeros((len(own), count))
    for ballot in ballots:
        votes[np.arange(len(own)), ballot] += 1.0
    distance = np.linalg.norm(own[:, None, :] - other[None, :, :], axis=2)
    tie = np.full((len(own), count), distance.max(initial=0.0))
    tie[:, numbers] = distance
    cost = -votes + 0.5 * tie / max(float(tie.max()), 1e-30)
    return np.asarray(linear_sum_assignment(cost)[1], dtype=np.int64)
