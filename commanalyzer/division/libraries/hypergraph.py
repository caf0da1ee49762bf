"""Hypergraph of a value graph: its connectivity metric is the communication volume.

One *expand net* per value: the value and everything computed from it; parts it touches beyond the owner's
each get a copy. One *fold net* per reduction: the sink and the terms it combines; parts beyond the sink's
each send one combined number. A term that the parts of its operands or of the sink may compute is a pin of
its own, with its share of the work: it joins the nets of its operands to the fold net of its sink. Where all
of several operands have other readers as well, about as many as the sink has terms, the sink's part computes
the term. The weight of a net is the bytes that one more part costs, summed over versions.

Vertices are those that are given, then the terms. Reference: paper Section 4.2.2; expand and fold nets
follow the model of :mod:`commanalyzer.communication.volume`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from commanalyzer.graph.value_graph import (
    Float64,
    Int32,
    Int64,
    ValueGraph,
    group_starts,
    order_by,
    pointer_from_counts,
    row_of_term,
    sorted_unique,
)

_MANY = 2  # times the readers of an operand: as many terms of a sink make it worth combining them beside it


@dataclass(frozen=True, slots=True)
class Hypergraph:
    """Weighted hypergraph in compressed sparse row form."""

    net_pointer: Int64  # [M + 1]
    pin: Int64  # [P], vertices of each net, ascending and distinct, at least two per net
    net_bytes: Int64  # [M], positive: bytes that one more part costs
    work_flops: Float64  # [N], work of each vertex; terms have none

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
class Incidence:
    """Nets of each vertex of a hypergraph, compressed sparse rows."""

    pointer: Int64  # [N + 1]
    net: Int32  # [P]


def incidence(hypergraph: Hypergraph) -> Incidence:
    """Return the nets of each vertex."""
    pointer, at = order_by(hypergraph.pin, hypergraph.num_vertices)
    nets = np.arange(hypergraph.num_nets, dtype=np.int32)
    return Incidence(pointer, np.repeat(nets, np.diff(hypergraph.net_pointer))[at])


class _Terms:
    """Terms of all rows, what they are computed from, and where: T terms, K flows between vertices."""

    def __init__(self, graph: ValueGraph, vertex: Int64) -> None:
        v = graph.num_vertices
        # [T], of each term its row, sources, and the value it is computed for
        self.row, self.operands = row_of_term(graph.rows), np.diff(graph.rows.source_ptr)
        self.sink = graph.rows.row_sink[self.row]
        folds = graph.rows.row_fold[self.row] > 0
        # [T], terms of all rows that are folded into that value; 0 where its row does not
        self.folded = np.where(folds, np.bincount(self.sink[folds], minlength=v)[self.sink], 0)
        taken = vertex[graph.rows.source] >= 0
        self.source = graph.rows.source[taken]  # [K], of each flow that is no hub's
        self.term = np.repeat(np.arange(len(self.row)), self.operands)[taken]  # [K]
        self.readers = np.bincount(graph.rows.source, minlength=v)  # [V], flows out of each value

    def places(self, vertex: Int64, base: int) -> Int64:
        """Return int64[T], where each term is computed.

        At the sink (-1), also where all of several operands have about as many readers as the sink has terms
        (factors of a matrix product): they rarely meet elsewhere, and sending them serves many sinks. At the
        vertex of the only operand if nobody else reads it. Or as a vertex of its own, from ``base`` on.
        """
        count, readers = len(self.row), self.readers[self.source]
        operands = np.bincount(self.term, minlength=count)
        shared = np.bincount(self.term[readers > 1], minlength=count)
        fewest, place = self.folded.copy(), np.full(count, -1, np.int64)
        np.minimum.at(fewest, self.term, _MANY * readers)
        place[self.term] = vertex[self.source]
        together = (operands > 1) & (shared == operands) & (vertex[self.sink] >= 0) & (fewest >= self.folded)
        at_sink = (self.folded == 0) | together
        alone = ~at_sink & ((operands > 1) | (shared > 0))
        place[at_sink] = -1
        place[alone] = base + np.arange(np.count_nonzero(alone))
        return place

    def rarest(self) -> Int64:
        """Return int64[T], the operand of each term that the fewest others read, the first of equal ones."""
        order = np.lexsort((self.readers[self.source], self.term))
        first, found = order[group_starts(self.term[order])], np.full(len(self.row), -1, np.int64)
        found[self.term[first]] = self.source[first]
        return found


def build_hypergraph(graph: ValueGraph, vertex: Int64, work_flops: Float64) -> tuple[Hypergraph, Int64]:
    """Return the hypergraph of the values that take part in the partitioning, and an operand of its terms.

    That is int64[T], of each term that is a vertex of its own the operand that the fewest others read. Each
    value is in a ``vertex`` (int64[V], -1 for hubs), which has ``work_flops`` (float64[N]).
    """
    base, v, terms = len(work_flops), graph.num_vertices, _Terms(graph, vertex)
    place = terms.places(vertex, base)
    alone = place >= base
    size = base + int(np.count_nonzero(alone))
    where, sink, source = place[terms.term], terms.sink[terms.term], terms.source.astype(np.int64)
    count = graph.rows.row_count[terms.row[terms.term]]
    reader = np.where(where >= base, where, vertex[sink])
    expands = (reader >= 0) & ((where < 0) | (where >= base))
    folds = (where >= 0) & (vertex[sink] >= 0)
    width_bytes, net_bytes = graph.width_bytes.astype(np.int64), np.zeros(2 * v, np.int64)
    volume = np.minimum(count, np.maximum(graph.versions[source], 1)) * width_bytes[source]
    np.maximum.at(net_bytes, source[expands], volume[expands])
    np.maximum.at(net_bytes, v + sink[folds], (count * width_bytes[sink])[folds])
    owner = np.tile(vertex, 2)
    owned = np.flatnonzero((net_bytes > 0) & (owner >= 0))
    nets = np.concatenate((source[expands], v + sink[folds], owned))
    pins = np.concatenate((reader[expands], where[folds], owner[owned]))
    net, pin = np.divmod(sorted_unique(nets * size + pins), size)
    degree = np.bincount(net, minlength=2 * v)
    is_kept = (degree > 1) & (net_bytes > 0)
    work = _work(graph, work_flops, vertex, terms, place, size)
    pointer = pointer_from_counts(degree[is_kept])
    return Hypergraph(pointer, pin[is_kept[net]], net_bytes[is_kept], work), terms.rarest()[alone]


def _work(graph: ValueGraph, base: Float64, vertex: Int64, terms: _Terms, place: Int64, size: int) -> Float64:
    """Return float64[size], work of all vertices: that of a term where it is computed, not at its sink.

    The work of hubs was spread over their operands before.
    """
    often = graph.rows.row_count * np.maximum(np.diff(graph.rows.term_ptr), 1)
    total = np.maximum(np.bincount(graph.rows.row_sink, often, graph.num_vertices), 1.0)[graph.rows.row_sink]
    share = (graph.rows.row_count / total * graph.work_flops[graph.rows.row_sink])[terms.row]
    moved = (place >= 0) & (vertex[terms.sink] >= 0)
    given = np.bincount(place[moved], share[moved], size).astype(np.float64)
    given[: len(base)] += base - np.bincount(vertex[terms.sink[moved]], share[moved], len(base))
    return np.maximum(given, 0.0)
