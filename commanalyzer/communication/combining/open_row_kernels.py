"""Compiled loops of the rows that are kept until the choice between sending and combining."""

from __future__ import annotations

from typing import Any

from commanalyzer.foundation.compiled import compiled_in_place


@compiled_in_place
def size_of(rows: Any, wanted: Any) -> Any:
    """Return how many rows of ``wanted`` bool[R] there are, and how many terms and flows they have."""
    num_rows, terms, flows = 0, 0, 0
    for r in range(len(wanted)):
        if wanted[r]:
            num_rows += 1
            terms += rows.term_ptr[r + 1] - rows.term_ptr[r]
            flows += rows.source_ptr[rows.term_ptr[r + 1]] - rows.source_ptr[rows.term_ptr[r]]
    return num_rows, terms, flows


@compiled_in_place
def append_rows(rows: Any, wanted: Any, place: Any, out: Any) -> None:
    """Append some rows.

    Args:
        rows: Rows.
        wanted: bool[R], which of them.
        place: Rows, terms and flows that are there already.
        out: Sinks, counts, whether they accumulate, pointers to terms and sources, sources; long enough.
    """
    to_sink, to_count, to_accumulates, to_term_ptr, to_source_ptr, to_source = out
    num_rows, terms, flows = place
    for r in range(len(wanted)):
        if not wanted[r]:
            continue
        to_sink[num_rows], to_count[num_rows] = rows.row_sink[r], rows.row_count[r]
        to_accumulates[num_rows] = rows.row_accumulates[r]
        num_rows += 1
        for t in range(rows.term_ptr[r], rows.term_ptr[r + 1]):
            for i in range(rows.source_ptr[t], rows.source_ptr[t + 1]):
                to_source[flows] = rows.source[i]
                flows += 1
            terms += 1
            to_source_ptr[terms] = flows
        to_term_ptr[num_rows] = terms
