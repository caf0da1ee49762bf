"""Groups of values that share a tile."""

import numpy as np

from commanalyzer.division.coarsening.tiles import groups_of, with_tasks
from tests.graphs import build, row


def test_groups_are_those_that_sorting_finds() -> None:
    random = np.random.default_rng(1)
    chosen = np.flatnonzero(random.random(200) < 0.5)
    tile = random.integers(-3, 40, len(chosen)).astype(np.int32)
    _, place, label = np.unique(tile, return_index=True, return_inverse=True)
    first, found = groups_of(tile, chosen)
    np.testing.assert_array_equal(first, chosen[place])
    np.testing.assert_array_equal(found, label)


def test_a_task_goes_where_most_of_what_it_exchanges_is() -> None:
    # 4 is a register computed from two values of tile 1 and one of tile 0; 5 is a hub
    graph = build(6, [row(4, 0, 2, 3, 5), row(5, 1)], registers=[4])
    own, removed = np.arange(6, dtype=np.int32), np.arange(6) == 5
    tile = np.array([0, 0, 1, 1, 2, 3], np.int32)
    found = with_tasks(graph, removed, own, np.ones(6, np.int32), tile)
    np.testing.assert_array_equal(found, [0, 0, 1, 1, 1, 3])
    every = np.ones(6, np.bool_)
    np.testing.assert_array_equal(with_tasks(graph, every, own, np.ones(6, np.int32), tile), tile)
