"""Compiled loops over the nests of a trace, see :mod:`commanalyzer.vcg.nests`.

Tables are those of :mod:`commanalyzer.vcg.written_kernels`, contents of nests those of ``comm_shim.h``.
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
from commanalyzer.compiled import compiled
from commanalyzer.vcg.range_kernels import mixed, plain_label, units_of, wide
from commanalyzer.vcg.trace_kernels import COUNT, FLAGS, LOW, NONE
from commanalyzer.vcg.written_kernels import first_place, kept_label, write_head, write_recorded

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
def _hash_of_row(columns: Any, row: Any, unit: Any, group: Any, kept: Any) -> Any:
    """Hash of a recorded row whose units and groups begin at ``unit`` and ``group``."""
    heads, _, units, groups, runs, listed = columns
    is_register = (heads[row, 1] >> FLAGS) & ROW_REGISTER
    hash_ = mixed(heads[row, 1] & LOW, np.int64(NONE) if is_register else heads[row, 0])
    for k in range((heads[row, 1] >> 32) & COUNT):
        hash_ = mixed(hash_, kept_label(plain_label(heads, row, units, unit, k), kept))
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
    units: Any, at: Any, i: Any, count: Any, table: Any, kept: Any, out: Any, ends: Any
) -> None:
    """Write the register value of an entry in round ``i``, unless it is known."""
    groups, runs = out[3], out[4]
    _, _, g, n, _, name = ends
    head, terms = wide(units, at), wide(units, at + 2)
    site, width = head & LOW, (head >> 32) & _LABELS
    hash_ = mixed(mixed(mixed(site, np.int64(NONE)), terms), width)
    for k in range(width):
        place = at + 4 + 6 * k
        first = wide(units, place) + i * wide(units, place + 4)
        runs[n + k, 0], runs[n + k, 1] = first, wide(units, place + 2)
        hash_ = mixed(mixed(hash_, kept_label(first, kept)), runs[n + k, 1])
    if first_place(table, hash_, name, count, kept, out, ends) == ends[0]:
        row = write_head(0, site | ROW_REGISTER << FLAGS, (hash_, count), name, out, ends)
        groups[g, 0], groups[g, 1], groups[g, 2], groups[g, 3] = row, n, terms, width
        ends[2], ends[3] = g + 1, n + width


@compiled
def _write_store(
    units: Any, at: Any, i: Any, results: Any, count: Any, table: Any, kept: Any, out: Any, ends: Any
) -> None:
    """Write the store of an entry in round ``i``, unless it is known."""
    unit, u, name = out[2], ends[1], ends[5]
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
        label = kept_label(label, kept)
        hash_ = mixed(hash_, label)
        unit[u + 2 * k], unit[u + 2 * k + 1] = label & LOW, label >> 32
    if first_place(table, hash_, name, count, kept, out, ends) == ends[0]:
        write_head(sink, site | labels << 32 | ROW_WIDE << FLAGS, (hash_, count), name, out, ends)
        ends[1] = u + 2 * labels


@compiled
def _write_nest(units: Any, unit: Any, count: Any, table: Any, kept: Any, out: Any, ends: Any) -> None:
    """Write all rows of a nest."""
    entries = wide(units, unit) >> _ENTRIES
    results = np.empty(entries, np.int64)
    for i in range(wide(units, unit) & _ROUNDS):
        at, found = unit + 2, 0
        for _ in range(entries):
            if wide(units, at) < 0:
                _write_reduction(units, at, i, count, table, kept, out, ends)
                results[found] = kept[ends[5]]
                found += 1
            else:
                _write_store(units, at, i, results, count, table, kept, out, ends)
            ends[5] += 1
            at = _behind_entry(units, at)


@compiled
def write_nests(columns: Any, is_nested: Any, table: Any, kept: Any, out: Any, ends: Any) -> None:
    """Write all rows, those of nests one by one, each where it comes first.

    Args:
        columns: Of the trace.
        is_nested: bool, per site: nests stand for rows of it.
        table: As :func:`~commanalyzer.vcg.written_kernels.first_place` has it, with the next three.
        kept: int64[names].
        out: Columns of the result.
        ends: int64[6].
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
                hash_ = _hash_of_row(columns, row, unit, group, kept)
                at = first_place(table, hash_, row, count, kept, out, ends)
            if at == ends[0]:
                write_recorded(columns, row, unit, group, (hash_, count), out, ends)
        unit += units_of(heads[row, 1])
        while group < len(groups) and groups[group, 0] == row:
            group += 1
