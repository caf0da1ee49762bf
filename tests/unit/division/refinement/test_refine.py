"""Refinement, placement and balance on hypergraphs whose best division is known."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commanalyzer.division.libraries.hypergraph import Hypergraph, incidence
from commanalyzer.division.refinement.refine import connectivity, most_work, refine
from commanalyzer.foundation.errors import PartitionError
from commanalyzer.graph.value_graph import pointer_from_counts


def hypergraph(nets: list[list[int]], weights: list[int], work: list[float]) -> Hypergraph:
    lengths = np.array([len(n) for n in nets], dtype=np.int64)
    pins = np.array([v for n in nets for v in n], dtype=np.int64)
    return Hypergraph(pointer_from_counts(lengths), pins, np.array(weights), np.array(work))


def path(n: int) -> Hypergraph:
    """Vertices in a row, each net joins two neighbours and weighs 8."""
    return hypergraph([[i, i + 1] for i in range(n - 1)], [8] * (n - 1), [1.0] * n)


def test_no_pass_is_made_where_the_aim_is_out_of_reach() -> None:
    # A quarter of the metric is within reach, a fifth is not.
    h = path(8)
    start = np.array([0, 0, 0, 1, 0, 1, 1, 1], dtype=np.int32)
    given = h, incidence(h), start, 2
    part = refine(*given, imbalance=0.3, hopeless=0.25)
    assert connectivity(h, part, 2) == 8
    assert np.bincount(part).max() <= 5
    assert refine(*given, imbalance=0.3, hopeless=0.2).tolist() == start.tolist()


def test_free_vertices_follow_the_fixed_ones_with_most_bytes() -> None:
    # 2 is bound to 0 by 8 bytes, to 1 by 24; 3 only to 2.
    h = hypergraph([[0, 2], [1, 2], [2, 3]], [8, 24, 8], [1.0, 1.0, 0.0, 0.0])
    start = np.array([0, 1, -1, -1], dtype=np.int32)
    part = refine(h, incidence(h), start, 2, imbalance=0.03, fixed=start >= 0)
    assert part.tolist() == [0, 1, 1, 1]


def test_fixed_vertices_stay_even_where_moving_them_would_save_bytes() -> None:
    h = path(6)
    start = np.array([0, 1, 0, 1, 0, 1], dtype=np.int32)
    part = refine(h, incidence(h), start, 2, imbalance=0.5, fixed=np.ones(6, dtype=np.bool_))
    assert part.tolist() == start.tolist()


def test_an_overloaded_part_gives_work_away() -> None:
    h = path(8)
    part = refine(h, incidence(h), np.zeros(8, dtype=np.int32), 2, imbalance=0.03)
    assert np.bincount(part).tolist() == [4, 4]


@given(st.integers(0, 2**32 - 1), st.integers(2, 5))
@settings(deadline=None)
def test_refinement_ends_where_no_move_saves_bytes(seed: int, parts: int) -> None:
    generator = np.random.default_rng(seed)
    nets = [sorted(generator.choice(30, size=k, replace=False)) for k in generator.integers(2, 6, 40)]
    h = hypergraph(nets, generator.integers(1, 9, 40).tolist(), generator.integers(1, 3, 30).tolist())
    start = generator.permutation(np.arange(30) % parts).astype(np.int32)
    part = refine(h, incidence(h), start, parts, imbalance=0.1, passes=50)
    most, before = most_work(h.work_flops, parts, 0.1), np.bincount(start, h.work_flops, parts).max()
    found = connectivity(h, part, parts)
    assert np.bincount(part, h.work_flops, parts).max() <= max(most, before)
    assert before > most or found <= connectivity(h, start, parts)
    for vertex, to in product(range(30), range(parts)):
        moved = part.copy()
        moved[vertex] = to
        if np.bincount(moved, h.work_flops, parts).max() <= most:
            assert connectivity(h, moved, parts) >= found


def test_grains_decide_how_well_work_can_be_balanced() -> None:
    assert most_work(np.ones(10), 4, 0.03) == pytest.approx(3.0)
    assert most_work(np.ones(1000), 4, 0.03) == pytest.approx(257.5)
    one = np.append(np.ones(1000), 175.0)  # of 293.75 per part: the others make up for it
    assert most_work(one, 4, 0.03) == pytest.approx(1.03 * 293.75)
    assert most_work(np.append(np.ones(10), 175.0), 4, 0.03) == pytest.approx(175.0)


def test_a_partition_of_another_graph_is_refused() -> None:
    h = path(4)
    with pytest.raises(PartitionError, match="expected a part for each of 4 vertices, found 3"):
        refine(h, incidence(h), np.zeros(3, dtype=np.int32), 2, imbalance=0.03)
