"""Consecutive rows of a value graph with all vertices: large graphs are worked on bit by bit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

import numpy as np
from numpy.typing import NDArray

from commanalyzer.vcg.graph import ValueGraph

SLICE_FLOWS = 1 << 24


def row_slice(graph: ValueGraph, first: int, last: int) -> ValueGraph:
    """Return ``graph`` with rows ``first`` to ``last - 1`` only; vertices are the same, arrays are shared.

    Args:
        graph: Value graph.
        first: First row, 0 <= first <= last.
        last: Row behind the last one, at most the number of rows.
    """
    if first == 0 and last == graph.num_rows:
        return graph
    terms = graph.term_ptr[first : last + 1]
    sources = graph.source_ptr[terms[0] : terms[-1] + 1]
    return _unchecked(
        graph,
        row_sink=graph.row_sink[first:last],
        row_count=graph.row_count[first:last],
        row_site=graph.row_site[first:last],
        row_fold=graph.row_fold[first:last],
        row_accumulates=graph.row_accumulates[first:last],
        term_ptr=terms - terms[0],
        source_ptr=sources - sources[0],
        source=graph.source[sources[0] : sources[-1]],
        source_role=graph.source_role[sources[0] : sources[-1]],
    )


def _unchecked(graph: ValueGraph, **columns: NDArray[np.generic]) -> ValueGraph:
    """Return ``graph`` with other columns, which are not checked: parts of what is in order are in order."""
    result: ValueGraph = object.__new__(ValueGraph)
    for f in fields(ValueGraph):
        value = columns.get(f.name)
        if value is not None:
            value.setflags(write=False)
        object.__setattr__(result, f.name, getattr(graph, f.name) if value is None else value)
    return result


def row_slices(graph: ValueGraph, flows: int = SLICE_FLOWS) -> Iterator[ValueGraph]:
    """Yield ``graph`` in slices of about ``flows`` flows each (more where a single row has more)."""
    start = graph.source_ptr[graph.term_ptr]
    first = 0
    while first < graph.num_rows:
        last = int(np.searchsorted(start, start[first] + flows, side="right")) - 1
        last = min(max(last, first + 1), graph.num_rows)
        yield row_slice(graph, first, last)
        first = last
