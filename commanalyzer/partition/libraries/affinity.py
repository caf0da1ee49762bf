"""Affinity graph: value graph without hubs -> undirected weighted graph for a graph partitioner.

Vertices are values (private registers merged into their consumer) with the work spent on them; an edge weighs
the bytes that flow between two values, both ways together (paper), or that divided by the number of readers
of the value: a value that is sent once to each part loses little when one of many readers is elsewhere, but
everything when its only reader is. The second kind approximates the net of a hypergraph by a star.

Reference: paper Section 4.2.1 (edge weight = number of uses) and 4.2.2 (balance the work, minimise the cut).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from commanalyzer.errors import PartitionError
from commanalyzer.foundation.compiled import frozen
from commanalyzer.partition.libraries import affinity_kernels as kernels
from commanalyzer.vcg.contraction.contract import merge_registers, merge_tasks, representatives, uses_of
from commanalyzer.vcg.graph import Bool, Float64, Int32, Int64, ValueGraph
from commanalyzer.vcg.structure.edges import distinct_edges
from commanalyzer.vcg.structure.segments import pointer_from_counts

_TASK_SHARE = 0.125  # of a part


@dataclass(frozen=True, slots=True)
class Adjacency:
    """Undirected weighted graph in compressed sparse row form; every edge is stored in both directions.

    Attributes:
        pointer: int64[N + 1].
        neighbour: int64[2E], ascending within each vertex, never the vertex itself.
        edge_bytes: int64[2E], positive.
        work_flops: float64[N], not negative.

    Raises:
        PartitionError: If lengths, ranges, weights or symmetry are violated. Partitioners do not check and
            read past the end of short arrays, so nothing unchecked may reach them.
    """

    pointer: Int64
    neighbour: Int64
    edge_bytes: Int64
    work_flops: Float64

    def __post_init__(self) -> None:
        _check_shape(self)
        _check_edges(self)
        for f in fields(self):
            getattr(self, f.name).setflags(write=False)

    @property
    def num_vertices(self) -> int:
        """Number of vertices N."""
        return len(self.work_flops)

    @property
    def num_edges(self) -> int:
        """Number of undirected edges E."""
        return len(self.neighbour) // 2

    def vertex_of_edge(self) -> Int64:
        """Return int64[2E], the vertex that each stored edge starts from."""
        return np.repeat(np.arange(self.num_vertices, dtype=np.int64), np.diff(self.pointer))


@dataclass(frozen=True, slots=True)
class Affinity:
    """Affinity graph of a value graph.

    Attributes:
        adjacency: The graph.
        vertex: int64[V], vertex of ``adjacency`` that stands for each value, -1 for hubs.
    """

    adjacency: Adjacency
    vertex: Int64


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise PartitionError(f"graph cannot be partitioned: {message}")


def _check_shape(a: Adjacency) -> None:
    n = len(a.work_flops)
    _require(len(a.pointer) == n + 1, f"expected {n + 1} row pointers, found {len(a.pointer)}")
    rising = a.pointer[0] == 0 and bool(np.all(np.diff(a.pointer) >= 0))
    _require(
        rising and a.pointer[-1] == len(a.neighbour), f"row pointers must run from 0 to {len(a.neighbour)}"
    )
    _require(
        len(a.edge_bytes) == len(a.neighbour),
        f"expected {len(a.neighbour)} edge weights, found {len(a.edge_bytes)}",
    )
    _require(bool(np.all(np.isfinite(a.work_flops))), "vertex weights must be finite")
    _require(bool(np.all(a.work_flops >= 0)), "vertex weights must not be negative")


def _check_edges(a: Adjacency) -> None:
    if len(a.neighbour) == 0:
        return
    n = a.num_vertices
    _require(bool(a.neighbour.min() >= 0 and a.neighbour.max() < n), f"neighbours must lie in [0, {n})")
    _require(bool(np.all(a.edge_bytes > 0)), "edge weights must be positive")
    fault = kernels.first_fault(*(frozen(x, np.int64) for x in (a.pointer, a.neighbour, a.edge_bytes)))
    _require(fault != 1, "neighbours must be ascending and distinct within each vertex")
    _require(fault != 2, "a vertex must not be its own neighbour")
    _require(fault != 3, "every edge needs the same weight in both directions")


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
    return Affinities(graph, removed).find(shared=shared, most_parts=most_parts, tasks=tasks)


class Affinities:
    """Affinity graphs of one value graph: those that merge the same values the same way are made once.

    Args:
        graph: Value graph.
        removed: bool[V], vertices that take no part.
    """

    def __init__(self, graph: ValueGraph, removed: Bool) -> None:
        self.graph = graph
        self.removed = removed
        self._found: list[tuple[bool, Affinity]] = []

    def find(self, *, shared: bool = False, most_parts: int = 64, tasks: bool = True) -> Affinity:
        """Return an affinity graph; arguments as of :func:`build_affinity`."""
        vertex = self._vertices(most_parts, tasks=tasks)
        for was_shared, known in self._found:
            if was_shared == shared and np.array_equal(known.vertex, vertex):
                return known
        n = int(vertex.max(initial=-1)) + 1
        flops = np.bincount(vertex[~self.removed], self._work[~self.removed], minlength=n)
        found = Affinity(_assemble(self.graph, vertex, flops.astype(np.float64), shared), vertex)
        self._found.append((shared, found))
        return found

    def _vertices(self, most_parts: int, *, tasks: bool) -> Int64:
        """Return int64[V], vertices that values merge into, -1 for those that are removed."""
        removed, own = self.removed, np.arange(self.graph.num_vertices)
        target = self._registers
        if tasks:
            target = merge_tasks(self.graph, target, removed, _TASK_SHARE / most_parts)
        root = representatives(target)
        root = np.where(removed[root] | removed, own, root)
        present = (root == own) & ~removed
        number = np.where(present, np.cumsum(present) - 1, -1)
        return np.where(removed, -1, number[root]).astype(np.int64)

    @cached_property
    def _registers(self) -> Int32:
        return merge_registers(self.graph, uses_of(self.graph))

    @cached_property
    def _work(self) -> Float64:
        return _spread_work(self.graph, self.removed)


def _assemble(graph: ValueGraph, vertex: Int64, flops: Float64, shared: bool) -> Adjacency:
    """Return the graph of the links between the vertices that values stand for."""
    n = len(flops)
    readers = distinct_edges(graph).out_degree if shared else np.zeros(0, dtype=np.int64)
    columns = (
        graph.row_sink,
        graph.row_count,
        graph.row_fold,
        graph.term_ptr,
        graph.source_ptr,
        graph.source,
        graph.versions,
        graph.width_bytes,
        readers,
        vertex,
    )
    place = np.zeros(n + 1, dtype=np.int64)
    upper, link_bytes = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int64)
    kernels.collect_links(*columns, True, place, upper, link_bytes)
    place = pointer_from_counts(place[:-1])
    upper, link_bytes = np.empty(place[-1], dtype=np.int32), np.empty(place[-1], dtype=np.int64)
    kernels.collect_links(*columns, False, place.copy(), upper, link_bytes)
    return Adjacency(*both_ways(place, upper, link_bytes), flops)


def both_ways(place: Int64, upper: Int32, link_bytes: Int64) -> tuple[Int64, Int64, Int64]:
    """Return pointer, neighbours and bytes of all edges, where links are known at their lower ends.

    Args:
        place: int64[N + 1], where the links of each lower end begin.
        upper: int32[L], upper end of each link; changed.
        link_bytes: int64[L], bytes; those of parallel links are added up; changed.
    """
    n = len(place) - 1
    low_pointer, degree = np.zeros(n + 1, dtype=np.int64), np.zeros(n, dtype=np.int64)
    kernels.add_parallel(place, upper, link_bytes, low_pointer, degree)
    pointer = pointer_from_counts(degree)
    neighbour, edge_bytes = np.empty(pointer[-1], dtype=np.int64), np.empty(pointer[-1], dtype=np.int64)
    kernels.write_both_ways(low_pointer, upper, link_bytes, pointer, pointer.copy(), neighbour, edge_bytes)
    return pointer, neighbour, edge_bytes


def _spread_work(graph: ValueGraph, removed: Bool) -> Float64:
    """Return float64[V], work with that of removed sinks moved to their operands in proportion to uses."""
    total, spread = np.zeros(graph.num_vertices), np.zeros(graph.num_vertices)
    kernels.spread_work(
        graph.row_sink,
        graph.row_count,
        graph.term_ptr,
        graph.source_ptr,
        graph.source,
        frozen(removed, np.bool_),
        graph.work_flops,
        total,
        spread,
    )
    return np.where(removed & (total > 0), 0.0, graph.work_flops) + spread
