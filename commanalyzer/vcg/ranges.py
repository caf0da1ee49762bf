"""Ranges of a trace: what they stand for, and which of their rows are the same.

A range is a row of the trace that stands for all rows of the stores of a loop (``ca_range`` of the shim).
Input: columns of a trace. Output: :class:`RangeTable`; :mod:`commanalyzer.vcg.tables` writes the rows out.

A row may be part of several ranges, and may have been recorded by hooks, too: other rounds of the same loop,
the same loop in another order. The rows of a store lie on *lines*: sink and labels that advance together.
Where no two ranges of a site overlap on a line, no other line of the site comes near and no plain row lies on
one, all rows are distinct. Sites where that is not so are *merged*: their rows are looked up one by one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Int64 = NDArray[np.int64]
Int32 = NDArray[np.int32]
Bool = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class RangeTable:
    """The segments of the ranges of a trace, in the order of their rows.

    Attributes:
        of_row: int32[R], first segment of each row, -1 for rows that are no range.
        row: int64[N + 1], row of each segment, and -1.
        rounds: int64[N].
        first_store: int64[N + 1], first store of each segment.
        stores: int64[S, 4]: site, sink, its stride, first label.
        labels: int64[L, 2]: label in the first round, stride.
        is_merged: bool, per site: equal rows occur.
        merged: int64[H, 3], open addressing: hash of a row (0: none), its count, and its first place among
            the rows of merged sites.
    """

    of_row: Int32
    row: Int64
    rounds: Int64
    first_store: Int64
    stores: Int64
    labels: Int64
    is_merged: Bool
    merged: Int64

    @property
    def columns(self) -> tuple[Int32, Int64, Int64, Int64, Int64, Int64, Bool, Int64]:
        """All columns, for kernels."""
        return (
            self.of_row, self.row, self.rounds, self.first_store, self.stores, self.labels, self.is_merged,
            self.merged,
        )  # fmt: skip


def range_table(heads: Int64, cells: Int64, units: Int32) -> RangeTable | None:
    """Ranges among the rows; ``None`` if there are none.

    Args:
        heads: int64[R, 2], as the next two a column of a trace.
        cells: int64[R, 2].
        units: int32[U].
    """
    from commanalyzer.vcg import range_kernels as kernels

    num_segments, num_stores, num_labels = kernels.count_segments(heads, units)
    if not num_segments:
        return None
    of_row, row = np.empty(len(heads), np.int32), np.full(num_segments + 1, -1, np.int64)
    rounds, first_store = np.empty(num_segments, np.int64), np.zeros(num_segments + 1, np.int64)
    stores, labels = np.empty((num_stores, 4), np.int64), np.empty((num_labels, 2), np.int64)
    kernels.read_segments(heads, units, of_row, row, rounds, first_store, stores, labels)
    num_sites = int(kernels.largest_site(heads, stores)) + 1
    is_merged = _merged_sites(heads, units, rounds, first_store, stores, labels, num_sites)
    columns = of_row, row, rounds, first_store, stores, labels, is_merged
    merged = np.zeros((1, 3), np.int64)
    if is_merged.any():
        rows = int(kernels.count_merged(heads, of_row, rounds, first_store, stores, is_merged))
        merged = np.zeros((1 << (2 * rows).bit_length(), 3), np.int64)
        kernels.merge_rows(heads, cells, units, (*columns, merged))
    return RangeTable(*columns, merged)


def _merged_sites(
    heads: Int64,
    units: Int32,
    rounds: Int64,
    first_store: Int64,
    stores: Int64,
    labels: Int64,
    num_sites: int,
) -> Bool:
    """Per site, whether equal rows may occur: none is overlooked, some may be none."""
    from commanalyzer.vcg import line_kernels as kernels

    is_merged = np.zeros(num_sites, np.bool_)
    line = np.empty((len(stores), 4), np.int64)
    kernels.lines_of(rounds, first_store, stores, labels, line)
    by_line = np.lexsort((line[:, 1], line[:, 0]))
    kernels.mark_overlapping(line[by_line], stores[by_line, 0], is_merged)
    way = np.stack([stores[:, 0], line[:, 3]], axis=1)
    low, high = kernels.sinks_between(rounds, first_store, stores)
    by_sink = np.lexsort((low, stores[:, 0]))
    kernels.mark_crossing(way[by_sink], low[by_sink], high[by_sink], is_merged)
    _, representatives = np.unique(way, axis=0, return_index=True)
    kernels.mark_met(heads, units, stores, labels, representatives, line[by_line], is_merged)
    return is_merged
