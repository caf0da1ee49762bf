"""METIS adapter: results on graphs with known answers, and refusal of impossible requests."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commanalyzer.errors import PartitionError
from commanalyzer.partition.coarsening.coarse import build_by_value
from commanalyzer.partition.libraries.adjacency import Adjacency
from commanalyzer.partition.libraries.metis import Objective, _contract, integer_work, partition
from commanalyzer.partition.libraries.quality import edge_cut, imbalance
from commanalyzer.vcg.graph import ValueGraph
from tests.graphs import build, grid, row
from tests.strategies import graphs


def affinity(graph: ValueGraph) -> Adjacency:
    return build_by_value(graph, np.zeros(graph.num_vertices, np.bool_)).adjacency


def path(n: int) -> Adjacency:
    return affinity(build(n, [row(i + 1, i) for i in range(n - 1)], work=dict.fromkeys(range(n), 3.0)))


@pytest.mark.parametrize("objective", ["cut", "volume"])
@pytest.mark.parametrize("p", [2, 3, 8])
def test_path_is_cut_in_p_minus_1_places(p: int, objective: Objective) -> None:
    result = partition(path(48), p, objective=objective)
    assert result.edge_cut == (p - 1) * 8
    assert result.imbalance == pytest.approx(1.0)
    # Numbered by position: 0 0 0 1 1 1 ...
    assert result.part.tolist() == sorted(result.part.tolist())


def test_same_seed_same_result_and_recomputed_quality() -> None:
    a = affinity(grid(24))
    first, second = partition(a, 6, seed=5), partition(a, 6, seed=5)
    assert first.part.tolist() == second.part.tolist()
    assert first.edge_cut == edge_cut(a, first.part)
    assert first.imbalance == imbalance(a.work_flops, first.part, 6) <= 1.06
    assert (first.method, first.objective, first.seed, first.num_parts) == ("metis", "cut", 5, 6)


def test_one_part() -> None:
    result = partition(path(5), 1)
    assert result.part.tolist() == [0] * 5
    assert (result.edge_cut, result.imbalance) == (0, 1.0)


def test_small_components_are_kept_whole_and_in_order() -> None:
    # 100 stars of 3 values: nothing needs to be cut.
    rows = [row(3 * k, 3 * k + 1, 3 * k + 2) for k in range(100)]
    result = partition(affinity(build(300, rows, work={3 * k: 4.0 for k in range(100)})), 4)
    assert result.edge_cut == 0
    assert result.part.tolist() == [v // 75 for v in range(300)]
    assert result.imbalance == 1.0


def test_loose_values_fill_the_gaps_beside_a_connected_piece() -> None:
    rows = [row(i + 1, i) for i in range(39)]
    result = partition(affinity(build(80, rows, work=dict.fromkeys(range(80), 1.0))), 4)
    # The chain fills two parts, the loose values the other two.
    assert result.edge_cut == 8
    assert np.bincount(result.part).tolist() == [20] * 4


def test_more_parts_than_values() -> None:
    with pytest.raises(PartitionError, match="cannot divide 5 values among 6 parts") as caught:
        partition(path(5), 6)
    assert "fewer nodes" in caught.value.hint


def test_as_many_parts_as_values() -> None:
    assert sorted(partition(path(8), 8).part.tolist()) == list(range(8))


@pytest.mark.parametrize(
    ("num_parts", "seed", "slack", "message"),
    [
        (0, 1, 0.03, "at least 1, found 0"),
        (2, -1, 0.03, "seed must not be negative"),
        (2, 1, 0.0, "imbalance must lie"),
        (2, 1, float("nan"), "imbalance must lie"),
    ],
)
def test_bad_requests(num_parts: int, seed: int, slack: float, message: str) -> None:
    with pytest.raises(PartitionError, match=message):
        partition(path(5), num_parts, seed=seed, imbalance=slack)


def test_unknown_objective() -> None:
    with pytest.raises(PartitionError, match="found 'speed'"):
        partition(path(5), 2, objective="speed")  # type: ignore[arg-type]


@given(graphs(), st.integers(1, 9), st.sampled_from(["cut", "volume"]))
@settings(max_examples=150, deadline=None)
def test_every_part_owns_something(graph: ValueGraph, p: int, objective: Objective) -> None:
    a = affinity(graph)
    if p > a.num_vertices:
        with pytest.raises(PartitionError):
            partition(a, p, objective=objective)
    else:
        assert len(np.unique(partition(a, p, objective=objective).part)) == p


def test_integer_work_keeps_order_and_is_positive() -> None:
    assert integer_work(np.zeros(3)).tolist() == [1, 1, 1]
    assert integer_work(np.array([0.0, 1.0, 2.0, 3.0])).tolist() == [1, 500, 1000, 1500]
    huge = integer_work(np.array([0.0, 1e300, 2e300, 1.0]))
    assert huge.tolist() == [1, 1000, 2000, 1]


@given(st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_merged_vertices_have_the_summed_edges_between_their_groups(seed: int) -> None:
    generator = np.random.default_rng(seed)
    upper = np.triu(generator.integers(1, 5, (12, 12)) * (generator.random((12, 12)) < 0.3), 1)
    dense = upper + upper.T
    start, end = np.nonzero(dense)
    pointer = np.concatenate(([0], np.cumsum(np.count_nonzero(dense, axis=1))))
    graph = Adjacency(pointer, end, dense[start, end], np.arange(12.0))
    number = np.unique(generator.integers(0, 5, 12), return_inverse=True)[1]
    groups = int(number.max()) + 1
    merged = _contract(graph, number, groups)
    one_hot = (number[None, :] == np.arange(groups)[:, None]).astype(np.int64)
    expected = one_hot @ dense @ one_hot.T
    np.fill_diagonal(expected, 0)
    found = np.zeros_like(expected)
    found[merged.vertex_of_edge(), merged.neighbour] = merged.edge_bytes
    assert found.tolist() == expected.tolist()
    assert merged.work_flops.tolist() == (one_hot @ np.arange(12.0)).tolist()


def test_metis_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    sys.stdout.write("before\n")
    sys.stdout.flush()
    # One value has nearly all work: METIS bisects what is left of it until nothing is.
    heavy = affinity(build(20, [row(i + 1, i) for i in range(19)], work={0: 1e6, 1: 1.0}))
    assert partition(heavy, 16).num_parts == 16
    sys.stdout.write("after\n")
    assert tuple(capfd.readouterr()) == ("before\nafter\n", "")
