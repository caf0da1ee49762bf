"""METIS adapter: affinity graph -> partition.

METIS checks nothing: short arrays are read past their end, asymmetric graphs and bad weights pass silently,
and an impossible number of parts is "unknown exception". Everything is therefore validated before the
call (:class:`.adjacency.Adjacency` its weights, requests seed and imbalance).

Reference: paper Section 4.2.2 (multilevel partitioning, balance, cut, connected parts).
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from commanalyzer.division.budget import NO_LIMIT, Limit, metis_seconds
from commanalyzer.division.libraries import metis_call
from commanalyzer.division.libraries.adjacency import Adjacency, component_labels
from commanalyzer.division.libraries.concurrency import LibraryCaller
from commanalyzer.foundation.errors import PartitionError
from commanalyzer.graph.value_graph import Float64, Int32, Int64
from commanalyzer.request import DEFAULT_IMBALANCE

_MEAN_WORK_WEIGHT = 1000.0
_IDLE_SHARE = 0.01
_MESH_DEGREE = 32  # links per vertex; from it on, nearly every vertex is at a border
_MESH_DEPTH = 0.5  # of the cube root of the vertices: steps across a cube; random links leave their logarithm
_CENTRE = 16  # times the mean degree: ways through such vertices are no ways through a mesh


def partition(
    graph: Adjacency | Prepared,
    num_parts: int,
    *,
    seed: int = 1,
    imbalance: float = DEFAULT_IMBALANCE,
    caller: LibraryCaller | None = None,
    limit: Limit = NO_LIMIT,
) -> Int32:
    """Return int32[N], a balanced partition with a small edge cut.

    Parts, of which there may be 1 to max(N, 1), are contiguous where the graph is a connected mesh. Vertices
    without work get a small weight, because METIS mishandles zero weights: parts may differ in the number of
    such vertices, not in work. Parts are numbered by the mean index of their vertices. ``imbalance`` is the
    allowed excess of the largest part over the mean, for example 0.03. Raises ``PartitionError`` if the
    request is impossible or METIS fails.
    """
    prepared = graph if isinstance(graph, Prepared) else Prepared(graph)
    count = prepared.adjacency.num_vertices
    if not 1 <= num_parts <= max(count, 1):
        hint = "use fewer nodes or a larger problem size"
        if not count:
            hint = "the program, or the region, stores no values that could be distributed"
        raise PartitionError(f"cannot divide {count} values among {num_parts} parts", hint=hint)
    if num_parts == 1:
        return np.zeros(count, dtype=np.int32)
    # Keeping parts contiguous takes METIS a search through a part for each vertex at its border: with long
    # borders (random links) it takes minutes, and of dense graphs almost any part is.
    options = {
        "seed": seed,
        "ufactor": max(1, round(imbalance * 1000)),
        "contig": int(prepared.is_connected and prepared.is_mesh),
    }
    adjacency, call = prepared.adjacency, (caller or LibraryCaller()).call
    links = adjacency.pointer, adjacency.neighbour, prepared.weight, adjacency.edge_bytes
    try:
        part = call(metis_call.divide, limit, num_parts, *links, options)
    except (RuntimeError, ValueError, TypeError) as error:
        raise PartitionError(f"METIS failed on {count} vertices: {error}") from error
    return _number_by_position(_fill_empty(part, num_parts), num_parts)


class Prepared:
    """An affinity graph, and what divisions of it share; threads may use it at the same time."""

    def __init__(self, adjacency: Adjacency) -> None:
        self.adjacency = adjacency

    @cached_property
    def weight(self) -> Int64:
        """int64[N], work as METIS is given it."""
        return integer_work(self.adjacency.work_flops)

    @cached_property
    def is_connected(self) -> bool:
        """Whether the graph is one component."""
        return component_labels(self.adjacency)[0] == 1

    @cached_property
    def is_mesh(self) -> bool:
        """Whether parts can have short borders: as many steps from end to end as through a cube of vertices.

        Otherwise (random links, small worlds) nearly all vertices of a part are at its border.
        """
        graph = self.adjacency
        if graph.num_edges > _MESH_DEGREE * graph.num_vertices:
            return False
        degree = np.diff(graph.pointer)
        most = _CENTRE * max(float(degree.mean()), 1.0) if len(degree) else 0.0
        steps, reached = graph.steps_across(most)
        return bool(steps >= _MESH_DEPTH * max(reached, 1) ** (1 / 3))

    def seconds(self, num_parts: int) -> float:
        """Return about how long METIS takes."""
        return metis_seconds(self.adjacency.num_edges, num_parts, is_mesh=self.is_mesh)


def integer_work(work_flops: Float64) -> Int64:
    """Return int64[N], weights >= 1 in the order of the work; mean of the vertices with work 1000 or more.

    Vertices without work weigh 1 each and about a hundredth of the whole together at most, so that a part
    cannot have them instead of work.
    """
    positive = work_flops > 0
    count = int(positive.sum())
    if count == 0:
        return np.ones(len(work_flops), dtype=np.int64)
    mean = max(_MEAN_WORK_WEIGHT, (len(work_flops) - count) / (_IDLE_SHARE * count))
    scaled = work_flops * (mean / float(work_flops[positive].mean()))
    return np.maximum(np.rint(scaled), 1.0).astype(np.int64)


def _fill_empty(part: Int32, num_parts: int) -> Int32:
    """Return the partition with the last vertex of the most populous part moved into each empty part."""
    sizes = np.bincount(part, minlength=num_parts)
    moved = part.copy()
    for empty in np.flatnonzero(sizes == 0):
        donor = int(np.argmax(sizes))
        moved[np.flatnonzero(moved == donor)[-1]] = empty
        sizes[donor] -= 1
        sizes[empty] += 1
    return moved


def _number_by_position(part: Int32, num_parts: int) -> Int32:
    """Return the same parts, numbered by the mean index of their vertices."""
    position = np.bincount(part, np.arange(len(part), dtype=np.float64), minlength=num_parts)
    mean = position / np.bincount(part, minlength=num_parts)
    rank = np.empty(num_parts, dtype=np.int32)
    rank[np.argsort(mean, kind="stable")] = np.arange(num_parts, dtype=np.int32)
    return rank[part]
