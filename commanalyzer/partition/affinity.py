"""Affinity graph: value graph without hubs -> undirected weighted graph for a graph partitioner.

Vertices are values (private registers merged into their consumer) with the work spent on them; an edge weighs
the bytes that flow between two values, both ways together (paper), or that divided by the number of readers
of the value: a value that is sent once to each part loses little when one of many readers is elsewhere, but
everything when its only reader is. The second kind approximates the net of a hypergraph by a star.

Reference: paper Section 4.2.1 (edge weight = number of uses) and 4.2.2 (balance the work, minimise the cut).
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from scipy.sparse import coo_array, csr_array

from commanalyzer.errors import PartitionError
from commanalyzer.vcg.contract import merge_registers, merge_tasks, representatives
from commanalyzer.vcg.edges import distinct_edges
from commanalyzer.vcg.graph import Bool, Float64, Fold, Int64, ValueGraph
from commanalyzer.vcg.segments import count_of_source, sink_of_source

_TASK_SHARE = 0.125  # of a part
_SHARES = 64  # a shared edge weighs 64 times its bytes over the readers: integers keep the difference


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
    key = a.vertex_of_edge() * n + a.neighbour
    _require(bool(np.all(np.diff(key) > 0)), "neighbours must be ascending and distinct within each vertex")
    _require(bool(np.all(a.neighbour != a.vertex_of_edge())), "a vertex must not be its own neighbour")
    turned = csr_array((a.edge_bytes, a.neighbour, a.pointer), shape=(n, n)).T.tocsr()
    same = np.array_equal(turned.indptr, a.pointer) and np.array_equal(turned.indices, a.neighbour)
    same = same and np.array_equal(turned.data, a.edge_bytes)
    _require(same, "every edge needs the same weight in both directions")


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
    return Affinity(_assemble(*_links(graph, vertex, shared), flops), vertex)


def _links(graph: ValueGraph, vertex: Int64, shared: bool) -> tuple[Int64, Int64, Int64]:
    """Return both ends and the bytes of every link, parallel links and self-links included."""
    uses = np.minimum(count_of_source(graph), np.maximum(graph.versions[graph.source], 1))
    volume = uses * graph.width_bytes[graph.source]
    if shared:
        readers = distinct_edges(graph).out_degree[graph.source]
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


def _assemble(one: Int64, other: Int64, volume: Int64, flops: Float64) -> Adjacency:
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
