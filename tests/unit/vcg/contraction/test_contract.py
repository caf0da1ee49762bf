"""Contraction of registers and leaves, by hand."""

from __future__ import annotations

import numpy as np

from commanalyzer.vcg.contraction.contract import (
    merge_leaves,
    merge_registers,
    representatives,
    uses_of,
)
from commanalyzer.vcg.graph import Int64, ValueGraph
from tests.graphs import build, folded, row


def test_a_register_of_one_consumer_merges_into_it_unless_it_contributes_to_a_sum() -> None:
    rows = [row(1, 0), row(2, 1), row(4, 0), folded(5, [4], [0]), row(6, 0), row(2, 6), row(5, 6)]
    graph = build(7, rows, registers=[1, 4, 6])
    # 4 is a contribution, 6 has two consumers
    assert merge_registers(graph, uses_of(graph)).tolist() == [0, 2, 2, 3, 4, 5, 6]


def leaves(graph: ValueGraph) -> list[int]:
    own = np.arange(graph.num_vertices, dtype=np.int32)
    return [int(v) for v in merge_leaves(graph, uses_of(graph), own)]


def test_a_matrix_entry_merges_into_the_operand_that_it_is_multiplied_with() -> None:
    # y0 = a0 x0 + a1 x1, y1 = a2 x0 + a3 x1; x 0-1, y 2-3, a 4-7
    graph = build(8, [folded(2, [4, 0], [5, 1]), folded(3, [6, 0], [7, 1])])
    assert leaves(graph) == [0, 1, 2, 3, 0, 1, 0, 1]


def test_a_leaf_of_a_plain_row_merges_into_the_sink_and_a_lone_term_stays() -> None:
    graph = build(6, [row(1, 0), folded(4, [2], [3]), row(5, 1), row(5, 4)])
    assert leaves(graph) == [1, 1, 2, 3, 4, 5]


def test_a_factor_of_the_whole_sum_is_no_partner() -> None:
    # s = a0 f + a1 f: f enters the sink twice; the entries stay, although they are leaves
    assert leaves(build(4, [folded(3, [0, 2], [1, 2])])) == [0, 1, 2, 3]


def array(*values: int) -> Int64:
    return np.array(values, dtype=np.int64)


def test_merges_are_followed_to_their_end_and_cycles_have_a_first_vertex() -> None:
    found = representatives(array(1, 2, 2, 4, 5, 3, 3, 7).astype(np.int32))
    assert found.tolist() == [2, 2, 2, 3, 3, 3, 3, 7]
