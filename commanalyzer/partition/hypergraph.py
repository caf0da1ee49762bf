"""Hypergraph of a value graph: its connectivity metric is the communication volume.

One *expand net* per value: the value and everything computed from it; parts it touches beyond the owner's
each get a copy. One *fold net* per reduction: the sink and the terms it combines; parts beyond the sink's
each send one combined number. A term that the parts of its operands or of the sink may compute is a pin of
its own, with its share of the work: it joins the nets of its operands to the fold net of its sink. Where all
of several operands have other readers as well, the sink's part computes the term. The weight of a net is the
bytes that one more part costs, summed over versions.

Vertices are those of the affinity graph, then the terms. Reference: paper Section 4.2.2; expand and fold nets
follow the model of :mod:`commanalyzer.communication.volume`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from commanalyzer.partition.affinity import Affinity
from commanalyzer.vcg.graph import Bool, Float64, Fold, Int64, ValueGraph
from commanalyzer.vcg.segments import (
    count_of_source,
    group_starts,
    pointer_from_counts,
    row_of_term,
    sorted_unique,
)


@dataclass(frozen=True, slots=True)
class Hypergraph:
    """Weighted hypergraph in compressed sparse row form.

    Attributes:
        net_pointer: int64[M + 1].
        pin: int64[P], vertices of each net, ascending and distinct, at least two per net.
        net_bytes: int64[M], positive: bytes that one more part costs.
        work_flops: float64[N], work of each vertex; terms have none.
    """

    net_pointer: Int64
    pin: Int64
    net_bytes: Int64
    work_flops: Float64

    def __post_init__(self) -> None:
        for f in fields(self):
            getattr(self, f.name).setflags(write=False)

    @property
    def num_vertices(self) -> int:
        """Number of vertices N."""
        return len(self.work_flops)

    @property
    def num_nets(self) -> int:
        """Number of nets M."""
        return len(self.net_bytes)

    @property
    def num_pins(self) -> int:
        """Number of pins P."""
        return len(self.pin)


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
    # Operands that all have other readers (factors of a matrix product) rarely meet outside the sink's part.
    at_sink = (operands > 1) & (shared == operands) & (sink >= 0)
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
