"""A value graph of which only what is looked at is expanded: columns of vertices, one slice of rows.

Input: :class:`GraphStore`. Output: :class:`LargeGraph`, which has the vertex columns of a
:class:`ValueGraph` and gives its rows slice by slice.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from commanalyzer.graph.storage.coding import encoded
from commanalyzer.graph.storage.slices import SLICE_FLOWS
from commanalyzer.graph.storage.spill import Spill
from commanalyzer.graph.storage.store import GraphStore, StoreWriter
from commanalyzer.graph.value_graph import (
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
)

Entries = TypeVar("Entries", bound=NDArray[Any])


class _Column(Generic[Entries]):
    """A column of vertices, by the name of the attribute."""

    def __set_name__(self, owner: type[LargeGraph], name: str) -> None:
        self._name = name

    def __get__(self, graph: LargeGraph, owner: type[LargeGraph]) -> Entries:
        return cast(Entries, graph._column(self._name))


@dataclass(frozen=True, slots=True)
class LargeGraph:
    """Columns as in :class:`ValueGraph`; each is expanded when it is asked for, and forgotten with its user.

    Attributes:
        store: The graph in coded form.
        slice_flows: Flows that are expanded at once, 0 for :data:`SLICE_FLOWS`.
    """

    store: GraphStore
    slice_flows: int = 0
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


def values_of(graph: AnyGraph, name: str, vertex: Int32 | Int64) -> NDArray[Any]:
    """Return some entries of a column of vertices."""
    return graph.values(name, vertex) if isinstance(graph, LargeGraph) else getattr(graph, name)[vertex]


def stand_for(graph: AnyGraph, *uses: str) -> Bool:
    """Return bool[V], what stands for uses, no values (:mod:`commanalyzer.program.frontend.decisions`)."""
    named = [o.name in uses for o in graph.objects]
    return np.array(named)[graph.home_object] if any(named) else np.zeros(graph.num_vertices, np.bool_)


OneGraph = TypeVar("OneGraph", ValueGraph, LargeGraph)


def recoded(graph: LargeGraph, slices: Iterable[Rows], work: Callable[[], Float64]) -> LargeGraph:
    """Return ``graph`` with other rows and work.

    Args:
        graph: The graph that the vertices are of.
        slices: Its new rows.
        work: Its new work, float64[V]; asked for after all rows.
    """
    spill = Spill.within(None)
    writer = StoreWriter(spill)
    for rows in slices:
        writer.add_rows(rows)
    columns = {**graph.store.columns, **writer.row_columns_coded(), "work_flops": encoded(work(), spill)}
    store = GraphStore(columns, writer.pages, graph.objects, graph.sites, spill.file_bytes)
    return LargeGraph(store, graph.slice_flows)
