"""Owners by blocks against block ranges of the MPI programs, computed one by one."""

import numpy as np
import pytest

from commanalyzer.checking.validation.cases import ArrayBlocks
from commanalyzer.checking.validation.owners import block_of, element_owners, elements_of
from commanalyzer.graph.value_graph import HomeKind, HomeObject
from tests.graphs import build, homed


@pytest.mark.parametrize(("points", "parts"), [(10, 3), (7, 7), (48, 27), (5, 1)])
def test_blocks_are_those_of_the_mpi_programs(points: int, parts: int) -> None:
    # workloads/common/blocks.h: parts own [points k / parts, points (k + 1) / parts)
    expected = [
        part for part in range(parts) for _ in range(points * part // parts, points * (part + 1) // parts)
    ]
    assert block_of(np.arange(points), points, parts).tolist() == expected


def test_a_layer_around_belongs_to_its_neighbours_and_ranks_count_the_last_dimension_fastest() -> None:
    blocks = ArrayBlocks(("N + 2", "N + 2"), ("N", "N"), shift=1)
    owner = element_owners(blocks, (2, 2), {"N": 2}).reshape(4, 4)
    assert owner.tolist() == [[0, 0, 1, 1], [0, 0, 1, 1], [2, 2, 3, 3], [2, 2, 3, 3]]


def test_components_stay_together_and_arrays_without_points_belong_to_rank_0() -> None:
    together = element_owners(ArrayBlocks(("N", "M"), ("N",)), (3,), {"N": 3, "M": 2})
    assert together.tolist() == [0, 0, 1, 1, 2, 2]
    assert element_owners(ArrayBlocks(("M",), ()), (3,), {"M": 4}).tolist() == [0, 0, 0, 0]


def test_arrays_of_equal_size_are_told_apart_by_the_width_of_their_values() -> None:
    # One allocation site each, two arrays of 16 bytes with a header of 16 between them.
    offsets = [0, 8, 32, 40, *range(0, 16, 4), *range(32, 48, 4)]
    objects = [HomeObject(HomeKind.HEAP, name, size_bytes=48) for name in ("doubles", "ints")]
    widths = dict.fromkeys(range(4, 12), 4)
    graph = homed(build(12, [], widths=widths), [0] * 4 + [1] * 8, offsets, objects)
    vertex, element = elements_of(graph, 4)
    assert vertex.tolist() == list(range(4, 12))
    assert element.tolist() == [0, 1, 2, 3, 0, 1, 2, 3]
