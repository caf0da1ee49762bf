"""Stretches of rows that are alike: which rows join values of several owners, without looking at most rows.

What a program does in a loop gives *lines*: rows whose sinks and sources advance by fixed steps. Where all
values on a line have one owner, so have those of all its rows; where an owner ends, the line is cut. That
takes a few steps per line, whatever its length. *Loose* rows are told apart by the coarse vertices of their
sinks, some hundred flows at a time.

Input: a graph, once, and owners. Output: :class:`ChosenRows`, those that are to be looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from commanalyzer.foundation.compiled import frozen
from commanalyzer.vcg.contraction import stretch_kernels as kernels
from commanalyzer.vcg.graph import Bool, Int32, Int64, Rows, ValueGraph
from commanalyzer.vcg.storage.large import AnyGraph
from commanalyzer.vcg.storage.rows import rows_at
from commanalyzer.vcg.storage.slices import SLICE_FLOWS, row_slices
from commanalyzer.vcg.storage.store import RowRanges
from commanalyzer.vcg.structure.segments import expand_ranges

_FIRST_RANGES = 4096


@dataclass(frozen=True, slots=True)
class ChosenRows:
    """Some rows of a graph, in order; a :class:`~commanalyzer.vcg.storage.slices.Sliceable`.

    Attributes:
        graph: The graph.
        ranges: Which rows.
    """

    graph: AnyGraph
    ranges: RowRanges

    def slices(self, flows: int = 0, wanted: Bool | None = None) -> Iterator[Rows]:
        """Yield rows in order; arguments as of :func:`commanalyzer.vcg.storage.slices.row_slices`."""
        if isinstance(self.graph, ValueGraph):
            batches, every = self.ranges.batches(flows or SLICE_FLOWS), self.graph.rows
            found: Iterator[Rows] = (rows_at(every, expand_ranges(b.first[0], b.count[0])) for b in batches)
        else:
            found = self.graph.store.ranges(self.ranges, flows or self.graph.slice_flows or SLICE_FLOWS)
        for number, rows in enumerate(found):
            if wanted is None or wanted[number]:
                yield rows


@dataclass(frozen=True, slots=True)
class RowStretches:
    """All rows of a graph; tables are those of :mod:`commanalyzer.vcg.contraction.stretch_kernels`.

    Attributes:
        table: int64[n + 1, 6].
        lane: int32[L, 2], vertex and step.
        tile: int32[K], coarse vertices; one more than all of them stands for hubs.
    """

    table: Int64
    lane: Int32
    tile: Int32

    @classmethod
    def of(cls, graph: AnyGraph, vertex: Int32, num_coarse: int) -> RowStretches:
        """Find the stretches of ``graph``.

        Args:
            graph: Value graph.
            vertex: int32[V], coarse vertex of each value, negative for hubs.
            num_coarse: Number of coarse vertices.
        """
        place, end = frozen(vertex, np.int32), np.zeros(kernels.COLUMNS, np.int64)
        tables, lanes, tiles = [np.zeros((0, kernels.COLUMNS), np.int64)], [], []
        for rows in row_slices(graph):
            table, lane, tile = _stretches(rows, place, num_coarse)
            tables.append(table + end)
            lanes.append(lane)
            tiles.append(tile)
            end += (rows.num_rows, len(rows.source_ptr) - 1, rows.num_flows, 0, len(lane), len(tile))
        return cls(
            frozen(np.concatenate((*tables, end.reshape(1, -1))), np.int64),
            frozen(np.concatenate((*lanes, np.zeros((0, 2), np.int32))), np.int32),
            frozen(np.concatenate((*tiles, np.zeros(0, np.int32))), np.int32),
        )

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays together."""
        return self.table.nbytes + self.lane.nbytes + self.tile.nbytes

    @property
    def has_loose(self) -> bool:
        """Whether there are rows in no line."""
        return len(self.tile) > 0

    def shared(self, owner: Int32, num_owners: int, is_wanted: Bool) -> RowRanges:
        """Return the rows that join values of several owners, and some others.

        Args:
            owner: int32[V], owners; values with others than 0 to ``num_owners`` - 1 do not count.
            num_owners: Number of owners.
            is_wanted: bool[N + 1], coarse vertices of which loose rows are wanted; the last stands for hubs.
        """
        part, count = frozen(owner, np.int32), len(owner) // kernels.SPACING + 1
        before = np.empty(count if self.lane[:, 1].min(initial=0) < 0 else 0, np.int32)
        behind = np.empty(count, np.int32)
        kernels.note_ends(part, before, behind)
        inputs = (self.table, self.lane, self.tile, part, num_owners, before, behind)
        out, (found, at, turn) = np.empty((2 * (kernels.FLOW + 1), _FIRST_RANGES), np.int64), (0, 0, 0)
        while True:
            found, at, turn = kernels.shared_ranges(
                *inputs, frozen(is_wanted, np.bool_), at, turn, found, out
            )
            if at == len(self.table) - 1:
                first, last = out[: kernels.FLOW + 1, :found], out[kernels.FLOW + 1 :, :found]
                return RowRanges(first.copy(), last - first)
            out = np.concatenate((out, np.empty_like(out)), axis=1)


def _stretches(rows: Rows, vertex: Int32, hubs: int) -> tuple[Int64, Int32, Int32]:
    """Return table, lanes and coarse vertices of a slice; positions within it."""
    r = rows.num_rows
    table = np.empty((r, kernels.COLUMNS), np.int64)
    lane = np.empty(((r + rows.num_flows) // kernels.LEAST_ROUNDS + 1, 2), np.int32)
    tile = np.empty(2 * r, np.int32)
    n, lanes, tiles = kernels.find_stretches(rows, vertex, hubs, table, lane, tile)
    return table[:n].copy(), lane[:lanes].copy(), tile[:tiles].copy()
