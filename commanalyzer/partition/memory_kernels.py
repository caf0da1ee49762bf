"""Compiled loops of :mod:`commanalyzer.partition.memory`."""

from __future__ import annotations

from typing import Any

from commanalyzer.foundation.compiled import compiled_in_place


@compiled_in_place
def count_between(
    row_sink: Any, row_fold: Any, term_ptr: Any, source_ptr: Any, source: Any, vertex: Any, found: Any
) -> None:
    """Add the rows that fold from other coarse vertices, their terms and flows to ``found`` int64[3].

    Args:
        row_sink: Sink of each row.
        row_fold: Fold of each row, 0 for none.
        term_ptr: Where the terms of each row begin.
        source_ptr: Where the sources of each term begin.
        source: Sources.
        vertex: Coarse vertex of each value, negative for hubs: as sources these have no say.
        found: Result.
    """
    for r in range(len(row_sink)):
        if not row_fold[r]:
            continue
        own = vertex[row_sink[r]]
        first, last = source_ptr[term_ptr[r]], source_ptr[term_ptr[r + 1]]
        for i in range(first, last):
            other = vertex[source[i]]
            if other >= 0 and other != own:
                found[0] += 1
                found[1] += term_ptr[r + 1] - term_ptr[r]
                found[2] += last - first
                break
