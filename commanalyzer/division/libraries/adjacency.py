"""Undirected weighted graphs for graph partitioners; quality of partitions of them.

Vertices are coarse vertices of a value graph with the work spent on them; an edge weighs the bytes that flow
between two, both ways together.

Reference: paper Section 4.2.1 (edge weight = number of uses) and 4.2.2 (balance the work, minimise the cut,
connected components per node).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from commanalyzer.foundation.errors import PartitionError
from commanalyzer.graph.value_graph import Float64, Int64, pointer_from_counts

if TYPE_CHECKING:  # METIS is called in helpers, which need nothing else of this
    from scipy.sparse import csr_array

_MESH_DEGREE = 32  # links per vertex; from it on, nearly every vertex is at a border
_MESH_DEPTH = 0.5  # of the cube root of the vertices: steps across a cube; random links leave their logarithm
_CENTRE = 16  # times the mean degree: ways through such vertices are no ways through a mesh


@dataclass(frozen=True)
class Adjacency:
    """Undirected weighted graph in compressed sparse row form; every edge is stored in both directions.

    Partitioners check nothing and read past the end of short arrays: :meth:`of_links` makes it, and its edges
    are symmetric by construction. Raises ``PartitionError`` if weights are what no partitioner takes. What
    divisions of it share is computed once; threads may use it at the same time.
    """

    pointer: Int64  # [N + 1]
    neighbour: Int64  # [2E], ascending within each vertex, never the vertex itself
    edge_bytes: Int64  # [2E], positive
    work_flops: Float64  # [N], not negative

    def __post_init__(self) -> None:
        if not np.all(np.isfinite(self.work_flops) & (self.work_flops >= 0)):
            raise PartitionError("graph cannot be partitioned: work must be finite and not negative")
        if not np.all(self.edge_bytes > 0):
            raise PartitionError("graph cannot be partitioned: edge weights must be positive")
        for f in fields(self):
            getattr(self, f.name).setflags(write=False)

    @classmethod
    def of_links(cls, links: csr_array, work_flops: Float64) -> Adjacency:
        """Return the graph of a square matrix with the bytes of each link, once; none on the diagonal."""
        edges = (links + links.T).tocsr()
        edges.sort_indices()
        return cls(edges.indptr.astype(np.int64), edges.indices.astype(np.int64), edges.data, work_flops)

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

    @cached_property
    def is_connected(self) -> bool:
        """Whether the graph is one component."""
        from scipy.sparse.csgraph import connected_components

        links = _links(self.pointer, self.neighbour, self.edge_bytes, self.num_vertices)
        return bool(connected_components(links, directed=False, return_labels=False) == 1)

    @cached_property
    def is_mesh(self) -> bool:
        """Whether parts can have short borders: as many steps from end to end as through a cube of vertices.

        Otherwise (random links, small worlds) nearly all vertices of a part are at its border.
        """
        if self.num_edges > _MESH_DEGREE * self.num_vertices:
            return False
        degree = np.diff(self.pointer)
        most = _CENTRE * max(float(degree.mean()), 1.0) if len(degree) else 0.0
        steps, reached = self.steps_across(most)
        return bool(steps >= _MESH_DEPTH * max(reached, 1) ** (1 / 3))

    def steps_across(self, most_degree: float) -> tuple[int, int]:
        """Return steps from one end of the graph to the other, nearly, and the vertices between them.

        Breadth first from the vertex that is farthest from the first with links; vertices with more than
        ``most_degree`` neighbours are not passed through.
        """
        from scipy.sparse.csgraph import breadth_first_order

        degree = np.diff(self.pointer)
        if not degree.any():
            return 0, min(self.num_vertices, 1)
        passed = np.where(degree > most_degree, 0, degree)
        kept = np.repeat(passed > 0, degree)
        ends = pointer_from_counts(passed), self.neighbour[kept], self.edge_bytes[kept]
        graph = _links(*ends, self.num_vertices)
        start = breadth_first_order(graph, int((degree > 0).argmax()))[0][-1]
        reached, before = breadth_first_order(graph, start)
        steps, at = 0, reached[-1]
        while at != start:  # one step per level
            steps, at = steps + 1, before[at]
        return steps, len(reached)


def _links(pointer: Int64, neighbour: Int64, weight: Int64, n: int) -> object:
    """Return a square matrix of scipy with an entry for each neighbour."""
    from scipy.sparse import csr_array

    return csr_array((weight, neighbour, pointer), shape=(n, n))
