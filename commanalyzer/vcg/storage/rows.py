"""Some of the rows of a value graph, and such parts joined again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commanalyzer.vcg.graph import OF_ROWS, Bool, Int64, Rows
from commanalyzer.vcg.structure.segments import expand_ranges, pointer_from_counts


def chosen_rows(rows: Rows, wanted: Bool) -> Rows:
    """Return the rows of ``wanted`` (bool[R]) only."""
    return rows if wanted.all() else rows_at(rows, np.flatnonzero(wanted))


def rows_at(rows: Rows, chosen: Int64) -> Rows:
    """Return the ``chosen`` rows, in that order."""
    terms = np.diff(rows.term_ptr)[chosen]
    term = expand_ranges(rows.term_ptr[chosen], terms)
    entries = np.diff(rows.source_ptr)[term]
    entry = expand_ranges(rows.source_ptr[term], entries)
    return rows._replace(
        **{name: getattr(rows, name)[chosen] for name in OF_ROWS},
        term_ptr=pointer_from_counts(terms),
        source_ptr=pointer_from_counts(entries),
        source=rows.source[entry],
        source_role=rows.source_role[entry],
    ).closed()


def joined_rows(parts: Sequence[Rows]) -> Rows:
    """Return the rows of all ``parts``, at least one."""
    if len(parts) == 1:
        return parts[0]

    def column(name: str) -> NDArray[Any]:
        pieces = [getattr(rows, name) for rows in parts]
        if name in ("term_ptr", "source_ptr"):
            return pointer_from_counts(np.concatenate([np.diff(piece) for piece in pieces]))
        return np.concatenate(pieces)

    return Rows(*map(column, Rows._fields)).closed()
