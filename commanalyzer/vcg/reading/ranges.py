"""Ranges of a trace: what they stand for, and which of their rows are the same.

A range is a row of the trace that stands for all rows of the stores of a loop (``ca_range`` of the shim).
Input: columns of a trace. Output: :class:`RangeTable`; :mod:`.tables` writes the rows out.

A row may be part of several ranges, and may have been recorded by hooks, too: other rounds of the same loop,
the same loop in another order. Where that may be, sites are *merged*: their rows are looked up by their hash.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from commanalyzer.abi.trace_layout import ROW_RANGE

Int64 = NDArray[np.int64]
Int32 = NDArray[np.int32]
Bool = NDArray[np.bool_]

SITE = (1 << 32) - 1  # bits of the site in the second word of a head
_FLAGS = 48  # first bit of the flags there
_WORD_BITS = 43  # more than words have


class RangeTable(NamedTuple):
    """The segments of the ranges of a trace, in the order of their rows.

    Attributes:
        of_row: int32[R], first segment of each row, -1 for rows that are no range.
        row: int64[N + 1], row of each segment, and -1.
        rounds: int64[N].
        first_store: int64[N + 1], first store of each segment.
        stores: int64[S, 4]: site, sink, its stride, first label.
        labels: int64[L, 2]: label in the first round, stride.
        is_merged: bool, per site: rows are looked up.
        merged: int64[H], count of each row of a merged site where it comes first, -1 where it comes again.
    """

    of_row: Int32
    row: Int64
    rounds: Int64
    first_store: Int64
    stores: Int64
    labels: Int64
    is_merged: Bool
    merged: Int64


def range_table(heads: Int64, cells: Int64, units: Int32) -> RangeTable:
    """Ranges among the rows.

    Args:
        heads: int64[R, 2], as the next two a column of a trace.
        cells: int64[R, 2].
        units: int32[U].
    """
    from commanalyzer.vcg.reading import range_kernels as kernels

    num_segments, num_stores, num_labels = kernels.count_segments(heads, units)
    of_row, row = np.empty(len(heads), np.int32), np.full(num_segments + 1, -1, np.int64)
    rounds, first_store = np.empty(num_segments, np.int64), np.zeros(num_segments + 1, np.int64)
    stores, labels = np.empty((num_stores, 4), np.int64), np.empty((num_labels, 2), np.int64)
    kernels.read_segments(heads, units, of_row, row, rounds, first_store, stores, labels)
    largest = max(int((heads[:, 1] & SITE).max(initial=0)), int(stores[:, 0].max(initial=0)))
    of_store = np.repeat(rounds, np.diff(first_store))
    is_merged = np.zeros(largest + 1, np.bool_)
    _mark_merged(heads, stores, of_store, is_merged)
    columns = of_row, row, rounds, first_store, stores, labels, is_merged
    most = int(of_store[is_merged[stores[:, 0]]].sum())
    most += len(heads) if most else 0
    hash_, count = np.empty((2, most), np.int64)
    used = (
        kernels.hash_merged(heads, cells, units, columns, np.zeros(0, np.int64), hash_, count) if most else 0
    )
    _, first, same = np.unique(hash_[:used], return_index=True, return_inverse=True)
    merged = np.full(used, -1, np.int64)
    merged[first] = 0
    np.add.at(merged, first[same], count[:used])
    return RangeTable(*columns, merged)


def _mark_merged(heads: Int64, stores: Int64, rounds: Int64, is_merged: Bool) -> None:
    """Mark sites whose ranges store between the sinks of others, or that have rows recorded by hooks."""
    from commanalyzer.vcg.reading.range_kernels import OTHERS

    site, sink, last = stores[:, 0], stores[:, 1], stores[:, 1] + (rounds - 1) * stores[:, 2]
    is_merged[(heads[(heads[:, 1] >> _FLAGS) & (OTHERS | ROW_RANGE) == 0, 1] & SITE)] = True
    has_ranges = np.zeros(len(is_merged), np.bool_)
    has_ranges[site] = True
    is_merged &= has_ranges
    low, high = ((site << _WORD_BITS) + end for end in (np.minimum(sink, last), np.maximum(sink, last)))
    order = np.argsort(low, kind="stable")
    meets = low[order[1:]] <= np.maximum.accumulate(high[order])[:-1]
    is_merged[site[order[1:]][meets]] = True
