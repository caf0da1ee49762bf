"""Some of the rows of a value graph, and such parts joined again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commanalyzer.vcg.graph import Bool, Int64
from commanalyzer.vcg.storage.slices import AnyRows, RowSlice
from commanalyzer.vcg.structure.segments import expand_ranges, pointer_from_counts


def chosen_rows(rows: AnyRows, wanted: Bool) -> AnyRows:
    """Return the rows of ``wanted`` (bool[R]) only."""
    if wanted.all():
        return rows
    chosen = np.flatnonzero(wanted)
    first_term = rows.term_ptr[chosen]
    terms = rows.term_ptr[chosen + 1] - first_term
    term = expand_ranges(first_term, terms)
    first_entry = rows.source_ptr[term]
    entries = rows.source_ptr[term + 1] - first_entry
    entry = expand_ranges(first_entry, entries)
    return RowSlice(
        row_sink=rows.row_sink[chosen],
        row_count=rows.row_count[chosen],
        row_site=rows.row_site[chosen],
        row_fold=rows.row_fold[chosen],
        row_accumulates=rows.row_accumulates[chosen],
        term_ptr=pointer_from_counts(terms),
        source_ptr=pointer_from_counts(entries),
        source=rows.source[entry],
        source_role=rows.source_role[entry],
    )


def joined_rows(parts: Sequence[AnyRows]) -> AnyRows:
    """Return the rows of all ``parts``, at least one."""
    if len(parts) == 1:
        return parts[0]

    def column(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(rows, name) for rows in parts])

    def pointer(name: str) -> Int64:
        return pointer_from_counts(np.concatenate([np.diff(getattr(rows, name)) for rows in parts]))

    return RowSlice(
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
