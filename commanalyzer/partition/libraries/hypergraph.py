"""Hypergraph of a value graph: its connectivity metric is the communication volume.

One *expand net* per value: the value and everything computed from it; parts it touches beyond the owner's
each get a copy. One *fold net* per reduction: the sink and the terms it combines; parts beyond the sink's
each send one combined number. A term that the parts of its operands or of the sink may compute is a pin of
its own, with its share of the work: it joins the nets of its operands to the fold net of its sink. Where all
of several operands have other readers as well, about as many as the sink has terms, the sink's part computes
the term. The weight of a net is the
bytes that one more part costs, summed over versions.

Vertices are those that are given, then the terms. Reference: paper Section 4.2.2; expand and fold nets
follow the model of :mod:`commanalyzer.communication.volume`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from commanalyzer.foundation.compiled import frozen
from commanalyzer.partition.libraries import hypergraph_kernels as kernels
from commanalyzer.vcg.graph import Bool, Float64, Int64, ValueGraph
from commanalyzer.vcg.structure.segments import pointer_from_counts, sorted_unique


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


def build_hypergraph(graph: ValueGraph, vertex: Int64, work_flops: Float64) -> Hypergraph:
    """Return the hypergraph of the values that take part in the partitioning.

    Args:
        graph: Value graph.
        vertex: int64[V], vertex of each value, -1 for hubs.
        work_flops: float64[N], work of each vertex.
    """
    base, v = len(work_flops), graph.num_vertices
    place, size, _ = _placed_terms(graph, vertex, base)
    net_bytes, keys = np.zeros(2 * v, dtype=np.int64), np.empty(2 * graph.num_flows, dtype=np.int64)
    widths = graph.versions, graph.width_bytes
    count = kernels.list_pins(graph.rows, *widths, vertex, place, base, size, net_bytes, keys)
    owner = np.tile(vertex, 2)
    owned = np.flatnonzero((net_bytes > 0) & (owner >= 0))
    net, pin = np.divmod(sorted_unique(np.concatenate((keys[:count], owned * size + owner[owned]))), size)
    pins = np.bincount(net, minlength=2 * v)
    is_kept = (pins > 1) & (net_bytes > 0)
    work = _work(graph, work_flops, vertex, place, size)
    return Hypergraph(pointer_from_counts(pins[is_kept]), pin[is_kept[net]], net_bytes[is_kept], work)


def _sink_terms(graph: ValueGraph) -> Int64:
    """Return int64[V], terms that are folded into each value."""
    terms = np.zeros(graph.num_vertices, np.int64)
    kernels.count_sink_terms(graph.rows, terms)
    return frozen(terms, np.int64)


def _placed_terms(graph: ValueGraph, vertex: Int64, base: int) -> tuple[Int64, int, Int64]:
    """Return where terms are computed (:func:`.place_terms`), vertices with them, readers of the values."""
    readers = frozen(np.bincount(graph.source, minlength=graph.num_vertices), np.int64)
    place = np.empty(len(graph.source_ptr) - 1, np.int64)
    size = kernels.place_terms(graph.rows, _sink_terms(graph), vertex, readers, base, place)
    return place, int(size), readers


def term_operands(graph: ValueGraph, vertex: Int64) -> Int64:
    """Return int64[T], of each term that is a vertex of its own the operand that the fewest others read."""
    base = graph.num_vertices
    place, size, readers = _placed_terms(graph, vertex, base)
    found = np.empty(size - base, np.int64)
    kernels.list_operands(graph.rows, place, base, vertex, readers, found)
    return found


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums of products.

    Attributes:
        comm_bytes: Bytes of one number for each of them.
        is_factor: bool[V], values that are multiplied with others in them, and are no such sums.
    """

    comm_bytes: int
    is_factor: Bool


def find_sums(graph: ValueGraph) -> Sums:
    """Return what folds several terms of several operands each."""
    is_factor, is_sum = np.zeros(graph.num_vertices, np.bool_), np.zeros(graph.num_vertices, np.bool_)
    kernels.mark_sums(graph.rows, _sink_terms(graph), is_factor, is_sum)
    return Sums(int(graph.width_bytes[is_sum].astype(np.int64).sum()), is_factor & ~is_sum)


def _work(graph: ValueGraph, base: Float64, vertex: Int64, place: Int64, size: int) -> Float64:
    """Return float64[size], work of all vertices: that of a term where it is computed, not at its sink."""
    taken, given, total = np.zeros(len(base)), np.zeros(size), np.zeros(graph.num_vertices)
    kernels.move_work(graph.rows, graph.work_flops, vertex, place, total, taken, given)
    given[: len(base)] += base - taken
    return np.maximum(given, 0.0)
