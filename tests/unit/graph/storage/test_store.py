"""Coded graphs: expanded they are the graph, whole and in slices."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commanalyzer.foundation.errors import GraphInvariantError
from commanalyzer.graph.storage import store as module
from commanalyzer.graph.storage.slices import row_slices
from commanalyzer.graph.storage.spill import Spill
from commanalyzer.graph.storage.store import GraphStore, StoreWriter
from commanalyzer.graph.value_graph import OF_VERTICES, ValueGraph
from tests.graphs import assert_same_graph, chain
from tests.strategies import graphs


def coded(graph: ValueGraph, page_flows: int) -> GraphStore:
    """``graph`` in pages of about ``page_flows``; the expanded graph is not remembered."""
    writer = StoreWriter(Spill())
    for part in row_slices(graph, page_flows):
        writer.add_rows(part)
    writer.add_vertices({name: getattr(graph, name) for name in OF_VERTICES})
    return writer.finish(graph.objects, graph.sites)


@settings(deadline=None)  # the first example compiles
@given(graph=graphs(), page_flows=st.integers(1, 30), flows=st.integers(1, 30))
def test_expanded_graph_and_slices(graph: ValueGraph, page_flows: int, flows: int) -> None:
    store = coded(graph, page_flows)
    assert (store.num_vertices, store.num_rows) == (graph.num_vertices, graph.num_rows)
    assert (store.num_terms, store.num_flows) == (len(graph.rows.source_ptr) - 1, graph.num_flows)
    assert_same_graph(store.graph(), graph)
    for slices in (list(store.slices(flows)) for _ in range(2)):  # expanded, and as they were kept
        assert all(part.num_flows <= flows or part.num_rows == 1 for part in slices)
        assert sum(part.num_rows for part in slices) == graph.num_rows
        for name in ("row_sink", "row_count", "source", "source_role"):
            parts = [np.zeros(0, np.int64), *(getattr(part, name) for part in slices)]
            assert np.array_equal(np.concatenate(parts), getattr(graph.rows, name))


def test_small_graphs_are_kept_large_ones_as_long_as_they_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = chain(10)
    assert GraphStore.of(graph).graph() is graph
    monkeypatch.setattr(module, "_SMALL_BYTES", 0)
    store = GraphStore.of(graph)
    assert store.graph() is graph
    del graph
    expanded, (rows,) = store.graph(), store.slices()
    assert store.graph() is expanded
    assert next(store.slices()) is rows
    assert next(GraphStore.of(chain(10)).slices()) is not next(store.slices()) is not rows


def test_replaced_names_are_those_of_the_expanded_graph() -> None:
    store = GraphStore.of(chain(4))
    sites = tuple(replace(site, file="other.c") for site in store.sites)
    assert replace(store, sites=sites).graph().sites == sites


def test_columns_of_different_lengths_are_refused() -> None:
    store = GraphStore.of(chain(4))
    columns = {**store.columns, "row_count": store.columns["source"]}
    with pytest.raises(GraphInvariantError, match=r"row_count has .* entries, expected 8"):
        replace(store, columns=columns, sites=store.sites)


def test_stencils_take_few_bytes() -> None:
    """A chain takes at least 30 times fewer than its arrays."""
    graph = chain(2000)
    assert GraphStore.of(graph).nbytes < graph.nbytes / 30
