"""Compiled loops of the rows that are kept until the choice between sending and combining."""

from __future__ import annotations

from typing import Any

from commanalyzer.foundation.compiled import compiled_in_place


@compiled_in_place
def size_of(wanted: Any, term_ptr: Any, source_ptr: Any) -> Any:
    """Return how many rows of ``wanted`` bool[R] there are, and how many terms and flows they have."""
    rows, terms, flows = 0, 0, 0
    for r in range(len(wanted)):
        if wanted[r]:
            rows += 1
            terms += term_ptr[r + 1] - term_ptr[r]
            flows += source_ptr[term_ptr[r + 1]] - source_ptr[term_ptr[r]]
    return rows, terms, flows


@compiled_in_place
def append_rows(wanted: Any, given: Any, place: Any, out: Any) -> None:
    """Append some rows to columns.

    Args:
        wanted: bool[R], which of them.
        given: Their columns: sink, count, whether it accumulates, pointers to terms and sources, sources.
        place: Rows, terms and flows that are in the columns already.
        out: The same columns, long enough; changed.
    """
    row_sink, row_count, row_accumulates, term_ptr, source_ptr, source = given
    to_sink, to_count, to_accumulates, to_term_ptr, to_source_ptr, to_source = out
    rows, terms, flows = place
    for r in range(len(wanted)):
        if not wanted[r]:
            continue
        to_sink[rows], to_count[rows], to_accumulates[rows] = row_sink[r], row_count[r], row_accumulates[r]
        rows += 1
        for t in range(term_ptr[r], term_ptr[r + 1]):
            for i in range(source_ptr[t], source_ptr[t + 1]):
                to_source[flows] = source[i]
                flows += 1
            terms += 1
            to_source_ptr[terms] = flows
        to_term_ptr[rows] = terms
