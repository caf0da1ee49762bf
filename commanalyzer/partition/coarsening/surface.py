"""What is at the borders of parts: coarse vertices, values at the ends of flows, rows.

Input: a graph, its coarse view and owners. Everything else of a part moves nothing and is never looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from commanalyzer.partition.coarsening.coarse import CoarseView
from commanalyzer.vcg.contraction.stretches import ChosenRows, RowStretches
from commanalyzer.vcg.graph import Bool, Int32, Int64, Rows
from commanalyzer.vcg.storage.large import AnyGraph
from commanalyzer.vcg.structure.segments import sink_of_source


class LaterRows:
    """Rows that are looked for when they are asked for the first time.

    Args:
        find: Finds them.
    """

    def __init__(self, find: Callable[[], ChosenRows]) -> None:
        self._find = cache(find)

    def slices(self, flows: int = 0, wanted: Bool | None = None) -> Iterator[Rows]:
        """Yield rows in order; arguments as of :func:`commanalyzer.vcg.storage.slices.row_slices`."""
        return self._find().slices(flows, wanted)


@dataclass(frozen=True, slots=True)
class Surface:
    """Rows of a graph at the borders of parts: all others move nothing, and join no two parts.

    Attributes:
        graph: Value graph.
        view: Its coarse view.
        stretches: Its rows.
    """

    graph: AnyGraph
    view: CoarseView
    stretches: RowStretches

    @classmethod
    def of(cls, graph: AnyGraph, view: CoarseView) -> Surface:
        """Find the stretches of the rows of ``graph``."""
        return cls(graph, view, RowStretches.of(graph, view.tiling.vertex, view.tiling.num_vertices))

    def rows(self, part: Int32, num_parts: int) -> LaterRows:
        """Return the rows whose sinks and sources are not all in one part, hubs included, and some others.

        Args:
            part: int32[V], owners.
            num_parts: Number of parts p.
        """
        return LaterRows(partial(self._rows, part, num_parts))

    def _rows(self, part: Int32, num_parts: int) -> ChosenRows:
        beside = np.ones(self.view.tiling.num_vertices + 1, np.bool_)  # with all rows of hubs
        if self.stretches.has_loose:
            beside[:-1] = _at_border(self.view, part)
        return ChosenRows(self.graph, self.stretches.shared(part, num_parts, beside))

    def rows_with_pins(self, number: Int32, num_vertices: int, beside: Bool) -> ChosenRows:
        """Return the rows whose sinks and sources are several vertices of a hypergraph, and some others.

        Args:
            number: int32[V], vertex of each value, hubs from ``num_vertices`` on: they are no pins.
            num_vertices: Their number.
            beside: bool[N], coarse vertices that hold several of these or are linked to others.
        """
        wanted = np.append(_with_neighbours(self.view, beside), False)
        return ChosenRows(self.graph, self.stretches.shared(number, num_vertices, wanted))

    def movable(self, beside: Bool) -> Int64:
        """Return the anchors in some coarse vertices, ``beside`` (bool[N])."""
        tiling = self.view.tiling
        anchor = tiling.neighbours.anchor
        chosen = np.flatnonzero(anchor == np.arange(len(anchor), dtype=np.int32))
        return np.asarray(chosen[np.append(beside, False)[tiling.vertex[chosen]]])  # the last one for hubs

    def beside(self, part: Int32) -> Bool:
        """Return bool[N], coarse vertices that hold values of several parts or are linked to other parts."""
        coarse, beside = _coarse_parts(self.view, part)
        one, other = self.view.adjacency.vertex_of_edge(), self.view.adjacency.neighbour
        beside[one[coarse[one] != coarse[other]]] = True
        return beside

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


def _with_neighbours(view: CoarseView, chosen: Bool) -> Bool:
    """Return bool[N], ``chosen`` and the coarse vertices that are linked to these.

    All rows with an end in a chosen one have their sink there: no others have pins of several parts.
    """
    one = view.adjacency.vertex_of_edge()
    found = chosen.copy()
    found[view.adjacency.neighbour[chosen[one]]] = True
    return found


def _at_border(view: CoarseView, part: Int32) -> Bool:
    """Return bool[N], coarse vertices that have, or are linked to others that have, values of other parts."""
    coarse, mixed = _coarse_parts(view, part)
    one, other = view.adjacency.vertex_of_edge(), view.adjacency.neighbour
    found = mixed.copy()
    found[one[mixed[other] | (coarse[one] != coarse[other])]] = True
    return found


def _coarse_parts(view: CoarseView, part: Int32) -> tuple[Int32, Bool]:
    """Return int32[N], a part in each coarse vertex, and bool[N], those that hold values of several."""
    vertex = view.tiling.vertex
    coarse = np.full(view.tiling.num_vertices + 1, -1, np.int32)  # the last one for hubs
    mixed = np.zeros(len(coarse), np.bool_)
    coarse[vertex] = part
    mixed[vertex[coarse[vertex] != part]] = True
    return coarse[:-1], mixed[:-1]
