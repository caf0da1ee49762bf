"""Compiled loops over the renamings of a trace, see :mod:`commanalyzer.vcg.repetitions.renamings`.

Tables are those of :mod:`.written_kernels` and :mod:`.version_kernels`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.abi.hooks import CONTROL, REGISTER, WORD_MASK
from commanalyzer.abi.trace_layout import (
    COMPACT_BITS,
    COMPACT_FIRST,
    ROW_COMPACT,
    ROW_FILL,
    ROW_NEST,
    ROW_RANGE,
    ROW_REGISTER,
    ROW_UPDATE,
    ROW_WIDE,
    SHIFTS_SHARED,
)
from commanalyzer.foundation.compiled import compiled_in_place, compiled_inline
from commanalyzer.vcg.reading.range_kernels import mixed
from commanalyzer.vcg.reading.trace_kernels import FLAGS, LOW, NONE
from commanalyzer.vcg.repetitions.version_kernels import DEFINING, read_row
from commanalyzer.vcg.repetitions.written_kernels import first_place, kept_label, write_head, write_recorded

_OTHERS = ROW_FILL | ROW_UPDATE | ROW_RANGE | ROW_NEST  # rows that are never renamed
_ROLES = 3 * CONTROL


@compiled_inline
def _hash_of(head: Any, sink: Any, label: Any, width: Any, count: Any, kept: Any) -> Any:
    """Hash of a row: what it defines, and its labels by the rows that are kept."""
    defining = (head >> FLAGS) & DEFINING
    hash_ = mixed(mixed(head & LOW, NONE if defining & ROW_REGISTER else sink), defining)
    for k in range(count):
        label[k] = kept_label(label[k], kept)
        hash_ = mixed(mixed(hash_, label[k]), np.int64(width[k]))
    return hash_


@compiled_inline
def _compact(label: Any) -> Any:
    """The unit of a label; -1 if it needs two."""
    value = label & ~(REGISTER | _ROLES)
    if not label & REGISTER:
        value -= COMPACT_FIRST
    if value < 0 or value >> COMPACT_BITS:
        return NONE
    return value | (label & _ROLES) // CONTROL << COMPACT_BITS | (label & REGISTER != 0) << 31


@compiled_inline
def _write_plain(label: Any, count: Any, units: Any, unit: Any) -> Any:
    """Write labels as units; return the flag for the way in which that is done, and the end."""
    for k in range(count):
        found = _compact(label[k])
        if found < 0:
            break
        units[unit + k] = found
    else:
        return ROW_COMPACT, unit + count
    for k in range(count):
        units[unit + 2 * k], units[unit + 2 * k + 1] = label[k] & LOW, label[k] >> 32
    return ROW_WIDE, unit + 2 * count


@compiled_in_place
def _write_terms(label: Any, width: Any, plain: Any, count: Any, row: Any, out: Any, ends: Any) -> None:
    """Write the terms of a row as listed groups."""
    _, _, _, groups, _, listed, _ = out
    g, first, before = ends[2] - 1, ends[4], 0
    for k in range(plain, count):
        if width[k] > 0 and width[k] != before:
            g, before = g + 1, width[k]
            groups[g, 0], groups[g, 1], groups[g, 2] = row, first + k - plain, 0
            groups[g, 3] = before | 1 << 32
        groups[g, 2] += width[k] > 0
        listed[first + k - plain] = label[k]
    ends[2], ends[4] = g + 1, first + count - plain


@compiled_in_place
def _write_row(
    head: Any, sink: Any, label: Any, width: Any, count: Any, cell: Any, name: Any, out: Any, ends: Any
) -> None:
    """Write a renamed row; ``cell`` are its hash and its count."""
    plain = 0
    while plain < count and width[plain] == 0:
        plain += 1
    way, ends[1] = _write_plain(label, plain, out[2], ends[1])
    flags = ((head >> FLAGS) & ~(ROW_COMPACT | ROW_WIDE)) | way
    row = write_head(sink, (head & LOW) | plain << 32 | flags << FLAGS, cell, name, out, ends)
    if plain < count:
        _write_terms(label, width, plain, count, row, out, ends)


@compiled_inline
def _move_labels(labels: Any, first: Any, end: Any, shift: Any, called: Any, label: Any) -> Any:
    """Write the labels of a row behind a renaming; return whether any is different."""
    is_moved = False
    for k in range(first, end):
        before, mover = labels[0][k], labels[1][k]
        after = before
        if mover >= 0:
            after = before + shift[mover]
        elif mover < NONE and called[NONE - 1 - mover] >= 0:
            after = (before & ~WORD_MASK) | called[NONE - 1 - mover]
        is_moved |= after != before
        label[k - first] = after
    return is_moved


@compiled_in_place
def _write_renaming(
    columns: Any, times: Any, ends_of: Any, moving: Any, room: Any, tables: Any, out: Any, ends: Any
) -> None:
    """Write or count those rows of a version that can move."""
    rows, labels = moving
    label, _, called, shift = room
    table, kept, place_of = tables
    first, behind = ends_of
    for r in range(first, behind):
        row, first_label, mover = rows[r, 0], rows[r, 1], rows[r, 2]
        count = rows[r + 1, 1] - first_label
        sink, head, name = columns[0][row, 0], columns[0][row, 1], ends[5]
        by = shift[mover] if mover >= 0 else 0
        is_moved = _move_labels(labels, first_label, first_label + count, shift, called, label) or by != 0
        called[r - first] = NONE
        if not is_moved:
            out[1][place_of[row], 1] += times
            continue
        ends[5] = name + 1
        width = labels[2][first_label : first_label + count]
        hash_ = _hash_of(head, sink + by, label, width, count, kept)
        if first_place(table, hash_, name, times, kept, out, ends) == ends[0]:
            _write_row(head, sink + by, label, width, count, (hash_, times), name, out, ends)
        called[r - first] = kept[name]


@compiled_inline
def _read_shifts(place: Any, shifts: Any, shift: Any) -> None:
    """Write the shifts of a renaming to ``shift``."""
    for k in range(len(shift)):
        if place & SHIFTS_SHARED:
            shift[k] = ((place + (1 << 30)) & ((1 << 31) - 1)) - (1 << 30)
        elif place + k < len(shifts):
            shift[k] = shifts[place + k]


@compiled_in_place
def write_renamed(
    columns: Any,
    starts: Any,
    renamings: Any,
    placed: Any,
    shifts: Any,
    versions: Any,
    moving: Any,
    is_renamed: Any,
    room: Any,
    tables: Any,
    out: Any,
    ends: Any,
) -> None:
    """Write all rows, with those that renamings stand for, each where it comes first.

    Args:
        columns: As :func:`read_versions` has it, with ``starts``, ``versions`` and ``is_renamed``.
        starts: int64[R] each.
        renamings: uint32[N, 3], a section of the trace, as the next two.
        placed: uint32[P, 2].
        shifts: int32[S].
        versions: int64[V + 1, 4].
        moving: Rows that can move, one more than there are, and their labels.
        is_renamed: bool, per site.
        room: Scratch: label, width, what the rows of a version are called, the shifts of its accesses.
        tables: As :func:`.written_kernels.first_place` has them, with the next two: table,
            kept; int64[R], where each row of the trace is written.
        out: Columns of the result.
        ends: int64[6].
    """
    heads, cells = columns[0], columns[1]
    unit_of, group_of = starts
    label, width, _, shift = room
    table, kept, place_of = tables
    n, row = 0, 0
    for p in range(len(placed) + 1):
        place, end = np.int64(len(heads)), np.int64(len(renamings))
        if p < len(placed):
            place, end = np.int64(placed[p, 0]), np.int64(placed[p, 1])
        while row < place:
            at, hash_ = ends[0], cells[row, 0]
            if is_renamed[heads[row, 1] & LOW] and not (heads[row, 1] >> FLAGS) & _OTHERS:
                count = read_row(columns, row, unit_of[row], group_of[row], label, width)
                hash_ = _hash_of(heads[row, 1], heads[row, 0], label, width, count, kept)
                at = first_place(table, hash_, row, cells[row, 1], kept, out, ends)
            place_of[row] = at
            if at == ends[0]:
                write_recorded(columns, row, unit_of[row], group_of[row], (hash_, cells[row, 1]), out, ends)
            row += 1
        while n < end:
            times, v = np.int64(renamings[n, 0]), np.int64(renamings[n, 1])
            versions[v, 3] += times
            if times != 0:
                _read_shifts(np.int64(renamings[n, 2]), shifts, shift)
                of_version = versions[v, 1], versions[v + 1, 1]
                _write_renaming(columns, times, of_version, moving, room, tables, out, ends)
            n += 1
