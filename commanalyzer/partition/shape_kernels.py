"""Compiled loops that tally distances between elements of arrays.

owner[v]   array that vertex v is an element of, -1 for none
index[v]   its place there
tally      hash table of :mod:`commanalyzer.partition.link_kernels`: distance -> how often
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.compiled import compiled
from commanalyzer.partition.link_kernels import grown, slot

LAGS = 4  # distances up to it are not tallied; as many elements read before one are looked at


@compiled
def _with(keys: Any, times: Any, count: Any, distance: Any) -> Any:
    """Return the tally with a new distance in it; ``count`` int64[1], its entries."""
    if 2 * count[0] + 4 > len(keys):
        keys, times = grown(keys, times)
    h = slot(keys, distance)
    keys[h] = distance
    times[h, 0] = 1
    count[0] += 1
    return keys, times


@compiled
def tally_steps(
    rows: Any, row_sink: Any, term_ptr: Any, source_ptr: Any, source: Any, index: Any, size: Any,
    owner: Any, keys: Any, times: Any, count: Any,
) -> Any:  # fmt: skip
    """Tally distances between elements and what they are computed from, in arrays of the same size.

    Args:
        rows: Number of rows of the slice that are looked at.
        row_sink: Columns of the slice, up to ``source``.
        term_ptr: As above.
        source_ptr: As above.
        source: As above.
        index: Place of each vertex in its array.
        size: Elements of each array, and -1.
        owner: Array of each vertex.
        keys: Tally.
        times: Tally.
        count: int64[1], entries of the tally; changed.

    Returns:
        The tally.
    """
    for r in range(rows):
        sink = row_sink[r]
        elements = size[owner[sink]]
        if elements <= 0:
            continue
        for i in range(source_ptr[term_ptr[r]], source_ptr[term_ptr[r + 1]]):
            s = source[i]
            if size[owner[s]] != elements:
                continue
            distance = abs(np.int64(index[sink]) - np.int64(index[s]))
            if distance <= LAGS:
                continue
            h = slot(keys, distance)
            if keys[h] == distance:
                times[h, 0] += 1
            else:
                keys, times = _with(keys, times, count, distance)
    return keys, times


@compiled
def _places(first: Any, last: Any, source: Any, index: Any, owner: Any, place: Any, latest: Any) -> Any:
    """Write the elements read to ``place`` as (array << 44) | index, in order; return how many.

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
        place[n] = (np.int64(a) << 44) | at
        n += 1
    for i in range(n):
        latest[place[i] >> 44] = -1
    if not rises:
        place[:n].sort()
    return n


@compiled
def tally_gaps(
    rows: Any, term_ptr: Any, source_ptr: Any, source: Any, index: Any, owner: Any, latest: Any,
    keys: Any, times: Any, count: Any,
) -> Any:  # fmt: skip
    """Tally distances between elements of one array that a row reads, up to four places apart among them.

    Args:
        rows: Number of rows of the slice that are looked at.
        term_ptr: Columns of the slice, up to ``source``.
        source_ptr: As above.
        source: As above.
        index: Place of each vertex in its array, below 2^44.
        owner: Array of each vertex.
        latest: int64, -1 for each array; changed.
        keys: Tally.
        times: Tally.
        count: int64[1], entries of the tally; changed.

    Returns:
        The tally.
    """
    most = 0
    for r in range(rows):
        most = max(most, source_ptr[term_ptr[r + 1]] - source_ptr[term_ptr[r]])
    place = np.empty(most, np.int64)
    ring, read = np.zeros((len(latest), LAGS), np.int64), np.zeros(len(latest), np.int64)
    for r in range(rows):
        n = _places(source_ptr[term_ptr[r]], source_ptr[term_ptr[r + 1]], source, index, owner, place, latest)
        for i in range(n):
            a, at = place[i] >> 44, place[i] & ((np.int64(1) << 44) - 1)
            for lag in range(1, min(read[a], LAGS) + 1):
                distance = at - ring[a, (read[a] - lag) % LAGS]
                if distance <= LAGS:
                    continue
                h = slot(keys, distance)
                if keys[h] == distance:
                    times[h, 0] += 1
                else:
                    keys, times = _with(keys, times, count, distance)
            ring[a, read[a] % LAGS] = at
            read[a] += 1
        for i in range(n):
            read[place[i] >> 44] = 0
    return keys, times
