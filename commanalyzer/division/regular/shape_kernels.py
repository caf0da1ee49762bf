"""Compiled loop that tallies distances between elements of arrays.

owner[v]   array that vertex v is an element of, -1 for none
index[v]   its place there
kind       0 read together, then 1 + the depth of a loop, innermost first
stream     rows of one site that read the same arrays: what a loop nest leaves, one row after the other
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from commanalyzer.foundation.compiled import compiled, compiled_in_place, compiled_inline
from commanalyzer.graph.value_graph import Int64

LAGS = 4  # distances up to it are not tallied; as many elements read before one are looked at
DEPTH = 4  # of loops
GAPS = 0  # the kind of what is read together
LOOPS = 1  # that of innermost loops
KINDS = LOOPS + DEPTH
PLACES = 5  # of a row that are followed: its sink and the first that it reads
ARRAY_BITS = 40  # below them, a key is the distance
_EMPTY, _MULTIPLIER = -1, np.uint64(0x9E3779B97F4A7C15)  # of the hash table
_STREAMS = 1 << 10  # rows of further streams take the place of earlier ones


class Streams(NamedTuple):
    """S streams and the row that is looked at."""

    labels: Int64  # [S], what tells streams apart, -1 for none
    latest: Int64  # [S, DEPTH, PLACES], the latest places of each loop
    step: Int64  # [S, DEPTH, PLACES + 1], how far each moves them, and whether that is known (-1: not)
    at: Int64  # [PLACES], places of the row
    arrays: Int64  # [PLACES], in these arrays


class Tally(NamedTuple):
    """How often each distance occurs, in a hash table with linear probing."""

    keys: Int64  # [slots], array and distance, -1 for an empty slot; a power of two
    times: Int64  # [slots, KINDS]
    entries: Int64  # [1]


def new_streams() -> Streams:
    """Return no streams."""
    labels, latest = np.full(_STREAMS, -1, np.int64), np.zeros((_STREAMS, DEPTH, PLACES), np.int64)
    step = np.full((_STREAMS, DEPTH, PLACES + 1), -1, np.int64)
    return Streams(labels, latest, step, *np.zeros((2, PLACES), np.int64))


def new_reads(flows: int, arrays: int) -> tuple[Int64, Int64, Int64, Int64]:
    """Return room for what rows of at most so many flows read."""
    latest, ring = np.full(arrays, -1, np.int64), np.zeros((arrays, LAGS), np.int64)
    return np.empty(flows, np.int64), latest, ring, np.zeros(arrays, np.int64)


@compiled_in_place
def _slot(keys: Any, key: Any) -> Any:
    """Return the slot of ``key``, or the empty one where it belongs."""
    mask = len(keys) - 1
    mixed = np.uint64(key) * _MULTIPLIER
    h = np.int64(mixed ^ (mixed >> np.uint64(32))) & mask  # both halves of the key reach the lowest bits
    while keys[h] != key and keys[h] != _EMPTY:
        h = (h + 1) & mask
    return h


@compiled
def grown(keys: Any, sums: Any) -> Any:
    """Return a table of twice the slots with the same entries."""
    wider = np.full(2 * len(keys), _EMPTY, np.int64)
    moved = np.zeros((2 * len(keys), sums.shape[1]), np.int64)
    for h in range(len(keys)):
        if keys[h] != _EMPTY:
            at = _slot(wider, keys[h])
            wider[at] = keys[h]
            for c in range(sums.shape[1]):
                moved[at, c] = sums[h, c]
    return wider, moved


@compiled_inline
def _note(array: Any, distance: Any, kind: Any, tally: Any) -> None:
    """Note a distance, unless it is short; there must be room."""
    keys, times, entries = tally
    if distance > LAGS:
        key = (np.int64(array) << ARRAY_BITS) | distance
        h = _slot(keys, key)
        if keys[h] != key:
            keys[h] = key
            entries[0] += 1
        times[h, kind] += 1


@compiled
def _sort(place: Any) -> None:
    place.sort()


@compiled_in_place
def _places(first: Any, last: Any, source: Any, index: Any, owner: Any, place: Any, latest: Any) -> Any:
    """Write the elements read to ``place`` as (array << 40) | index, in order; return how many.

    ``latest`` int64, for each array the last index read in this row; -1 before and after.
    """
    n, rises = 0, True
    for i in range(first, last):
        a = owner[source[i]]
        if a < 0:
            continue
        at = np.int64(index[source[i]])
        rises = rises and at >= latest[a]
        latest[a] = at
        place[n] = (np.int64(a) << ARRAY_BITS) | at
        n += 1
    for i in range(n):
        latest[place[i] >> ARRAY_BITS] = -1
    if not rises:
        _sort(place[:n])
    return n


@compiled_in_place
def note_results(rows: Any, index: Any, owner: Any) -> None:
    """Give values in no array that alone make an element the place of this element."""
    for r in range(len(rows.row_sink)):
        first, sink = rows.source_ptr[rows.term_ptr[r]], rows.row_sink[r]
        if rows.source_ptr[rows.term_ptr[r + 1]] == first + 1 and owner[sink] >= 0:
            only = rows.source[first]
            if owner[only] < 0:
                owner[only], index[only] = owner[sink], index[sink]


@compiled_in_place
def _note_loop_steps(rows: Any, r: Any, index: Any, owner: Any, streams: Any, tally: Any) -> None:
    """Follow the stream of a row and tally how far the loop that goes on has moved each place.

    A step other than before ends the innermost loop: the row begins its next run, and where the run before
    began tells the step of the loop around it.
    """
    labels, latest, step, at, arrays = streams
    first, last = rows.source_ptr[rows.term_ptr[r]], rows.source_ptr[rows.term_ptr[r + 1]]
    at[0], arrays[0] = np.int64(index[rows.row_sink[r]]), owner[rows.row_sink[r]]
    label = np.int64(rows.row_site[r]) * 1_000_003 + arrays[0] + 1
    for k in range(1, PLACES):
        arrays[k] = -1
        if first + k - 1 < last:
            s = rows.source[first + k - 1]
            at[k], arrays[k] = np.int64(index[s]), owner[s]
        label = label * 1_000_003 + arrays[k] + 1
    label &= np.int64(0x7FFFFFFFFFFFFFFF)
    h = label & (len(labels) - 1)
    is_new, labels[h] = labels[h] != label, label
    for depth in range(DEPTH):
        same = True
        for k in range(PLACES):
            same = same and (arrays[k] < 0 or at[k] - latest[h, depth, k] == step[h, depth, k])
        goes_on = not is_new and (same or step[h, depth, PLACES] < 0)
        for k in range(PLACES):
            if goes_on and arrays[k] >= 0:
                step[h, depth, k] = at[k] - latest[h, depth, k]
                _note(arrays[k], abs(step[h, depth, k]), LOOPS + depth, tally)
            latest[h, depth, k] = at[k]
        step[h, depth, PLACES] = 1 if goes_on else -1
        if goes_on:
            break


@compiled_in_place
def tally_distances(
    rows: Any, begin: Any, end: Any, index: Any, owner: Any, read: Any, streams: Any, tally: Any
) -> Any:
    """Tally distances between elements that are read together or next in a loop.

    Rows ``begin`` to ``end - 1`` of the slice are looked at, up to the first, which is returned, for which
    there may be too little room in ``tally``. ``index`` is the place of each vertex in its array, below 2^40,
    ``owner`` the number of this. ``read``, ``streams`` and ``tally`` change.
    """
    source, term_ptr, source_ptr = rows.source, rows.term_ptr, rows.source_ptr
    place, latest, ring, count = read
    for r in range(begin, end):
        first, last = source_ptr[term_ptr[r]], source_ptr[term_ptr[r + 1]]
        if 2 * (tally.entries[0] + LAGS * (last - first) + DEPTH * PLACES) > len(tally.keys):
            return r
        _note_loop_steps(rows, r, index, owner, streams, tally)
        n = _places(first, last, source, index, owner, place, latest)
        for i in range(n):
            a, where = place[i] >> ARRAY_BITS, place[i] & ((np.int64(1) << ARRAY_BITS) - 1)
            for lag in range(1, min(count[a], LAGS) + 1):
                _note(a, where - ring[a, (count[a] - lag) % LAGS], GAPS, tally)
            ring[a, count[a] % LAGS] = where
            count[a] += 1
        for i in range(n):
            count[place[i] >> ARRAY_BITS] = 0
    return end
