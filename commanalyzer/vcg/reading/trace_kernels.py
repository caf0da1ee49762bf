"""Compiled loops over a trace: labels written out, homes numbered.

Columns of records are seen as int64 tables, straight from the mapped trace::

    heads   [r, 0] sink     [r, 1] site | num_labels << 32 | flags << 48
    cells   [r, 0] hash     [r, 1] count
    groups  [g, 0] row      [g, 1] first    [g, 2] count    [g, 3] width | is_listed << 32
    runs    [i, 0] start    [i, 1] stride

Words are found through *ranges*: ``starts`` (increasing, with sentinels below and above all words),
``length`` and ``base``, the dense number of the first word of each.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.abi.hooks import CONTROL, REGISTER
from commanalyzer.abi.trace_layout import COMPACT_BITS, COMPACT_FIRST, ROW_COMPACT, ROW_FILL, ROW_WIDE
from commanalyzer.foundation.compiled import compiled_in_place, compiled_inline

LOW = (1 << 32) - 1
COUNT = (1 << 16) - 1
FLAGS = 48
CACHED = 8  # ranges remembered, by the position of a label in its row
NONE = -1


@compiled_in_place
def chunk_end(heads: Any, groups: Any, row: Any, group: Any, most_labels: Any, most_rows: Any) -> Any:
    """Return the row and the group behind a chunk, and the labels and units in it; at least one row."""
    labels, units = 0, 0
    first = row
    while row < len(heads) and row - first < most_rows:
        flags = heads[row, 1] >> FLAGS
        count = (heads[row, 1] >> 32) & COUNT
        total = 0 if flags & ROW_FILL else count
        g = group
        while g < len(groups) and groups[g, 0] == row:
            total += groups[g, 2] * (groups[g, 3] & LOW)
            g += 1
        if labels + total > most_labels and row > first:
            break
        labels += total
        units += 2 * count if flags & ROW_WIDE else count
        group = g
        row += 1
    return row, group, labels, units


@compiled_in_place
def write_group(groups: Any, g: Any, runs: Any, listed: Any, label: Any, at: Any) -> Any:
    """Write the labels of a group from ``at`` on; return the end."""
    first, count, width = groups[g, 1], groups[g, 2], groups[g, 3] & LOW
    if groups[g, 3] >> 32:
        size = count * width
        for i in range(size):
            label[at + i] = listed[first + i]
        return at + size
    for i in range(count):
        for k in range(width):
            label[at + k] = runs[first + k, 0] + i * runs[first + k, 1]
        at += width
    return at


@compiled_inline
def expanded(unit: Any) -> Any:
    """The label that a unit of a compact row stands for."""
    bits = np.int64(unit) & LOW
    value, roles = bits & ((1 << COMPACT_BITS) - 1), bits >> COMPACT_BITS & 3
    return value + (REGISTER if bits >> 31 else COMPACT_FIRST) + roles * CONTROL


@compiled_in_place
def write_labels(
    heads: Any,
    units: Any,
    groups: Any,
    runs: Any,
    listed: Any,
    first: Any,
    last: Any,
    group: Any,
    label: Any,
    end: Any,
    filled: Any,
) -> None:
    """Write the labels of rows ``first`` to ``last - 1`` to ``label``, and where each row ends to ``end``.

    Row r has its plain labels first, in recorded order, then the terms of its groups; fills have none: how
    many words they cover goes to ``filled``. ``units`` are those of these rows; ``group`` is the first group
    of row ``first`` or later.
    """
    at, u = 0, 0
    for row in range(first, last):
        sink = heads[row, 0]
        flags = heads[row, 1] >> FLAGS
        count = (heads[row, 1] >> 32) & COUNT
        filled[row - first] = 0
        if flags & ROW_FILL:
            filled[row - first] = (np.int64(units[u]) & LOW) | (np.int64(units[u + 1]) << 32)
            u += count * 2 if flags & ROW_WIDE else count
        elif flags & ROW_WIDE:
            for i in range(count):
                low, high = np.int64(units[u + 2 * i]) & LOW, np.int64(units[u + 2 * i + 1])
                label[at + i] = low | (high << 32)
            at += count
            u += 2 * count
        elif flags & ROW_COMPACT:
            for i in range(count):
                label[at + i] = expanded(units[u + i])
            at += count
            u += count
        else:
            for i in range(count):
                label[at + i] = sink + units[u + i]
            at += count
            u += count
        while group < len(groups) and groups[group, 0] == row:
            at = write_group(groups, group, runs, listed, label, at)
            group += 1
        end[row - first] = at


@compiled_in_place
def find_range(word: Any, starts: Any) -> Any:
    """Last range that begins at or before ``word``; ``starts`` are ascending, the first is not above it."""
    low, high = 0, len(starts)
    while high - low > 1:
        middle = (low + high) >> 1
        if starts[middle] <= word:
            low = middle
        else:
            high = middle
    return low


@compiled_in_place
def number_homes(width: Any, is_read: Any, vertex: Any) -> Any:
    """Number the homes among the dense words; return how many there are.

    A word that nobody stores to and that is covered by a wider value is a part of that value: instead of a
    vertex it gets ``-1 - distance``, with the distance to the home in words.

    Args:
        width: uint8, greatest width stored to each word, bytes; 0 for none.
        is_read: bool.
        vertex: int32, result; -1 for words that are no home.
    """
    homes = 0
    for d in range(len(width)):
        vertex[d] = NONE
        if width[d] == 0 and not is_read[d]:
            continue
        if width[d] == 0:
            for distance in range(1, min(4, d + 1)):
                if width[d - distance] > 4 * distance:
                    vertex[d] = NONE - distance
                    break
        if vertex[d] == NONE:
            vertex[d] = homes
            homes += 1
    return homes


@compiled_in_place
def next_homes(vertex: Any, width: Any, dense: Any, home: Any, home_width: Any) -> Any:
    """Fill ``home`` with dense words that are homes, from ``dense`` on; return how many and where it stopped.

    ``home_width`` becomes the width of the widest value stored there. An input that was never stored has no
    store that tells its width; its neighbours do: 4 bytes when the next word is a home, else 8.
    """
    count = 0
    while dense < len(vertex) and count < len(home):
        if vertex[dense] >= 0:
            home[count] = dense
            home_width[count] = width[dense]
            if width[dense] == 0:
                home_width[count] = 4 if dense + 1 < len(vertex) and vertex[dense + 1] >= 0 else 8
            count += 1
        dense += 1
    return count, dense
