"""Compiled loops over the ranges of a trace.

Tables are those of :mod:`commanalyzer.vcg.reading.trace_kernels`, and::

    stores  [s, 0] site     [s, 1] sink      [s, 2] its stride     [s, 3] first label
    labels  [l, 0] label in the first round  [l, 1] stride

A store's labels end where those of the next one begin.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.abi.trace_layout import (
    ROW_COMPACT,
    ROW_FILL,
    ROW_RANGE,
    ROW_REGISTER,
    ROW_TEMPORARY,
    ROW_UPDATE,
    ROW_WIDE,
)
from commanalyzer.foundation.compiled import compiled, compiled_in_place, compiled_inline
from commanalyzer.vcg.reading.trace_kernels import COUNT, FLAGS, LOW, NONE, expanded, write_group

OTHERS = ROW_FILL | ROW_REGISTER | ROW_TEMPORARY | ROW_UPDATE  # rows that no store of a range makes
_FACTORS = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_FIRST, _SECOND, _THIRD = (np.uint64(factor) for factor in _FACTORS)
_FIRST_SIZE = 1 << 12  # of the table of merged rows, a power of 2
_STORES = 48  # bits of the number of stores in the first word of a segment
_SHIFT, _LAST_SHIFT = np.uint64(29), np.uint64(32)


@compiled_inline
def mixed(hash_: Any, number: Any) -> Any:
    """Hash of what was hashed before and a number."""
    bits = np.uint64(hash_) * _FIRST + np.uint64(number) * _SECOND + _THIRD
    bits = (bits ^ (bits >> _SHIFT)) * _SECOND
    bits = (bits ^ (bits >> _LAST_SHIFT)) * _THIRD
    return np.int64(bits ^ (bits >> _SHIFT))


@compiled_inline
def wide(units: Any, at: Any) -> Any:
    """The label of two units."""
    return (np.int64(units[at]) & LOW) | (np.int64(units[at + 1]) << 32)


@compiled_inline
def units_of(head: Any) -> Any:
    """Units of a row."""
    count = (head >> 32) & COUNT
    return 2 * count if (head >> FLAGS) & ROW_WIDE else count


@compiled_in_place
def count_segments(heads: Any, units: Any) -> Any:
    """Numbers of segments of ranges, of their stores and of their labels."""
    segments, stores, labels, unit = 0, 0, 0, 0
    for row in range(len(heads)):
        at = unit
        unit += units_of(heads[row, 1])
        while (heads[row, 1] >> FLAGS) & ROW_RANGE and at < unit:
            outer, times = _outer_loops(units, at)
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
    """Number of the loops around the segment at ``at``, and their rounds, multiplied."""
    outer, times, rounds = 0, 1, wide(units, at)
    while rounds >> _STORES == 0:
        outer, times = outer + 1, times * rounds
        rounds = wide(units, at + 2 * outer)
    return outer, times


@compiled_in_place
def _moved_by(units: Any, first: Any, outer: Any, strides: Any, turn: Any) -> Any:
    """What a number has added in a turn of the ``outer`` loops around, whose rounds are from ``first`` on.

    ``strides``: where that in the outermost loop is, and units to the next one. The last loop turns fastest.
    """
    moved, at = 0, strides[0] + (outer - 1) * strides[1]
    for loop in range(outer - 1, -1, -1):
        rounds = wide(units, first + 2 * loop)
        moved += turn % rounds * wide(units, at)
        turn //= rounds
        at -= strides[1]
    return moved


@compiled_in_place
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
            outer, times = _outer_loops(units, at)
            for turn in range(times):
                at = loops + 2 * outer
                head = wide(units, at)
                row_of[n], rounds[n] = row, head & ((1 << _STORES) - 1)
                at += 2
                for _ in range(head >> _STORES):
                    count = wide(units, at) >> 32
                    strides, way = at + 6 + 4 * count, 2 * (1 + count)
                    stores[s, 0], stores[s, 3] = wide(units, at) & LOW, first
                    moved = _moved_by(units, loops, outer, (strides, way), turn)
                    stores[s, 1], stores[s, 2] = wide(units, at + 2) + moved, wide(units, at + 4)
                    at += 6
                    for k in range(count):
                        moved = _moved_by(units, loops, outer, (strides + 2 + 2 * k, way), turn)
                        labels[first + k, 0] = wide(units, at + 2 * k) + moved
                        labels[first + k, 1] = wide(units, at + 2 * (count + k))
                    at = strides + outer * way
                    first += count
                    s += 1
                first_store[n + 1], n = s, n + 1


@compiled_in_place
def largest_site(heads: Any, stores: Any) -> Any:
    """Greatest number of a site."""
    largest = np.int64(0)
    for row in range(len(heads)):
        largest = max(largest, heads[row, 1] & LOW)
    for s in range(len(stores)):
        largest = max(largest, stores[s, 0])
    return largest


@compiled_inline
def end_of(s: Any, stores: Any, labels: Any) -> Any:
    """Where the labels of a store end."""
    return stores[s + 1, 3] if s + 1 < len(stores) else len(labels)


@compiled_inline
def plain_label(heads: Any, row: Any, units: Any, unit: Any, k: Any) -> Any:
    """Label ``k`` of a plain row whose units begin at ``unit``."""
    if (heads[row, 1] >> FLAGS) & ROW_WIDE:
        return wide(units, unit + 2 * k)
    if (heads[row, 1] >> FLAGS) & ROW_COMPACT:
        return expanded(units[unit + k])
    return heads[row, 0] + np.int64(units[unit + k])


@compiled_in_place
def _slot_of(merged: Any, hash_: Any) -> Any:
    """Where a row is in the table of merged ones, or would be."""
    mask = len(merged) - 1
    slot = hash_ & mask
    while merged[slot, 0] != 0 and merged[slot, 0] != hash_:
        slot = (slot + 1) & mask
    return slot


@compiled_in_place
def hash_of_round(s: Any, i: Any, stores: Any, labels: Any) -> Any:
    """Hash of the row of a store in round ``i``."""
    hash_ = mixed(stores[s, 0], stores[s, 1] + i * stores[s, 2])
    for k in range(stores[s, 3], end_of(s, stores, labels)):
        hash_ = mixed(hash_, labels[k, 0] + i * labels[k, 1])
    return hash_ | 1


@compiled_in_place
def hash_of_row(heads: Any, row: Any, units: Any, unit: Any) -> Any:
    """The same hash of a plain row whose units begin at ``unit``."""
    hash_ = mixed(heads[row, 1] & LOW, heads[row, 0])
    for k in range((heads[row, 1] >> 32) & COUNT):
        hash_ = mixed(hash_, plain_label(heads, row, units, unit, k))
    return hash_ | 1


@compiled_in_place
def _add(merged: Any, hash_: Any, count: Any, place: Any) -> Any:
    """Count a row of a merged site; return 1 if it is new."""
    slot = _slot_of(merged, hash_)
    merged[slot, 1] += count
    if merged[slot, 0] != 0:
        return 0
    merged[slot, 0], merged[slot, 2] = hash_, place
    return 1


@compiled
def _with_room(merged: Any, used: Any) -> Any:
    """The table, or a larger one when half of it is used."""
    if 2 * used < len(merged):
        return merged
    larger = np.zeros((4 * len(merged), 3), np.int64)
    for old in range(len(merged)):
        if merged[old, 0] != 0:
            larger[_slot_of(larger, merged[old, 0])] = merged[old]
    return larger


@compiled
def merge_rows(heads: Any, cells: Any, units: Any, table: Any) -> Any:
    """The table of merged rows; ``table`` are the other columns of a RangeTable, without pieces."""
    of_row, row_of, rounds, first_store, stores, labels, is_merged = table
    merged = np.zeros((_FIRST_SIZE, 3), np.int64)
    place, unit, used = 0, 0, 0
    for row in range(len(heads)):
        n = of_row[row]
        while n >= 0 and row_of[n] == row:
            for i in range(rounds[n]):
                for s in range(first_store[n], first_store[n + 1]):
                    if is_merged[stores[s, 0]]:
                        merged = _with_room(merged, used)
                        used += _add(merged, hash_of_round(s, i, stores, labels), cells[row, 1], place)
                        place += 1
            n += 1
        if n < 0 and is_merged[heads[row, 1] & LOW] and not (heads[row, 1] >> FLAGS) & OTHERS:
            merged = _with_room(merged, used)
            used += _add(merged, hash_of_row(heads, row, units, unit), cells[row, 1], place)
            place += 1
        unit += units_of(heads[row, 1])
    return merged


@compiled_in_place
def chunk_end(heads: Any, groups: Any, table: Any, begin: Any, most_labels: Any, most_rows: Any) -> Any:
    """Where a chunk ends: row, segment, round and group behind it; labels and rows in it.

    ``begin`` is where it begins (row, next segment, round in it, group), ``table`` as in :func:`write_rows`.
    """
    of_row, row_of, rounds, first_store, stores, range_labels, _, _, _, _, _ = table
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
def _count_in(pieces: Any, low: Any, high: Any, i: Any) -> Any:
    """Count of the piece, among those from ``low`` to ``high``, that round ``i`` is in; -1 for none."""
    first = low
    while low < high:  # the last piece that begins at or before it
        middle = (low + high) >> 1
        if pieces[middle, 1] <= i:
            low = middle + 1
        else:
            high = middle
    return pieces[low - 1, 3] if low > first and i < pieces[low - 1, 2] else NONE


@compiled_in_place
def _write_round(
    n: Any, i: Any, row: Any, count: Any, table: Any, place: Any, out: Any, rows: Any, labels: Any
) -> Any:
    """Write the rows of round ``i`` of a range; return the next place, and the rows and labels written."""
    _, _, _, first_store, stores, range_labels, is_merged, merged, is_cut, first_piece, pieces = table
    head, cell, origin, label, end, filled = out
    for s in range(first_store[n], first_store[n + 1]):
        times = count
        if is_merged[stores[s, 0]]:
            slot = _slot_of(merged, hash_of_round(s, i, stores, range_labels))
            place += 1
            if merged[slot, 2] != place - 1:
                continue
            times = merged[slot, 1]
        elif is_cut[s]:
            times = _count_in(pieces, first_piece[s], first_piece[s + 1], i)
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
    of_row, row_of, rounds, _, _, _, is_merged, merged, _, _, _ = table
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
            times, is_first = cells[row, 1], True
            if is_merged[heads[row, 1] & LOW] and not (heads[row, 1] >> FLAGS) & OTHERS:
                slot = _slot_of(merged, hash_of_row(heads, row, units, unit))
                times, is_first = merged[slot, 1], merged[slot, 2] == place
                place += 1
            if is_first:
                labels = _write_plain(heads, cells, units, row, unit, times, out, rows, labels)
                while group < len(groups) and groups[group, 0] == row:
                    labels = write_group(groups, group, runs, listed, out[3], labels)
                    group += 1
                out[4][rows] = labels
                rows += 1
        unit += units_of(heads[row, 1])
        row += 1
    return rows, labels, unit, place
