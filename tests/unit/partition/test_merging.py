"""Parts of a division merged into fewer."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from commanalyzer.decompose import CountOptions, decompose
from commanalyzer.foundation.progress import SilentProgress
from commanalyzer.partition.merging import merge_parts
from commanalyzer.request import Coarsen
from commanalyzer.vcg.graph import Float64, Int64
from commanalyzer.vcg.storage.store import GraphStore
from tests.unit.partition.coarsening.test_tiles import jacobi


def between(traffic: Int64, group: tuple[int, ...]) -> int:
    """Bytes between groups, part by part."""
    return sum(
        int(traffic[i, j]) for i, j in itertools.product(range(len(group)), repeat=2) if group[i] != group[j]
    )


def even_pairings(parts: int) -> list[tuple[int, ...]]:
    """Every way to put ``parts`` into two groups of the same size."""
    return [g for g in itertools.product((0, 1), repeat=parts) if sum(g) == parts // 2]


@pytest.mark.parametrize("seed", range(8))
def test_two_groups_are_hardly_worse_than_the_best_of_all_pairings(seed: int) -> None:
    traffic = np.random.default_rng(seed).integers(0, 1000, (8, 8))
    group = merge_parts(traffic, np.ones(8), 2, 1.0)
    assert np.bincount(group).tolist() == [4, 4]
    least = min(between(traffic, g) for g in even_pairings(8))
    assert between(traffic, tuple(group)) <= 1.1 * least


def test_neighbours_in_a_grid_of_parts_are_merged_wherever_they_are_numbered() -> None:
    """Parts 4x4, each sends 1 to its neighbours: two halves cut 4 links, both ways."""
    order = np.random.default_rng(3).permutation(16)
    traffic = np.zeros((16, 16), np.int64)
    for i, j in itertools.product(range(4), repeat=2):
        for a, b in ((i + 1, j), (i, j + 1)):
            if a < 4 and b < 4:
                one, other = order[4 * i + j], order[4 * a + b]
                traffic[one, other] = traffic[other, one] = 1
    group = merge_parts(traffic, np.ones(16), 2, 1.0)
    assert between(traffic, tuple(group)) in (8, 10, 12)  # 4 to 6 links, both ways; others have up to 24
    assert np.bincount(group).tolist() == [8, 8]


def test_groups_stay_within_the_balance() -> None:
    traffic = np.array([[0, 0, 9, 0], [0, 0, 0, 9], [9, 0, 0, 0], [0, 9, 0, 0]], np.int64)
    load: Float64 = np.array([3.0, 1.0, 3.0, 1.0])
    group = merge_parts(traffic, load, 2, 1.0)
    assert np.bincount(group, load).tolist() == [4.0, 4.0]  # although 0 and 2 exchange most
    assert merge_parts(traffic, np.ones(4), 2, 1.0).tolist() in ([0, 1, 0, 1], [1, 0, 1, 0])


@pytest.mark.parametrize("coarsen", ["never", 64])
def test_fewer_nodes_never_need_more(coarsen: Coarsen) -> None:
    options = CountOptions((2, 4, 8), check=True, coarsen=coarsen, time_limit_s=None)
    counted = decompose(GraphStore.of(jacobi(24)), 1152, options, SilentProgress())
    best = [d.comm_bytes for d in counted.decompositions if d.best]
    assert best == sorted(best)
