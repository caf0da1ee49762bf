"""Mt-KaHyPar adapter: known divisions, balance, repeatability, refusals."""

import numpy as np
import pytest

from commanalyzer.division.libraries.hypergraph import Hypergraph
from commanalyzer.division.libraries.mtkahypar import partition_hypergraph
from commanalyzer.foundation.errors import PartitionError
from tests.unit.division.refinement.test_refine import hypergraph


def groups(size: int, num_groups: int, heavy: int, light: int) -> Hypergraph:
    """Heavy nets of pairs inside each group (vertices taken in turn by the groups), a light ring around."""
    nets, weights = [], []
    for g in range(num_groups):
        mine = list(range(g, size * num_groups, num_groups))
        pairs = [[a, b] for i, a in enumerate(mine) for b in mine[i + 1 :]]
        nets += pairs
        weights += [heavy] * len(pairs)
    nets += [sorted((g, (g + 1) % num_groups)) for g in range(num_groups)]
    weights += [light] * num_groups
    return hypergraph(nets, weights, [1.0] * (size * num_groups))


@pytest.mark.parametrize("parts", [2, 3, 4])
@pytest.mark.parametrize("heavy", [100, 10**12])
def test_groups_are_found(parts: int, heavy: int) -> None:
    # Weights beyond 2^20 are scaled down; the light nets keep at least one unit.
    found = partition_hypergraph(groups(12, parts, heavy, 1), parts)
    assert [len(set(found[g::parts].tolist())) for g in range(parts)] == [1] * parts
    assert np.bincount(found).tolist() == [12] * parts


def test_a_net_of_everything_costs_the_same_wherever_it_is_cut() -> None:
    # lambda - 1, not the number of cut edges: the large net does not hold the pairs together.
    n = 24
    nets = [[2 * i, 2 * i + 1] for i in range(n // 2)] + [list(range(n))]
    found = partition_hypergraph(hypergraph(nets, [8] * (n // 2) + [8], [1.0] * n), 2)
    assert (found[::2] == found[1::2]).all()
    assert np.bincount(found).tolist() == [n // 2, n // 2]


def test_the_same_seed_gives_the_same_division() -> None:
    generator = np.random.default_rng(5)
    nets = [sorted(generator.choice(60, size=4, replace=False).tolist()) for _ in range(80)]
    h = hypergraph(nets, [8] * 80, [1.0] * 60)
    first, again = (partition_hypergraph(h, 4, seed=3).tolist() for _ in range(2))
    assert first == again


def test_work_is_balanced_not_the_number_of_vertices() -> None:
    work = [3.0] * 10 + [1.0] * 30
    found = partition_hypergraph(hypergraph([[i, i + 1] for i in range(39)], [8] * 39, work), 2)
    assert np.bincount(found, work).tolist() == [30.0, 30.0]
    assert sorted(np.bincount(found).tolist()) == [10, 30]


def test_without_work_vertices_count_alike() -> None:
    h = hypergraph([[i, i + 1] for i in range(19)], [8] * 19, [0.0] * 20)
    assert np.bincount(partition_hypergraph(h, 2)).tolist() == [10, 10]


@pytest.mark.parametrize("parts", [1, 5])
def test_more_parts_than_vertices_or_one_are_refused(parts: int) -> None:
    h = hypergraph([[0, 1], [2, 3]], [8, 8], [1.0] * 4)
    with pytest.raises(PartitionError, match=f"cannot divide 4 vertices among {parts} parts"):
        partition_hypergraph(h, parts)
