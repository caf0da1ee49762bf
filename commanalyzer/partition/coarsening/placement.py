"""Owners of all values of a large graph from those of coarse vertices, and the other way round.

What is given for some values comes first, then what is given for the values that they follow, then the owner
of the coarse vertex; hubs go where most of what they exchange is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from commanalyzer.partition.coarsening.coarse import CoarseView
from commanalyzer.vcg.graph import Int32


@dataclass(frozen=True, slots=True)
class Placement:
    """Values of a graph and its coarse vertices.

    Attributes:
        view: The coarse graph.
    """

    view: CoarseView

    def on_coarse(self, value_part: Int32, *, leads: bool = False) -> Int32:
        """Return int32[N], the part of a value in each coarse vertex, -1 where none has one.

        With ``leads``, values that follow others take the parts of these; see :meth:`led`.
        """
        tiling = self.view.tiling
        coarse = np.full(tiling.num_vertices, -1, np.int32)
        own = self.led(lambda: value_part) if leads else self._told(value_part)
        known = (tiling.vertex >= 0) & (own >= 0)
        coarse[tiling.vertex[known]] = own[known]  # of several, the last one stays
        return coarse

    def completed(self, coarse: Int32, value_part: Int32, num_parts: int) -> Int32:
        """Return int32[V], owners: given ones, then those of anchors, then those of coarse vertices."""
        part = self.owners(coarse, num_parts)
        of_anchor = self._told(value_part)[self.view.tiling.neighbours.anchor]
        np.copyto(part, of_anchor, where=of_anchor >= 0)
        np.copyto(part, value_part, where=value_part >= 0)
        return part

    def led(self, owners: Callable[[], Int32]) -> Int32:
        """Return ``owners()`` with values that follow others at the owner of these, if they have one.

        Entries of a sparse matrix are as many as would be some per point, but not the same number at each.
        """
        value_part = self._told(owners())
        of_anchor = value_part[self.view.tiling.neighbours.anchor]
        np.copyto(of_anchor, value_part, where=of_anchor < 0)
        return of_anchor

    def _told(self, value_part: Int32) -> Int32:
        """Return ``value_part`` without owners of idle values, which say nothing about what these follow."""
        idle = self.view.tiling.neighbours.idle
        if not len(idle):
            return value_part
        told = value_part.copy()
        told[idle] = -1
        return told

    def owners(self, coarse: Int32, num_parts: int) -> Int32:
        """Return int32[V], owners of all values where those of coarse vertices are known."""
        vertex, hubs = self.view.tiling.vertex, self.view.hubs
        part = coarse[np.maximum(vertex, 0)]
        part[hubs.hub] = hubs.owners(coarse, num_parts)
        return part
