"""Compiled loops that make and check affinity graphs; see :mod:`commanalyzer.partition.libraries.affinity`.

A link joins two vertices and has bytes. Links are kept at their lower end, parallel ones added up, and then
written in both directions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.foundation.compiled import compiled
from commanalyzer.partition.libraries.flow_bytes import flow_bytes, shared_bytes


@compiled
def _bytes_of(source: Any, count: Any, versions: Any, width_bytes: Any, readers: Any) -> Any:
    """Return what a flow weighs; ``readers`` is empty where the bytes of a value are not shared."""
    volume = flow_bytes(count, versions[source], width_bytes[source])
    return shared_bytes(volume, readers[source]) if len(readers) else volume


@compiled
def _link(
    one: Any, other: Any, volume: Any, is_counting: Any, place: Any, upper: Any, link_bytes: Any
) -> None:
    """Count a link at its lower end, or put it there."""
    if one == other:
        return
    low = min(one, other)
    if not is_counting:
        upper[place[low]] = max(one, other)
        link_bytes[place[low]] = volume
    place[low] += 1


@compiled
def collect_links(
    row_sink: Any,
    row_count: Any,
    row_fold: Any,
    term_ptr: Any,
    source_ptr: Any,
    source: Any,
    versions: Any,
    width_bytes: Any,
    readers: Any,
    vertex: Any,
    is_counting: Any,
    place: Any,
    upper: Any,
    link_bytes: Any,
) -> None:
    """Count the links of all rows at their lower ends, or put them to ``place``, which moves on.

    A flow links its ends. Operands of a term whose sink is gone are linked, each to the next one still there.
    """
    for r in range(len(row_sink)):
        sink = vertex[row_sink[r]]
        if sink < 0 and not row_fold[r]:
            continue
        for t in range(term_ptr[r], term_ptr[r + 1]):
            before, before_bytes = np.int64(-1), np.int64(0)
            for i in range(source_ptr[t], source_ptr[t + 1]):
                end = vertex[source[i]]
                if end < 0:
                    continue
                volume = _bytes_of(source[i], row_count[r], versions, width_bytes, readers)
                if sink >= 0:
                    _link(end, sink, volume, is_counting, place, upper, link_bytes)
                    continue
                if before >= 0:
                    least = min(volume, before_bytes)
                    _link(before, end, least, is_counting, place, upper, link_bytes)
                before, before_bytes = end, volume


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
def spread_work(
    row_sink: Any,
    row_count: Any,
    term_ptr: Any,
    source_ptr: Any,
    source: Any,
    removed: Any,
    work_flops: Any,
    total: Any,
    spread: Any,
) -> None:
    """Write the uses of operands by each removed sink to ``total``, their share of its work to ``spread``."""
    for r in range(len(row_sink)):
        if removed[row_sink[r]]:
            for i in range(source_ptr[term_ptr[r]], source_ptr[term_ptr[r + 1]]):
                if not removed[source[i]]:
                    total[row_sink[r]] += np.float64(row_count[r])
    for r in range(len(row_sink)):
        sink = row_sink[r]
        if removed[sink]:
            for i in range(source_ptr[term_ptr[r]], source_ptr[term_ptr[r + 1]]):
                if not removed[source[i]]:
                    spread[source[i]] += np.float64(row_count[r]) / total[sink] * work_flops[sink]
