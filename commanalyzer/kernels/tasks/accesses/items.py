"""Indices of the work items of a kernel.

A work item has the index of the element that it writes, so that a loop from 1 and one from 0 that write the
same element are the same work item, as they would be in a kernel with an offset. A kernel whose loop writes
one row of a matrix gets the matrix's dimensions, with an extent of 1 where the index is constant.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from commanalyzer.kernels.tasks.accesses.observer import Bools, Ints


def item_indices(iterations: Ints, writes: Iterable[tuple[Ints, Ints, Bools]]) -> Ints:
    """Index of each access's work item, int64[dimensions of the range, n].

    Args:
        iterations: Of the loops over work items, int64[loops, n], for all accesses.
        writes: Per instruction, writing ones first, the positions of its accesses in ``iterations``, and the
            indices of the elements in their buffer, int64[dimensions, m], and which of these dimensions the
            kernel goes along by other instructions.
    """
    fallback: dict[int, tuple[int, int]] = {}
    for positions, index, is_longer in writes:
        lines = [_line(iterations[:, positions], row) for row in index]
        loops = [line[0] for line in lines if line[0] >= 0]
        for loop, slope, start in lines:
            if loop >= 0:
                fallback.setdefault(loop, (slope, start))
        varying = {k for k in range(len(iterations)) if np.ptp(iterations[k])}
        is_row = any(line[0] == -1 and longer for line, longer in zip(lines, is_longer, strict=True))
        is_whole = (
            not is_row
            and all(line[1] or line[0] == -1 for line in lines)
            and all(line[0] != -2 for line in lines)
        )
        if is_whole and len(set(loops)) == len(loops) and varying <= set(loops):
            rows = [slope * iterations[loop] + start if loop >= 0 else
                    np.full(iterations.shape[1], start) for loop, slope, start in lines]  # fmt: skip
            return np.stack(rows)
    rows = [row * fallback.get(k, (1, 0))[0] + fallback.get(k, (1, 0))[1] for k, row in enumerate(iterations)]
    return np.stack(rows)


def _line(iterations: Ints, index: Ints) -> tuple[int, int, int]:
    """An index as slope times one loop's iteration plus a start: loop, slope, start.

    The loop is -1 where the index is constant, -2 where it is neither.
    """
    if not np.ptp(index):
        return -1, 0, int(index[0])
    for loop, row in enumerate(iterations):
        if not np.ptp(row):
            continue
        low, high = int(row.argmin()), int(row.argmax())
        slope, rest = divmod(int(index[high] - index[low]), int(row[high] - row[low]))
        start = int(index[low]) - slope * int(row[low])
        if slope and not rest and np.array_equal(slope * row + start, index):
            return loop, slope, start
    return -2, 0, 0


def block_of(index: Ints, first: int, extent: int, num_nodes: int) -> Ints:
    """Node of each work item: contiguous blocks of an extent, sizes differing by at most one."""
    return (index - first) * num_nodes // extent
