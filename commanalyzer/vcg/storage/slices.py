"""Consecutive rows of a value graph: large graphs are worked on bit by bit, vertices all the time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from commanalyzer.vcg.graph import Bool, Int32, Int64, UInt8, ValueGraph

SLICE_FLOWS = 1 << 20


@dataclass(frozen=True, slots=True)
class RowSlice:
    """Some consecutive rows; columns as in :class:`ValueGraph`, pointers begin with 0."""

    row_sink: Int32
    row_count: Int64
    row_site: Int32
    row_fold: UInt8
    row_accumulates: Bool
    term_ptr: Int64
    source_ptr: Int64
    source: Int32
    source_role: UInt8

    def __post_init__(self) -> None:
        for name in self.__slots__:
            getattr(self, name).setflags(write=False)

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return len(self.row_sink)

    @property
    def num_flows(self) -> int:
        """Number of (row, source) pairs."""
        return len(self.source)

    def row_of_source(self) -> Int64:
        """int64[S], the row, counted from the first of the slice, that each source entry belongs to."""
        per_row = self.source_ptr[self.term_ptr]
        return np.repeat(np.arange(self.num_rows, dtype=np.int64), np.diff(per_row))


AnyRows: TypeAlias = ValueGraph | RowSlice


class Sliceable(Protocol):
    """A graph that can expand its rows bit by bit."""

    def slices(self, flows: int = 0, wanted: Bool | None = None) -> Iterator[RowSlice]:
        """Yield rows in order; arguments as of :func:`row_slices`."""


def row_slice(rows: AnyRows, first: int, last: int) -> RowSlice:
    """Return rows ``first`` to ``last - 1``; arrays are shared.

    Args:
        rows: Rows, or a graph.
        first: First row, 0 <= first <= last.
        last: Row behind the last one, at most the number of rows.
    """
    terms = rows.term_ptr[first : last + 1]
    sources = rows.source_ptr[terms[0] : terms[-1] + 1]
    begin, end = int(sources[0]), int(sources[-1])
    whole = first == 0 and last == rows.num_rows
    return RowSlice(
        row_sink=rows.row_sink[first:last],
        row_count=rows.row_count[first:last],
        row_site=rows.row_site[first:last],
        row_fold=rows.row_fold[first:last],
        row_accumulates=rows.row_accumulates[first:last],
        term_ptr=terms if whole else terms - terms[0],
        source_ptr=sources if whole else sources - begin,
        source=rows.source[begin:end],
        source_role=rows.source_role[begin:end],
    )


def row_slices(graph: AnyRows | Sliceable, flows: int = 0, wanted: Bool | None = None) -> Iterator[RowSlice]:
    """Yield the rows of ``graph`` in slices of about ``flows`` flows (more where a single row has more).

    Args:
        graph: Expanded rows, or a graph that expands its rows itself.
        flows: Flows of a slice; 0 for :data:`SLICE_FLOWS`, or what the graph wants.
        wanted: bool, one for each slice: others are left out; None for all.
    """
    if not isinstance(graph, ValueGraph | RowSlice):
        yield from graph.slices(flows, wanted)
        return
    start = graph.source_ptr[graph.term_ptr]
    first = number = 0
    while first < graph.num_rows:
        last = int(np.searchsorted(start, start[first] + (flows or SLICE_FLOWS), side="right")) - 1
        last = min(max(last, first + 1), graph.num_rows)
        if wanted is None or wanted[number]:
            yield row_slice(graph, first, last)
        first, number = last, number + 1
