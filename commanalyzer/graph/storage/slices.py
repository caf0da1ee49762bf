"""Some of the rows of a value graph, joined again: large graphs are worked on bit by bit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from commanalyzer.foundation.compiled import frozen
from commanalyzer.graph.storage.coding import copy_sources
from commanalyzer.graph.value_graph import (
    OF_ROWS,
    Array,
    Bool,
    Int64,
    Rows,
    ValueGraph,
    expand_ranges,
    pointer_from_counts,
)


def chosen_rows(rows: Rows, wanted: Bool) -> Rows:
    """Return the rows of ``wanted`` (bool[R]) only."""
    if wanted.all():
        return rows
    chosen = np.flatnonzero(wanted)
    terms = np.diff(rows.term_ptr)[chosen]
    return with_terms(rows, chosen, terms, expand_ranges(rows.term_ptr[chosen], terms))


def with_terms(rows: Rows, chosen: Int64, terms: Int64, term: Int64) -> Rows:
    """Return the ``chosen`` rows, of which each has so many ``terms``: the next of ``term``."""
    source_ptr = pointer_from_counts(np.diff(rows.source_ptr)[term])
    source, role = np.empty(source_ptr[-1], np.int32), np.empty(source_ptr[-1], np.uint8)
    copy_sources(rows, frozen(term, np.int64), source, role)
    of_rows = {name: getattr(rows, name)[chosen] for name in OF_ROWS}
    term_ptr = pointer_from_counts(terms)
    return Rows(**of_rows, term_ptr=term_ptr, source_ptr=source_ptr, source=source, source_role=role).closed()


def joined_rows(parts: Sequence[Rows]) -> Rows:
    """Return the rows of all ``parts``, at least one."""
    if len(parts) == 1:
        return parts[0]

    def column(name: str) -> Array:
        pieces = [getattr(rows, name) for rows in parts]
        if name in ("term_ptr", "source_ptr"):
            return pointer_from_counts(np.concatenate([np.diff(piece) for piece in pieces]))
        return np.concatenate(pieces)

    return Rows(*map(column, Rows._fields)).closed()


SLICE_FLOWS = 1 << 20
flows_visited = 0  # by passes over rows in this process, which are most of what dividing and counting do


class Sliceable(Protocol):
    """A graph that can expand its rows bit by bit."""

    def slices(self, flows: int = 0, wanted: Bool | None = None) -> Iterator[Rows]:
        """Yield rows in order; arguments as of :func:`row_slices`."""


def row_slice(rows: Rows, first: int, last: int) -> Rows:
    """Return rows ``first`` to ``last - 1`` (0 <= first <= last <= R); arrays are shared."""
    terms = rows.term_ptr[first : last + 1]
    sources = rows.source_ptr[terms[0] : terms[-1] + 1]
    begin, end = int(sources[0]), int(sources[-1])
    whole = first == 0 and last == rows.num_rows
    return Rows(
        row_sink=rows.row_sink[first:last],
        row_count=rows.row_count[first:last],
        row_site=rows.row_site[first:last],
        row_fold=rows.row_fold[first:last],
        row_accumulates=rows.row_accumulates[first:last],
        term_ptr=terms if whole else terms - terms[0],
        source_ptr=sources if whole else sources - begin,
        source=rows.source[begin:end],
        source_role=rows.source_role[begin:end],
    ).closed()


def row_slices(
    graph: ValueGraph | Rows | Sliceable, flows: int = 0, wanted: Bool | None = None
) -> Iterator[Rows]:
    """Yield the rows of ``graph`` in slices of about ``flows`` flows (more where a single row has more).

    0 flows stand for :data:`SLICE_FLOWS`, or what a graph wants that expands its rows itself. ``wanted`` is
    bool, one for each slice: others are left out.
    """
    global flows_visited
    rows = graph.rows if isinstance(graph, ValueGraph) else graph
    if not isinstance(rows, Rows):
        for piece in rows.slices(flows, wanted):
            flows_visited += len(piece.source)
            yield piece
        return
    first = number = 0
    while first < rows.num_rows:
        end = rows.source_ptr[rows.term_ptr[first]] + (flows or SLICE_FLOWS)
        behind = np.searchsorted(rows.source_ptr, end, side="right")
        last = min(max(int(np.searchsorted(rows.term_ptr, behind)) - 1, first + 1), rows.num_rows)
        if wanted is None or wanted[number]:
            piece = row_slice(rows, first, last)
            flows_visited += len(piece.source)
            yield piece
        first, number = last, number + 1
