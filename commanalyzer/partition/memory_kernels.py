"""Compiled loops of :mod:`commanalyzer.partition.memory`."""

from __future__ import annotations

from typing import Any

from commanalyzer.foundation.compiled import compiled_in_place


@compiled_in_place
def count_between(rows: Any, vertex: Any, found: Any) -> None:
    """Add the rows that fold from other coarse vertices, their terms and flows to ``found`` int64[3].

    Args:
        rows: Rows.
        vertex: Coarse vertex of each value, negative for hubs: as sources these have no say.
        found: Result.
    """
    for r in range(len(rows.row_sink)):
        if not rows.row_fold[r]:
            continue
        own = vertex[rows.row_sink[r]]
        first, last = rows.source_ptr[rows.term_ptr[r]], rows.source_ptr[rows.term_ptr[r + 1]]
        for i in range(first, last):
            other = vertex[rows.source[i]]
            if other >= 0 and other != own:
                found[0] += 1
                found[1] += rows.term_ptr[r + 1] - rows.term_ptr[r]
                found[2] += last - first
                break
