"""Compiled loops over links and edges; see :mod:`commanalyzer.partition.libraries.adjacency`."""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.foundation.compiled import compiled
from commanalyzer.vcg.contraction.contract_kernels import unite


@compiled
def join_links(place: Any, upper: Any, link_bytes: Any) -> Any:
    """Return columns as of :func:`.adjacency.both_ways`, neighbours ascending.

    Lower neighbours come first, in the order of the links; then the upper ones: a vertex is reached from its
    lower neighbours in ascending order of upper ends.
    """
    n = len(place) - 1
    begin, pointer = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    for i in range(len(upper)):
        begin[upper[i] + 1] += 1
    end = np.cumsum(begin)
    begin = end.copy()
    lower, lower_bytes = np.empty(len(upper), np.int64), np.empty(len(upper), np.int64)
    for v in range(n):
        for i in range(place[v], place[v + 1]):
            u = upper[i]
            if end[u] > begin[u] and lower[end[u] - 1] == v:
                lower_bytes[end[u] - 1] += link_bytes[i]
                continue
            lower[end[u]], lower_bytes[end[u]] = v, link_bytes[i]
            end[u] += 1
            pointer[u + 1] += 1
            pointer[v + 1] += 1
    pointer = np.cumsum(pointer)
    filled = pointer.copy()
    neighbour, edge_bytes = np.empty(pointer[n], np.int64), np.empty(pointer[n], np.int64)
    for u in range(n):
        for i in range(begin[u], end[u]):
            for one, other in ((u, lower[i]), (lower[i], u)):
                neighbour[filled[one]], edge_bytes[filled[one]] = other, lower_bytes[i]
                filled[one] += 1
    return pointer, neighbour, edge_bytes


@compiled
def first_fault(pointer: Any, neighbour: Any, edge_bytes: Any) -> int:
    """Return which of :data:`.adjacency._FAULTS` an edge has, the first that has any; 0 if none has."""
    n = len(pointer) - 1
    for v in range(n):
        for k in range(pointer[v], pointer[v + 1]):
            other = neighbour[k]
            if not 0 <= other < n:
                return 1
            if edge_bytes[k] <= 0:
                return 2
            if k > pointer[v] and neighbour[k - 1] >= other:
                return 3
            if other == v:
                return 4
            back, end = pointer[other], pointer[other + 1]
            while back < end:
                middle = (back + end) // 2
                if neighbour[middle] < v:
                    back = middle + 1
                else:
                    end = middle
            if back == pointer[other + 1] or neighbour[back] != v or edge_bytes[back] != edge_bytes[k]:
                return 5
    return 0


@compiled
def steps_across(pointer: Any, neighbour: Any, most_degree: Any) -> tuple[int, int]:
    """Return steps from one end of a graph to the other, nearly, and the vertices between them.

    Breadth first from the vertex that is farthest from the first with links; vertices with more than
    ``most_degree`` neighbours are not passed through.
    """
    n = len(pointer) - 1
    seen, queue = np.zeros(n, np.int64), np.empty(n, np.int64)
    start, depth, last = 0, 0, 0
    while start < n - 1 and pointer[start] == pointer[start + 1]:
        start += 1
    for sweep in range(1, 3):
        if n == 0:
            break
        queue[0], last, place, level_end, depth = start, 1, 0, 1, 0
        seen[start] = sweep
        while place < last:
            if place == level_end:
                depth, level_end = depth + 1, last
            v = queue[place]
            place += 1
            if pointer[v + 1] - pointer[v] > most_degree:
                continue
            for i in range(pointer[v], pointer[v + 1]):
                if seen[neighbour[i]] != sweep:
                    seen[neighbour[i]] = sweep
                    queue[last] = neighbour[i]
                    last += 1
        start = queue[last - 1]
    return depth, last


@compiled
def label_components(pointer: Any, neighbour: Any, label: Any) -> Any:
    """Number the connected components by their first vertices; ``label``: 0 to N - 1. Return how many."""
    for v in range(len(label)):
        for i in range(pointer[v], pointer[v + 1]):
            unite(label, v, neighbour[i])
    count = 0
    for v in range(len(label)):
        is_first = label[v] == v
        label[v] = count if is_first else label[label[v]]
        count += is_first
    return count
