"""METIS adapter: results on graphs with known answers, and refusal of impossible requests."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commanalyzer.division.coarsening.coarse import build_by_value
from commanalyzer.division.libraries.adjacency import Adjacency
from commanalyzer.division.libraries.metis import integer_work, partition
from commanalyzer.foundation.errors import PartitionError
from commanalyzer.graph.value_graph import ValueGraph
from tests.counts import imbalance_of_work
from tests.graphs import build, grid, row
from tests.strategies import graphs
from tests.unit.division.measures import edge_cut


def affinity(graph: ValueGraph) -> Adjacency:
    return build_by_value(graph, np.zeros(graph.num_vertices, np.bool_)).adjacency


def path(n: int) -> Adjacency:
    return affinity(build(n, [row(i + 1, i) for i in range(n - 1)], work=dict.fromkeys(range(n), 3.0)))


@pytest.mark.parametrize("p", [2, 3, 8])
def test_path_is_cut_in_p_minus_1_places(p: int) -> None:
    graph = path(48)
    part = partition(graph, p)
    assert edge_cut(graph, part) == (p - 1) * 8
    assert imbalance_of_work(graph.work_flops, part, p) == pytest.approx(1.0)
    # Numbered by position: 0 0 0 1 1 1 ...
    assert part.tolist() == sorted(part.tolist())


def test_same_seed_same_balanced_result() -> None:
    a = affinity(grid(24))
    first, second = partition(a, 6, seed=5), partition(a, 6, seed=5)
    assert first.tolist() == second.tolist()
    assert imbalance_of_work(a.work_flops, first, 6) <= 1.06


def test_small_components_are_kept_whole() -> None:
    # 100 stars of 3 values: nothing needs to be cut.
    rows = [row(3 * k, 3 * k + 1, 3 * k + 2) for k in range(100)]
    graph = affinity(build(300, rows, work={3 * k: 4.0 for k in range(100)}))
    part = partition(graph, 4)
    assert edge_cut(graph, part) == 0
    assert np.bincount(part).tolist() == [75] * 4


def test_loose_values_fill_the_gaps_beside_a_connected_piece() -> None:
    rows = [row(i + 1, i) for i in range(39)]
    graph = affinity(build(80, rows, work=dict.fromkeys(range(80), 1.0)))
    part = partition(graph, 4)
    # The chain fills two parts, the loose values the other two.
    assert edge_cut(graph, part) == 8
    assert np.bincount(part).tolist() == [20] * 4


@pytest.mark.parametrize("parts", [0, 6])
def test_more_parts_than_values_or_none(parts: int) -> None:
    with pytest.raises(PartitionError, match=f"cannot divide 5 values among {parts} parts") as caught:
        partition(path(5), parts)
    assert "fewer nodes" in caught.value.hint


@given(graphs(), st.integers(1, 9))
@settings(max_examples=150, deadline=None)
def test_every_part_owns_something(graph: ValueGraph, p: int) -> None:
    a = affinity(graph)
    if p > a.num_vertices:
        with pytest.raises(PartitionError):
            partition(a, p)
    else:
        assert len(np.unique(partition(a, p))) == p


def test_integer_work_keeps_order_and_is_positive() -> None:
    assert integer_work(np.zeros(3)).tolist() == [1, 1, 1]
    assert integer_work(np.array([0.0, 1.0, 2.0, 3.0])).tolist() == [1, 500, 1000, 1500]
    huge = integer_work(np.array([0.0, 1e300, 2e300, 1.0]))
    assert huge.tolist() == [1, 1000, 2000, 1]


def test_metis_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    sys.stdout.write("before\n")
    sys.stdout.flush()
    # One value has nearly all work: METIS bisects what is left of it until nothing is.
    heavy = affinity(build(20, [row(i + 1, i) for i in range(19)], work={0: 1e6, 1: 1.0}))
    assert len(partition(heavy, 16)) == 20
    sys.stdout.write("after\n")
    assert tuple(capfd.readouterr()) == ("before\nafter\n", "")
