"""Rows that are kept until all others were counted: what they need is a choice between all of them.

Of a program that is one large reduction these are most of its rows, so they are kept once, and only what the
choice looks at.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from commanalyzer.communication.combining import open_row_kernels as kernels
from commanalyzer.communication.uses import larger
from commanalyzer.foundation.compiled import frozen
from commanalyzer.vcg.graph import Bool, Rows

Entry = TypeVar("Entry", bound=np.generic)
_LEAST = 1 << 10
_MORE = 2  # times what there is; room that is not used takes no memory


class OpenRows:
    """Some rows of a graph, in order."""

    def __init__(self) -> None:
        self._sink, self._count = np.zeros(0, np.int32), np.zeros(0, np.int64)
        self._accumulates, self._source = np.zeros(0, np.bool_), np.zeros(0, np.int32)
        self._term_ptr, self._source_ptr = np.zeros(1, np.int64), np.zeros(1, np.int64)
        self._rows = self._terms = self._flows = 0

    def __len__(self) -> int:
        return self._rows

    @property
    def rows(self) -> Rows:
        """All rows, without sites, folds and roles; valid until there are more."""
        rows, nothing = self._rows, np.zeros(0, np.uint8)
        columns = self._sink[:rows], self._count[:rows], nothing.astype(np.int32), nothing
        pointers = self._term_ptr[: rows + 1], self._source_ptr[: self._terms + 1]
        return Rows(
            *columns, self._accumulates[:rows], *pointers, self._source[: self._flows], nothing
        ).closed()

    def add(self, rows: Rows, wanted: Bool) -> None:
        """Append the rows of ``wanted`` (bool[R])."""
        wanted = frozen(wanted, np.bool_)
        count, terms, flows = kernels.size_of(rows, wanted)
        self._reserve(self._rows + count, self._terms + terms, self._flows + flows)
        place = self._rows, self._terms, self._flows
        out = self._sink, self._count, self._accumulates, self._term_ptr, self._source_ptr, self._source
        kernels.append_rows(rows, wanted, place, out)
        self._rows, self._terms, self._flows = self._rows + count, self._terms + terms, self._flows + flows

    def _reserve(self, rows: int, terms: int, flows: int) -> None:
        self._sink = _with_room(self._sink, self._rows, rows)
        self._count = _with_room(self._count, self._rows, rows)
        self._accumulates = _with_room(self._accumulates, self._rows, rows)
        self._term_ptr = _with_room(self._term_ptr, self._rows + 1, rows + 1)
        self._source_ptr = _with_room(self._source_ptr, self._terms + 1, terms + 1)
        self._source = _with_room(self._source, self._flows, flows)


def _with_room(column: NDArray[Entry], count: int, size: int) -> NDArray[Entry]:
    """Return ``column`` with room for ``size`` entries, the first ``count`` kept."""
    return column if size <= len(column) else larger(column, count, max(_LEAST, size, _MORE * len(column)))
