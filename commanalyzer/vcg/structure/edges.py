"""Distinct edges of a value graph, compressed by sink, and its undirected neighbours.

Everything is linear in the number of flows: pairs are distributed to their sources and then, source by
source, to their sinks, which leaves the sources of each sink ascending without sorting (a radix sort on two
digits);
repetitions are seen by the last source of a sink.

Reference: paper Section 4.2.1 (edge set E), Definition 4.2 (degree).
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from commanalyzer.foundation.compiled import frozen
from commanalyzer.vcg.graph import Int32, Int64, ValueGraph
from commanalyzer.vcg.structure import edge_kernels as kernels


@dataclass(frozen=True, slots=True)
class Edges:
    """Distinct directed edges of a value graph, self-edges left out.

    Attributes:
        pointer: int64[V + 1], edges into each vertex.
        source: int32[E], ascending for each sink.
    """

    pointer: Int64
    source: Int32

    def __post_init__(self) -> None:
        for f in fields(self):
            getattr(self, f.name).setflags(write=False)

    @property
    def num_vertices(self) -> int:
        """Number of vertices V."""
        return len(self.pointer) - 1

    @property
    def num_edges(self) -> int:
        """Number of edges E."""
        return len(self.source)

    @property
    def in_degree(self) -> Int64:
        """int64[V], edges into each vertex."""
        return np.diff(self.pointer)

    @property
    def out_degree(self) -> Int64:
        """int64[V], edges out of each vertex."""
        count = np.zeros(self.num_vertices, np.int64)
        kernels.count_entries(self.source, count)
        return count

    def sink(self) -> Int32:
        """Return int32[E], the sink of each edge."""
        return np.repeat(np.arange(self.num_vertices, dtype=np.int32), np.diff(self.pointer))


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Vertices that are adjacent to each vertex, in both directions.

    Attributes:
        edges: Sources of each vertex.
        out_pointer: int64[V + 1], edges out of each vertex.
        sink: int32[E], their sinks, ascending for each vertex.
        degree: int64[V], number of distinct adjacent vertices (Definition 4.2).
    """

    edges: Edges
    out_pointer: Int64
    sink: Int32
    degree: Int64


def distinct_edges(graph: ValueGraph) -> Edges:
    """Return the distinct (sink, source) pairs of all rows (the edge set E of paper Section 4.2.1)."""
    start = frozen(graph.source_ptr[graph.term_ptr], np.int64)
    place, sinks = _by_source(graph.row_sink, start, graph.source, graph.num_vertices)
    pointer = np.zeros(graph.num_vertices + 1, dtype=np.int64)
    kernels.count_distinct(place, sinks, pointer)
    found = np.empty(int(pointer[-1]), dtype=np.int32)
    kernels.place_distinct(place, sinks, pointer, found)
    return Edges(pointer, found)


def neighbours(edges: Edges) -> Neighbours:
    """Return the undirected neighbours of every vertex."""
    pointer, sink = _reversed(edges)
    degree = np.zeros(edges.num_vertices, dtype=np.int64)
    kernels.count_neighbours(edges.pointer, edges.source, pointer, sink, degree)
    return Neighbours(edges, pointer, sink, degree)


def undirected_degree(edges: Edges) -> Int64:
    """Return int64[V], the number of distinct vertices adjacent to each vertex (Definition 4.2)."""
    return neighbours(edges).degree


def order_by(key: Int32 | Int64, size: int) -> tuple[Int64, Int64]:
    """Return where the entries of each key begin, and their indices: int64[size + 1] and int64[N].

    Args:
        key: int[N], in [0, size).
        size: Number of keys.
    """
    place = np.zeros(size + 1, dtype=np.int64)
    order = np.empty(len(key), dtype=np.int64)
    kernels.order_by(frozen(key, np.int32), place, order)
    return place, order


def _reversed(edges: Edges) -> tuple[Int64, Int32]:
    """Return the sinks of each vertex, ascending: int64[V + 1] and int32[E]."""
    v = edges.num_vertices
    own = frozen(np.arange(v), np.int32)
    return _by_source(own, edges.pointer, edges.source, v)


def _by_source(sink: Int32, start: Int64, source: Int32, num_vertices: int) -> tuple[Int64, Int32]:
    """Return the sinks of each source, in the order of rows: int64[V + 1] and int32[S].

    Args:
        sink: int32[R].
        start: int64[R + 1], sources of each row.
        source: int32[S].
        num_vertices: Number of vertices V.
    """
    place = np.zeros(num_vertices + 1, dtype=np.int64)
    sinks = np.empty(len(source), dtype=np.int32)
    kernels.distribute(sink, start, source, place, sinks)
    return place, sinks
