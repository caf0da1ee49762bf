"""Compiled loops that mark the words that rows and ranges of a trace read and store to.

Marks are the same however often a row comes, so that equal rows need not be told apart.

Tables and places are those of :mod:`.trace_kernels`, :mod:`.range_kernels`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.abi.hooks import REGISTER, WORD_MASK
from commanalyzer.abi.trace_layout import (
    ROW_FILL,
    ROW_RANGE,
    ROW_REGISTER,
    ROW_TEMPORARY,
    ROW_UPDATE,
)
from commanalyzer.foundation.compiled import compiled, compiled_in_place, compiled_inline
from commanalyzer.vcg.reading.range_kernels import end_of, plain_label, units_of
from commanalyzer.vcg.reading.trace_kernels import CACHED, COUNT, FLAGS, LOW, NONE, find_range

_FIRST_ROOM = 1 << 10
_WORD_BYTES = 4


@compiled
def _with_room(words: Any, used: Any, needed: Any) -> Any:
    """``words`` (int64[2, n]), or a larger table with room for ``needed`` more."""
    if used + needed <= words.shape[1]:
        return words
    larger = np.empty((2, 2 * (used + needed)), np.int64)
    for i in range(used):
        larger[0, i], larger[1, i] = words[0, i], words[1, i]
    return larger


@compiled_in_place
def _mark(
    first: Any, stride: Any, rounds: Any, places: Any, value: Any, marked: Any, outside: Any, used: Any
) -> Any:
    """Raise the marks of the words of a line to ``value``; return how many words outside are known.

    Words that lie in no range go to ``outside``, which has room for them, with the value.
    """
    starts, length, base, shift = places
    c = np.int64(0)
    i = np.int64(0)
    while i < rounds:
        word = (first + i * stride) & WORD_MASK
        c = find_range(word, starts)
        within = word - starts[c]
        if within >= length[c]:
            outside[0, used], outside[1, used] = word, value
            used += 1
            i += 1
            continue
        last = rounds  # of the rounds that stay in the range
        if stride > 0:
            last = min(rounds, i + (length[c] - 1 - within) // stride + 1)
        elif stride < 0:
            last = min(rounds, i + within // -stride + 1)
        for k in range(last - i):
            d = base[c] + ((within + k * stride) >> shift)
            marked[d] = max(marked[d], value)
        i = last
    return used


@compiled
def mark_ranges(table: Any, site_width: Any, places: Any, is_read: Any, width: Any) -> Any:
    """Mark the words that ranges read and store to.

    Args:
        table: Columns of a :class:`~commanalyzer.vcg.reading.ranges.RangeTable`.
        site_width: int64, width of the values of each site, bytes.
        places: Starts, length and base of ranges of words; shift.
        is_read: bool, result, per dense word or block.
        width: uint8, result: greatest width stored to each.

    Returns:
        Words in no range; width stored to each, 0 if it is read.
    """
    _, _, rounds, first_store, stores, labels, _, _, _, _, _ = table
    outside, used = np.empty((2, _FIRST_ROOM), np.int64), 0
    read = is_read.view(np.uint8)
    for n in range(len(rounds)):
        for s in range(first_store[n], first_store[n + 1]):
            outside = _with_room(outside, used, rounds[n])
            stored = site_width[stores[s, 0]]
            used = _mark(stores[s, 1], stores[s, 2], rounds[n], places, stored, width, outside, used)
            for k in range(stores[s, 3], end_of(s, stores, labels)):
                label, stride = labels[k, 0], labels[k, 1]
                if label & REGISTER or (label == 0 and stride == 0):
                    continue
                outside = _with_room(outside, used, rounds[n])
                times = rounds[n] if stride else 1
                before = used
                used = _mark(label, stride, times, places, 1, read, outside, used)
                outside[1, before:used] = 0
    return outside[0, :used].copy(), outside[1, :used].copy()


@compiled_inline
def _mark_read(label: Any, slot: Any, places: Any, is_read: Any, cache: Any, outside: Any, used: Any) -> Any:
    """Mark the word of a label; return how many words outside are known."""
    if label == 0 or label & REGISTER:
        return used
    starts, length, base, shift = places
    word = label & WORD_MASK
    c = cache[slot & (CACHED - 1)]
    if word < starts[c] or word >= starts[c + 1]:
        c = find_range(word, starts)
        cache[slot & (CACHED - 1)] = c
    within = word - starts[c]
    if within < length[c]:
        is_read[base[c] + (within >> shift)] = True
        return used
    outside[0, used], outside[1, used] = word, 0
    return used + 1


@compiled_inline
def _copied_width(heads: Any, row_of: Any, label: Any, site_width: Any) -> Any:
    """Width of a value that was copied with others: of the named value that it is, else a word's."""
    row = label & WORD_MASK if label & REGISTER else NONE
    if len(row_of):
        row = row_of[row] if 0 <= row < len(row_of) else NONE
    if row < 0 or row >= len(heads):
        return np.int64(_WORD_BYTES)
    return max(site_width[heads[row, 1] & LOW], _WORD_BYTES)


@compiled_inline
def _mark_stored(head: Any, given: Any, places: Any, width: Any, cache: Any, outside: Any, used: Any) -> Any:
    """Mark the word that a row stores ``given`` bytes to; return how many words outside are known.

    Words of workspaces are no homes; they are marked with width 1 where blocks are.
    """
    starts, length, base, shift = places
    word, is_home = head[0], not (head[1] >> FLAGS) & ROW_TEMPORARY
    c = cache[CACHED]
    if word < starts[c] or word >= starts[c + 1]:
        c = find_range(word, starts)
        cache[CACHED] = c
    stored = given if is_home else 1
    within = word - starts[c]
    if within >= length[c]:
        outside[0, used], outside[1, used] = word, stored if is_home else NONE
        return used + 1
    if is_home or shift:
        d = base[c] + (within >> shift)
        width[d] = max(width[d], stored)
    return used


@compiled_in_place
def _mark_group(
    groups: Any,
    g: Any,
    runs: Any,
    listed: Any,
    slot: Any,
    places: Any,
    is_read: Any,
    outside: Any,
    state: Any,
) -> Any:
    """Mark what the labels of a group read, the first at position ``slot`` of its row; return ``state``.

    That is the ranges found last, and how many words outside are known.
    """
    cache, used = state
    first, count, terms = groups[g, 1], groups[g, 2], groups[g, 3] & LOW
    for i in range(count):
        for k in range(terms):
            if groups[g, 3] >> 32:
                label = listed[first + i * terms + k]
            else:
                label = runs[first + k, 0] + i * runs[first + k, 1]
            used = _mark_read(label, slot, places, is_read, cache, outside, used)
            slot += 1
    return cache, used


@compiled_in_place
def mark_rows(
    trace: Any, at: Any, site_width: Any, places: Any, is_read: Any, width: Any, cache: Any, outside: Any
) -> Any:
    """Mark the words that rows read and store to, ranges left out.

    Args:
        trace: Columns of the trace: heads, units, groups, runs, listed; int64, row of each name that labels
            call one by, empty if that is its place.
        at: Row to begin with, its first unit and group.
        site_width: int64, width of the values of each site, bytes; 0: of the value that a row copies.
        places: Starts, length and base of ranges of words; shift.
        is_read: bool, result, per dense word or block.
        width: uint8, result: greatest width stored to each.
        cache: int64[CACHED + 1], ranges that were found last, by position in a row.
        outside: int64[2, n], result: words in no range; width stored to each, 0 if it is read, -1 if in a
            workspace.

    Returns:
        Words in no range; row, unit and group to go on with when there is no room for those of a row.
    """
    heads, units, groups, runs, listed, row_of = trace
    row, unit, group = at
    used = 0
    while row < len(heads):
        flags, count = heads[row, 1] >> FLAGS, (heads[row, 1] >> 32) & COUNT
        if not flags & (ROW_FILL | ROW_RANGE):
            needed, behind = count + 1, group
            while behind < len(groups) and groups[behind, 0] == row:
                needed += groups[behind, 2] * (groups[behind, 3] & LOW)
                behind += 1
            if used + needed > outside.shape[1]:
                break
            if not flags & (ROW_UPDATE | ROW_REGISTER):
                given = site_width[heads[row, 1] & LOW]
                if not given:
                    label = plain_label(heads, row, units, unit, 0)
                    given = _copied_width(heads, row_of, label, site_width)
                used = _mark_stored(heads[row], given, places, width, cache, outside, used)
            for k in range(count):
                label = plain_label(heads, row, units, unit, k)
                used = _mark_read(label, k, places, is_read, cache, outside, used)
            for g in range(group, behind):
                cache, used = _mark_group(
                    groups, g, runs, listed, count, places, is_read, outside, (cache, used)
                )
            group = behind
        unit += units_of(heads[row, 1])
        row += 1
    return used, (row, unit, group)
