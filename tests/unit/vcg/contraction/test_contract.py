"""Contraction of registers, tasks and leaves, by hand."""

from __future__ import annotations

import numpy as np

from commanalyzer.vcg.contraction.contract import (
    merge_leaves,
    merge_registers,
    merge_tasks,
    representatives,
    uses_of,
)
from commanalyzer.vcg.graph import Int64, ValueGraph
from tests.graphs import Row, build, folded, row

ELEMENTS, PRIVATE = 4, 3
ALL = ELEMENTS * (PRIVATE + 2)


def elements(*more: Row) -> ValueGraph:
    """Each element e reads 5 e, has the registers 5 e + 1 .. 5 e + 3, writes 5 e + 4; a sum is last."""
    rows = []
    for e in range(0, ALL, PRIVATE + 2):
        rows += [row(e + 1, e), row(e + 2, e, e + 1), row(e + 3, e + 1, e + 2), row(e + 4, e + 3)]
    registers = [v for v in range(ALL) if 0 < v % (PRIVATE + 2) < PRIVATE + 1]
    return build(ALL + 1, [*rows, *more], registers=[*registers, ALL])


def tasks(graph: ValueGraph, share: float = 0.2, removed: tuple[int, ...] = ()) -> list[int]:
    own = np.arange(graph.num_vertices, dtype=np.int32)
    return [int(v) for v in merge_tasks(graph, own, np.isin(own, removed), share)]


def merged_per_element() -> list[int]:
    """Registers of an element are its first one."""
    expected = list(range(ALL + 1))
    for e in range(0, ALL, PRIVATE + 2):
        expected[e + 2] = expected[e + 3] = e + 1
    return expected


def test_registers_of_an_element_are_one_task() -> None:
    assert tasks(elements()) == merged_per_element()


def test_a_sum_over_all_elements_does_not_make_them_one_task() -> None:
    # Through the register of the sum all elements are connected: more than a fifth of all values.
    total = folded(ALL, *([e + 3] for e in range(0, ALL, PRIVATE + 2)))
    assert tasks(elements(total)) == merged_per_element()
    # Where tasks may be as large as everything, they are connected.
    assert set(tasks(elements(total), share=1.0)) == {1, *range(0, ALL, 5), *range(4, ALL, 5)}


def test_a_recurrence_through_all_elements_is_left_alone() -> None:
    # 1 -> 6 -> 11 -> 16 without a reduction: there is nothing to take apart.
    links = [row(e + 6, e + 1) for e in range(0, ALL - 5, 5)]
    assert tasks(elements(*links)) == list(range(ALL + 1))


def test_two_registers_may_always_be_one_task() -> None:
    assert tasks(build(4, [row(1, 0), row(2, 1), row(3, 2)], registers=[1, 2]), share=0.0) == [0, 1, 1, 3]


def test_removed_values_connect_nothing() -> None:
    total = [row(ALL, *range(3, ALL, 5)), *(row(e + 1, ALL) for e in range(0, ALL, 5))]
    assert tasks(elements(*total), removed=(ALL,)) == merged_per_element()


def test_earlier_merges_stay() -> None:
    target = np.array([3, 1, 1, 3], dtype=np.int32)
    graph = build(4, [row(1, 0), row(2, 1), row(3, 2)], registers=[1, 2])
    assert merge_tasks(graph, target, np.zeros(4, np.bool_), 1.0).tolist() == [3, 1, 1, 3]


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
