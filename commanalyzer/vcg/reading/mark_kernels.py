"""Compiled loops that mark the words that rows and ranges of a trace read and store to.

Marks are the same however often a row comes, so that equal rows need not be told apart. What a row reads or
stores to is a *line* like that of a range: first word, stride, rounds.

Tables and places are those of :mod:`.trace_kernels`, :mod:`.range_kernels`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.abi.hooks import REGISTER, WORD_MASK
from commanalyzer.abi.trace_layout import ROW_FILL, ROW_RANGE, ROW_REGISTER, ROW_TEMPORARY, ROW_UPDATE
from commanalyzer.foundation.compiled import compiled_in_place, compiled_inline
from commanalyzer.vcg.reading.range_kernels import end_of
from commanalyzer.vcg.reading.trace_kernels import (
    CACHED,
    COUNT,
    FLAGS,
    LOW,
    NONE,
    find_range,
    plain_label,
    units_of,
)

_WORD_BYTES = 4


@compiled_inline
def _mark(line: Any, slot: Any, raised: Any, places: Any, marked: Any, state: Any, used: Any) -> Any:
    """Raise the marks of the words of a line; return how many words outside are known.

    Args:
        line: First word, stride, rounds.
        slot: Place of the range found last in the cache.
        raised: What marks are raised to; what is noted of words in no range.
        places: Of ranges, as for :func:`mark`.
        marked: uint8, result.
        state: Cache and words outside.
        used: How many of these are known; those that have no room are only counted.
    """
    first, stride, rounds = line
    starts, length, base, shift = places
    cache, outside = state
    i, times = np.int64(0), np.int64(rounds if stride else min(rounds, 1))
    while i < times:
        word = (first + i * stride) & WORD_MASK
        c = cache[slot]
        if word < starts[c] or word >= starts[c + 1]:
            c = find_range(word, starts)
            cache[slot] = c
        within, last = word - starts[c], i + 1
        if within >= length[c]:
            if used < outside.shape[1]:
                outside[0, used], outside[1, used] = word, raised[1]
            used += 1
        else:
            if stride > 0:  # the rounds that stay in the range
                last = min(times, i + (length[c] - 1 - within) // stride + 1)
            elif stride < 0:
                last = min(times, i + within // -stride + 1)
            for k in range(last - i):
                d = base[c] + ((within + k * stride) >> shift)
                marked[d] = max(marked[d], raised[0])
        i = last
    return used


@compiled_inline
def _mark_read(
    label: Any, stride: Any, rounds: Any, at: Any, places: Any, read: Any, state: Any, used: Any
) -> Any:
    """Mark the words that a label at position ``at`` names in some rounds."""
    if label & REGISTER or (label == 0 and stride == 0):
        return used
    return _mark((label, stride, rounds), at & (CACHED - 1), (1, 0), places, read, state, used)


@compiled_inline
def _copied_width(heads: Any, row_of: Any, label: Any, site_width: Any) -> Any:
    """Width of a value that was copied with others: of the named value that it is, else a word's."""
    row = label & WORD_MASK if label & REGISTER else NONE
    if len(row_of):
        row = row_of[row] if 0 <= row < len(row_of) else NONE
    if row < 0 or row >= len(heads):
        return np.int64(_WORD_BYTES)
    return max(site_width[heads[row, 1] & LOW], _WORD_BYTES)


@compiled_in_place
def _mark_group(
    group: Any, runs: Any, listed: Any, at: Any, places: Any, read: Any, state: Any, used: Any
) -> Any:
    """Mark what the labels of a group read, the first at position ``at`` of its row."""
    first, count, terms = group[1], group[2], group[3] & LOW
    if group[3] >> 32:
        for k in range(count * terms):
            used = _mark_read(listed[first + k], 0, 1, at + k, places, read, state, used)
    else:
        for k in range(first, first + terms):
            used = _mark_read(runs[k, 0], runs[k, 1], count, at + k - first, places, read, state, used)
    return used


@compiled_in_place
def _mark_ranges(
    ranges: Any, site_width: Any, places: Any, read: Any, width: Any, state: Any, used: Any
) -> Any:
    """Mark what the stores of ranges read and store to."""
    rounds, first_store, stores, labels = ranges
    for n in range(len(rounds)):
        for s in range(first_store[n], first_store[n + 1]):
            line, stored = (stores[s, 1], stores[s, 2], rounds[n]), site_width[stores[s, 0]]
            used = _mark(line, CACHED, (stored, stored), places, width, state, used)
            for k in range(stores[s, 3], end_of(s, stores, labels)):
                at = k - stores[s, 3]
                used = _mark_read(labels[k, 0], labels[k, 1], rounds[n], at, places, read, state, used)
    return used


@compiled_in_place
def mark(trace: Any, ranges: Any, site_width: Any, places: Any, read: Any, width: Any, state: Any) -> Any:
    """Mark the words that rows read and store to.

    Words of workspaces are no homes; they are marked with width 1 where blocks are.

    Args:
        trace: Columns of the trace: heads, units, groups, runs, listed; int64, row of each name that labels
            call one by, empty if that is its place.
        ranges: Rounds, first stores, stores and labels of its ranges.
        site_width: int64, width of the values of each site, bytes; 0: of the value that a row copies.
        places: Starts, length and base of ranges of words; shift.
        read: uint8, result, 1 per dense word or block that is read.
        width: uint8, result: greatest width stored to each.
        state: int64[CACHED + 1], ranges of words that were found last, by position in a row; int64[2, n],
            result: words in no range; width stored to each, 0 if it is read, -1 if in a workspace.

    Returns:
        Words in no range, also those that there was no room for.
    """
    heads, units, groups, runs, listed, row_of = trace
    unit, group, used = 0, 0, 0
    for row in range(len(heads)):
        flags, count = heads[row, 1] >> FLAGS, (heads[row, 1] >> 32) & COUNT
        if not flags & (ROW_FILL | ROW_RANGE):
            if not flags & (ROW_UPDATE | ROW_REGISTER):
                stored = site_width[heads[row, 1] & LOW]
                if not stored:
                    label = plain_label(heads, row, units, unit, 0)
                    stored = _copied_width(heads, row_of, label, site_width)
                noted = stored
                if flags & ROW_TEMPORARY:
                    stored, noted = min(places[3], 1), np.int64(NONE)
                used = _mark((heads[row, 0], 0, 1), CACHED, (stored, noted), places, width, state, used)
            for k in range(count):
                label = plain_label(heads, row, units, unit, k)
                used = _mark_read(label, 0, 1, k, places, read, state, used)
        while group < len(groups) and groups[group, 0] == row:
            used = _mark_group(groups[group], runs, listed, count, places, read, state, used)
            group += 1
        unit += units_of(heads[row, 1])
    return _mark_ranges(ranges, site_width, places, read, width, state, used)
