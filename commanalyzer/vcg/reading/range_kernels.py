"""Compiled loops over the ranges of a trace.

Tables are those of :mod:`commanalyzer.vcg.reading.trace_kernels`, and::

    stores  [s, 0] site     [s, 1] sink      [s, 2] its stride     [s, 3] first label
    labels  [l, 0] label in the first round  [l, 1] stride

A store's labels end where those of the next one begin.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.abi.trace_layout import ROW_FILL, ROW_RANGE, ROW_REGISTER, ROW_TEMPORARY, ROW_UPDATE
from commanalyzer.foundation.compiled import compiled, compiled_in_place, compiled_inline
from commanalyzer.vcg.reading.trace_kernels import (
    COUNT,
    FLAGS,
    LOW,
    NONE,
    hash_of_row,
    mixed,
    moved,
    next_round,
    plain_label,
    rounds_of,
    units_of,
    wide,
    write_group,
)

OTHERS = ROW_FILL | ROW_REGISTER | ROW_TEMPORARY | ROW_UPDATE  # rows that no store of a range makes
_STORES = 48  # bits of the number of stores in the first word of a segment


@compiled_in_place
def count_segments(heads: Any, units: Any) -> Any:
    """Numbers of segments of ranges, of their stores and of their labels."""
    segments, stores, labels, unit = 0, 0, 0, 0
    for row in range(len(heads)):
        at = unit
        unit += units_of(heads[row, 1])
        while (heads[row, 1] >> FLAGS) & ROW_RANGE and at < unit:
            outer = _outer_loops(units, at)
            times = rounds_of(units, at, outer)
            at += 2 * outer
            segments += times
            number = wide(units, at) >> _STORES
            at += 2
            stores += number * times
            for _ in range(number):
                count = wide(units, at) >> 32
                labels += count * times
                at += 2 * (3 + 2 * count + outer * (1 + count))
    return segments, stores, labels


@compiled_in_place
def _outer_loops(units: Any, at: Any) -> Any:
    """Number of the loops around the segment at ``at``."""
    outer = 0
    while wide(units, at + 2 * outer) >> _STORES == 0:
        outer += 1
    return outer


@compiled
def read_segments(
    heads: Any,
    units: Any,
    of_row: Any,
    row_of: Any,
    rounds: Any,
    first_store: Any,
    stores: Any,
    labels: Any,
) -> None:
    """Fill the columns of a :class:`~commanalyzer.vcg.reading.ranges.RangeTable`."""
    n, s, first, unit = 0, 0, 0, 0
    for row in range(len(heads)):
        at = unit
        unit += units_of(heads[row, 1])
        is_range = (heads[row, 1] >> FLAGS) & ROW_RANGE
        of_row[row] = n if is_range else NONE
        while is_range and at < unit:
            loops = at
            outer = _outer_loops(units, at)
            round_ = np.zeros(outer, np.int64)
            for _ in range(rounds_of(units, loops, outer)):
                at = loops + 2 * outer
                head = wide(units, at)
                row_of[n], rounds[n] = row, head & ((1 << _STORES) - 1)
                at += 2
                for _ in range(head >> _STORES):
                    count = wide(units, at) >> 32
                    strides, way = at + 6 + 4 * count, 2 * (1 + count)
                    stores[s, 0], stores[s, 3] = wide(units, at) & LOW, first
                    stores[s, 1] = wide(units, at + 2) + moved(units, strides, way, round_)
                    stores[s, 2] = wide(units, at + 4)
                    at += 6
                    for k in range(count):
                        added = moved(units, strides + 2 + 2 * k, way, round_)
                        labels[first + k, 0] = wide(units, at + 2 * k) + added
                        labels[first + k, 1] = wide(units, at + 2 * (count + k))
                    at = strides + outer * way
                    first += count
                    s += 1
                first_store[n + 1], n = s, n + 1
                next_round(units, loops, round_)


@compiled_inline
def end_of(s: Any, stores: Any, labels: Any) -> Any:
    """Where the labels of a store end."""
    return stores[s + 1, 3] if s + 1 < len(stores) else len(labels)


@compiled_in_place
def _hash_of_round(s: Any, i: Any, stores: Any, labels: Any) -> Any:
    """Hash of the row of a store in round ``i``, that of an equal plain row."""
    hash_ = mixed(stores[s, 0], stores[s, 1] + i * stores[s, 2])
    for k in range(stores[s, 3], end_of(s, stores, labels)):
        hash_ = mixed(hash_, labels[k, 0] + i * labels[k, 1])
    return hash_


@compiled_in_place
def hash_merged(heads: Any, cells: Any, units: Any, table: Any, kept: Any, hash_: Any, count: Any) -> Any:
    """Write hash and count of each row of a merged site, in order; return how many there are.

    ``table`` are the columns of a RangeTable up to ``is_merged``.
    """
    of_row, row_of, rounds, first_store, stores, labels, is_merged = table
    place, unit = 0, 0
    for row in range(len(heads)):
        n = of_row[row]
        while n >= 0 and row_of[n] == row:
            for i in range(rounds[n]):
                for s in range(first_store[n], first_store[n + 1]):
                    if is_merged[stores[s, 0]]:
                        hash_[place], count[place] = _hash_of_round(s, i, stores, labels), cells[row, 1]
                        place += 1
            n += 1
        if n < 0 and is_merged[heads[row, 1] & LOW] and not (heads[row, 1] >> FLAGS) & OTHERS:
            hash_[place], count[place] = hash_of_row(heads, row, units, unit, kept), cells[row, 1]
            place += 1
        unit += units_of(heads[row, 1])
    return place


@compiled_in_place
def chunk_end(heads: Any, groups: Any, table: Any, begin: Any, most_labels: Any, most_rows: Any) -> Any:
    """Where a chunk ends: row, segment, round and group behind it; labels and rows in it.

    ``begin`` is where it begins (row, next segment, round in it, group), ``table`` as in :func:`write_rows`.
    """
    of_row, row_of, rounds, first_store, stores, range_labels, _, _ = table
    row, n, turn, group = begin
    labels, rows = 0, 0
    while row < len(heads) and rows < most_rows:
        if of_row[row] >= 0:
            first, last = first_store[n], first_store[n + 1]
            width = end_of(last - 1, stores, range_labels) - stores[first, 3]
            fitting = min((most_rows - rows) // (last - first), (most_labels - labels) // max(width, 1))
            if fitting <= 0 and rows > 0:
                break
            taken = min(rounds[n] - turn, max(fitting, 1))
            rows += taken * (last - first)
            labels += taken * width
            turn += taken
            if turn < rounds[n]:
                break
            n, turn = n + 1, 0
            if row_of[n] == row:
                continue
        else:
            total = 0 if (heads[row, 1] >> FLAGS) & ROW_FILL else (heads[row, 1] >> 32) & COUNT
            g = group
            while g < len(groups) and groups[g, 0] == row:
                total += groups[g, 2] * (groups[g, 3] & LOW)
                g += 1
            if labels + total > most_labels and rows > 0:
                break
            labels += total
            rows += 1
            group = g
        row += 1
    return row, n, turn, group, labels, rows


@compiled_in_place
def _write_round(
    n: Any, i: Any, row: Any, count: Any, table: Any, place: Any, out: Any, rows: Any, labels: Any
) -> Any:
    """Write the rows of round ``i`` of a range; return the next place, and the rows and labels written."""
    _, _, _, first_store, stores, range_labels, is_merged, merged = table
    head, cell, origin, label, end, filled = out
    for s in range(first_store[n], first_store[n + 1]):
        times = count
        if is_merged[stores[s, 0]]:
            times = merged[place]
            place += 1
        if times < 0:
            continue
        first, last = stores[s, 3], end_of(s, stores, range_labels)
        head[rows, 0], head[rows, 1] = stores[s, 1] + i * stores[s, 2], stores[s, 0] | (last - first) << 32
        cell[rows, 0], cell[rows, 1], origin[rows], filled[rows] = 0, times, row, 0
        for k in range(first, last):
            label[labels] = range_labels[k, 0] + i * range_labels[k, 1]
            labels += 1
        end[rows] = labels
        rows += 1
    return place, rows, labels


@compiled_inline
def _write_plain(
    heads: Any, cells: Any, units: Any, row: Any, unit: Any, times: Any, out: Any, rows: Any, labels: Any
) -> Any:
    """Write a row that is no range, without its groups; return the labels written so far."""
    head, cell, origin, label, end, filled = out
    head[rows, 0], head[rows, 1], origin[rows], filled[rows] = heads[row, 0], heads[row, 1], row, 0
    cell[rows, 0], cell[rows, 1] = cells[row, 0], times
    if (heads[row, 1] >> FLAGS) & ROW_FILL:
        filled[rows] = wide(units, unit)
    else:
        for k in range((heads[row, 1] >> 32) & COUNT):
            label[labels] = plain_label(heads, row, units, unit, k)
            labels += 1
    end[rows] = labels
    return labels


@compiled_in_place
def write_rows(trace: Any, table: Any, begin: Any, behind: Any, out: Any) -> Any:
    """Write a chunk's rows, each of a merged site where it comes first.

    Args:
        trace: Its columns: heads, cells, units, groups, runs, listed.
        table: Columns of a :class:`~commanalyzer.vcg.reading.ranges.RangeTable`.
        begin: Where the chunk begins: row, next segment, round in it, group, unit, place in merged sites.
        behind: Row, segment and round behind it.
        out: Of a :class:`.tables.Chunk`: heads, cells, origin, label, end, filled.

    Returns: Numbers of rows and labels; unit and place behind the chunk.
    """
    heads, cells, units, groups, runs, listed = trace
    of_row, row_of, rounds, _, _, _, is_merged, merged = table
    row, n, turn, group, unit, place = begin
    rows, labels = 0, 0
    while (row, n, turn) != behind:
        if of_row[row] >= 0:
            stop = behind[2] if n == behind[1] else rounds[n]
            for i in range(turn, stop):
                place, rows, labels = _write_round(n, i, row, cells[row, 1], table, place, out, rows, labels)
            if n == behind[1]:
                break
            n, turn = n + 1, 0
            if row_of[n] == row:
                continue
        else:
            times = cells[row, 1]
            if is_merged[heads[row, 1] & LOW] and not (heads[row, 1] >> FLAGS) & OTHERS:
                times = merged[place]
                place += 1
            if times >= 0:
                labels = _write_plain(heads, cells, units, row, unit, times, out, rows, labels)
                while group < len(groups) and groups[group, 0] == row:
                    labels = write_group(groups, group, runs, listed, out[3], labels)
                    group += 1
                out[4][rows] = labels
                rows += 1
        unit += units_of(heads[row, 1])
        row += 1
    return rows, labels, unit, place
