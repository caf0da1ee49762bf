"""Compiled loop that tallies distances between elements of arrays.

owner[v]   array that vertex v is an element of, -1 for none
index[v]   its place there
tally      hash table of ``coarsening/kernels``: array and distance -> how often, by kind
kind       0 read together, then 1 + the depth of a loop, innermost first
stream     rows of one site that read the same arrays: what a loop nest leaves, one row after the other
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.division.coarsening.kernels import grown, slot
from commanalyzer.foundation.compiled import compiled, compiled_in_place

LAGS = 4  # distances up to it are not tallied; as many elements read before one are looked at
DEPTH = 4  # of loops
GAPS = 0  # the kind of what is read together
LOOPS = 1  # that of innermost loops
KINDS = LOOPS + DEPTH
PLACES = 5  # of a row that are followed: its sink and the first that it reads
ARRAY_BITS = 40  # below them, a key is the distance
_STREAMS = 1 << 10  # rows of further streams take the place of earlier ones


def new_streams() -> tuple[Any, Any, Any]:
    """Return no streams: labels, the latest places of each loop, and its steps; -1 steps are not known."""
    labels, latest = np.full(_STREAMS, -1, np.int64), np.zeros((_STREAMS, DEPTH, PLACES), np.int64)
    return labels, latest, np.full((_STREAMS, DEPTH, PLACES + 1), -1, np.int64)


@compiled
def _noted(array: Any, distance: Any, kind: Any, keys: Any, times: Any, count: Any) -> Any:
    """Return the tally with a distance noted, unless it is short."""
    if distance > LAGS:
        key = (np.int64(array) << ARRAY_BITS) | distance
        h = slot(keys, key)
        if keys[h] != key:
            if 2 * count[0] + 4 > len(keys):
                keys, times = grown(keys, times)
                h = slot(keys, key)
            keys[h] = key
            count[0] += 1
        times[h, kind] += 1
    return keys, times


@compiled
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
        place[:n].sort()
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


@compiled
def _loop_steps(
    site: Any, first: Any, last: Any, sink: Any, source: Any, index: Any, owner: Any,
    streams: Any, at: Any, arrays: Any, keys: Any, times: Any, count: Any,
) -> Any:  # fmt: skip
    """Follow the stream of a row and tally how far the loop that goes on has moved each place.

    A step other than before ends the innermost loop: the row begins its next run, and where the run before
    began tells the step of the loop around it.
    """
    labels, latest, step = streams
    at[0], arrays[0] = np.int64(index[sink]), owner[sink]
    label = np.int64(site) * 1_000_003 + arrays[0] + 1
    for k in range(1, PLACES):
        arrays[k] = -1
        if first + k - 1 < last:
            s = source[first + k - 1]
            at[k], arrays[k] = np.int64(index[s]), owner[s]
        label = label * 1_000_003 + arrays[k] + 1
    label &= np.int64(0x7FFFFFFFFFFFFFFF)
    h = label & (len(labels) - 1)
    if labels[h] != label:
        labels[h] = label
        for depth in range(DEPTH):
            latest[h, depth] = at
            step[h, depth, PLACES] = -1
        return keys, times
    for depth in range(DEPTH):
        known, same = step[h, depth, PLACES] >= 0, True
        for k in range(PLACES):
            same = same and (arrays[k] < 0 or at[k] - latest[h, depth, k] == step[h, depth, k])
        if not known or same:
            for k in range(PLACES):
                if arrays[k] >= 0:
                    moved = at[k] - latest[h, depth, k]
                    step[h, depth, k] = moved
                    keys, times = _noted(arrays[k], abs(moved), LOOPS + depth, keys, times, count)
            step[h, depth, PLACES] = 1
            latest[h, depth] = at
            break
        step[h, depth, PLACES] = -1
        latest[h, depth] = at
    return keys, times


@compiled
def tally_distances(
    rows: Any, num_rows: Any, index: Any, arrays: Any, owner: Any, streams: Any, keys: Any, times: Any,
    count: Any,
) -> Any:  # fmt: skip
    """Tally distances between elements that are read together or next in a loop.

    Args:
        rows: Rows of the slice.
        num_rows: How many of them are looked at.
        index: Place of each vertex in its array, below 2^40.
        arrays: Number of arrays.
        owner: Array of each vertex.
        streams: What :func:`new_streams` returned; changed.
        keys: Tally.
        times: Tally.
        count: int64[1], entries of the tally; changed.

    Returns:
        The tally.
    """
    row_sink, row_site, source = rows.row_sink, rows.row_site, rows.source
    term_ptr, source_ptr = rows.term_ptr, rows.source_ptr
    most = 0
    for r in range(num_rows):
        most = max(most, source_ptr[term_ptr[r + 1]] - source_ptr[term_ptr[r]])
    place, latest = np.empty(most, np.int64), np.full(arrays, -1, np.int64)
    ring, read = np.zeros((arrays, LAGS), np.int64), np.zeros(arrays, np.int64)
    at, of = np.zeros(PLACES, np.int64), np.zeros(PLACES, np.int64)
    for r in range(num_rows):
        sink, first, last = row_sink[r], source_ptr[term_ptr[r]], source_ptr[term_ptr[r + 1]]
        keys, times = _loop_steps(
            row_site[r], first, last, sink, source, index, owner, streams, at, of, keys, times, count
        )
        n = _places(first, last, source, index, owner, place, latest)
        for i in range(n):
            a, where = place[i] >> ARRAY_BITS, place[i] & ((np.int64(1) << ARRAY_BITS) - 1)
            for lag in range(1, min(read[a], LAGS) + 1):
                distance = where - ring[a, (read[a] - lag) % LAGS]
                keys, times = _noted(a, distance, GAPS, keys, times, count)
            ring[a, read[a] % LAGS] = where
            read[a] += 1
        for i in range(n):
            read[place[i] >> ARRAY_BITS] = 0
    return keys, times
