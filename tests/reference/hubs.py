"""Hubs by a list of all edges of the contracted graph: the oracle of the passes over slices."""

from __future__ import annotations

import numpy as np

from commanalyzer.vcg.graph import Bool, SourceRole, ValueGraph
from commanalyzer.vcg.structure.edges import distinct_edges as compressed_edges
from commanalyzer.vcg.structure.edges import undirected_degree
from commanalyzer.vcg.structure.singletons import degree_centroid, distance_score
from tests.reference.contraction import (
    contracted_edges,
    distinct_edges,
    merge_leaves,
    merge_registers,
    representatives,
)

_MAX_ROUNDS = 16


def hub_mask(graph: ValueGraph, high: float) -> Bool:
    """Return bool[V], hubs by the rule of :mod:`commanalyzer.vcg.structure.hubs`."""
    v = graph.num_vertices
    edges = distinct_edges(graph)
    root = representatives(merge_leaves(graph, edges, merge_registers(graph, edges)))
    inner = contracted_edges(edges, root)
    near: list[set[int]] = [set() for _ in range(v)]
    for sink, source in zip(inner.sink.tolist(), inner.source.tolist(), strict=True):
        near[sink].add(source)
        near[source].add(sink)
    counter = np.zeros(v, np.bool_)
    counts = graph.source_role == int(SourceRole.ADDRESS)
    row = np.repeat(np.arange(graph.num_rows), np.diff(graph.source_ptr[graph.term_ptr]))
    counter[graph.row_sink[row[counts]]] = True
    counter[graph.source[np.isin(row, row[counts]) & ~counts]] = True
    centroid = degree_centroid(np.array([len(n) for n in near], np.int64))
    mask = np.zeros(v, np.bool_)
    for _ in range(_MAX_ROUNDS):
        degree = np.array([len(n) for n in near], np.int64)
        extreme = distance_score(degree, max(degree_centroid(degree), 1.0)) >= high
        population = np.array([int((2 * degree >= d).sum()) for d in degree.tolist()], np.int64)
        found = np.flatnonzero(extreme & (counter | (degree > population)))
        if not len(found):
            break
        mask[found] = True
        gone = set(found.tolist())
        near = [set() if u in gone else n - gone for u, n in enumerate(near)]
    merged = mask[root] & (root != np.arange(v)) & graph.is_register
    return np.asarray(
        mask | (merged & (distance_score(undirected_degree(compressed_edges(graph)), centroid) >= high))
    )
