"""Hubs by a list of all edges of the contracted graph: the oracle of the passes over slices."""

import numpy as np

from commanalyzer.foundation.flows import SourceRole
from commanalyzer.graph.value_graph import Bool, ValueGraph
from tests.reference import contraction as plain
from tests.reference.singletons import centroid_of, score_of

_MAX_ROUNDS = 16


def hub_mask(graph: ValueGraph, high: float) -> Bool:
    """Return bool[V], hubs by the rule of :mod:`commanalyzer.graph.structure.hubs`."""
    v, edges = graph.num_vertices, plain.distinct_edges(graph)
    root = plain.representatives(plain.merge_leaves(graph, edges, plain.merge_registers(graph, edges)))
    near = plain.neighbour_sets(edges, root)
    counter = np.zeros(v, np.bool_)
    counts = graph.rows.source_role == int(SourceRole.ADDRESS)
    row = np.repeat(np.arange(graph.num_rows), np.diff(graph.rows.row_ptr))
    counter[graph.rows.row_sink[row[counts]]] = True
    counter[graph.rows.source[np.isin(row, row[counts]) & ~counts]] = True
    centroid = centroid_of([len(n) for n in near])
    mask = np.zeros(v, np.bool_)
    for _ in range(_MAX_ROUNDS):
        degree = np.array([len(n) for n in near], np.int64)
        middle = max(centroid_of(degree.tolist()), 1.0)
        extreme = np.array([score_of(d, middle) >= high for d in degree.tolist()])
        population = np.array([int((2 * degree >= d).sum()) for d in degree.tolist()], np.int64)
        found = np.flatnonzero(extreme & (counter | (degree > population)))
        if not len(found):
            break
        mask[found] = True
        gone = set(found.tolist())
        near = [set() if u in gone else n - gone for u, n in enumerate(near)]
    merged = mask[root] & (root != np.arange(v)) & graph.is_register
    alone = plain.neighbour_sets(edges, np.arange(v))
    extreme = np.array([score_of(len(n), centroid) >= high for n in alone], np.bool_)
    return np.asarray(mask | (merged & extreme))
