"""Compiled loops over the nests of a trace, see :mod:`commanalyzer.vcg.nests`.

Tables are those of :mod:`commanalyzer.vcg.trace_kernels`, contents of nests those of ``comm_shim.h``. A row
is *called* by its number in the trace; rows that nests stand for are called by the numbers behind these.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.abi.hooks import NOTHING, REGISTER, WORD_MASK
from commanalyzer.abi.trace_layout import (
    ROW_FILL,
    ROW_NEST,
    ROW_RANGE,
    ROW_REGISTER,
    ROW_TEMPORARY,
    ROW_UPDATE,
    ROW_WIDE,
)
from commanalyzer.compiled import compiled
from commanalyzer.vcg.range_kernels import mixed, plain_label, units_of, wide
from commanalyzer.vcg.trace_kernels import COUNT, FLAGS, LOW, NONE

_OTHERS = ROW_FILL | ROW_TEMPORARY | ROW_UPDATE | ROW_RANGE | ROW_NEST  # rows that no nest stands for
_ROUNDS = (1 << 48) - 1
_ENTRIES = 48  # bits of the number of entries in the first word
_LABELS = 255
_RESULTS = 40


@compiled
def has_nests(heads: Any) -> Any:
    """Whether any row is a nest."""
    row = 0
    while row < len(heads) and not (heads[row, 1] >> FLAGS) & ROW_NEST:
        row += 1
    return row < len(heads)


@compiled
def _behind_entry(units: Any, at: Any) -> Any:
    """Where the next entry begins."""
    head = wide(units, at)
    labels = (head >> 32) & _LABELS
    return at + 2 * (2 + 3 * labels if head < 0 else 3 + 2 * labels)


@compiled
def count_nests(heads: Any, units: Any, is_nested: Any) -> Any:
    """Numbers of rows, units, groups and runs that nests stand for; mark their sites."""
    rows, labels, groups, runs, unit = 0, 0, 0, 0, 0
    for row in range(len(heads)):
        if (heads[row, 1] >> FLAGS) & ROW_NEST:
            rounds = wide(units, unit) & _ROUNDS
            at = unit + 2
            for _ in range(wide(units, unit) >> _ENTRIES):
                head = wide(units, at)
                width = (head >> 32) & _LABELS
                is_nested[head & LOW] = True
                rows += rounds
                if head < 0:
                    groups += rounds
                    runs += rounds * width
                else:
                    labels += rounds * width
                at = _behind_entry(units, at)
        unit += units_of(heads[row, 1])
    return rows, 2 * labels, groups, runs


@compiled
def largest_site(heads: Any, units: Any) -> Any:
    """Greatest number of a site."""
    largest, unit = np.int64(0), 0
    for row in range(len(heads)):
        largest = max(largest, heads[row, 1] & LOW)
        if (heads[row, 1] >> FLAGS) & ROW_NEST:
            at = unit + 2
            for _ in range(wide(units, unit) >> _ENTRIES):
                largest = max(largest, wide(units, at) & LOW)
                at = _behind_entry(units, at)
        unit += units_of(heads[row, 1])
    return largest


@compiled
def _kept_label(label: Any, kept: Any) -> Any:
    """The label by the row that is kept of equal ones."""
    if label & REGISTER and label & NOTHING != NOTHING:
        return (label & ~WORD_MASK) | kept[label & WORD_MASK]
    return label


@compiled
def _hash_of_row(
    heads: Any, row: Any, units: Any, unit: Any, groups: Any, group: Any, runs: Any, listed: Any, kept: Any
) -> Any:
    """Hash of a recorded row whose units and groups begin at ``unit`` and ``group``."""
    is_register = (heads[row, 1] >> FLAGS) & ROW_REGISTER
    hash_ = mixed(heads[row, 1] & LOW, np.int64(NONE) if is_register else heads[row, 0])
    for k in range((heads[row, 1] >> 32) & COUNT):
        hash_ = mixed(hash_, _kept_label(plain_label(heads, row, units, unit, k), kept))
    while group < len(groups) and groups[group, 0] == row:
        first, width = groups[group, 1], groups[group, 3] & LOW
        hash_ = mixed(mixed(hash_, groups[group, 2]), groups[group, 3])
        if groups[group, 3] >> 32:
            for k in range(first, first + groups[group, 2] * width):
                hash_ = mixed(hash_, _kept_label(listed[k], kept))
        else:
            for k in range(first, first + width):
                hash_ = mixed(mixed(hash_, _kept_label(runs[k, 0], kept)), runs[k, 1])
        group += 1
    return hash_ | 1


@compiled
def _place(table: Any, hash_: Any) -> Any:
    """Where a row is in the table, or would be."""
    slot = hash_ & (len(table) - 1)
    while table[slot, 0] != 0 and table[slot, 0] != hash_:
        slot = (slot + 1) & (len(table) - 1)
    return slot


@compiled
def _is_new(table: Any, hash_: Any, name: Any, count: Any, kept: Any, at: Any, cells: Any) -> Any:
    """Whether a row that would be written at place ``at`` is the first of its kind; else count it there."""
    slot = _place(table, hash_)
    if table[slot, 0] == 0:
        table[slot, 0], table[slot, 1], table[slot, 2] = hash_, at, name
        return True
    cells[table[slot, 1], 1] += count
    kept[name] = table[slot, 2]
    return False


@compiled
def _write_reduction(
    units: Any, at: Any, i: Any, name: Any, count: Any, table: Any, kept: Any, out: Any, ends: Any
) -> None:
    """Write the register value of an entry in round ``i``, unless it is known."""
    heads, cells, _, groups, runs, names = out
    rows, _, g, n = ends
    head, terms = wide(units, at), wide(units, at + 2)
    site, width = head & LOW, (head >> 32) & _LABELS
    hash_ = mixed(mixed(mixed(site, np.int64(NONE)), terms), width)
    for k in range(width):
        place = at + 4 + 6 * k
        first = wide(units, place) + i * wide(units, place + 4)
        runs[n + k, 0], runs[n + k, 1] = first, wide(units, place + 2)
        hash_ = mixed(mixed(hash_, _kept_label(first, kept)), runs[n + k, 1])
    if not _is_new(table, hash_ | 1, name, count, kept, rows, cells):
        return
    heads[rows, 0], heads[rows, 1] = 0, site | ROW_REGISTER << FLAGS
    cells[rows, 0], cells[rows, 1], names[rows] = 0, count, name
    groups[g, 0], groups[g, 1], groups[g, 2], groups[g, 3] = rows, n, terms, width
    ends[0], ends[2], ends[3] = rows + 1, g + 1, n + width


@compiled
def _write_store(
    units: Any,
    at: Any,
    i: Any,
    results: Any,
    name: Any,
    count: Any,
    table: Any,
    kept: Any,
    out: Any,
    ends: Any,
) -> None:
    """Write the store of an entry in round ``i``, unless it is known."""
    heads, cells, unit, _, _, names = out
    rows, u, _, _ = ends
    head = wide(units, at)
    site, labels = head & LOW, (head >> 32) & _LABELS
    sink = wide(units, at + 2) + i * wide(units, at + 4)
    hash_ = mixed(site, sink)
    for k in range(labels):
        label = wide(units, at + 6 + 2 * k)
        if (head >> (_RESULTS + k)) & 1:
            label = REGISTER | results[label]
        else:
            label += i * wide(units, at + 6 + 2 * (labels + k))
        label = _kept_label(label, kept)
        hash_ = mixed(hash_, label)
        unit[u + 2 * k], unit[u + 2 * k + 1] = label & LOW, label >> 32
    if not _is_new(table, hash_ | 1, name, count, kept, rows, cells):
        return
    heads[rows, 0], heads[rows, 1] = sink, site | labels << 32 | ROW_WIDE << FLAGS
    cells[rows, 0], cells[rows, 1], names[rows] = 0, count, name
    ends[0], ends[1] = rows + 1, u + 2 * labels


@compiled
def _write_nest(
    units: Any, unit: Any, name: Any, count: Any, table: Any, kept: Any, out: Any, ends: Any
) -> Any:
    """Write all rows of a nest, the first of them called ``name``; return the next name."""
    entries = wide(units, unit) >> _ENTRIES
    results = np.empty(entries, np.int64)
    for i in range(wide(units, unit) & _ROUNDS):
        at, found = unit + 2, 0
        for _ in range(entries):
            if wide(units, at) < 0:
                _write_reduction(units, at, i, name, count, table, kept, out, ends)
                results[found] = kept[name]
                found += 1
            else:
                _write_store(units, at, i, results, name, count, table, kept, out, ends)
            name += 1
            at = _behind_entry(units, at)
    return name


@compiled
def _write_recorded(
    heads: Any, cells: Any, units: Any, groups: Any, row: Any, unit: Any, group: Any, out: Any, ends: Any
) -> None:
    """Write a recorded row with its units and groups; its runs stay where they are."""
    rows, u, g, _ = ends
    out[0][rows, 0], out[0][rows, 1] = heads[row, 0], heads[row, 1]
    out[1][rows, 0], out[1][rows, 1], out[5][rows] = cells[row, 0], cells[row, 1], row
    for k in range(units_of(heads[row, 1])):
        out[2][u + k] = units[unit + k]
    while group < len(groups) and groups[group, 0] == row:
        out[3][g, 0] = rows
        for k in range(1, 4):
            out[3][g, k] = groups[group, k]
        group, g = group + 1, g + 1
    ends[0], ends[1], ends[2] = rows + 1, u + units_of(heads[row, 1]), g


@compiled
def write_nests(
    heads: Any,
    cells: Any,
    units: Any,
    groups: Any,
    runs: Any,
    listed: Any,
    is_nested: Any,
    table: Any,
    kept: Any,
    out: Any,
    ends: Any,
) -> None:
    """Write all rows, those of nests one by one, each where it comes first.

    Args:
        heads: Columns of the trace, as the next five.
        cells: int64[R, 2].
        units: int32[U].
        groups: int64[G, 4].
        runs: int64[N, 2].
        listed: int64[L].
        is_nested: bool, per site: nests stand for rows of it.
        table: int64[2^k, 3], all 0: hash of a row, where it is written, what it is called.
        kept: int64, per name of a row: the name of the first row that equals it; at first its own.
        out: Columns of the result: heads, cells, units, groups, runs with those of the trace first, names.
        ends: int64[4], how many rows, units, groups and runs are written.
    """
    unit, group, name = 0, 0, len(heads)
    for row in range(len(heads)):
        flags, is_first = heads[row, 1] >> FLAGS, True
        if flags & ROW_NEST:
            name = _write_nest(units, unit, name, cells[row, 1], table, kept, out, ends)
            is_first = False
        elif is_nested[heads[row, 1] & LOW] and not flags & _OTHERS:
            hash_ = _hash_of_row(heads, row, units, unit, groups, group, runs, listed, kept)
            is_first = _is_new(table, hash_, row, cells[row, 1], kept, ends[0], out[1])
        if is_first:
            _write_recorded(heads, cells, units, groups, row, unit, group, out, ends)
        unit += units_of(heads[row, 1])
        while group < len(groups) and groups[group, 0] == row:
            group += 1
