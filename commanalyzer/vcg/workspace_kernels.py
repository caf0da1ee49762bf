"""Compiled loops over what words held, see :mod:`commanalyzer.vcg.workspaces`."""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.compiled import compiled, compiled_in_place

_FACTOR = -7046029254386353131  # 2^64 / golden ratio
_SHIFT = 29
_OFFSET_BITS = 40  # of a byte in an object, next to the object's number


@compiled_in_place
def add_contents(
    row_sink: Any,
    row_count: Any,
    row_accumulates: Any,
    has_sources: Any,
    word: Any,
    is_temporary: Any,
    lifetimes: Any,
    commonest: Any,
) -> None:
    """Add the rows of a part to the lifetimes of words, and keep the most occurrences of one with sources."""
    for row in range(len(row_sink)):
        sink = row_sink[row]
        w = word[sink]
        if is_temporary[sink] or not row_accumulates[row]:
            lifetimes[w] += row_count[row]
        if has_sources[row]:
            commonest[w] = max(commonest[w], row_count[row])


@compiled_in_place
def pass_on(row_sink: Any, term_ptr: Any, source_ptr: Any, source: Any, reach: Any, passed: Any) -> None:
    """Lower what each sink is passed to the least that its sources reach, for the rows of a part."""
    for row in range(len(row_sink)):
        least = passed[row_sink[row]]
        for at in range(source_ptr[term_ptr[row]], source_ptr[term_ptr[row + 1]]):
            least = min(least, reach[source[at]])
        passed[row_sink[row]] = least


@compiled
def number_words(home_object: Any, home_offset: Any, is_home: Any, is_temporary: Any, word: Any) -> Any:
    """Number the words that vertices live in; return how many are homes, and how many others have lifetimes.

    Args:
        home_object: int32[V].
        home_offset: int64[V], bytes.
        is_home: bool[V], each is a word of its own: the first numbers, in their order.
        is_temporary: bool[V], lifetimes: those at one place are one word, in the order in which they come.
        word: int32[V], result; all other vertices get the number behind these.
    """
    slots = np.full((1 << 12, 2), -1, np.int64)
    homes = found = 0
    for v in range(len(word)):
        homes += is_home[v]
    home = 0
    for v in range(len(word)):
        word[v] = -1
        if is_home[v]:
            word[v] = home
            home += 1
        elif is_temporary[v]:
            if 2 * found >= len(slots):
                slots = _larger(slots)
            place = np.int64(home_object[v]) << _OFFSET_BITS | home_offset[v]
            slot = _slot_of(slots, place)
            if slots[slot, 1] < 0:
                slots[slot, 0], slots[slot, 1] = place, found
                found += 1
            word[v] = homes + slots[slot, 1]
    for v in range(len(word)):
        if word[v] < 0:
            word[v] = homes + found
    return homes, found


@compiled
def _larger(slots: Any) -> Any:
    """Return the table with four times the room."""
    larger = np.full((4 * len(slots), 2), -1, np.int64)
    for old in range(len(slots)):
        if slots[old, 1] >= 0:
            slot = _slot_of(larger, slots[old, 0])
            larger[slot, 0], larger[slot, 1] = slots[old, 0], slots[old, 1]
    return larger


@compiled_in_place
def _slot_of(slots: Any, place: Any) -> Any:
    """Where a place is in the table, or would be."""
    mask = len(slots) - 1
    slot = ((place * _FACTOR) >> _SHIFT) & mask
    while slots[slot, 1] >= 0 and slots[slot, 0] != place:
        slot = (slot + 1) & mask
    return slot
