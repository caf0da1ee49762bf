"""Undirected weighted graphs for graph partitioners, checked.

Vertices are coarse vertices of a value graph with the work spent on them; an edge weighs the bytes that flow
between two, both ways together (paper), or that divided by the number of readers of the value: a value that
is sent once to each part loses little when one of many readers is elsewhere, but everything when its only
reader is. The second kind approximates the net of a hypergraph by a star.

Reference: paper Section 4.2.1 (edge weight = number of uses) and 4.2.2 (balance the work, minimise the cut).
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from commanalyzer.errors import PartitionError
from commanalyzer.foundation.compiled import frozen
from commanalyzer.partition.libraries import adjacency_kernels as kernels
from commanalyzer.vcg.graph import Float64, Int32, Int64
from commanalyzer.vcg.structure.segments import pointer_from_counts


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
