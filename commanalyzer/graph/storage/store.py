"""The value graph as it is kept: every column coded, expanded only where somebody looks.

Input: pieces of columns (:class:`StoreWriter`) or a :class:`ValueGraph`. Output: :class:`GraphStore`, from
which come the whole graph (:meth:`GraphStore.graph`) or, one after the other, slices of its rows
(:meth:`GraphStore.slices`). Pointers are kept as lengths, which repeat. Of a :class:`LargeGraph` only what is
looked at is expanded: columns of vertices, one slice of rows.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Generic, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.errors import GraphInvariantError
from commanalyzer.graph.storage.coding import PIECE, Coded, ColumnWriter, encoded
from commanalyzer.graph.storage.slices import SLICE_FLOWS, row_slices
from commanalyzer.graph.storage.spill import Spill, machine_bytes
from commanalyzer.graph.value_graph import (
    LIMITS,
    OF_VERTICES,
    Array,
    Bool,
    Float64,
    HomeKind,
    HomeObject,
    Int32,
    Int64,
    Rows,
    Site,
    UInt8,
    ValueGraph,
    check_limits,
    check_rows,
)

_OF_ROWS: tuple[dict[str, type[np.generic]], ...] = (
    {
        "row_sink": np.int32,
        "row_count": np.int64,
        "row_site": np.int32,
        "row_fold": np.uint8,
        "row_accumulates": np.bool_,
        "row_terms": np.int64,
    },
    {"term_sources": np.int64},
    {"source": np.int32, "source_role": np.uint8},
)  # with an entry for every row, term, flow
_TYPES = {name: each[name] for each in (OF_VERTICES, *_OF_ROWS) for name in each}
COLUMNS = tuple(_TYPES)
"""Names of all columns that are kept."""
_ENTRY_BYTES = [sum(np.dtype(t).itemsize for t in group.values()) for group in _OF_ROWS]
_LENGTHS = {"term_ptr": "row_terms", "source_ptr": "term_sources"}  # what is kept of pointers
_AXES = {name: axis for axis, group in enumerate(_OF_ROWS) for name in group}
_SMALL_BYTES = 1 << 28  # expanded graphs of this size are kept
_SLICES_BYTES = 1 << 27  # of the first slices of one graph, which are kept: all of 8 million flows or so
_INCONSISTENT = "value graph is inconsistent:"


@dataclass(slots=True, weakref_slot=True)
class _Expanded:
    """The graph once it was asked for: kept if it is small, otherwise as long as somebody else keeps it.

    Whether all slices have been checked: damaged files must not reach compiled loops. The first slices, by
    their pages, of the graph that is passed over: the next pass begins with them.
    """

    kept: ValueGraph | None = None
    seen: weakref.ref[ValueGraph] | None = None
    is_checked: bool = False
    slices: dict[tuple[int, int], Rows] = field(default_factory=dict)


_passed_over: weakref.ref[_Expanded] = weakref.ref(_Expanded())


@dataclass(frozen=True, slots=True)
class GraphStore:
    """A value graph in coded form."""

    columns: Mapping[str, Coded]  # coded columns of :data:`COLUMNS`, by name
    pages: Int64  # [P + 1, 3], increasing: rows, terms and flows before each place where it may be cut
    objects: tuple[HomeObject, ...] = ()
    sites: tuple[Site, ...] = ()
    spilled_bytes: int = 0  # bytes of the columns that lie in files
    _expanded: _Expanded = field(init=False, default_factory=_Expanded, compare=False, repr=False)

    def __post_init__(self) -> None:
        counts = (self.num_rows, self.num_terms, self.num_flows)
        for group, length in zip((*_OF_ROWS, OF_VERTICES), (*counts, self.num_vertices), strict=True):
            for name in group:
                if (found := self.columns[name].length) != length:
                    message = f"{name} has {found} entries, expected {length}"
                    raise GraphInvariantError(f"{_INCONSISTENT} {message}")
        if self.pages.shape[1:] != (3,) or self.pages[-1].tolist() != list(counts):
            raise GraphInvariantError(f"{_INCONSISTENT} its pages do not end where its columns do")

    @classmethod
    def empty(cls) -> GraphStore:
        """A graph without vertices: of a run that communicates bytes of which the values are not known."""
        return StoreWriter(Spill()).finish((), ())

    @classmethod
    def of(cls, graph: ValueGraph) -> GraphStore:
        """``graph`` in coded form."""
        writer = StoreWriter(Spill())
        for part in row_slices(graph, PIECE):
            writer.add_rows(part)
        writer.add_vertices({name: getattr(graph, name) for name in OF_VERTICES})
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
        """The whole graph, expanded; a :class:`GraphInvariantError` if the columns contradict each other."""
        known = self._expanded.kept or (self._expanded.seen and self._expanded.seen())
        if known:
            return known
        self._expanded.slices.clear()
        graph = self._part(len(self.pages) - 1)
        self._remember(graph)
        return graph

    def vertices(self) -> ValueGraph:
        """All vertices, and no rows."""
        return self._part(0)

    def vertex_column(self, name: str) -> NDArray[np.generic]:
        """A column of :data:`OF_VERTICES`, expanded, read-only."""
        found = self.columns[name].expand(dtype=_TYPES[name])
        found.setflags(write=False)
        return found

    def vertex_values(self, name: str, index: Int32 | Int64) -> NDArray[np.generic]:
        """Some entries of a column of :data:`OF_VERTICES`; ascending vertices are found faster."""
        out = np.empty(len(index), _TYPES[name])
        self.columns[name].take(index.astype(np.int64), out)
        return out

    def slices(self, flows: int = SLICE_FLOWS, wanted: Bool | None = None) -> Iterator[Rows]:
        """Yield the rows in slices of at most ``flows`` flows each (more where a single row has more).

        No more than one slice is expanded at a time, beside those that are kept for the next pass. ``wanted``
        is bool, one for each slice: others are left out, in most cases without expanding them.

            GraphInvariantError: If the columns contradict each other.
        """
        number = 0
        for first, last in self._page_groups(flows):
            is_whole = int(self.pages[last, 2] - self.pages[first, 2]) <= flows
            if is_whole and wanted is not None and not wanted[number]:
                number += 1
                continue
            rows = self._slice(first, last)
            if not self._expanded.is_checked:
                check_rows(rows, self.num_vertices, len(self.sites))
            for part in (rows,) if is_whole else row_slices(rows, flows):
                if wanted is None or wanted[number]:
                    yield part
                number += 1
        self._expanded.is_checked |= wanted is None

    def _slice(self, first: int, last: int) -> Rows:
        """As :meth:`_rows`, expanded once for all passes until another graph is passed over."""
        global _passed_over
        if (latest := _passed_over()) is not self._expanded:
            _passed_over = weakref.ref(self._expanded)
            if latest is not None:
                latest.slices.clear()
        rows = self._expanded.slices.get((first, last)) or self._rows(first, last)
        if int(self.pages[last] @ _ENTRY_BYTES) <= _SLICES_BYTES:
            self._expanded.slices[first, last] = rows
        return rows

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

    def row_columns(self, names: tuple[str, ...]) -> Iterator[tuple[Array, ...]]:
        """Yield columns of all rows, some at a time."""
        return row_columns(self.columns, self.pages, names)

    def with_work(self, work_flops: Float64) -> GraphStore:
        """Return the same graph with other work of its vertices, float64[V]."""
        column = encoded(work_flops, Spill.within(None))
        return replace(self, columns={**self.columns, "work_flops": column})

    def __repr__(self) -> str:
        return (
            f"GraphStore({self.num_vertices:,} vertices, {self.num_rows:,} rows, "
            f"{self.num_flows:,} flows, {self.nbytes / 1e6:.1f} MB)"
        )

    def _remember(self, graph: ValueGraph) -> None:
        if graph.nbytes <= _SMALL_BYTES:
            self._expanded.kept = graph
        else:
            self._expanded.seen = weakref.ref(graph)

    def _part(self, last: int) -> ValueGraph:
        """Rows of pages 0 to ``last - 1``, with all vertices."""
        columns: dict[str, Array] = {name: self.vertex_column(name) for name in OF_VERTICES}
        return ValueGraph(**columns, rows=self._rows(0, last), objects=self.objects, sites=self.sites)

    def _rows(self, first: int, last: int) -> Rows:
        """Rows of pages ``first`` to ``last - 1``; pointers are where items begin whose lengths are kept."""

        def column(name: str) -> Array:
            stored, is_sum = _LENGTHS.get(name, name), name in _LENGTHS
            low, high = self.pages[[first, last], _AXES[stored]].tolist()
            found = np.zeros(is_sum + high - low, _TYPES[stored])
            self.columns[stored].fill(found[is_sum:], low, is_sum=is_sum)
            return found

        return Rows(*map(column, Rows._fields)).closed()


def row_columns(
    columns: Mapping[str, Coded], pages: Int64, names: tuple[str, ...]
) -> Iterator[tuple[Array, ...]]:
    """Yield columns of all rows, some at a time."""
    for low, high in pairwise(pages[:, 0].tolist()):
        yield tuple(columns[name].expand(low, high, _TYPES[name]) for name in names)


def require_sound(store: GraphStore) -> None:
    """Raise a :class:`GraphInvariantError` unless columns keep their limits, and pages hold what rows say.

    Takes as long as the columns have bytes and rows and terms have entries; nothing large is expanded.
    """
    counts = {"objects": len(store.objects), "sites": len(store.sites), "vertices": store.num_vertices}
    for name, column in store.columns.items():
        least, most = column.bounds()
        if name in LIMITS and most >= least:
            check_limits(name, least, most, counts)
        elif least < 0:
            raise GraphInvariantError(f"{_INCONSISTENT} {name} must not be negative")
    if store.pages[0].any() or np.any(np.diff(store.pages, axis=0) < 0):
        raise GraphInvariantError(f"{_INCONSISTENT} its pages do not follow each other")
    if 8 * int(np.diff(store.pages, axis=0).sum(axis=1).max(initial=0)) > machine_bytes():
        raise GraphInvariantError(f"{_INCONSISTENT} one of its pages exceeds the memory")
    for at, name in enumerate(_LENGTHS.values()):  # lengths add up to what pages say in the place behind
        for (first, total), (last, end) in pairwise(store.pages[:, at : at + 2].tolist()):
            for low in range(first, last, PIECE):
                total += int(store.columns[name].expand(low, min(last, low + PIECE)).sum())
            if total != end:
                raise GraphInvariantError(f"{_INCONSISTENT} {name} and pages differ")


class StoreWriter:
    """Codes a graph bit by bit."""

    def __init__(self, spill: Spill) -> None:
        self._spill = spill
        self._writers = {name: ColumnWriter(spill) for name in COLUMNS}
        self._pages = [np.zeros(3, np.int64)]

    def add_rows(self, rows: Rows) -> None:
        """Append ``rows``; they make one page."""
        page, columns = [], rows._asdict()
        columns |= {"row_terms": np.diff(rows.term_ptr), "term_sources": np.diff(rows.source_ptr)}
        for group in _OF_ROWS:
            for name in group:
                self._writers[name].append(columns[name])
            page.append(self._writers[name].length)
        self._pages.append(np.array(page, np.int64))

    def add_vertices(self, columns: Mapping[str, NDArray[np.generic]]) -> None:
        """Append vertices: the columns of :data:`OF_VERTICES`."""
        for name in OF_VERTICES:
            self._writers[name].append(columns[name])

    @property
    def pages(self) -> Int64:
        """Pages so far; see :class:`GraphStore`."""
        return np.stack(self._pages)

    def row_columns_coded(self) -> dict[str, Coded]:
        """All columns but those of vertices; no rows may be added any more."""
        return {name: self._writers[name].finish() for name in _AXES}

    def finish(self, objects: tuple[HomeObject, ...], sites: tuple[Site, ...]) -> GraphStore:
        """The store; nothing may be added any more."""
        columns = {name: writer.finish() for name, writer in self._writers.items()}
        return GraphStore(columns, self.pages, objects, sites, self._spill.file_bytes)


Entries = TypeVar("Entries", bound=Array)


class _Column(Generic[Entries]):
    """A column of vertices, by the name of the attribute."""

    def __set_name__(self, owner: type[LargeGraph], name: str) -> None:
        self._name = name

    def __get__(self, graph: LargeGraph, owner: type[LargeGraph]) -> Entries:
        return cast(Entries, graph._column(self._name))


@dataclass(frozen=True, slots=True)
class LargeGraph:
    """Columns as in :class:`ValueGraph`, each expanded when it is asked for and forgotten with its user."""

    store: GraphStore
    slice_flows: int = 0  # flows that are expanded at once, 0 for :data:`SLICE_FLOWS`
    _seen: weakref.WeakValueDictionary[str, NDArray[np.generic]] = field(
        init=False, default_factory=weakref.WeakValueDictionary, compare=False, repr=False
    )
    home_object = _Column[Int32]()
    home_offset = _Column[Int64]()
    width_bytes = _Column[UInt8]()
    versions = _Column[Int64]()
    is_temporary = _Column[Bool]()
    is_input = _Column[Bool]()
    producer_site = _Column[Int32]()
    work_flops = _Column[Float64]()

    @property
    def num_vertices(self) -> int:
        """Number of homes."""
        return self.store.num_vertices

    @property
    def num_rows(self) -> int:
        """Number of distinct value-flow chains."""
        return self.store.num_rows

    @property
    def num_flows(self) -> int:
        """Number of distinct (row, source) pairs."""
        return self.store.num_flows

    @property
    def objects(self) -> tuple[HomeObject, ...]:
        """Home objects."""
        return self.store.objects

    @property
    def sites(self) -> tuple[Site, ...]:
        """Sites."""
        return self.store.sites

    @property
    def is_register(self) -> Bool:
        """bool[V], the vertex is a named register value, not a memory location."""
        named = np.array([o.kind == HomeKind.REGISTER for o in self.objects] or [False], dtype=np.bool_)
        if not named.any():
            return np.zeros(self.num_vertices, dtype=np.bool_)
        return np.asarray(named[self.home_object])

    def slices(self, flows: int = 0, wanted: Bool | None = None) -> Iterator[Rows]:
        """Yield rows in order; arguments as of :func:`commanalyzer.graph.storage.slices.row_slices`."""
        return self.store.slices(flows or self.slice_flows or SLICE_FLOWS, wanted)

    def _column(self, name: str) -> NDArray[np.generic]:
        found = self._seen.get(name)
        if found is None:
            found = self._seen[name] = self.store.vertex_column(name)
        return found

    def values(self, name: str, index: Int32 | Int64) -> NDArray[np.generic]:
        """Return some entries of a column of vertices, which is not expanded for them."""
        found = self._seen.get(name)
        return self.store.vertex_values(name, index) if found is None else found[index]


AnyGraph: TypeAlias = ValueGraph | LargeGraph


def values_of(graph: AnyGraph, name: str, vertex: Int32 | Int64) -> Array:
    """Return some entries of a column of vertices."""
    return graph.values(name, vertex) if isinstance(graph, LargeGraph) else getattr(graph, name)[vertex]


def stand_for(graph: AnyGraph, *uses: str) -> Bool:
    """Return bool[V], what stands for uses, no values (:mod:`commanalyzer.program.frontend.decisions`)."""
    named = [o.name in uses for o in graph.objects]
    return np.array(named)[graph.home_object] if any(named) else np.zeros(graph.num_vertices, np.bool_)


OneGraph = TypeVar("OneGraph", ValueGraph, LargeGraph)


def recoded(
    graph: LargeGraph, slices: Iterable[Rows], columns: Callable[[], Mapping[str, Float64 | Int64]]
) -> LargeGraph:
    """Return ``graph`` with other rows and ``columns`` of vertices, which are asked for after all rows."""
    spill = Spill.within(None)
    writer = StoreWriter(spill)
    for rows in slices:
        writer.add_rows(rows)
    changed = {name: encoded(column, spill) for name, column in columns().items()}
    known = {**graph.store.columns, **writer.row_columns_coded(), **changed}
    store = GraphStore(known, writer.pages, graph.objects, graph.sites, spill.file_bytes)
    return LargeGraph(store, graph.slice_flows)
