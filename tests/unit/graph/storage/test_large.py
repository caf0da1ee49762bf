"""Graphs that are expanded slice by slice: what is found in them is what is found in the whole."""

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commanalyzer.communication.messages.phases import step_order
from commanalyzer.division.views import paper_view
from commanalyzer.graph.contraction.dissolve import dissolve_registers
from commanalyzer.graph.contraction.simplify import simplified
from commanalyzer.graph.invariants import check_graph
from commanalyzer.graph.storage.slices import row_slices
from commanalyzer.graph.storage.store import GraphStore, LargeGraph
from commanalyzer.graph.structure import singletons
from commanalyzer.graph.structure.hubs import find_hubs
from commanalyzer.graph.structure.singletons import (
    SINKS,
    SOURCES,
    count_neighbours,
    find_singletons,
    paper_counts,
)
from commanalyzer.graph.value_graph import OF_VERTICES, ValueGraph
from commanalyzer.result.results import SingletonCounts
from tests.graphs import assert_same_graph
from tests.reference.contraction import distinct_edges, neighbour_sets
from tests.reference.hubs import hub_mask
from tests.reference.singletons import graph_words, singleton_kinds
from tests.strategies import graphs


def large(graph: ValueGraph, flows: int) -> LargeGraph:
    return LargeGraph(GraphStore.of(graph), flows)


@given(graphs(registers=True), st.integers(1, 9))
@settings(deadline=None)
def test_columns_and_slices_are_those_of_the_graph(graph: ValueGraph, flows: int) -> None:
    coded = large(graph, flows)
    for name in OF_VERTICES:
        assert getattr(coded, name).tolist() == getattr(graph, name).tolist()
    assert coded.is_register.tolist() == graph.is_register.tolist()
    slices = list(row_slices(coded))
    assert [s for rows in slices for s in rows.source.tolist()] == graph.rows.source.tolist()
    odd = np.arange(len(slices)) % 2 == 1
    chosen = list(row_slices(coded, wanted=odd))
    assert [rows.source.tolist() for rows in chosen] == [rows.source.tolist() for rows in slices[1::2]]
    check_graph(coded)


@given(graphs(registers=True), st.integers(1, 9), st.integers(1, 9), st.floats(0.05, 0.95))
@settings(max_examples=100, deadline=None)
def test_degrees_and_hubs(graph: ValueGraph, flows: int, ends: int, high: float) -> None:
    edges, coded, v = distinct_edges(graph), large(graph, flows), graph.num_vertices
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(singletons, "BLOCK_ENDS", ends)
        patch.setattr(singletons, "_MOST_BLOCKS", 1 << 30)
        assert count_neighbours(coded).tolist() == [len(near) for near in neighbour_sets(edges, np.arange(v))]
        for sides, end in ((SOURCES, edges.sink), (SINKS, edges.source)):
            expected = np.bincount(end, minlength=v).tolist()
            assert count_neighbours(coded, sides=sides).tolist() == expected
        assert find_hubs(coded, high).tolist() == hub_mask(graph, high).tolist()


@given(graphs(registers=True), st.integers(1, 9), st.booleans())
@settings(max_examples=100, deadline=None)
def test_simplified(graph: ValueGraph, flows: int, copies: bool) -> None:
    if copies:  # every row may be one
        graph = replace(graph, sites=tuple(replace(site, kind="copy") for site in graph.sites))
    expected = simplified(graph)
    assert_same_graph(simplified(large(graph, flows)).store.graph(), expected)


@given(graphs(registers=True), st.integers(1, 9))
@settings(max_examples=50, deadline=None)
def test_order_of_statements(graph: ValueGraph, flows: int) -> None:
    found, expected = step_order(large(graph, flows)), step_order(graph)
    assert (found is None) == (expected is None)
    if found is not None and expected is not None:
        for name in (f.name for f in fields(found) if f.name != "totals"):
            assert np.array_equal(getattr(found, name), getattr(expected, name))


@given(graphs(), st.integers(1, 9), st.floats(0.05, 1.0))
@settings(max_examples=100, deadline=None)
def test_singletons_by_slices(graph: ValueGraph, flows: int, high: float) -> None:
    dissolved = dissolve_registers(graph)
    found = find_singletons(dissolved, high)
    assert found.tolist() == singleton_kinds(dissolved, high)
    kind, words = paper_counts(large(graph, flows), high, np.zeros(graph.num_vertices, np.bool_))
    assert kind.tolist() == found.tolist()
    assert words == graph_words(dissolved, (found > 0))


@given(graphs(registers=True), st.floats(0.05, 1.0))
@settings(max_examples=100, deadline=None)
def test_the_paper_view_is_that_of_the_dissolved_graph(graph: ValueGraph, high: float) -> None:
    dissolved = dissolve_registers(graph)
    found = find_singletons(dissolved, high)
    kinds = SingletonCounts(*np.bincount(found, minlength=4)[1:].tolist())
    assert paper_view(graph, high, is_asked=True) == (kinds, graph_words(dissolved, (found > 0)))
