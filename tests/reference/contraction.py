"""Edges and merges of a value graph with sorts and sparse matrices: the oracle of the compiled passes."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from commanalyzer.foundation.flows import Fold
from commanalyzer.graph.value_graph import Bool, Int64, ValueGraph, row_of_term, sink_of_source


@dataclass(frozen=True, slots=True)
class Edges:
    """Distinct directed edges of a value graph, self-edges left out, ordered by sink and then source.

    Attributes:
        sink: int64[E].
        source: int64[E].
    """

    sink: Int64
    source: Int64


def distinct_edges(graph: ValueGraph) -> Edges:
    """Return the distinct (sink, source) pairs of all rows (the edge set E of paper Section 4.2.1)."""
    v = max(graph.num_vertices, 1)
    keys = np.unique(sink_of_source(graph.rows).astype(np.int64) * v + graph.rows.source)
    sink, source = np.divmod(keys, v)
    other = sink != source
    return Edges(sink=sink[other], source=source[other])


def neighbour_sets(edges: Edges, root: Int64) -> list[set[int]]:
    """Distinct vertices adjacent to each one (Definition 4.2), of vertices that each one is merged into."""
    near: list[set[int]] = [set() for _ in root]
    for sink, source in zip(root[edges.sink].tolist(), root[edges.source].tolist(), strict=True):
        if sink != source:
            near[sink].add(source)
            near[source].add(sink)
    return near


def merge_registers(graph: ValueGraph, edges: Edges) -> Int64:
    """Return int64[V], the vertex that each private register merges into, other vertices themselves."""
    v = graph.num_vertices
    target = np.arange(v, dtype=np.int64)
    readers = np.bincount(edges.source, minlength=v)
    contributes = np.zeros(v, dtype=np.bool_)
    contributes[graph.rows.source[_fold_entries(graph)]] = True
    private = (graph.is_register | graph.is_temporary) & (readers == 1) & ~contributes
    chosen = private[edges.source]
    target[edges.source[chosen]] = edges.sink[chosen]
    return target


def merge_leaves(graph: ValueGraph, edges: Edges, target: Int64) -> Int64:
    """Return ``target`` with every single-use leaf merged into a neighbour as well."""
    v = graph.num_vertices
    entries = np.bincount(graph.rows.source, minlength=v)
    computed = np.bincount(edges.sink, minlength=v) > 0
    written = graph.versions - graph.is_input
    leaf = (entries == 1) & ~computed & (written <= 1)
    of_leaf = leaf[graph.rows.source]
    fold = _fold_entries(graph)
    merged = target.copy()
    plain = np.flatnonzero(of_leaf & ~fold)
    merged[graph.rows.source[plain]] = sink_of_source(graph.rows)[plain]
    _merge_into_operands(graph, leaf, of_leaf & fold, merged)
    return merged


def _merge_into_operands(graph: ValueGraph, leaf: Bool, fold_leaf: Bool, merged: Int64) -> None:
    """Point leaves of foldable terms to the first suitable operand of their term, in place."""
    length = np.diff(graph.rows.source_ptr)
    term = np.repeat(np.arange(len(length), dtype=np.int64), length)
    has_leaf = np.zeros(len(length), dtype=np.bool_)
    has_leaf[term[fold_leaf]] = True
    entry = np.flatnonzero((has_leaf & (length > 1))[term])
    if len(entry) == 0:
        return
    source = graph.rows.source[entry].astype(np.int64)
    sink = graph.rows.row_sink[row_of_term(graph.rows)[term[entry]]].astype(np.int64)
    _, inverse, times = np.unique(sink * graph.num_vertices + source, return_inverse=True, return_counts=True)
    # those that are no leaves themselves come first
    usable = times[inverse] == 1
    order = np.lexsort((np.arange(len(entry)), leaf[source], term[entry]))
    order = order[usable[order]]
    partner = np.full(len(length), -1, dtype=np.int64)
    reverse = order[::-1]
    partner[term[entry[reverse]]] = source[reverse]
    own = fold_leaf[entry] & (partner[term[entry]] >= 0)
    merged[source[own]] = partner[term[entry[own]]]


def _fold_entries(graph: ValueGraph) -> Bool:
    """Return bool[S], the entry belongs to a row whose terms may be combined anywhere."""
    fold = graph.rows.row_fold != int(Fold.NONE)
    return np.repeat(fold, np.diff(graph.rows.row_ptr))


def representatives(target: Int64) -> Int64:
    """Return int64[V], the vertex that each one ends up in; of a cycle of merges its first vertex."""
    v = len(target)
    own = np.arange(v, dtype=np.int64)
    moved = np.flatnonzero(target != own)
    links = coo_array((np.ones(len(moved), dtype=np.int8), (moved, target[moved])), shape=(v, v))
    count, label = connected_components(links, directed=False)
    root = np.full(count, v, dtype=np.int64)
    np.minimum.at(root, label, own)
    fixed = np.flatnonzero(target == own)
    root[label[fixed]] = fixed
    return np.asarray(root[label], dtype=np.int64)
