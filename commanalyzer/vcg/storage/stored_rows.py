"""Rows of a coded graph of which a column is expanded when it is asked for.

Input: coded columns and ranges of their rows. Output: :class:`StoredRows`, which are a
:class:`~commanalyzer.vcg.storage.slices.RowSlice`. Most passes look at few columns: the others cost nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from commanalyzer.vcg.graph import Bool, Int32, Int64, UInt8
from commanalyzer.vcg.storage.coding import Coded, Reader
from commanalyzer.vcg.storage.slices import RowSlice
from commanalyzer.vcg.structure.segments import expand_ranges

Entry = TypeVar("Entry", bound=np.generic)
_ROW, _TERM, _FLOW = range(3)


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

    def __getitem__(self, name: str) -> Reader:
        if name not in self._known:
            self._known[name] = Reader.of(self.columns[name])
        return self._known[name]


class StoredRows(RowSlice):
    """Rows of some ranges, one behind the other; a column is expanded when it is asked for, and kept.

    Args:
        readers: Columns of the whole graph, pointers as lengths.
        ranges: Which rows.
    """

    __slots__ = ("_known", "_ranges", "_readers")
    _known: dict[str, NDArray[np.generic]]
    _ranges: RowRanges
    _readers: Readers

    def __init__(self, readers: Readers, ranges: RowRanges) -> None:
        own: tuple[tuple[str, object], ...] = (("_readers", readers), ("_ranges", ranges), ("_known", {}))
        for name, value in own:  # the base class is frozen
            object.__setattr__(self, name, value)

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return int(self._ranges.count[_ROW].sum())

    @property
    def num_flows(self) -> int:
        """Number of (row, source) pairs."""
        return int(self._ranges.count[_FLOW].sum())

    @property
    def row_sink(self) -> Int32:
        """int32[R]."""
        return cast(Int32, self._column("row_sink", _ROW, np.int32))

    @property
    def row_count(self) -> Int64:
        """int64[R]."""
        return cast(Int64, self._column("row_count", _ROW, np.int64))

    @property
    def row_site(self) -> Int32:
        """int32[R]."""
        return cast(Int32, self._column("row_site", _ROW, np.int32))

    @property
    def row_fold(self) -> UInt8:
        """uint8[R]."""
        return cast(UInt8, self._column("row_fold", _ROW, np.uint8))

    @property
    def row_accumulates(self) -> Bool:
        """bool[R]."""
        return cast(Bool, self._column("row_accumulates", _ROW, np.bool_))

    @property
    def term_ptr(self) -> Int64:
        """int64[R + 1]."""
        return self._pointer("row_terms", _ROW)

    @property
    def source_ptr(self) -> Int64:
        """int64[T + 1]."""
        return self._pointer("term_sources", _TERM)

    @property
    def source(self) -> Int32:
        """int32[S]."""
        return cast(Int32, self._column("source", _FLOW, np.int32))

    @property
    def source_role(self) -> UInt8:
        """uint8[S]."""
        return cast(UInt8, self._column("source_role", _FLOW, np.uint8))

    def _column(self, name: str, axis: int, dtype: type[np.generic]) -> NDArray[np.generic]:
        if name not in self._known:
            out = np.empty(int(self._ranges.count[axis].sum()), dtype)
            self._fill(name, axis, out)
            self._known[name] = _closed(out)
        return self._known[name]

    def _pointer(self, name: str, axis: int) -> Int64:
        """Where the items begin whose lengths are the column ``name``."""
        if name not in self._known:
            out = np.empty(int(self._ranges.count[axis].sum()) + 1, np.int64)
            out[0] = 0
            self._fill(name, axis, out[1:], is_sum=True)
            self._known[name] = _closed(out)
        return cast(Int64, self._known[name])

    def _fill(self, name: str, axis: int, out: NDArray[np.generic], *, is_sum: bool = False) -> None:
        first, count = self._ranges.first[axis], self._ranges.count[axis]
        if len(first) == 1:
            self._readers[name].fill(out, int(first[0]), is_sum=is_sum)
        else:
            self._readers[name].take(expand_ranges(first, count), out)
            if is_sum:
                np.cumsum(out, out=out)


def _closed(array: NDArray[Entry]) -> NDArray[Entry]:
    array.setflags(write=False)
    return array
