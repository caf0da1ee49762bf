"""Compiled loops over the nests of a trace, see :mod:`commanalyzer.vcg.reading.tables`.

Columns of the trace and of the result are those of :mod:`.trace_kernels`, contents of nests those of
``comm_shim.h``. A row is *called* by its number in the trace; rows that were not recorded are called by the
numbers behind these.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.abi.hooks import REGISTER
from commanalyzer.abi.trace_layout import (
    ROW_FILL,
    ROW_NEST,
    ROW_RANGE,
    ROW_REGISTER,
    ROW_TEMPORARY,
    ROW_UPDATE,
    ROW_WIDE,
)
from commanalyzer.foundation.compiled import compiled, compiled_in_place, compiled_inline
from commanalyzer.vcg.reading.trace_kernels import (
    FLAGS,
    LOW,
    NONE,
    hash_of_row,
    kept_label,
    mixed,
    moved,
    next_round,
    rounds_of,
    units_of,
    wide,
)

_OTHERS = ROW_FILL | ROW_TEMPORARY | ROW_UPDATE | ROW_RANGE | ROW_NEST  # rows that no nest stands for
_NUM_LOOPS = 255  # bits of the first word
_INITIAL = 40  # bit of the number of initial labels of a reduction
_ENTRIES = 48  # bits of the number of entries in the first word
_LABELS = 255
_RESULTS = 40
_TAG = 32  # bits of a hash in the table


@compiled_inline
def _behind_entry(units: Any, at: Any, loops: Any) -> Any:
    """Where the next entry begins."""
    head = wide(units, at)
    labels = (head >> 32) & _LABELS
    if head < 0:
        return at + 2 * (2 + ((head >> _INITIAL) & _LABELS) * (1 + loops) + labels * (2 + loops))
    return at + 2 * (1 + (1 + labels) * (1 + loops))


@compiled
def count_nests(heads: Any, units: Any, is_nested: Any) -> Any:
    """Numbers of nests, of rows, units, groups and runs that they stand for; the largest site of these.

    ``is_nested``: result, bool per site; or empty.
    """
    nests, rows, labels, groups, runs, largest, unit = 0, 0, 0, 0, 0, np.int64(0), 0
    for row in range(len(heads)):
        if (heads[row, 1] >> FLAGS) & ROW_NEST:
            loops = wide(units, unit) & _NUM_LOOPS
            rounds, at = rounds_of(units, unit + 2, loops), unit + 2 + 2 * loops
            nests += 1
            for _ in range(wide(units, unit) >> _ENTRIES):
                head = wide(units, at)
                width = (head >> 32) & _LABELS
                largest = max(largest, head & LOW)
                if len(is_nested):
                    is_nested[head & LOW] = True
                rows += rounds
                if head < 0:
                    groups += rounds
                    runs += rounds * width
                    labels += rounds * ((head >> _INITIAL) & _LABELS)
                else:
                    labels += rounds * width
                at = _behind_entry(units, at, loops)
        unit += units_of(heads[row, 1])
    return nests, rows, 2 * labels, groups, runs, largest


@compiled_inline
def first_place(table: Any, hash_: Any, name: Any, count: Any, kept: Any, out: Any, ends: Any) -> Any:
    """Where a row is: at the end if it is the first of its kind, else where that is, and counted there.

    Args:
        table: int64[2^k], all 0 at first: upper half of the hash of a row, and where it is written + 1.
        hash_: Of the row; who writes it puts it in its cell.
        name: What the row is called.
        count: How often it happened.
        kept: Per name of a row the name of the first row that equals it.
        out: Columns of the result, and names.
        ends: int64[5], how many rows, units, groups and runs are written; the next name.
    """
    cells, names = out[1], out[6]
    slot = hash_ & (len(table) - 1)
    while table[slot] != 0:
        place = (table[slot] & LOW) - 1
        if table[slot] >> _TAG == hash_ >> _TAG and cells[place, 0] == hash_:
            cells[place, 1] += count
            kept[name] = names[place]
            return place
        slot = (slot + 1) & (len(table) - 1)
    table[slot] = (hash_ >> _TAG) << _TAG | (ends[0] + 1)
    return ends[0]


@compiled_inline
def write_head(sink: Any, word: Any, cell: Any, name: Any, out: Any, ends: Any) -> Any:
    """Write what a row is, its hash, its count and its name; return its place."""
    row = ends[0]
    out[0][row, 0], out[0][row, 1] = sink, word
    out[1][row, 0], out[1][row, 1], out[6][row] = cell[0], cell[1], name
    ends[0] = row + 1
    return row


@compiled_in_place
def _write_recorded(columns: Any, row: Any, unit: Any, group: Any, cell: Any, out: Any, ends: Any) -> None:
    """Write a recorded row with its units and groups; its runs and listed labels stay where they are."""
    heads, _, units, groups, _, _ = columns
    at = write_head(heads[row, 0], heads[row, 1], cell, row, out, ends)
    u, g = ends[1], ends[2]
    for k in range(units_of(heads[row, 1])):
        out[2][u + k] = units[unit + k]
    while group < len(groups) and groups[group, 0] == row:
        out[3][g, 0] = at
        for k in range(1, 4):
            out[3][g, k] = groups[group, k]
        group, g = group + 1, g + 1
    ends[1], ends[2] = u + units_of(heads[row, 1]), g


@compiled
def _hash_of_whole(columns: Any, row: Any, unit: Any, group: Any, kept: Any) -> Any:
    """Hash of a recorded row whose units and groups begin at ``unit`` and ``group``."""
    heads, _, units, groups, runs, listed = columns
    hash_ = hash_of_row(heads, row, units, unit, kept)
    while group < len(groups) and groups[group, 0] == row:
        first, width = groups[group, 1], groups[group, 3] & LOW
        hash_ = mixed(mixed(hash_, groups[group, 2]), groups[group, 3])
        if groups[group, 3] >> 32:
            for k in range(first, first + groups[group, 2] * width):
                hash_ = mixed(hash_, kept_label(listed[k], kept))
        else:
            for k in range(first, first + width):
                hash_ = mixed(mixed(hash_, kept_label(runs[k, 0], kept)), runs[k, 1])
        group += 1
    return hash_


@compiled
def _write_reduction(
    units: Any, at: Any, round_: Any, count: Any, table: Any, kept: Any, out: Any, ends: Any
) -> None:
    """Write the register value of an entry in a round, unless it is known."""
    unit, groups, runs = out[2], out[3], out[4]
    _, u, g, n, name = ends
    head, terms = wide(units, at), wide(units, at + 2)
    site, width, initial = head & LOW, (head >> 32) & _LABELS, (head >> _INITIAL) & _LABELS
    hash_, place = mixed(site, np.int64(NONE)), at + 4
    for k in range(initial):
        label = kept_label(wide(units, place) + moved(units, place + 2, 2, round_), kept)
        hash_ = mixed(hash_, label)
        unit[u + 2 * k], unit[u + 2 * k + 1] = label & LOW, label >> 32
        place += 2 + 2 * len(round_)
    hash_ = mixed(mixed(hash_, terms), width)
    for k in range(width):
        first = wide(units, place) + moved(units, place + 4, 2, round_)
        runs[n + k, 0], runs[n + k, 1] = first, wide(units, place + 2)
        hash_ = mixed(mixed(hash_, kept_label(first, kept)), runs[n + k, 1])
        place += 4 + 2 * len(round_)
    if first_place(table, hash_, name, count, kept, out, ends) == ends[0]:
        flags = (ROW_REGISTER | (ROW_WIDE if initial else 0)) << FLAGS
        row = write_head(0, site | initial << 32 | flags, (hash_, count), name, out, ends)
        groups[g, 0], groups[g, 1], groups[g, 2], groups[g, 3] = row, n, terms, width
        ends[1], ends[2], ends[3] = u + 2 * initial, g + 1, n + width


@compiled
def _write_store(
    units: Any, at: Any, round_: Any, results: Any, count: Any, table: Any, kept: Any, out: Any, ends: Any
) -> None:
    """Write the store of an entry in a round, unless it is known."""
    unit, u, name = out[2], ends[1], ends[4]
    head, size = wide(units, at), 2 + 2 * len(round_)
    site, labels = head & LOW, (head >> 32) & _LABELS
    place = at + 2
    sink = wide(units, place) + moved(units, place + 2, 2, round_)
    hash_ = mixed(site, sink)
    for k in range(labels):
        place += size
        label = wide(units, place)
        if (head >> (_RESULTS + k)) & 1:
            label = REGISTER | results[label]
        else:
            label += moved(units, place + 2, 2, round_)
        label = kept_label(label, kept)
        hash_ = mixed(hash_, label)
        unit[u + 2 * k], unit[u + 2 * k + 1] = label & LOW, label >> 32
    if first_place(table, hash_, name, count, kept, out, ends) == ends[0]:
        write_head(sink, site | labels << 32 | ROW_WIDE << FLAGS, (hash_, count), name, out, ends)
        ends[1] = u + 2 * labels


@compiled
def _write_nest(units: Any, unit: Any, count: Any, table: Any, kept: Any, out: Any, ends: Any) -> None:
    """Write all rows of a nest."""
    entries, loops = wide(units, unit) >> _ENTRIES, wide(units, unit) & _NUM_LOOPS
    results, round_ = np.empty(entries, np.int64), np.zeros(loops, np.int64)
    for _ in range(rounds_of(units, unit + 2, loops)):
        at, found = unit + 2 + 2 * loops, 0
        for _ in range(entries):
            if wide(units, at) < 0:
                _write_reduction(units, at, round_, count, table, kept, out, ends)
                results[found] = kept[ends[4]]
                found += 1
            else:
                _write_store(units, at, round_, results, count, table, kept, out, ends)
            ends[4] += 1
            at = _behind_entry(units, at, loops)
        next_round(units, unit + 2, round_)


@compiled
def write_nests(columns: Any, is_nested: Any, table: Any, kept: Any, out: Any, ends: Any) -> None:
    """Write all rows, those of nests one by one, each where it comes first.

    Args:
        columns: Of the trace.
        is_nested: bool, per site: nests stand for rows of it.
        table: As :func:`first_place` has it, with the next three.
        kept: int64[names].
        out: Columns of the result.
        ends: int64[5].
    """
    heads, cells, units, groups, _, _ = columns
    unit, group = 0, 0
    for row in range(len(heads)):
        flags, count = heads[row, 1] >> FLAGS, cells[row, 1]
        if flags & ROW_NEST:
            _write_nest(units, unit, count, table, kept, out, ends)
        else:
            at, hash_ = ends[0], cells[row, 0]
            if is_nested[heads[row, 1] & LOW] and not flags & _OTHERS:
                hash_ = _hash_of_whole(columns, row, unit, group, kept)
                at = first_place(table, hash_, row, count, kept, out, ends)
            if at == ends[0]:
                _write_recorded(columns, row, unit, group, (hash_, count), out, ends)
        unit += units_of(heads[row, 1])
        while group < len(groups) and groups[group, 0] == row:
            group += 1
