"""Rows of a coded graph: coded columns and ranges of rows -> :class:`~commanalyzer.vcg.graph.Rows`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commanalyzer.vcg.graph import Int64, Rows
from commanalyzer.vcg.storage.coding import Coded, Reader
from commanalyzer.vcg.storage.columns import FLOW_COLUMNS, ROW_COLUMNS, TERM_COLUMNS

_ROW, _TERM, _FLOW = range(3)
_COLUMNS = {
    column.name: (axis, column.dtype)
    for axis, columns in enumerate((ROW_COLUMNS, TERM_COLUMNS, FLOW_COLUMNS))
    for column in columns
}
_LENGTHS = {"term_ptr": "row_terms", "source_ptr": "term_sources"}


@dataclass(frozen=True, slots=True)
class RowRanges:
    """Ranges of consecutive rows, in order, none twice.

    Attributes:
        first: int64[3, n], rows, terms and flows before each range.
        count: int64[3, n], its rows, terms and flows.
    """

    first: Int64
    count: Int64

    @property
    def num_ranges(self) -> int:
        """Number of ranges n."""
        return len(self.first[_ROW])

    def batches(self, flows: int) -> list[RowRanges]:
        """Split into ranges of about ``flows`` rows and flows together, more where a single one has more."""
        size = np.cumsum(self.count[_ROW] + self.count[_FLOW])
        batch = (size - self.count[_ROW] - self.count[_FLOW]) // flows
        cuts = np.flatnonzero(np.diff(batch)) + 1
        pairs = zip(np.split(self.first, cuts, axis=1), np.split(self.count, cuts, axis=1), strict=True)
        return [RowRanges(first, count) for first, count in pairs] if self.num_ranges else []


@dataclass(frozen=True, slots=True)
class Readers:
    """Coded columns, each made ready when it is asked for.

    Attributes:
        columns: Coded columns by name.
    """

    columns: Mapping[str, Coded]
    _known: dict[str, Reader] = field(init=False, default_factory=dict, compare=False, repr=False)

    def rows(self, ranges: RowRanges, *, has_flows: bool = True) -> Rows:
        """Return the rows of ``ranges``, one behind the other; if asked for, without sources and roles."""
        left_out = ("source", "source_role") if not has_flows else ()
        none = RowRanges(ranges.first[:, :0], ranges.count[:, :0])
        return Rows(*(self._column(n, none if n in left_out else ranges) for n in Rows._fields)).closed()

    def _column(self, name: str, ranges: RowRanges) -> NDArray[Any]:
        """Return a column; pointers are where the items begin whose lengths are stored."""
        is_sum, stored = name in _LENGTHS, _LENGTHS.get(name, name)
        axis, dtype = _COLUMNS[stored]
        first, count = ranges.first[axis], ranges.count[axis]
        column = np.empty(is_sum + int(count.sum()), dtype)
        column[:is_sum] = 0
        out = column[is_sum:]
        if len(first) == 0:
            return column
        if stored not in self._known:
            self._known[stored] = Reader.of(self.columns[stored])
        if len(first) == 1:
            self._known[stored].fill(out, int(first[0]), is_sum=is_sum)
        else:
            self._known[stored].take_ranges(first, count, out)
            if is_sum:
                np.cumsum(out, out=out)
        return column
