"""Shapes, process grids, rules, owner maps and lower bounds."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from commanalyzer.division.regular.grids import Blocks, Spread, process_grids
from commanalyzer.division.regular.owner_map import map_owners, read_owner_map
from commanalyzer.division.regular.rules import parse_rule
from commanalyzer.division.regular.shapes import Array, Shaped, find_arrays, shape_families
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.graph.value_graph import HomeKind, HomeObject, Int32, ValueGraph
from tests.graphs import build, homed, row
from tests.unit.division.measures import none_removed


def with_arrays(*sizes: tuple[str, int], rows: tuple[tuple[int, ...], ...] = ()) -> ValueGraph:
    """Graph of 8-byte arrays of the given lengths, vertices in order; rows are (sink, sources...)."""
    total = sum(n for _, n in sizes)
    graph = build(total, [row(r[0], *r[1:]) for r in rows])
    objects = [HomeObject(HomeKind.UNKNOWN, "other memory")]
    objects += [HomeObject(HomeKind.GLOBAL, name, size_bytes=8 * n, key=name) for name, n in sizes]
    number = np.repeat(np.arange(1, len(sizes) + 1), [n for _, n in sizes])
    return homed(graph, number, np.concatenate([8 * np.arange(n) for _, n in sizes]), objects)


def extents(graph: ValueGraph) -> list[dict[str, tuple[tuple[int, ...], int]]]:
    arrays = find_arrays(graph, none_removed(graph))
    return [
        {graph.objects[s.array.number].name: (s.extents, s.components) for s in family}
        for family in shape_families(graph, arrays)
    ]


def test_elements_nodes_and_corners_of_a_mesh_are_one_family() -> None:
    graph = with_arrays(("e", 6**3), ("x", 7**3), ("corner", 8 * 6**3))
    assert extents(graph)[0] == {"e": ((6,) * 3, 1), "x": ((7,) * 3, 1), "corner": ((6,) * 3, 8)}


def test_strides_show_the_rows_of_an_array_that_is_no_square() -> None:
    # Five rows of eight: each point inside reads itself, the one above and the one below.
    rows = tuple((40 + i, i - 8, i, i + 8) for i in range(8, 32))
    assert extents(with_arrays(("u", 40), ("v", 40), rows=rows))[0] == {"u": ((5, 8), 1), "v": ((5, 8), 1)}


def one_array(place: HomeObject, offsets: Sequence[int]) -> ValueGraph:
    """Graph of the elements at these bytes of an object, of which nothing is computed from another."""
    objects = HomeObject(HomeKind.UNKNOWN, "other memory"), place
    return homed(build(len(offsets), []), np.ones(len(offsets)), offsets, objects)


def test_rows_allocated_one_by_one_are_one_array() -> None:
    # Six rows of seven doubles, which lie 16 * 5 bytes apart: 56 bytes, rounded up, and a header.
    place = HomeObject(HomeKind.HEAP, "a", size_bytes=5 * 80 + 56, strides=(80,))
    graph = one_array(place, [80 * i + 8 * j for i in range(6) for j in range(7)])
    assert extents(graph)[0] == {"a": ((6, 7), 1)}
    (array,) = find_arrays(graph, np.zeros(42, np.bool_))
    assert array.index.tolist() == list(range(42))


def test_declared_rows_are_the_shape_of_an_array_that_is_used_in_part() -> None:
    # double A[16][8], of which 6 x 3 are used: nothing else than the declaration tells.
    place = HomeObject(HomeKind.GLOBAL, "A", size_bytes=16 * 8 * 8, strides=(64,))
    graph = one_array(place, [64 * i + 8 * j for i in range(6) for j in range(3)])
    assert extents(graph)[0] == {"A": ((16, 8), 1)}
    arrays = find_arrays(graph, np.zeros(18, np.bool_))
    owner = owners(Blocks(graph, [Shaped(arrays[0], (16, 8))]), (2, 3))
    assert owner.reshape(6, 3).tolist() == [[0, 1, 2]] * 3 + [[3, 4, 5]] * 3


def test_declared_rows_are_no_squares() -> None:
    place = HomeObject(HomeKind.GLOBAL, "A", size_bytes=4 * 16 * 8, strides=(128,))
    graph = one_array(place, [8 * i for i in range(64)])
    assert extents(graph) == [{"A": ((4, 16), 1)}, {"A": ((64,), 1)}]


@pytest.mark.parametrize(
    ("work", "grid", "grain"),
    [
        ([1, 1, 1, 1, 1, 1], (4,), 2 / 1.5),  # a part takes two rows of six
        ([1, 2, 3, 3, 2, 1], (2,), 1.0),  # two of the heaviest rows are half of all work
        ([20, 1, 1, 1, 1, 1], (2,), 1 + 2 / 6),  # one row has most: at most what one row more makes
        ([0, 1, 1, 1, 1, 0], (4,), 1.0),  # halos are no rows
        ([0, 2, 0, 0, 2, 0], (1, 2), 1.0),  # one column has all the work: cut in two, one half has none
        ([3, 1, 1, 2, 1, 0], (2, 1), 5 / 4),  # rows of 5 and 3; columns of 5, 2 and 1 are not cut
    ],
)
def test_whole_rows_excuse_some_imbalance(work: list[float], grid: tuple[int, ...], grain: float) -> None:
    graph = replace(with_arrays(("u", 6)), work_flops=np.array(work, np.float64))
    place = Shaped(as_array(graph), (6,) if len(grid) == 1 else (2, 3))
    assert Blocks(graph, [place]).grain(grid) == pytest.approx(grain)


def test_rows_have_the_work_that_follows_their_elements() -> None:
    graph = replace(with_arrays(("u", 6)), work_flops=np.ones(6))
    known, works = (graph, [Shaped(as_array(graph), (6,))]), (None, np.array([2.0, 1, 1, 1, 1, 1]))
    assert [Blocks(*known, w).grain((3,)) for w in works] == [1.0, 1 + 3 / 6]  # one row more, at most


def as_array(graph: ValueGraph) -> Array:
    """All values as one array, however few."""
    count = graph.num_vertices
    return Array(1, np.arange(count, dtype=np.int32), np.arange(count, dtype=np.int32), (count,))


def test_process_grids_are_all_factorisations() -> None:
    assert process_grids(4, 2) == ((1, 4), (2, 2), (4, 1))
    assert len(process_grids(64, 3)) == math.comb(6 + 2, 2)


def shaped(graph: ValueGraph, name: str, shape: tuple[int, ...]) -> Shaped:
    arrays = find_arrays(graph, none_removed(graph))
    return next(Shaped(a, shape) for a in arrays if graph.objects[a.number].name == name)


def owners(blocks: Blocks, grid: tuple[int, ...], spread: Spread = "points") -> Int32:
    return blocks.owners(blocks.cuts(grid, spread))


def test_kin_arrays_are_cut_at_the_same_relative_position() -> None:
    graph = with_arrays(("e", 36), ("x", 49))
    owner = owners(Blocks(graph, [shaped(graph, "e", (6, 6)), shaped(graph, "x", (7, 7))]), (2, 2))
    assert owner[:6].tolist() == [0, 0, 0, 1, 1, 1]
    assert owner[36:43].tolist() == [0, 0, 0, 1, 1, 1, 1]
    assert owner[[0, 35]].tolist() == [0, 3]


def test_halos_do_not_count() -> None:
    # 6 x 6 points of which the 4 x 4 inside are computed; three rows of blocks.
    inside = [6 * i + j for i in range(1, 5) for j in range(1, 5)]
    graph = with_arrays(("u", 36), ("w", 36), rows=tuple((36 + i, i) for i in inside))
    graph = replace(graph, versions=np.where(np.isin(np.arange(72), [36 + i for i in inside]), 5, 1))
    owner = owners(Blocks(graph, [shaped(graph, "w", (6, 6))]), (4, 1))
    assert owner[36:].reshape(6, 6)[:, 2].tolist() == [0, 0, 1, 2, 3, 3]


def test_arrays_that_never_change_are_cut_evenly() -> None:
    graph = with_arrays(("u", 18), ("w", 18))
    graph = replace(graph, versions=np.repeat([0, 1, 5], (18, 6, 12)))
    still, halo = (owners(Blocks(graph, [shaped(graph, name, (18,))]), (3,)) for name in ("u", "w"))
    assert still[:18].tolist() == [0] * 6 + [1] * 6 + [2] * 6
    assert halo[18:].tolist() == [0] * 10 + [1] * 4 + [2] * 4


@pytest.mark.parametrize("grid", [(1, 1, 1), (2, 1, 3), (4, 3, 2)])
@pytest.mark.parametrize("spread", ["points", "work"])
def test_blocks_are_cut_along_each_dimension(grid: tuple[int, int, int], spread: Spread) -> None:
    shape, components = (4, 3, 5), 2
    graph = with_arrays(("u", 60 * components))
    work = np.random.default_rng(1).random(graph.num_vertices)
    graph = replace(graph, work_flops=work)
    (array,) = find_arrays(graph, none_removed(graph))
    found = owners(Blocks(graph, [Shaped(array, shape, components)]), grid, spread)
    weight = work.reshape(*shape, components) if spread == "work" else np.ones((*shape, components))
    expected = np.zeros(shape, np.int64)
    for axis, count in enumerate(grid):
        along = weight.sum(axis=tuple(a for a in range(4) if a != axis))
        middle = (np.cumsum(along) - along / 2) / along.sum()
        block = np.minimum(np.floor(middle * count + 1e-9), count - 1).astype(np.int64)
        expected = expected * count + np.expand_dims(block, tuple(a for a in range(3) if a != axis))
    np.testing.assert_array_equal(found, np.repeat(expected, components))


def test_blocks_are_dealt_out_in_turn() -> None:
    graph = with_arrays(("u", 16))
    blocks = Blocks(graph, [shaped(graph, "u", (16,))])
    owner = blocks.owners(blocks.cuts((2,), sizes=(3,)))
    assert owner.tolist() == [0, 0, 0, 1, 1, 1] * 2 + [0, 0, 0, 1]


@pytest.mark.parametrize("text", ["u", "u=slab", "u=block0d", "u[3x]=block", "u=block:0", "=block"])
def test_what_is_no_rule_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="expected"):
        parse_rule(text)


def test_a_rule_needs_as_many_dimensions_as_its_shape() -> None:
    with pytest.raises(ConfigError, match="as many dimensions"):
        parse_rule("u[8x8]=block3d")


def test_owner_maps_name_elements_or_bytes(tmp_path: Path) -> None:
    graph = with_arrays(("u", 16), ("v", 16))
    for header, width in (("object,index,part", 1), ("object,offset,part", 8)):
        path = tmp_path / "map.csv"
        lines = [f"v,{width * i},{int(i == 3)}" for i in range(16)]
        path.write_text("\n".join([header, *lines]))
        found = map_owners(graph, read_owner_map(path))
        assert found.tolist() == [-1] * 16 + [0, 0, 0, 1] + [0] * 12


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("object,index,part\n", "at least one element"),
        ("object,index,part\nu,0,-1\n", "from 0"),
        ("object,index,part\nu,x,1\n", "expected an owner map"),
    ],
)
def test_broken_owner_maps_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "map.csv"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        read_owner_map(path)


def test_programs_without_arrays_have_none() -> None:
    graph = build(4, [row(1, 0)])
    assert find_arrays(graph, np.zeros(4, dtype=np.bool_)) == ()


def test_squares_are_considered_beside_strides() -> None:
    # 36 elements: strides show 4 rows of 9, but it may be a square.
    rows = tuple((36 + i, i, i + 9) for i in range(27))
    shapes = {
        s for family in extents(with_arrays(("u", 36), ("v", 36), rows=rows)) for s, _ in family.values()
    }
    assert {(6, 6), (4, 9), (36,)} <= shapes


def test_a_row_against_a_row_shows_no_strides() -> None:
    # c[i, j] reads all of row i of a and of column j of b: distances of every length.
    n = 20
    rows = tuple(
        (2 * n * n + n * i + j, *(n * i + k for k in range(n)), *(n * n + n * k + j for k in range(n)))
        for i, j in np.ndindex(n, n)
    )
    found = extents(with_arrays(("a", n * n), ("b", n * n), ("c", n * n), rows=rows))
    assert {"a": ((n, n), 1), "b": ((n, n), 1), "c": ((n, n), 1)} in found
