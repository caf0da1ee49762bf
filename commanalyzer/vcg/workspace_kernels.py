"""Compiled loops over what words held, see :mod:`commanalyzer.vcg.workspaces`."""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.compiled import compiled, compiled_in_place

_FACTOR = -7046029254386353131  # 2^64 / golden ratio
_SHIFT = 29


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
def number_distinct(place: Any, number: Any) -> Any:
    """Number the distinct places from 0 on, in the order in which they come first; return how many.

    Args:
        place: int64[n].
        number: int64[n], result.
    """
    slots = np.full((1 << 12, 2), -1, np.int64)
    found = 0
    for i in range(len(place)):
        if 2 * found >= len(slots):
            larger = np.full((4 * len(slots), 2), -1, np.int64)
            for old in range(len(slots)):
                if slots[old, 1] >= 0:
                    slot = _slot_of(larger, slots[old, 0])
                    larger[slot, 0], larger[slot, 1] = slots[old, 0], slots[old, 1]
            slots = larger
        slot = _slot_of(slots, place[i])
        if slots[slot, 1] < 0:
            slots[slot, 0], slots[slot, 1] = place[i], found
            found += 1
        number[i] = slots[slot, 1]
    return found


@compiled_in_place
def _slot_of(slots: Any, place: Any) -> Any:
    """Where a place is in the table, or would be."""
    mask = len(slots) - 1
    slot = ((place * _FACTOR) >> _SHIFT) & mask
    while slots[slot, 1] >= 0 and slots[slot, 0] != place:
        slot = (slot + 1) & mask
    return slot
