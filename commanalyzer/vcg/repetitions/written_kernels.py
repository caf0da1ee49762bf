"""Compiled steps of writing out what rows of a trace stand for, see :mod:`.written`.

Columns of the trace and of the result are those of :mod:`.trace_kernels`. A row is *called*
by its number in the trace; rows that were not recorded are called by the numbers behind these.
"""

from __future__ import annotations

from typing import Any

from commanalyzer.abi.hooks import NOTHING, REGISTER, WORD_MASK
from commanalyzer.foundation.compiled import compiled_in_place, compiled_inline
from commanalyzer.vcg.reading.range_kernels import units_of
from commanalyzer.vcg.reading.trace_kernels import LOW

_TAG = 32  # bits of a hash in the table


@compiled_inline
def kept_label(label: Any, kept: Any) -> Any:
    """The label by the row that is kept of equal ones."""
    if label & REGISTER and label & NOTHING != NOTHING:
        return (label & ~WORD_MASK) | kept[label & WORD_MASK]
    return label


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
def write_recorded(columns: Any, row: Any, unit: Any, group: Any, cell: Any, out: Any, ends: Any) -> None:
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
