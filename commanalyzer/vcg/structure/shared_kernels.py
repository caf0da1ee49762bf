"""Compiled loop that tells which rows join values of several owners, see :mod:`.shared`."""

from __future__ import annotations

from typing import Any

from commanalyzer.foundation.compiled import compiled_in_place


@compiled_in_place
def mark_shared(rows: Any, owner: Any, num_owners: Any, is_shared: Any) -> None:
    """Mark the rows of a slice that join values of several owners; others than these are nobody's."""
    for r in range(len(rows.row_sink)):
        home = owner[rows.row_sink[r]]
        for i in range(rows.source_ptr[rows.term_ptr[r]], rows.source_ptr[rows.term_ptr[r + 1]]):
            other = owner[rows.source[i]]
            if 0 <= other < num_owners:
                is_shared[r] |= 0 <= home < num_owners and home != other
                home = other
