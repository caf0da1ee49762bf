"""Some of the rows of a value graph with all its vertices, and such parts joined again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commanalyzer.vcg.graph import Bool, Int64, ValueGraph
from commanalyzer.vcg.segments import expand_ranges, pointer_from_counts


def chosen_rows(graph: ValueGraph, wanted: Bool) -> ValueGraph:
    """Return ``graph`` with the rows of ``wanted`` (bool[R]) only."""
    if wanted.all():
        return graph
    rows = np.flatnonzero(wanted)
    first_term = graph.term_ptr[rows]
    terms = graph.term_ptr[rows + 1] - first_term
    term = expand_ranges(first_term, terms)
    first_entry = graph.source_ptr[term]
    entries = graph.source_ptr[term + 1] - first_entry
    entry = expand_ranges(first_entry, entries)
    return replace(
        graph,
        row_sink=graph.row_sink[rows],
        row_count=graph.row_count[rows],
        row_site=graph.row_site[rows],
        row_fold=graph.row_fold[rows],
        row_accumulates=graph.row_accumulates[rows],
        term_ptr=pointer_from_counts(terms),
        source_ptr=pointer_from_counts(entries),
        source=graph.source[entry],
        source_role=graph.source_role[entry],
    )


def joined_rows(graphs: Sequence[ValueGraph]) -> ValueGraph:
    """Return one graph with the rows of all ``graphs``, at least one, which have the same vertices."""
    if len(graphs) == 1:
        return graphs[0]

    def column(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(g, name) for g in graphs])

    def pointer(name: str) -> Int64:
        return pointer_from_counts(np.concatenate([np.diff(getattr(g, name)) for g in graphs]))

    return replace(
        graphs[0],
        row_sink=column("row_sink"),
        row_count=column("row_count"),
        row_site=column("row_site"),
        row_fold=column("row_fold"),
        row_accumulates=column("row_accumulates"),
        term_ptr=pointer("term_ptr"),
        source_ptr=pointer("source_ptr"),
        source=column("source"),
        source_role=column("source_role"),
    )
