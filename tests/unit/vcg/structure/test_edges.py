"""Distinct edges, degrees and merges: as sorts and sparse matrices find them."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings

from commanalyzer.vcg.contraction.contract import (
    merge_leaves,
    merge_registers,
    representatives,
    uses_of,
)
from commanalyzer.vcg.graph import ValueGraph
from commanalyzer.vcg.structure.edges import distinct_edges, neighbours, undirected_degree
from tests.reference import contraction as reference
from tests.strategies import graphs


@given(graphs(registers=True))
@settings(max_examples=100, deadline=None)
def test_edges_and_neighbours(graph: ValueGraph) -> None:
    edges, expected = distinct_edges(graph), reference.distinct_edges(graph)
    assert edges.sink().tolist() == expected.sink.tolist()
    assert edges.source.tolist() == expected.source.tolist()
    degree = reference.undirected_degree(expected, graph.num_vertices).tolist()
    assert undirected_degree(edges).tolist() == degree
    assert neighbours(edges).degree.tolist() == degree


@given(graphs(registers=True))
@settings(max_examples=100, deadline=None)
def test_merges(graph: ValueGraph) -> None:
    expected = reference.distinct_edges(graph)
    uses = uses_of(graph)
    registers = merge_registers(graph, uses)
    assert registers.tolist() == reference.merge_registers(graph, expected).tolist()
    leaves = merge_leaves(graph, uses, registers)
    assert leaves.tolist() == reference.merge_leaves(graph, expected, registers.astype(np.int64)).tolist()
    root = representatives(leaves)
    assert root.tolist() == reference.representatives(leaves.astype(np.int64)).tolist()
