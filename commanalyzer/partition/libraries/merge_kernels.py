"""Compiled loops that merge vertices of an affinity graph; links as in ``adjacency_kernels``."""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.foundation.compiled import compiled


@compiled
def count_links(pointer: Any, neighbour: Any, number: Any, place: Any) -> None:
    """Count the edges between different new numbers at their lower ends, each once."""
    for v in range(len(pointer) - 1):
        for i in range(pointer[v], pointer[v + 1]):
            if number[v] < number[neighbour[i]]:
                place[number[v]] += 1


@compiled
def put_links(
    pointer: Any, neighbour: Any, edge_bytes: Any, number: Any, place: Any, upper: Any, link_bytes: Any
) -> None:
    """Write these edges to the places of their lower ends, which move on."""
    for v in range(len(pointer) - 1):
        low = number[v]
        for i in range(pointer[v], pointer[v + 1]):
            if low < number[neighbour[i]]:
                upper[place[low]] = number[neighbour[i]]
                link_bytes[place[low]] = edge_bytes[i]
                place[low] += 1


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
