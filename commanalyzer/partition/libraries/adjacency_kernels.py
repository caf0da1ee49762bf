"""Compiled loops that make and check adjacencies; see :mod:`commanalyzer.partition.libraries.adjacency`.

A link joins two vertices and has bytes. Links are kept at their lower end, parallel ones added up, and then
written in both directions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.foundation.compiled import compiled
from commanalyzer.vcg.contraction.contract_kernels import unite


@compiled
def add_parallel(place: Any, upper: Any, link_bytes: Any, pointer: Any, degree: Any) -> None:
    """Add up parallel links, in place; write where those of each lower end begin, and the degrees of all."""
    where = np.full(len(place), -1, np.int64)
    at = 0
    for v in range(len(place) - 1):
        begin = at
        for i in range(place[v], place[v + 1]):
            u = upper[i]
            if where[u] >= begin:
                link_bytes[where[u]] += link_bytes[i]
                continue
            where[u] = at
            upper[at], link_bytes[at] = u, link_bytes[i]
            degree[u] += 1
            at += 1
        degree[v] += at - begin
        pointer[v + 1] = at


@compiled
def write_both_ways(
    pointer: Any, upper: Any, link_bytes: Any, place: Any, filled: Any, neighbour: Any, edge_bytes: Any
) -> None:
    """Write the neighbours of every vertex in ascending order.

    Lower neighbours first: links come in ascending order of their lower ends. Then the upper ones: a vertex
    is reached from its lower neighbours in ascending order of upper ends.
    """
    for v in range(len(pointer) - 1):
        for i in range(pointer[v], pointer[v + 1]):
            at = filled[upper[i]]
            neighbour[at], edge_bytes[at] = v, link_bytes[i]
            filled[upper[i]] += 1
    lower_end = filled.copy()
    for v in range(len(pointer) - 1):
        for i in range(place[v], lower_end[v]):
            at = filled[neighbour[i]]
            neighbour[at], edge_bytes[at] = v, edge_bytes[i]
            filled[neighbour[i]] += 1


@compiled
def first_fault(pointer: Any, neighbour: Any, edge_bytes: Any) -> Any:
    """Return what is wrong with a graph: 1 not ascending, 2 an edge to itself, 3 one-sided; 0 nothing."""
    for v in range(len(pointer) - 1):
        for i in range(pointer[v] + 1, pointer[v + 1]):
            if neighbour[i] <= neighbour[i - 1]:
                return 1
    for v in range(len(pointer) - 1):
        for i in range(pointer[v], pointer[v + 1]):
            if neighbour[i] == v:
                return 2
    # Vertices come in ascending order, so the next entry of a neighbour that was not seen yet is this vertex.
    seen = pointer[:-1].copy()
    for v in range(len(pointer) - 1):
        for i in range(pointer[v], pointer[v + 1]):
            u = neighbour[i]
            j = seen[u]
            if j == pointer[u + 1] or neighbour[j] != v or edge_bytes[j] != edge_bytes[i]:
                return 3
            seen[u] += 1
    return 0


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
