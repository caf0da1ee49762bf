"""What is at the borders of parts: coarse vertices, values at the ends of flows, rows.

Input: a graph, its coarse view and owners. Everything else of a part, and rows whose values have one owner,
move nothing and are never looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from commanalyzer.division.coarsening.coarse import CoarseView
from commanalyzer.foundation.compiled import compiled_in_place, frozen
from commanalyzer.graph.storage.slices import chosen_rows, row_slices
from commanalyzer.graph.storage.store import AnyGraph
from commanalyzer.graph.value_graph import Bool, Int32, Int64, Rows, sink_of_source


@dataclass(frozen=True, slots=True)
class SharedRows:
    """Rows of a graph whose sinks and sources have several owners, in order; a :class:`.slices.Sliceable`."""

    graph: AnyGraph
    # [V], parts, or vertices of a hypergraph; values with others than 0 to num_owners - 1 (hubs) do not
    # count.
    owner: Int32
    num_owners: int

    def slices(self, flows: int = 0, wanted: Bool | None = None) -> Iterator[Rows]:
        """Yield what these rows are in each slice, arguments as of :func:`.row_slices`."""
        owner = frozen(self.owner, np.int32)
        for rows in row_slices(self.graph, flows, wanted):
            is_shared = np.zeros(rows.num_rows, np.bool_)
            mark_shared(rows, owner, self.num_owners, is_shared)
            yield chosen_rows(rows, is_shared)


@compiled_in_place
def mark_shared(rows: Rows, owner: Int32, num_owners: int, is_shared: Bool) -> None:
    """Mark the rows of a slice that join values of several owners; others than these are nobody's."""
    for r in range(len(rows.row_sink)):
        home = owner[rows.row_sink[r]]
        for i in range(rows.source_ptr[rows.term_ptr[r]], rows.source_ptr[rows.term_ptr[r + 1]]):
            other = owner[rows.source[i]]
            if 0 <= other < num_owners:
                is_shared[r] |= 0 <= home < num_owners and home != other
                home = other


@dataclass(frozen=True, slots=True)
class Surface:
    """Rows of a graph at the borders of parts: all others move nothing, and join no two parts."""

    graph: AnyGraph
    view: CoarseView

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
        """Return the anchors at both ends of flows between parts."""
        tiling = self.view.tiling
        marked = np.zeros(len(part), np.bool_)
        for piece in SharedRows(self.graph, part, num_parts).slices():
            sink = sink_of_source(piece)
            apart = (part[sink] != part[piece.source]) & (tiling.vertex[sink] >= 0)
            apart &= tiling.vertex[piece.source] >= 0
            for end in (sink, piece.source):
                marked[tiling.neighbours.anchor[end[apart]]] = True
        return np.flatnonzero(marked)
