"""Merges of registers and leaves: as sorts and sparse matrices find them."""

import numpy as np
from hypothesis import given, settings

from commanalyzer.graph.structure.hubs import merge_leaves, merge_registers, representatives, uses_of
from commanalyzer.graph.value_graph import ValueGraph
from tests.reference import contraction as reference
from tests.strategies import graphs


@given(graphs(registers=True))
@settings(max_examples=100, deadline=None)
def test_merges(graph: ValueGraph) -> None:
    expected = reference.distinct_edges(graph)
    uses = uses_of(graph)
    registers = merge_registers(graph, uses)
    assert registers.tolist() == reference.merge_registers(graph, expected).tolist()
    leaves = merge_leaves(graph, uses, registers)
    assert leaves.tolist() == reference.merge_leaves(graph, expected, registers.astype(np.int64)).tolist()
    assert representatives(leaves).tolist() == reference.representatives(leaves.astype(np.int64)).tolist()
