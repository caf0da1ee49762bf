"""Compiled loops that merge vertices of an affinity graph; links as in ``affinity_kernels``."""

from __future__ import annotations

from typing import Any

from commanalyzer.compiled import compiled


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
