"""Affinity graphs and hypergraphs with sorts and sparse matrices: the oracle of the compiled passes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array

from commanalyzer.partition.libraries.affinity import Adjacency, Affinity
from commanalyzer.partition.libraries.hypergraph import Hypergraph
from commanalyzer.vcg.graph import Bool, Float64, Fold, Int64, ValueGraph
from commanalyzer.vcg.structure.segments import (
    count_of_source,
    group_starts,
    pointer_from_counts,
    row_of_term,
    sink_of_source,
    sorted_unique,
)
from tests.reference.contraction import distinct_edges, merge_registers, merge_tasks, representatives

_TASK_SHARE = 0.125  # of a part
_SHARES = 64
_MANY = 2  # times the readers of an operand: as many terms are combined beside it


def build_affinity(
    graph: ValueGraph, removed: Bool, *, shared: bool = False, most_parts: int = 64, tasks: bool = True
) -> Affinity:
    """Return the affinity graph of the values that are not ``removed`` (hubs or singletons).

    Weight of a pair: width of the source times uses, where a row cannot use more versions than the source
    has. The operands of one term of a removed sink are linked to each other, since the part that holds one
    of them should be able to compute the term; the work of a removed sink is spread over its operands.

    Args:
        graph: Value graph.
        removed: bool[V], vertices that take no part.
        shared: Divide the bytes of a value among its readers (in 64ths of a byte, at least one).
        most_parts: Number of parts to expect: tasks are merged as long as they are small against a part.
        tasks: Merge the private values that feed each other.
    """
    target = merge_registers(graph, distinct_edges(graph))
    if tasks:
        target = merge_tasks(graph, target, removed, _TASK_SHARE / most_parts)
    root = representatives(target)
    root = np.where(removed[root] | removed, np.arange(graph.num_vertices), root)
    present = (root == np.arange(graph.num_vertices)) & ~removed
    number = np.where(present, np.cumsum(present) - 1, -1)
    vertex = np.where(removed, -1, number[root]).astype(np.int64)
    n = int(present.sum())
    work = _spread_work(graph, removed)
    flops = np.bincount(vertex[~removed], work[~removed], minlength=n).astype(np.float64)
    return Affinity(_assemble_links(*_links(graph, vertex, shared), flops), vertex)


def _links(graph: ValueGraph, vertex: Int64, shared: bool) -> tuple[Int64, Int64, Int64]:
    """Return both ends and the bytes of every link, parallel links and self-links included."""
    uses = np.minimum(count_of_source(graph), np.maximum(graph.versions[graph.source], 1))
    volume = uses * graph.width_bytes[graph.source]
    if shared:
        readers = np.bincount(distinct_edges(graph).source, minlength=graph.num_vertices)[graph.source]
        volume = np.maximum(_SHARES * volume // np.maximum(readers, 1), 1)
    source, sink = vertex[graph.source], vertex[sink_of_source(graph)]
    flow = (source >= 0) & (sink >= 0)
    # Operands of a term whose sink is gone: each is linked to the next one that is still there.
    orphan = np.flatnonzero((source >= 0) & (sink < 0) & _foldable(graph))
    term = np.searchsorted(graph.source_ptr, orphan, side="right")
    together = np.flatnonzero(term[1:] == term[:-1])
    left, right = orphan[together], orphan[together + 1]
    return (
        np.concatenate((source[flow], source[left])),
        np.concatenate((sink[flow], source[right])),
        np.concatenate((volume[flow], np.minimum(volume[left], volume[right]))),
    )


def _foldable(graph: ValueGraph) -> Bool:
    """Return bool[S], the entry belongs to a row whose terms other parts may compute."""
    return np.repeat(graph.row_fold != int(Fold.NONE), np.diff(graph.source_ptr[graph.term_ptr]))


def _assemble_links(one: Int64, other: Int64, volume: Int64, flops: Float64) -> Adjacency:
    n = len(flops)
    apart = one != other
    one, other, volume = one[apart], other[apart], volume[apart]
    ends = (np.concatenate((one, other)), np.concatenate((other, one)))
    matrix = coo_array((np.concatenate((volume, volume)), ends), shape=(n, n)).tocsr()
    matrix.sum_duplicates()
    return Adjacency(
        matrix.indptr.astype(np.int64),
        matrix.indices.astype(np.int64),
        matrix.data.astype(np.int64),
        flops,
    )


def _spread_work(graph: ValueGraph, removed: Bool) -> Float64:
    """Return float64[V], work with that of removed sinks moved to their operands in proportion to uses."""
    sink = sink_of_source(graph)
    entry = np.flatnonzero(removed[sink] & ~removed[graph.source])
    share = count_of_source(graph)[entry].astype(np.float64)
    total = np.bincount(sink[entry], share, minlength=graph.num_vertices)
    work = np.where(removed & (total > 0), 0.0, graph.work_flops)
    part = share / total[sink[entry]] * graph.work_flops[sink[entry]]
    return np.asarray(work + np.bincount(graph.source[entry], part, minlength=graph.num_vertices))


@dataclass(frozen=True, slots=True)
class _Entries:
    """Source entries: their vertices (-1 for hubs), term, and whether the term is a vertex of its own."""

    source: Int64
    sink: Int64
    term: Int64
    folds: Bool
    term_vertex: Int64


@dataclass(frozen=True, slots=True)
class _Moved:
    """Terms that are not computed at their sinks: their rows, where instead, how many are vertices."""

    row: Int64
    vertex: Int64
    num_terms: int


def build_hypergraph(graph: ValueGraph, affinity: Affinity) -> Hypergraph:
    """Return the hypergraph of the values that take part in the partitioning.

    Args:
        graph: Value graph.
        affinity: Its affinity graph, for the merges of vertices and the work.
    """
    base = affinity.adjacency.num_vertices
    entries, moved = _entries(graph, affinity.vertex, base)
    versions = np.maximum(graph.versions[graph.source], 1)
    volume = np.minimum(count_of_source(graph), versions) * graph.width_bytes[graph.source]
    plain = ~entries.folds & (entries.source >= 0) & (entries.sink >= 0)
    apart = entries.folds & (entries.source >= 0) & (entries.term_vertex >= 0)
    value = graph.source.astype(np.int64)
    nets = [value[plain], value[apart]]
    pins = [entries.sink[plain], entries.term_vertex[apart]]
    weight = np.zeros(2 * graph.num_vertices, np.int64)
    np.maximum.at(weight, value[plain | apart], volume[plain | apart])
    owners = affinity.vertex
    folded = _fold_nets(graph, entries, weight)
    net = np.concatenate([*nets, folded[0], np.arange(graph.num_vertices), _twins(graph, folded[0])])
    twin_owner = owners[_twins(graph, folded[0]) - graph.num_vertices]
    pin = np.concatenate([*pins, folded[1], owners, twin_owner])
    used = pin >= 0
    work = _work(graph, affinity, moved)
    return _assemble(net[used], pin[used], weight, work)


def _work(graph: ValueGraph, affinity: Affinity, moved: _Moved) -> Float64:
    """Work of all vertices: that of a term lies where it is computed, not at its sink."""
    base = affinity.adjacency.work_flops
    times = graph.row_count.astype(np.float64)
    per_row = np.maximum(np.diff(graph.term_ptr), 1)
    total = np.bincount(graph.row_sink, times * per_row, graph.num_vertices)
    sink = graph.row_sink[moved.row]
    share = times[moved.row] / np.maximum(total[sink], 1.0) * graph.work_flops[sink]
    vertex = affinity.vertex[sink]
    share[vertex < 0] = 0.0  # the work of hubs was spread over their operands
    left = base - np.bincount(vertex[vertex >= 0], share[vertex >= 0], len(base))
    work = np.bincount(moved.vertex, share, len(base) + moved.num_terms).astype(np.float64)
    work[: len(base)] += left
    return np.maximum(work, 0.0)


def _entries(graph: ValueGraph, vertex: Int64, base: int) -> tuple[_Entries, _Moved]:
    """Source entries, and the terms that are not computed at their sinks."""
    term_length = np.diff(graph.source_ptr)
    num_terms = len(term_length)
    term = np.repeat(np.arange(num_terms, dtype=np.int64), term_length)
    row = row_of_term(graph)
    foldable = (graph.row_fold != int(Fold.NONE))[row]
    source = vertex[graph.source]
    ordinary = source >= 0
    operands = np.bincount(term, ordinary, num_terms)
    readers = np.bincount(graph.source, minlength=graph.num_vertices)[graph.source]
    shared = np.bincount(term, ordinary & (readers > 1), num_terms)
    sink = vertex[graph.row_sink[row]]
    per_row = np.diff(graph.term_ptr) * (graph.row_fold != int(Fold.NONE))
    terms = np.bincount(graph.row_sink, per_row, graph.num_vertices)[graph.row_sink[row]]
    rare = np.bincount(term, ordinary & (_MANY * readers < terms[term]), num_terms) > 0
    # Operands that all have about as many readers as the sink has terms (factors of a matrix product) rarely
    # meet outside the sink's part.
    at_sink = (operands > 1) & (shared == operands) & (sink >= 0) & ~rare
    folds = foldable & ~at_sink
    # A term of one operand that has no other reader is computed where that operand is.
    apart = folds & ((operands > 1) | (shared > 0))
    number = np.where(apart, base + np.cumsum(apart) - 1, -1)
    place = number.copy()
    alone = np.flatnonzero(ordinary & (folds & ~apart)[term])
    place[term[alone]] = source[alone]
    away = np.flatnonzero(place >= 0)
    moved = _Moved(row[away], place[away], int(apart.sum()))
    return _Entries(source, sink[term], term, folds[term], number[term]), moved


def _fold_nets(graph: ValueGraph, entries: _Entries, weight: Int64) -> tuple[Int64, Int64]:
    """Nets (numbered V + sink) and pins of reductions; writes their weights."""
    chosen = entries.folds & (entries.source >= 0) & (entries.sink >= 0)
    place = np.where(entries.term_vertex >= 0, entries.term_vertex, entries.source)[chosen]
    row = row_of_term(graph)[entries.term[chosen]]
    sink = graph.row_sink[row].astype(np.int64)
    np.maximum.at(weight, graph.num_vertices + sink, graph.row_count[row] * graph.width_bytes[sink])
    return graph.num_vertices + sink, place


def _twins(graph: ValueGraph, fold_net: Int64) -> Int64:
    """Fold nets that exist, each once: their sinks are pins as well."""
    exists = np.zeros(2 * graph.num_vertices, np.bool_)
    exists[fold_net] = True
    return np.flatnonzero(exists)


def _assemble(net: Int64, pin: Int64, weight: Int64, work: Float64) -> Hypergraph:
    """Sort pins into nets, drop repeated pins and nets of one vertex."""
    size = max(len(work), 1)
    key = sorted_unique(net * size + pin)
    net, pin = np.divmod(key, size)
    count = np.bincount(net, minlength=len(weight))
    kept = ((count > 1) & (weight > 0))[net]
    net, pin = net[kept], pin[kept]
    start = group_starts(net)
    lengths = np.diff(np.append(start, len(net)))
    return Hypergraph(pointer_from_counts(lengths), pin, weight[net[start]], work)
