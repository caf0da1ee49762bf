"""The best regular divisions: bytes and balance of all, guessed or counted -> those that are worth showing.

One division is kept for each number of cut dimensions (slabs, columns, cubes), and the cheaper one that is
less balanced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from commanalyzer.partition.selection import best_of

_NEARLY = 1.1  # times the least bytes by a guess, which is hardly that wrong: what is above is not the best


def best_by_dims(cut_dims: Sequence[int], costs: Sequence[tuple[int, float]], allowed: float) -> list[int]:
    """Return positions: the best for each number of cut dimensions, and the least volume if it is another.

    Args:
        cut_dims: Number of cut dimensions of each division.
        costs: Its bytes and its imbalance.
        allowed: Limit of the imbalance.
    """
    chosen: list[int] = []
    for dims in sorted(set(cut_dims)):  # of equal ones, the simplest is first
        places = [i for i, cut in enumerate(cut_dims) if cut == dims]
        volumes, imbalances = zip(*(costs[i] for i in places), strict=True)
        best = places[best_of(volumes, imbalances, allowed)]
        least = places[int(np.argmin(volumes))]
        chosen += [best] if costs[least][0] == costs[best][0] else [best, least]
    return chosen


def best_counted(
    cut_dims: Sequence[int],
    guessed: Sequence[tuple[int, float]],
    allowed: float,
    count: Callable[[Sequence[int]], Sequence[tuple[int, float]]],
    *,
    is_rough: bool = False,
) -> list[int]:
    """Return positions as :func:`best_by_dims` does, by counting those that may come near the cheapest.

    Where one of a number of cut dimensions may, the first of these is counted, too: the guess is worst where
    blocks are no whole tiles. Those whose bytes the guess does not tell apart are one, whichever is best
    balanced. Where none may, the best by the guess stands for them; if the guess ``is_rough``, it is counted
    against that first one.

    Args:
        cut_dims: Number of cut dimensions of each division; of equal ones, that with least surface is first.
        guessed: Its bytes and its imbalance, roughly.
        allowed: Limit of the imbalance.
        count: Positions -> bytes and imbalance of each.
        is_rough: Whether the guess is not nearly exact, as the bytes between coarse vertices are not.
    """
    near = _NEARLY * min((comm_bytes for comm_bytes, _ in guessed), default=0)
    chosen: list[int] = []
    for dims in sorted(set(cut_dims)):
        places = [i for i, cut in enumerate(cut_dims) if cut == dims]
        promising = [i for i in places if guessed[i][0] <= near]
        volumes, excess = zip(*(guessed[i] for i in places), strict=True)
        likeliest = places[best_of(volumes, excess, allowed)]
        if is_rough and not promising:
            promising = [likeliest]
        promising = _told_apart({places[0], *promising}, guessed, allowed) if promising else [likeliest]
        if len(promising) == 1:
            chosen += promising
        else:
            costs = count(promising)
            chosen += [promising[i] for i in best_by_dims([dims] * len(costs), costs, allowed)]
    return chosen


def _told_apart(places: Iterable[int], guessed: Sequence[tuple[int, float]], allowed: float) -> list[int]:
    """Return one of ``places`` for each number of bytes: the first that is balanced, or what is nearly so."""
    alike: dict[int, list[int]] = {}
    for i in sorted(places):
        alike.setdefault(guessed[i][0], []).append(i)
    return sorted(min(group, key=lambda i: max(guessed[i][1], allowed)) for group in alike.values())
