"""Compiled loops over the flows and edges of a value graph; arrays as in :mod:`.edges`."""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.foundation.compiled import compiled


@compiled
def distribute(sink: Any, start: Any, source: Any, place: Any, sinks: Any) -> None:
    """Put the sink of every flow to its source; ``place`` (zeros) becomes the pointer of ``sinks``."""
    last = len(place) - 1
    for i in range(start[0], start[len(sink)]):
        place[source[i]] += 1
    total = 0
    for v in range(last + 1):
        amount = place[v]
        place[v] = total
        total += amount
    for r in range(len(sink)):
        for i in range(start[r], start[r + 1]):
            v = source[i]
            sinks[place[v]] = sink[r]
            place[v] += 1
    for v in range(last, 0, -1):
        place[v] = place[v - 1]
    place[0] = 0


@compiled
def count_entries(index: Any, count: Any) -> None:
    """Count how often each number occurs; ``numpy.bincount`` would make 64-bit copies of all of them."""
    for i in range(len(index)):
        count[index[i]] += 1


@compiled
def count_distinct(place: Any, sinks: Any, pointer: Any) -> None:
    """Write the pointer of the distinct sources of each sink to ``pointer`` (zeros)."""
    latest = np.full(len(pointer) - 1, -1, np.int32)
    for v in range(len(place) - 1):
        for i in range(place[v], place[v + 1]):
            t = sinks[i]
            if t != v and latest[t] != v:
                latest[t] = v
                pointer[t + 1] += 1
    for v in range(1, len(pointer)):
        pointer[v] += pointer[v - 1]


@compiled
def place_distinct(place: Any, sinks: Any, pointer: Any, found: Any) -> None:
    """Write the distinct sources of each sink, ascending, to ``found``."""
    filled = pointer.copy()
    latest = np.full(len(pointer) - 1, -1, np.int32)
    for v in range(len(place) - 1):
        for i in range(place[v], place[v + 1]):
            t = sinks[i]
            if t != v and latest[t] != v:
                latest[t] = v
                found[filled[t]] = v
                filled[t] += 1


@compiled
def count_neighbours(pointer: Any, source: Any, out_pointer: Any, sink: Any, degree: Any) -> None:
    """Write how many vertices are a source or a sink of each vertex (both lists ascending)."""
    for v in range(len(pointer) - 1):
        i, j = pointer[v], out_pointer[v]
        end, out_end = pointer[v + 1], out_pointer[v + 1]
        both = 0
        total = end - i + out_end - j
        while i < end and j < out_end:
            a, b = source[i], sink[j]
            both += a == b
            i += a <= b
            j += b <= a
        degree[v] = total - both


@compiled
def order_by(key: Any, place: Any, order: Any) -> None:
    """Write the indices of ``key``, stably sorted by it, to ``order``; ``place`` (zeros): the pointer."""
    for i in range(len(key)):
        place[key[i]] += 1
    total = 0
    for v in range(len(place)):
        amount = place[v]
        place[v] = total
        total += amount
    for i in range(len(key)):
        order[place[key[i]]] = i
        place[key[i]] += 1
    for v in range(len(place) - 1, 0, -1):
        place[v] = place[v - 1]
    place[0] = 0
