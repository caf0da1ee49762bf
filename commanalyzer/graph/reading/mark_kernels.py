"""Compiled loops that mark the words that rows of a trace read and store to.

Tables and places are those of :mod:`.trace_kernels`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.foundation.compiled import compiled_in_place, compiled_inline
from commanalyzer.graph.reading.trace_kernels import CACHED, FLAGS, LOW, NONE, find_range
from commanalyzer.recording.abi.hooks import REGISTER, WORD_MASK
from commanalyzer.recording.abi.trace_layout import ROW_FILL, ROW_REGISTER, ROW_TEMPORARY, ROW_UPDATE

_WORD_BYTES = 4


@compiled_inline
def _mark(word: Any, slot: Any, raised: Any, places: Any, marked: Any, state: Any, used: Any) -> Any:
    """Raise the mark of a word; return how many words outside are known.

    Args:
        word: It.
        slot: Place of the range found last in the cache.
        raised: What the mark is raised to.
        places: Of ranges, as for :func:`mark`.
        marked: uint8, result.
        state: Cache and words outside.
        used: How many of these are known.
    """
    starts, length, base, shift = places
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
def _copied_width(heads: Any, row_of: Any, label: Any, site_width: Any) -> Any:
    """Width of a value that was copied with others: of the named value that it is, else a word's."""
    row = label & WORD_MASK if label & REGISTER else NONE
    if len(row_of):
        row = row_of[row] if 0 <= row < len(row_of) else NONE
    if row < 0 or row >= len(heads):
        return np.int64(_WORD_BYTES)
    return max(site_width[heads[row, 1] & LOW], _WORD_BYTES)


@compiled_in_place
def mark(
    chunk: Any, recorded: Any, row_of: Any, site_width: Any, places: Any, read: Any, width: Any, state: Any
) -> Any:
    """Mark the words that rows read and store to.

    Words of workspaces are no homes; they are marked with width 1 where blocks are.

    Args:
        chunk: Heads, labels and their ends, of some rows.
        recorded: Heads of all rows of the trace.
        row_of: int64, row of each name that labels call one by, empty if that is its place.
        site_width: int64, width of the values of each site, bytes; 0: of the value that a row copies.
        places: Starts, length and base of ranges of words; shift.
        read: uint8, result, 1 per dense word or block that is read.
        width: uint8, result: greatest width stored to each.
        state: int64[CACHED + 1], ranges of words that were found last, by position in a row; int64[n],
            result: words in no range.

    Returns:
        How many words in no range.
    """
    heads, label, end = chunk
    at, used = 0, 0
    for row in range(len(heads)):
        flags, begin = heads[row, 1] >> FLAGS, at
        if not flags & (ROW_FILL | ROW_UPDATE | ROW_REGISTER):
            stored = site_width[heads[row, 1] & LOW]
            if not stored:
                stored = _copied_width(recorded, row_of, label[at], site_width)
            if flags & ROW_TEMPORARY:
                stored = np.int64(min(places[3], 1))
            used = _mark(heads[row, 0] & WORD_MASK, CACHED, stored, places, width, state, used)
        while at < end[row]:
            slot, named = (at - begin) & (CACHED - 1), label[at]
            if named != 0 and not named & REGISTER:
                used = _mark(named & WORD_MASK, slot, 1, places, read, state, used)
            at += 1
    return used
