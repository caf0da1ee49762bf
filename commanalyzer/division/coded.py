"""Owners in coded form: an analysis keeps those of every division, of large graphs a list takes gigabytes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from commanalyzer.graph.storage.coding import Coded, encoded
from commanalyzer.graph.value_graph import Int32


@dataclass(frozen=True, slots=True, eq=False)
class Owners:
    """Owner of each vertex; blocks of arrays take a few bytes.

    Attributes:
        coded: The column.
        least: Smallest owner, 0 without vertices.
        most: Largest owner, -1 without vertices.
    """

    coded: Coded
    least: int
    most: int

    @classmethod
    def of(cls, part: Int32) -> Owners:
        """Code ``part`` int32[V]."""
        return cls(encoded(part), int(part.min()) if len(part) else 0, int(part.max(initial=-1)))

    def expand(self) -> Int32:
        """int32[V], read-only; made anew in every call."""
        part = self.coded.expand(dtype=np.int32)
        part.setflags(write=False)
        return part
