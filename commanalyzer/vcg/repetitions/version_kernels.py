"""Compiled loops over the versions of rounds that a trace renames, see :mod:`.renamings`.

Tables are those of :mod:`.trace_kernels`, contents of renamings those of ``comm_shim.h``.
Of each version that was recorded, the rows that can move are kept with their labels, one behind the other::

    versions  [v, 0] place in the trace   [v, 1] first row   [v, 2] renamings of it   [v, 3] what they count
    rows      [r, 0] row of the trace     [r, 1] first label  [r, 2] what moves its sink
    labels    label, what moves it, and its width: 0 for those that are not part of a term, the width of the
              term (at most 8) for its first one, -1 for its others

What moves a word is the number of an access; -1 if nothing does; -2 - k if it is the value that row k of
the version defines.
"""

from __future__ import annotations

from typing import Any

from commanalyzer.abi.hooks import NOTHING, REGISTER, WORD_MASK
from commanalyzer.abi.trace_layout import ROW_REGISTER, ROW_TEMPORARY
from commanalyzer.foundation.compiled import compiled_in_place, compiled_inline
from commanalyzer.vcg.reading.range_kernels import plain_label, units_of
from commanalyzer.vcg.reading.trace_kernels import COUNT, FLAGS, LOW, NONE, write_group

DEFINING = ROW_REGISTER | ROW_TEMPORARY
_ADDRESS = (1 << 44) - 1
_SIZE = 48  # bits of the number of bytes of an access


@compiled_in_place
def row_starts(heads: Any, groups: Any, starts: Any, group_of: Any) -> Any:
    """Write where the units of each row begin, and its first group; return the most plain labels of a row."""
    unit, most = 0, 0
    for row in range(len(heads)):
        starts[row], group_of[row] = unit, len(groups)
        unit += units_of(heads[row, 1])
        most = max(most, (heads[row, 1] >> 32) & COUNT)
    for g in range(len(groups) - 1, -1, -1):
        group_of[groups[g, 0]] = g
    return most


@compiled_in_place
def most_terms(groups: Any) -> Any:
    """The most labels in terms of a row."""
    most, total = 0, 0
    for g in range(len(groups)):
        total = total if g > 0 and groups[g, 0] == groups[g - 1, 0] else 0
        total += groups[g, 2] * (groups[g, 3] & LOW)
        most = max(most, total)
    return most


@compiled_inline
def read_row(columns: Any, row: Any, unit: Any, group: Any, label: Any, width: Any) -> Any:
    """Read the labels of a row; return how many there are."""
    heads, _, units, groups, runs, listed = columns
    count = (heads[row, 1] >> 32) & COUNT
    for k in range(count):
        label[k], width[k] = plain_label(heads, row, units, unit, k), 0
    while group < len(groups) and groups[group, 0] == row:
        end = write_group(groups, group, runs, listed, label, count)
        wide = groups[group, 3] & LOW
        for k in range(end - count):
            width[count + k] = wide if k % wide == 0 else NONE
        count = end
        group += 1
    return count


@compiled_inline
def _size_of(count: Any, width: Any) -> Any:
    """Plain labels and groups of a row with ``count`` labels."""
    plain, groups, before = 0, 0, 0
    for k in range(count):
        plain += width[k] == 0
        if width[k] > 0:
            groups += width[k] != before
            before = width[k]
    return plain, groups


@compiled_in_place
def list_versions(bases: Any, versions: Any) -> Any:
    """Write where versions are to ``versions[:, 0]``, if there is room; return how many, and their rows."""
    at, number, rows = 0, 0, 0
    while at < len(bases):
        if number < len(versions):
            versions[number, 0] = at
        for s in range(at + 1, at + 1 + (bases[at] & LOW)):
            rows += (bases[s] >> 32) - (bases[s] & LOW)
        at += 1 + (bases[at] & LOW) + (bases[at] >> 32)
        number += 1
    return number, rows


@compiled_inline
def _access_of(word: Any, bases: Any, first: Any, end: Any) -> Any:
    """The first access that moves a word; -1 for none."""
    for at in range(first, end):
        address = bases[at] & _ADDRESS
        if address >> 2 <= word < (address + (bases[at] >> _SIZE) + 3) >> 2:
            return at - first
    return NONE


@compiled_inline
def _defining_row(columns: Any, row: Any, rows: Any, first: Any, end: Any) -> Any:
    """Which of the rows of a version defines the value that labels call by ``row``; -1 for none."""
    heads = columns[0]
    for r in range(first, end):
        if rows[r, 0] == row and (heads[row, 1] >> FLAGS) & DEFINING:
            return r - first
    return NONE


@compiled_inline
def _mover_of(
    columns: Any, label: Any, bases: Any, access: Any, accesses: Any, rows: Any, first: Any, end: Any
) -> Any:
    """What moves a label."""
    if label == 0 or label & NOTHING == NOTHING:
        return NONE
    if label & REGISTER == 0:
        return _access_of(label & WORD_MASK, bases, access, accesses)
    return NONE - 1 - _defining_row(columns, label & WORD_MASK, rows, first, end)


@compiled_in_place
def count_labels(columns: Any, group_of: Any, bases: Any, versions: Any) -> Any:
    """Number of labels of all rows of versions; arguments as below."""
    heads, _, _, groups, _, _ = columns
    labels = 0
    for v in range(len(versions)):
        at = versions[v, 0]
        for s in range(at + 1, at + 1 + (bases[at] & LOW)):
            for row in range(bases[s] & LOW, bases[s] >> 32):
                labels += (heads[row, 1] >> 32) & COUNT
                group = group_of[row]
                while group < len(groups) and groups[group, 0] == row:
                    labels += groups[group, 2] * (groups[group, 3] & LOW)
                    group += 1
    return labels


@compiled_in_place
def read_versions(
    columns: Any, starts: Any, bases: Any, versions: Any, room: Any, rows: Any, labels: Any, is_renamed: Any
) -> Any:
    """Read rows that can move.

    Args:
        columns: Of the trace: heads, cells, units, groups, runs, listed.
        starts: int64[R] each, where the units of each row begin, and its first group.
        bases: int64, a section of the trace.
        versions: int64[V, 4]; the first rows are written.
        room: Scratch: label, width, what moves it.
        rows: int64[n, 3], result, as the next long enough for all.
        labels: int64[L], int16[L], int8[L], results.
        is_renamed: bool, per site: set where rows of it can move.

    Returns:
        Numbers of rows and labels; of rows, units, groups and labels of terms that renamings make at most.
    """
    label, width, mover = room
    r, first_label = 0, 0
    more_rows, more_units, more_groups, more_terms = 0, 0, 0, 0
    for v in range(len(versions)):
        at, times = versions[v, 0], versions[v, 2]
        access = at + 1 + (bases[at] & LOW)
        end = access + (bases[at] >> 32)
        first = r
        versions[v, 1] = r
        for s in range(at + 1, access):
            for row in range(bases[s] & LOW, bases[s] >> 32):
                head, sink = columns[0][row, 1], columns[0][row, 0]
                count = read_row(columns, row, starts[0][row], starts[1][row], label, width)
                is_register = (head >> FLAGS) & ROW_REGISTER
                sink_mover = NONE if is_register else _access_of(sink, bases, access, end)
                can_move = sink_mover != NONE
                for k in range(count):
                    mover[k] = _mover_of(columns, label[k], bases, access, end, rows, first, r)
                    can_move |= mover[k] != NONE
                if not can_move:
                    continue
                rows[r, 0], rows[r, 1], rows[r, 2] = row, first_label, sink_mover
                r += 1
                for k in range(count):
                    labels[0][first_label + k], labels[1][first_label + k] = label[k], mover[k]
                    labels[2][first_label + k] = width[k]
                first_label += count
                is_renamed[head & LOW] = True
                plain, groups = _size_of(count, width)
                more_rows, more_units = more_rows + times, more_units + 2 * plain * times
                more_groups += groups * times
                more_terms += (count - plain) * times
    return r, first_label, more_rows, more_units, more_groups, more_terms


@compiled_in_place
def count_unmoved(bases: Any, versions: Any, rows: Any, place_of: Any, cells: Any) -> None:
    """Count the rows of versions that cannot move for all renamings of these; arguments as above."""
    for v in range(len(versions) - 1):
        at, r = versions[v, 0], versions[v, 1]
        for s in range(at + 1, at + 1 + (bases[at] & LOW)):
            for row in range(bases[s] & LOW, bases[s] >> 32):
                if r < versions[v + 1, 1] and rows[r, 0] == row:
                    r += 1
                else:
                    cells[place_of[row], 1] += versions[v, 3]
