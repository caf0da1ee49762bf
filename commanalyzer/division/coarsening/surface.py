"""What is at the borders of parts: coarse vertices, values at the ends of flows, rows.

Input: a graph, its coarse view and owners. Everything else of a part moves nothing and is never looked at.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from commanalyzer.division.coarsening.coarse import CoarseView
from commanalyzer.graph.storage.large import AnyGraph
from commanalyzer.graph.structure.segments import sink_of_source
from commanalyzer.graph.structure.shared import SharedRows
from commanalyzer.graph.value_graph import Bool, Int32, Int64


@dataclass(frozen=True, slots=True)
class Surface:
    """Rows of a graph at the borders of parts: all others move nothing, and join no two parts.

    Attributes:
        graph: Value graph.
        view: Its coarse view.
    """

    graph: AnyGraph
    view: CoarseView

    def rows(self, owner: Int32, num_owners: int) -> SharedRows:
        """Return the rows whose sinks and sources have several owners.

        Args:
            owner: int32[V], parts, or vertices of a hypergraph and beyond these hubs, which are no pins;
                values with others than 0 to ``num_owners`` - 1 do not count.
            num_owners: Number of owners.
        """
        return SharedRows(self.graph, owner, num_owners)

    def movable(self, beside: Bool) -> Int64:
        """Return the anchors in some coarse vertices, ``beside`` (bool[N])."""
        tiling = self.view.tiling
        anchor = tiling.neighbours.anchor
        chosen = np.flatnonzero(anchor == np.arange(len(anchor), dtype=np.int32))
        return np.asarray(chosen[np.append(beside, False)[tiling.vertex[chosen]]])  # the last one for hubs

    def beside(self, part: Int32) -> Bool:
        """Return bool[N], coarse vertices that hold values of several parts or are linked to other parts."""
        vertex, n = self.view.tiling.vertex, self.view.tiling.num_vertices
        coarse, beside = np.full(n + 1, -1, np.int32), np.zeros(n + 1, np.bool_)  # the last one for hubs
        coarse[vertex] = part
        beside[vertex[coarse[vertex] != part]] = True
        one, other = self.view.adjacency.vertex_of_edge(), self.view.adjacency.neighbour
        beside[one[coarse[one] != coarse[other]]] = True
        return beside[:-1]

    def ends(self, part: Int32, num_parts: int) -> Int64:
        """Return the anchors at both ends of flows between parts.

        Args:
            part: int32[V], owners.
            num_parts: Number of parts p.
        """
        tiling = self.view.tiling
        marked = np.zeros(len(part), np.bool_)
        for piece in self.rows(part, num_parts).slices():
            sink = sink_of_source(piece)
            apart = (part[sink] != part[piece.source]) & (tiling.vertex[sink] >= 0)
            apart &= tiling.vertex[piece.source] >= 0
            for end in (sink, piece.source):
                marked[tiling.neighbours.anchor[end[apart]]] = True
        return np.flatnonzero(marked)
