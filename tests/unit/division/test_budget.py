"""What dividing may take, and how estimates spend it."""

import numpy as np
import pytest

from commanalyzer.division.budget import COSTS, Budget, least_gain
from commanalyzer.division.libraries.adjacency import Adjacency
from commanalyzer.division.libraries.metis import partition
from tests.counts import imbalance_of_work
from tests.unit.division.measures import edge_cut


def random_links(n: int, degree: int) -> Adjacency:
    """Each vertex linked to so many others, anywhere."""
    ends = np.random.default_rng(1).integers(0, n, (2, n * degree))
    return linked(n, ends[:, ends[0] != ends[1]])


def cube(k: int) -> Adjacency:
    """Points of a cube, linked to their neighbours."""
    place = np.arange(k**3).reshape(k, k, k)
    pairs = ((place[1:], place[:-1]), (place[:, 1:], place[:, :-1]), (place[:, :, 1:], place[:, :, :-1]))
    one, other = (np.concatenate([pair[side].ravel() for pair in pairs]) for side in (0, 1))
    return linked(k**3, np.array([one, other]))


def linked(n: int, ends: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> Adjacency:
    """Graph of some links, each once."""
    both = np.unique(np.concatenate((ends, ends[::-1]), axis=1), axis=1)
    pointer = np.concatenate(([0], np.cumsum(np.bincount(both[0], minlength=n)))).astype(np.int64)
    return Adjacency(pointer, both[1].astype(np.int64), np.ones(both.shape[1], np.int64), np.ones(n))


def test_what_is_left_decides_and_what_does_not_fit_is_named() -> None:
    budget = Budget(10.0)
    first = budget.take("cut", 4.0)
    assert first is not None
    assert (first.expected_s, first.most_s) == (4.0, 10.0)
    assert budget.take("km1", 7.0) is None
    assert budget.left_out == {"km1": 7.0}
    second = budget.take("volume", 6.0)
    assert second is not None
    assert second.most_s == 6.0
    assert budget.take("net", 0.1) is None


def test_what_is_needed_is_tried_even_if_it_takes_more_than_there_is() -> None:
    budget = Budget(2.0)
    limit = budget.take("cut", 50.0, is_needed=True)
    assert limit is not None
    assert limit.most_s == COSTS.least_limit_s  # but not for longer than that
    assert budget.spent_s == 2.0
    assert budget.left_out == {}


@pytest.mark.parametrize("n", [2000, 40_000])
def test_random_links_are_no_mesh_and_cubes_are(n: int) -> None:
    assert not random_links(n, 8).is_mesh
    assert cube(round(n ** (1 / 3))).is_mesh


def test_a_vertex_with_very_many_links_does_not_hide_a_mesh() -> None:
    mesh = cube(16)
    one = np.repeat(np.arange(mesh.num_vertices), np.diff(mesh.pointer))
    star = np.arange(4096, dtype=np.int64)
    ends = np.concatenate((np.array([one, mesh.neighbour]), np.array([np.full(4096, 4096), star])), axis=1)
    assert linked(4097, ends).is_mesh


def test_random_links_are_divided_within_seconds() -> None:
    """Contiguous parts would take METIS a search through a part for each vertex: minutes."""
    graph = random_links(20_000, 8)
    part = partition(graph, 4)
    assert imbalance_of_work(graph.work_flops, part, 4) <= 1.04
    assert 0 < edge_cut(graph, part) < graph.num_edges * 0.75


def test_passes_that_take_long_have_to_save_more() -> None:
    assert least_gain(10**6, 4, 10.0) == 10 * least_gain(10**5, 4, 10.0)
    assert least_gain(10**6, 4, 100.0) == pytest.approx(least_gain(10**6, 4, 10.0) / 10)
    assert least_gain(10**6, 64, 10.0) > least_gain(10**6, 4, 10.0)
    assert least_gain(10**6, 4, float("inf")) == 0.0
