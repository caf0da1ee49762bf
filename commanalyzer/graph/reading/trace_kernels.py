"""Compiled loops over a trace: what its rows hold, read and store to, what fills cover.

Columns of records are seen as int64 tables, straight from the mapped trace::

    heads   [r, 0] sink     [r, 1] site | num_labels << 32 | flags << 48
    cells   [r, 0] hash     [r, 1] count
    groups  [g, 0] row      [g, 1] first    [g, 2] count    [g, 3] width | is_listed << 32
    runs    [i, 0] start    [i, 1] stride

Words are found through *ranges*: ``starts`` (increasing, with sentinels below and above all words),
``length`` and ``base``, the dense number of the first word of each.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from commanalyzer.foundation.compiled import compiled_in_place, compiled_inline
from commanalyzer.graph.value_graph import Int32, Int64
from commanalyzer.recording.abi import (
    COMPACT_BITS,
    COMPACT_FIRST,
    CONTROL,
    NOTHING,
    REGISTER,
    ROW_COMPACT,
    ROW_FILL,
    ROW_REGISTER,
    ROW_TEMPORARY,
    ROW_UPDATE,
    ROW_WIDE,
    WORD_MASK,
)

LOW = (1 << 32) - 1
COUNT = (1 << 16) - 1
FLAGS = 48
CACHED = 8  # ranges remembered, by the position of a label in its row
NONE = -1
_FACTORS = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_FIRST, _SECOND, _THIRD = (np.uint64(factor) for factor in _FACTORS)
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


@compiled_inline
def plain_label(heads: Any, row: Any, units: Any, unit: Any, k: Any) -> Any:
    """Label ``k`` of a plain row whose units begin at ``unit``."""
    if (heads[row, 1] >> FLAGS) & ROW_WIDE:
        return wide(units, unit + 2 * k)
    if (heads[row, 1] >> FLAGS) & ROW_COMPACT:
        return expanded(units[unit + k])
    return heads[row, 0] + np.int64(units[unit + k])


@compiled_inline
def kept_label(label: Any, kept: Any) -> Any:
    """The label by the row that is kept of equal ones; without ``kept`` as it is."""
    if len(kept) and label & REGISTER and label & NOTHING != NOTHING:
        return (label & ~WORD_MASK) | kept[label & WORD_MASK]
    return label


@compiled_in_place
def hash_of_row(heads: Any, row: Any, units: Any, unit: Any, kept: Any) -> Any:
    """Hash of the site, sink and plain labels of a row whose units begin at ``unit``."""
    is_register = (heads[row, 1] >> FLAGS) & ROW_REGISTER
    hash_ = mixed(heads[row, 1] & LOW, np.int64(NONE) if is_register else heads[row, 0])
    for k in range((heads[row, 1] >> 32) & COUNT):
        hash_ = mixed(hash_, kept_label(plain_label(heads, row, units, unit, k), kept))
    return hash_


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


class Places(NamedTuple):
    """Ranges of words, as above, and the vertices of D dense ones."""

    starts: Int64
    length: Int64
    base: Int64
    vertex: Int32  # [D], -1 for none


@compiled_in_place
def next_filled(fills: Any, fill: Any, dense: Any, places: Any, result: Any) -> Any:
    """Fill vertices, counts and sites of the homes that fills cover into ``result``: int32, int64, int32.

    ``fills``, int64[n, 4], are first word, words, count, site; ``fill`` is the one to begin with, ``dense`` 0
    or the dense word at which to go on. Returns how many, and the fill and the dense word to go on with when
    the results are full.
    """
    (starts, length, base, vertex), (home, count, site) = places, result
    found = 0
    while fill < len(fills):
        first = fills[fill, 0]
        last = first + fills[fill, 1]
        c = find_range(first, starts)
        while c < len(base) and starts[c] < last:
            low, high = max(first, starts[c]), min(last, starts[c] + length[c])
            for d in range(max(dense, base[c] + low - starts[c]), base[c] + high - starts[c]):
                if vertex[d] < 0:
                    continue
                if found == len(home):
                    return found, fill, d
                home[found], count[found], site[found] = vertex[d], fills[fill, 2], fills[fill, 3]
                found += 1
            c += 1
        fill += 1
        dense = 0
    return found, fill, dense


@compiled_inline
def _mark(word: Any, slot: Any, raised: Any, places: Any, marked: Any, state: Any, used: Any) -> Any:
    """Raise the mark of a word; return how many words outside are known."""
    starts, length, base, shift, _ = places
    cache, outside = state
    c = cache[slot]
    if word < starts[c] or word >= starts[c + 1]:
        c = find_range(word, starts)
        cache[slot] = c
    within = word - starts[c]
    if within >= length[c]:
        outside[used] = word
        return used + 1
    d = base[c] + (within >> shift)
    marked[d] = max(marked[d], raised)
    return used


@compiled_inline
def _copied_width(heads: Any, row_of: Any, label: Any, site_width: Any, word_bytes: Any) -> Any:
    """Width of a value that was copied with others: of the named value that it is, else a word's."""
    row = label & WORD_MASK if label & REGISTER else NONE
    if len(row_of):
        row = row_of[row] if 0 <= row < len(row_of) else NONE
    if row < 0 or row >= len(heads):
        return np.int64(word_bytes)
    return max(site_width[heads[row, 1] & LOW], word_bytes)


@compiled_in_place
def mark(chunk: Any, recorded: Any, row_of: Any, site_width: Any, places: Any, marks: Any, state: Any) -> Any:
    """Mark the words that rows read and store to; return how many are in no range.

    Words of workspaces are no homes; they are marked with width 1 where blocks are. ``chunk`` are heads,
    labels and their ends of some rows, ``recorded`` the heads of all. ``row_of`` is the row of each name that
    labels call one by, empty if that is its place. ``site_width`` is in bytes; 0: that of the value that a
    row copies. ``places`` are starts, length and base of ranges of words; shift; bytes of a word. Results:
    ``marks``, uint8, 1 per dense word or block that is read, and the greatest width stored to each; in
    ``state``, beside int64[CACHED + 1], ranges of words found last by position in a row, words in no range.
    """
    (heads, label, end), (read, width) = chunk, marks
    at, used = 0, 0
    for row in range(len(heads)):
        flags, begin = heads[row, 1] >> FLAGS, at
        if not flags & (ROW_FILL | ROW_UPDATE | ROW_REGISTER):
            stored = site_width[heads[row, 1] & LOW]
            if not stored:
                stored = _copied_width(recorded, row_of, label[at], site_width, places[4])
            if flags & ROW_TEMPORARY:
                stored = np.int64(min(places[3], 1))
            used = _mark(heads[row, 0] & WORD_MASK, CACHED, stored, places, width, state, used)
        while at < end[row]:
            slot, named = (at - begin) & (CACHED - 1), label[at]
            if named != 0 and not named & REGISTER:
                used = _mark(named & WORD_MASK, slot, 1, places, read, state, used)
            at += 1
    return used
