"""The value graph as it is kept: every column coded, expanded only where somebody looks.

Input: pieces of columns (:class:`StoreWriter`) or a :class:`ValueGraph`. Output: :class:`GraphStore`, from
which come the whole graph (:meth:`GraphStore.graph`) or, one after the other, slices of its rows
(:meth:`GraphStore.slices`). Pointers are kept as lengths, which repeat.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commanalyzer.errors import GraphInvariantError
from commanalyzer.vcg.graph import (
    Bool,
    Float64,
    HomeObject,
    Int32,
    Int64,
    Rows,
    Site,
    ValueGraph,
    check_rows,
)
from commanalyzer.vcg.storage.coding import PIECE, Coded, ColumnWriter, Reader
from commanalyzer.vcg.storage.columns import (
    COLUMNS,
    FLOW_COLUMNS,
    ROW_COLUMNS,
    TERM_COLUMNS,
    VERTEX_COLUMNS,
    Column,
    coded,
    entries,
    row_columns,
)
from commanalyzer.vcg.storage.slices import SLICE_FLOWS, row_slices
from commanalyzer.vcg.storage.spill import Spill
from commanalyzer.vcg.storage.stored_rows import Readers, RowRanges

_SMALL_BYTES = 1 << 28  # expanded graphs of this size are kept


@dataclass(slots=True)
class _Expanded:
    """The graph once it was asked for: kept if it is small, otherwise as long as somebody else keeps it.

    Whether all slices have been checked: damaged files must not reach compiled loops.
    """

    kept: ValueGraph | None = None
    seen: weakref.ref[ValueGraph] | None = None
    is_checked: bool = False


@dataclass(frozen=True, slots=True)
class GraphStore:
    """A value graph in coded form.

    Attributes:
        columns: Coded columns of :data:`COLUMNS`, by name.
        pages: int64[P + 1, 3], increasing: rows, terms and flows before each place where it may be cut.
        objects: Home objects.
        sites: Sites.
        spilled_bytes: Bytes of the columns that lie in files.
    """

    columns: Mapping[str, Coded]
    pages: Int64
    objects: tuple[HomeObject, ...] = ()
    sites: tuple[Site, ...] = ()
    spilled_bytes: int = 0
    _expanded: _Expanded = field(init=False, default_factory=_Expanded, compare=False, repr=False)

    def __post_init__(self) -> None:
        counts = (self.num_rows, self.num_terms, self.num_flows)
        for group, count in zip((ROW_COLUMNS, TERM_COLUMNS, FLOW_COLUMNS), counts, strict=True):
            self._require_length(group, count)
        self._require_length(VERTEX_COLUMNS, self.num_vertices)
        if self.pages.shape[1:] != (3,) or self.pages[-1].tolist() != list(counts):
            raise GraphInvariantError(
                "value graph is inconsistent: its pages do not end where its columns do"
            )

    @classmethod
    def of(cls, graph: ValueGraph) -> GraphStore:
        """``graph`` in coded form."""
        writer = StoreWriter(Spill())
        for part in row_slices(graph, PIECE):
            writer.add_rows(part)
        writer.add_vertices({column.name: getattr(graph, column.name) for column in VERTEX_COLUMNS})
        store = writer.finish(graph.objects, graph.sites)
        store._remember(graph)
        return store

    @property
    def num_vertices(self) -> int:
        """Number of homes."""
        return self.columns["home_object"].length

    @property
    def num_rows(self) -> int:
        """Number of distinct value-flow chains."""
        return self.columns["row_sink"].length

    @property
    def num_terms(self) -> int:
        """Number of terms of all rows."""
        return self.columns["term_sources"].length

    @property
    def num_flows(self) -> int:
        """Number of distinct (row, source) pairs."""
        return self.columns["source"].length

    @property
    def nbytes(self) -> int:
        """Bytes of all coded columns together, those in files included."""
        return self.pages.nbytes + sum(column.nbytes for column in self.columns.values())

    def graph(self) -> ValueGraph:
        """The whole graph, expanded.

        Raises:
            GraphInvariantError: If the columns contradict each other.
        """
        known = self._expanded.kept or (self._expanded.seen and self._expanded.seen())
        if known:
            return known
        graph = self._part(self._vertices(), len(self.pages) - 1)
        self._remember(graph)
        return graph

    def vertices(self) -> ValueGraph:
        """All vertices, and no rows."""
        return self._part(self._vertices(), 0)

    def vertex_column(self, name: str) -> NDArray[np.generic]:
        """A column of :data:`VERTEX_COLUMNS`, expanded, read-only."""
        column = next(c for c in VERTEX_COLUMNS if c.name == name)
        found = entries(column, Reader.of(self.columns[name]), 0, self.num_vertices)
        found.setflags(write=False)
        return found

    def vertex_values(self, name: str, index: Int32 | Int64) -> NDArray[np.generic]:
        """Some entries of a column of :data:`VERTEX_COLUMNS`; ascending vertices are found faster."""
        column = next(c for c in VERTEX_COLUMNS if c.name == name)
        out = np.empty(len(index), column.dtype)
        bits = out.view(np.int64) if column.dtype.kind == "f" else out
        Reader.of(self.columns[name]).take(index.astype(np.int64), bits)
        return out

    def slices(self, flows: int = SLICE_FLOWS, wanted: Bool | None = None) -> Iterator[Rows]:
        """Yield the rows in slices of at most ``flows`` flows each (more where a single row has more).

        No more than one slice is expanded at a time.

        Args:
            flows: Flows of a slice.
            wanted: bool, one for each slice: others are left out, in most cases without expanding them.

        Raises:
            GraphInvariantError: If the columns contradict each other.
        """
        number, readers = 0, Readers(self.columns)
        for first, last in self._page_groups(flows):
            is_whole = int(self.pages[last, 2] - self.pages[first, 2]) <= flows
            if is_whole and wanted is not None and not wanted[number]:
                number += 1
                continue
            rows = self._checked(readers.rows(self._pages(first, last)))
            for part in (rows,) if is_whole else row_slices(rows, flows):
                if wanted is None or wanted[number]:
                    yield part
                number += 1
        self._expanded.is_checked |= wanted is None

    def ranges(self, ranges: RowRanges, flows: int = SLICE_FLOWS) -> Iterator[Rows]:
        """Yield the rows of ``ranges`` in slices of about ``flows`` flows; nothing else is expanded.

        Raises:
            GraphInvariantError: If the columns contradict each other.
        """
        readers = Readers(self.columns)
        for batch in ranges.batches(flows):
            yield self._checked(readers.rows(batch))

    def _checked(self, rows: Rows) -> Rows:
        if not self._expanded.is_checked:
            check_rows(rows, self.num_vertices, len(self.sites))
        return rows

    def _pages(self, first: int, last: int) -> RowRanges:
        """Rows of pages ``first`` to ``last - 1``."""
        low, high = self.pages[first].reshape(3, 1), self.pages[last].reshape(3, 1)
        return RowRanges(low, high - low)

    def _page_groups(self, flows: int) -> Iterator[tuple[int, int]]:
        """Yield first and last page (and one) of groups of at most ``flows`` flows and rows, or of one page.

        Rows count because there may be millions of them without a flow: what a program begins with.
        """
        before = self.pages[:, 0] + self.pages[:, 2]
        first, end = 0, len(self.pages) - 1
        while first < end:
            last = int(np.searchsorted(before, before[first] + flows, side="right")) - 1
            last = min(max(last, first + 1), end)
            if self.pages[last, 0] > self.pages[first, 0]:
                yield first, last
            first = last

    def rows_without_flows(self) -> Iterator[Rows]:
        """Yield rows without their sources and roles, in order, some at a time."""
        readers = Readers(self.columns)
        for page in range(len(self.pages) - 1):
            yield readers.rows(self._pages(page, page + 1), has_flows=False)

    def row_columns(self, names: tuple[str, ...]) -> Iterator[tuple[NDArray[np.generic], ...]]:
        """Yield columns of all rows, some at a time."""
        return row_columns({name: self.columns[name] for name in names}, self.pages)

    def with_work(self, work_flops: Float64) -> GraphStore:
        """Return the same graph with other work of its vertices, float64[V]."""
        column = coded(work_flops.view(np.int64), Spill.within(None))
        return replace(self, columns={**self.columns, "work_flops": column})

    def __repr__(self) -> str:
        return (
            f"GraphStore({self.num_vertices:,} vertices, {self.num_rows:,} rows, "
            f"{self.num_flows:,} flows, {self.nbytes / 1e6:.1f} MB)"
        )

    def _require_length(self, columns: tuple[Column, ...], length: int) -> None:
        for column in columns:
            found = self.columns[column.name].length
            if found != length:
                raise GraphInvariantError(
                    f"value graph is inconsistent: {column.name} has {found} entries, expected {length}"
                )

    def _remember(self, graph: ValueGraph) -> None:
        if graph.nbytes <= _SMALL_BYTES:
            self._expanded.kept = graph
        else:
            self._expanded.seen = weakref.ref(graph)

    def _vertices(self) -> dict[str, NDArray[np.generic]]:
        return {
            c.name: entries(c, Reader.of(self.columns[c.name]), 0, self.num_vertices) for c in VERTEX_COLUMNS
        }

    def _part(self, vertices: Mapping[str, NDArray[np.generic]], last: int) -> ValueGraph:
        """Rows of pages 0 to ``last - 1``, with all vertices."""
        arrays: dict[str, Any] = {**vertices, **Readers(self.columns).rows(self._pages(0, last))._asdict()}
        return ValueGraph(**arrays, objects=self.objects, sites=self.sites)


class StoreWriter:
    """Codes a graph bit by bit."""

    def __init__(self, spill: Spill) -> None:
        self._spill = spill
        self._writers = {c.name: ColumnWriter(spill) for c in COLUMNS}
        self._pages = [np.zeros(3, np.int64)]

    def add_rows(self, rows: Rows) -> None:
        """Append ``rows``; they make one page."""
        page, columns = [], rows._asdict()
        columns |= {"row_terms": np.diff(rows.term_ptr), "term_sources": np.diff(rows.source_ptr)}
        for group in (ROW_COLUMNS, TERM_COLUMNS, FLOW_COLUMNS):
            for column in group:
                self._writers[column.name].append(columns[column.name])
            page.append(self._writers[group[0].name].length)
        self._pages.append(np.array(page, np.int64))

    def add_vertices(self, columns: Mapping[str, NDArray[np.generic]]) -> None:
        """Append vertices: the columns of :data:`VERTEX_COLUMNS`."""
        for column in VERTEX_COLUMNS:
            values = columns[column.name]
            self._writers[column.name].append(values.view(np.int64) if column.dtype.kind == "f" else values)

    def row_columns(self, names: tuple[str, ...]) -> Iterator[tuple[NDArray[np.generic], ...]]:
        """Yield columns of all rows, some at a time; no rows may be added any more."""
        return row_columns({name: self._writers[name].finish() for name in names}, self._pages)

    @property
    def pages(self) -> Int64:
        """Pages so far; see :class:`GraphStore`."""
        return np.stack(self._pages)

    def row_columns_coded(self) -> dict[str, Coded]:
        """All columns but those of vertices; no rows may be added any more."""
        groups = (*ROW_COLUMNS, *TERM_COLUMNS, *FLOW_COLUMNS)
        return {column.name: self._writers[column.name].finish() for column in groups}

    def finish(self, objects: tuple[HomeObject, ...], sites: tuple[Site, ...]) -> GraphStore:
        """The store; nothing may be added any more."""
        columns = {name: writer.finish() for name, writer in self._writers.items()}
        return GraphStore(columns, self.pages, objects, sites, self._spill.file_bytes)
