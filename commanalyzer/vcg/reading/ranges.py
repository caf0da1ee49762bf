"""Ranges of a trace: what they stand for, and which of their rows are the same.

A range is a row of the trace that stands for all rows of the stores of a loop (``ca_range`` of the shim).
Input: columns of a trace. Output: :class:`RangeTable`; :mod:`.tables` writes the rows out.

A row may be part of several ranges, and may have been recorded by hooks, too: other rounds of the same loop,
the same loop in another order. The rows of a store lie on *lines*: sink and labels that advance together.
Stores that overlap on a line are *cut* into pieces, each counted where it comes first. Where lines with other
strides come near, or a plain row lies on one, sites are *merged*: their rows are looked up one by one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Int64 = NDArray[np.int64]
Int32 = NDArray[np.int32]
Bool = NDArray[np.bool_]

_SITE = (1 << 32) - 1  # bits of the site in the second word of a head


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
        is_cut: bool[S]: the store shares rows with others on its line.
        first_piece: int64[S + 1], first piece of each store.
        pieces: int64[P, 4], what is left of stores that are cut: store, first round, round behind the last,
            count.
    """

    of_row: Int32
    row: Int64
    rounds: Int64
    first_store: Int64
    stores: Int64
    labels: Int64
    is_merged: Bool
    merged: Int64
    is_cut: Bool
    first_piece: Int64
    pieces: Int64


def range_table(heads: Int64, cells: Int64, units: Int32) -> RangeTable:
    """Ranges among the rows.

    Args:
        heads: int64[R, 2], as the next two a column of a trace.
        cells: int64[R, 2].
        units: int32[U].
    """
    from commanalyzer.vcg.reading import line_kernels as lines
    from commanalyzer.vcg.reading import range_kernels as kernels

    num_segments, num_stores, num_labels = kernels.count_segments(heads, units)
    of_row, row = np.empty(len(heads), np.int32), np.full(num_segments + 1, -1, np.int64)
    rounds, first_store = np.empty(num_segments, np.int64), np.zeros(num_segments + 1, np.int64)
    stores, labels = np.empty((num_stores, 4), np.int64), np.empty((num_labels, 2), np.int64)
    kernels.read_segments(heads, units, of_row, row, rounds, first_store, stores, labels)
    line = np.empty((num_stores, 4), np.int64)
    lines.lines_of(rounds, first_store, stores, labels, line)
    by_line = np.lexsort((line[:, 1], line[:, 0]))
    segment = np.repeat(np.arange(num_segments), np.diff(first_store))
    largest = max(int((heads[:, 1] & _SITE).max(initial=0)), int(stores[:, 0].max(initial=0)))
    is_merged = np.zeros(largest + 1, np.bool_)
    cut = _pieces(line, by_line, segment, cells[row[segment], 1], (stores, labels), is_merged)
    way = np.stack([stores[:, 0], line[:, 3]], axis=1)
    last = stores[:, 1] + (rounds[segment] - 1) * stores[:, 2]
    low, high = np.minimum(stores[:, 1], last), np.maximum(stores[:, 1], last)  # sinks
    by_sink = np.lexsort((low, stores[:, 0]))
    lines.mark_crossing(way[by_sink], low[by_sink], high[by_sink], is_merged)
    _, representatives = np.unique(way, axis=0, return_index=True)
    line = line[by_line]
    lines.reach_of(line)
    lines.mark_met(heads, units, stores, labels, representatives, line, is_merged)
    columns = of_row, row, rounds, first_store, stores, labels, is_merged
    return RangeTable(*columns, _merged(heads, cells, units, columns, segment), *cut)


def _merged(heads: Int64, cells: Int64, units: Int32, columns: tuple[Any, ...], segment: Int64) -> Int64:
    """Return ``merged`` of a :class:`RangeTable`, whose other ``columns`` are known up to that."""
    from commanalyzer.vcg.reading.range_kernels import hash_merged

    _, _, rounds, _, stores, _, is_merged = columns
    most = int(rounds[segment][is_merged[stores[:, 0]]].sum())
    most += len(heads) if is_merged.any() else 0
    hash_, count = np.empty((2, most), np.int64)
    used = hash_merged(heads, cells, units, columns, np.zeros(0, np.int64), hash_, count) if most else 0
    _, first, same = np.unique(hash_[:used], return_index=True, return_inverse=True)
    total, result = np.zeros(len(first), np.int64), np.full(used, -1, np.int64)
    np.add.at(total, same, count[:used])
    result[first] = total
    return result


def _pieces(
    line: Int64, by_line: Int64, segment: Int64, counts: Int64, table: tuple[Int64, Int64], is_merged: Bool
) -> tuple[Bool, Int64, Int64]:
    """Which stores are cut, and the last two columns of a :class:`RangeTable`."""
    from commanalyzer.vcg.reading.line_kernels import cut_overlaps

    stores, labels = table
    is_cut, pieces = np.zeros(len(stores), np.bool_), np.empty((2 * len(stores), 4), np.int64)
    found = cut_overlaps(line, by_line, segment, counts, stores, labels, is_merged, is_cut, pieces)
    pieces = pieces[:found]
    pieces = pieces[np.lexsort((pieces[:, 1], pieces[:, 0]))]
    first_piece = np.searchsorted(pieces[:, 0], np.arange(len(stores) + 1))
    return is_cut, first_piece, pieces
