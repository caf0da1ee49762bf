"""Pictures of arrays: elements at their places, coloured by owner."""

import math
from dataclasses import replace

import numpy as np
import pytest

from commanalyzer.report.figures import territory
from tests.graphs import build, row
from tests.samples import sample_decomposition
from tests.unit.division.regular.test_divisions import with_arrays


def test_a_square_array_looks_like_its_blocks() -> None:
    graph = with_arrays(("u", 36))
    (shaped,) = territory.shaped_arrays(graph)
    i, j = np.divmod(np.arange(36), 6)
    part = (2 * (i // 3) + j // 3).astype(np.int32)
    (picture,) = territory.array_pictures(graph, shaped, part)
    assert (picture.name, picture.owner.shape) == ("u", (6, 6))
    assert np.array_equal(picture.owner, np.kron([[0, 1], [2, 3]], np.ones((3, 3))))
    places = territory.centres(shaped, part, 4)
    assert places is not None
    assert places.tolist() == [[1.0, -1.0], [4.0, -1.0], [1.0, -4.0], [4.0, -4.0]]
    assert territory.centres(shaped, part, 5) is None  # a part without elements has no place


def test_a_rectangle_is_found_by_its_rows() -> None:
    graph = with_arrays(("u", 40), rows=tuple((i, i - 5, i) for i in range(5, 40)))
    (shaped,) = territory.shaped_arrays(graph)
    assert shaped.extents == (8, 5)
    (picture,) = territory.array_pictures(graph, shaped, (np.arange(40) // 10).astype(np.int32))
    assert picture.owner[:, 0].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize(
    ("extents", "cut", "names"),
    [
        ((4, 4, 4), (0, 1, 2), [f"u[{k}, :, :]" for k in range(4)]),
        ((4, 4, 4), (0, 2), [f"u[:, {k}, :]" for k in range(4)]),
        ((4, 4, 2, 2), (0, 1), [f"u[:, :, {j}, {k}]" for j in (0, 1) for k in (0, 1)]),
        ((2, 4, 2, 2), (1,), [f"u[{j}, :, {k}, :]" for j in (0, 1) for k in (0, 1)]),
    ],
)
def test_slices_are_along_divisions(extents: tuple[int, ...], cut: tuple[int, ...], names: list[str]) -> None:
    graph = with_arrays(("u", math.prod(extents)))
    shaped = replace(territory.shaped_arrays(graph)[0], extents=extents)
    owner = np.zeros(extents, dtype=np.int32)
    for axis in cut:
        owner += (np.indices(extents)[axis] >= extents[axis] // 2) << axis
    pictures = territory.array_pictures(graph, shaped, owner.ravel())
    assert [p.name for p in pictures] == names
    for p in pictures:
        assert p.owner.tolist() == eval(p.name, {"u": owner}).tolist()
    assert territory.centres(shaped, owner.ravel(), 8) is None


def test_a_vector_is_a_strip() -> None:
    graph = with_arrays(("u", 50))
    (shaped,) = territory.shaped_arrays(graph)
    (picture,) = territory.array_pictures(graph, shaped, (np.arange(50) // 25).astype(np.int32))
    assert picture.owner.shape == (3, 50)
    assert picture.owner[2].tolist() == [0] * 25 + [1] * 25


def test_the_array_that_moves_most_is_shown() -> None:
    graph = with_arrays(("u", 36), ("v", 36))
    chosen = territory.choose_array(graph, (), np.array([0, 8, 80], dtype=np.int64))
    assert chosen is not None
    assert graph.objects[chosen.array.number].name == "v"
    shapeless = build(3, [row(2, 0, 1)])
    assert territory.choose_array(shapeless, (), np.zeros(0, np.int64)) is None


def test_the_cheapest_regular_division_tells_the_dimensions() -> None:
    slabs = sample_decomposition(4, method="blocks 1x4", best=False, pair_bytes=90)
    cube = sample_decomposition(8, method="blocks 2x2x2", best=False, pair_bytes=5)
    other = sample_decomposition(4, pair_bytes=1)
    assert territory.divided_dimensions([slabs, other]) == 2
    assert territory.divided_dimensions([slabs, cube, other]) == 3
    assert territory.divided_dimensions([other]) == 0


def test_without_arrays_there_is_nothing_to_show() -> None:
    assert territory.shaped_arrays(build(3, [row(2, 0, 1)])) == ()
