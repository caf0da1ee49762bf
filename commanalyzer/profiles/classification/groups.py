"""Communication groups: lists of ranks -> nested arithmetic sequences with what their members receive.

Reference: X. Wu, F. Mueller, *ScalaExtrap: trace-based communication extrapolation for SPMD programs*, ACM
TOPLAS 34(1), 2012; *IBM Exascale Extrapolator manual*, Appendix B.3.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from commanalyzer.profiles.classification.classes import Group, Source

Floats = NDArray[np.float64]
_Sequence = tuple[int, tuple[tuple[int, int], ...]]


def find_groups(received: Floats, messages: Floats, common: Sequence[int]) -> tuple[Group, ...]:
    """Groups of ranks with the same relative sources, the lowest start first.

    Args:
        received: float64[P, P], bytes that a rank (row) receives from another (column).
        messages: Likewise.
        common: Ranks that all others receive from; they are sources by their own number.
    """
    count = len(received)
    absolute = np.zeros(count, dtype=bool)
    absolute[list(common)] = True
    kinds: dict[tuple[tuple[int, ...], tuple[int, ...]], list[int]] = {}
    for rank in range(count):  # one row of the matrix each
        sources = np.flatnonzero(received[rank] > 0)
        fixed = sources[absolute[sources]]
        relative = np.sort((sources[~absolute[sources]] - rank) % count)
        kinds.setdefault((tuple(relative.tolist()), tuple(fixed.tolist())), []).append(rank)
    found = [
        Group(start, dimensions, _sources(group, kind, received, messages))
        for kind, ranks in kinds.items()
        for start, dimensions in sequences(ranks)
        for group in [np.array(Group(start, dimensions).ranks())]
    ]
    return tuple(sorted(found, key=lambda group: group.start))


def sequences(ranks: Sequence[int]) -> list[_Sequence]:
    """Start and (stride, iterations) of as few nested sequences as a greedy search needs.

    Runs of equal stride are joined first, then equal runs at equal distances, and so on.
    """
    level: list[_Sequence] = [(rank, ()) for rank in sorted(ranks)]
    while True:
        joined = _joined(level)
        if len(joined) == len(level):
            return level
        level = joined


def _joined(level: Sequence[_Sequence]) -> list[_Sequence]:
    """Sequences of the same shape at equal distances as one of one more dimension."""
    by_shape: dict[tuple[tuple[int, int], ...], list[int]] = {}
    for start, shape in level:
        by_shape.setdefault(shape, []).append(start)
    found: list[_Sequence] = []
    for shape, starts in by_shape.items():
        first = 0
        while first < len(starts):
            last = first + 1
            while (
                last + 1 < len(starts)
                and starts[last + 1] - starts[last] == starts[first + 1] - starts[first]
            ):
                last += 1
            # Two that stand alone are a sequence only if nothing longer starts at the second one.
            if last < len(starts) and (last - first > 1 or not _starts_longer(starts, last)):
                stride = starts[first + 1] - starts[first]
                found.append((starts[first], (*shape, (stride, last - first + 1))))
                first = last + 1
            else:
                found.append((starts[first], shape))
                first += 1
    return sorted(found)


def _starts_longer(starts: Sequence[int], at: int) -> bool:
    return at + 2 < len(starts) and starts[at + 2] - starts[at + 1] == starts[at + 1] - starts[at]


def _sources(
    ranks: NDArray[np.int64],
    kind: tuple[tuple[int, ...], tuple[int, ...]],
    received: Floats,
    messages: Floats,
) -> tuple[Source, ...]:
    found = []
    for is_absolute, numbers in zip((False, True), kind, strict=True):
        for number in numbers:
            source = np.full(len(ranks), number) if is_absolute else (ranks + number) % len(received)
            values = [_spread(table[ranks, source]) for table in (received, messages)]
            found.append(Source(number, is_absolute, values[0], values[1]))
    return tuple(found)


def _spread(values: Floats) -> tuple[float, float, float, float, float]:
    return (
        float(values.min()),
        float(values.max()),
        float(np.median(values)),
        float(values.mean()),
        float(values.std()),
    )
