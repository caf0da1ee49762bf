"""Some of the rows of a value graph, and such parts joined again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.compiled import frozen
from commanalyzer.graph.storage.coding_kernels import copy_sources
from commanalyzer.graph.structure.segments import expand_ranges, pointer_from_counts
from commanalyzer.graph.value_graph import OF_ROWS, Bool, Int64, Rows


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

    def column(name: str) -> NDArray[Any]:
        pieces = [getattr(rows, name) for rows in parts]
        if name in ("term_ptr", "source_ptr"):
            return pointer_from_counts(np.concatenate([np.diff(piece) for piece in pieces]))
        return np.concatenate(pieces)

    return Rows(*map(column, Rows._fields)).closed()
