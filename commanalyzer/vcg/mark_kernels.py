"""Compiled loops that mark the words of ranges, round after round, as those of rows are marked.

Tables and places are those of :mod:`commanalyzer.vcg.trace_kernels`, :mod:`commanalyzer.vcg.range_kernels`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.abi.hooks import REGISTER, WORD_MASK
from commanalyzer.compiled import compiled, compiled_in_place
from commanalyzer.vcg.range_kernels import end_of
from commanalyzer.vcg.trace_kernels import find_range

_FIRST_ROOM = 1 << 10


@compiled
def _with_room(words: Any, used: Any, needed: Any) -> Any:
    """``words`` (int64[2, n]), or a larger table with room for ``needed`` more."""
    if used + needed <= words.shape[1]:
        return words
    larger = np.empty((2, 2 * (used + needed)), np.int64)
    larger[:, :used] = words[:, :used]
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
        table: Columns of a :class:`~commanalyzer.vcg.ranges.RangeTable`.
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
