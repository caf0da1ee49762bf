"""Coarse vertices of large graphs: anchors, tiles, links and nets between them, divisions counted in full."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commanalyzer.division.budget import SEARCH
from commanalyzer.division.coarsening.coarse import build_coarse
from commanalyzer.division.coarsening.neighbours import find_neighbours
from commanalyzer.division.coarsening.tiles import build_tiling, tile_grid
from commanalyzer.division.decompose import CountOptions, decompose
from commanalyzer.division.refinement.borders import follow_borders, refine_borders
from commanalyzer.division.refinement.refine import connectivity
from commanalyzer.division.regular.shapes import find_arrays, shape_families
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.foundation.progress import SilentProgress
from commanalyzer.graph.storage.store import GraphStore
from commanalyzer.graph.value_graph import HomeKind, HomeObject, ValueGraph
from commanalyzer.request import Coarsen
from commanalyzer.result.results import SingletonCounts
from tests.counts import count_volume, imbalance_of_work
from tests.graphs import Row, build, folded, homed, row
from tests.strategies import graphs
from tests.unit.division.measures import none_removed, portfolio_of


def jacobi(n: int) -> ValueGraph:
    """One sweep v[i] = f(u around i) and u[i] = g(v[i]) on n x n points; arrays u and v of 8-byte values."""
    rows: list[Row] = []
    for y in range(n):
        for x in range(n):
            near = [(y, x), (y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)]
            here = [n * b + a for b, a in near if 0 <= b < n and 0 <= a < n]
            rows.append(row(n * n + here[0], *here))
    rows += [row(here, n * n + here) for here in range(n * n)]
    graph = build(2 * n * n, rows, inputs=range(n * n), work=dict.fromkeys(range(2 * n * n), 1.0))
    objects = [HomeObject(HomeKind.UNKNOWN, "other memory")]
    objects += [HomeObject(HomeKind.GLOBAL, name, size_bytes=8 * n * n, key=name) for name in "uv"]
    return homed(graph, np.repeat([1, 2], n * n), np.tile(8 * np.arange(n * n), 2), objects)


# --- anchors ----------------------------------------------------------------------------------------------


def test_a_temporary_follows_what_it_is_computed_for_and_a_leaf_its_reader() -> None:
    # 5 = f(3), 3 = f(0), 4 = g(1, 2): registers 3 and 4 go with 5 and 6; 0 is read by 3 alone, 2 twice for 6.
    graph = build(7, [row(3, 0), row(5, 3), row(4, 1, 2), row(6, 4, 2)], registers=[3, 4])
    found = find_neighbours(graph, none_removed(graph))
    assert found.anchor.tolist() == [5, 6, 6, 5, 6, 5, 6]
    assert found.readers.tolist() == [1, 1, 2, 1, 1, 0, 0]


def test_contributions_wait_for_the_operand_that_few_others_read() -> None:
    # A particle at 0, its weight 2, the field 1 there, which others read; 3 is their product, 4 its velocity.
    rows = [row(2, 0), row(8, 0), folded(3, [2, 1]), folded(4, [3]), folded(7, [2])]
    rows += [folded(5, [1]), folded(6, [1])]
    graph = build(9, rows, registers=[2, 3])
    found = find_neighbours(graph, none_removed(graph))
    assert found.readers[[1, 2]].tolist() == [3, 2]
    assert found.anchor[[2, 3]].tolist() == [0, 0]


def test_contributions_are_with_their_sums_where_an_operand_makes_clearly_more_than_a_sum_has() -> None:
    # 0 makes five entries (1 to 5) of five sums; 11 makes two (12 and 13) of the sums 6 and 7.
    rows = [*(row(v, 0) for v in range(1, 6)), *(folded(v + 5, [v]) for v in range(1, 6))]
    rows += [row(12, 11), row(13, 11), folded(6, [12]), folded(7, [13]), row(0, 14), row(11, 14)]
    graph = build(15, rows, registers=[*range(1, 6), 12, 13])
    anchor = find_neighbours(graph, none_removed(graph)).anchor
    assert anchor[1:6].tolist() == [6, 7, 8, 9, 10] and anchor[12:14].tolist() == [11, 11]


def test_values_without_flows_or_work_are_no_vertices() -> None:
    # Array u: 0 to 3, of which 1 is never used; array v: 4 to 6, never used at all.
    flows = [row(0, 2), row(2, 3), row(3, 0)]
    graph = replace(
        build(7, flows, work={0: 1.0, 2: 1.0, 3: 1.0}),
        home_object=np.array([0, 0, 0, 0, 1, 1, 1], np.int32),
        objects=tuple(HomeObject(HomeKind.GLOBAL, name, size_bytes=32, key=name) for name in "uv"),
    )
    found = find_neighbours(graph, none_removed(graph))
    assert found.idle.tolist() == [1, 4, 5, 6]
    assert found.anchor[1] == found.anchor[0]
    assert set(found.anchor[4:].tolist()) <= set(found.anchor[[0, 2, 3]].tolist())
    assert found.num_anchors == len(set(found.anchor[[0, 2, 3]].tolist()))


def test_nothing_follows_a_hub() -> None:
    graph = build(4, [folded(3, [0], [1], [2])])
    assert find_neighbours(graph, np.arange(4) == 3).anchor.tolist() == [0, 1, 2, 3]
    assert find_neighbours(graph, none_removed(graph)).anchor.tolist() == [3, 3, 3, 3]


# --- tiles ------------------------------------------------------------------------------------------------


def test_tiles_are_nearly_cubes_and_multiples_of_eight_where_there_are_many() -> None:
    assert tile_grid((1000, 1000), 65_536) == (256, 256)
    assert tile_grid((4, 100), 16) == (1, 16)  # squares of 5 points would be 0.8 x 20
    assert tile_grid((7,), 1000) == (7,)
    assert tile_grid((100, 100), 10_000) == (100, 100)  # single points, not a multiple of eight


def test_arrays_of_a_family_are_tiled_alike() -> None:
    graph = jacobi(16)
    removed = none_removed(graph)
    arrays = find_arrays(graph, removed)
    tiling = build_tiling(graph, removed, arrays, shape_families(graph, arrays), 16)
    place = np.arange(256)
    expected = place // 16 // 4 * 4 + place % 16 // 4
    assert (tiling.name, tiling.num_vertices) == ("tiles 4x4", 16)
    assert tiling.vertex.tolist() == [*expected, *expected]


def test_links_and_nets_of_tiles_are_those_of_a_grid() -> None:
    graph = jacobi(16)
    removed = none_removed(graph)
    arrays = find_arrays(graph, removed)
    tiling = build_tiling(graph, removed, arrays, shape_families(graph, arrays), 16)
    view = build_coarse(graph, removed, tiling)
    # 24 pairs of neighbouring tiles, 4 points on each side of every border are read by the other side.
    assert view.adjacency.num_edges == 24
    assert set(view.adjacency.edge_bytes.tolist()) == {2 * 4 * 8}
    assert view.adjacency.work_flops.tolist() == [32.0] * 16
    assert view.hypergraph is not None
    every = np.arange(16, dtype=np.int32)
    assert connectivity(view.hypergraph, every, 16) == 24 * 2 * 4 * 8
    counted = count_volume(graph, every[tiling.vertex], 16)
    assert counted.total_bytes == 24 * 2 * 4 * 8


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_nets_of_values_count_what_owners_need_to_compute(data: st.DataObject) -> None:
    n, parts = 8, 3
    numbers = st.integers(0, n - 1)
    lists = data.draw(st.dictionaries(numbers, st.sets(numbers, max_size=4)))
    graph = build(n, [row(sink, *sorted(sources - {sink})) for sink, sources in lists.items()])
    removed = none_removed(graph)
    tiling = build_tiling(graph, removed, (), (), n)
    view = build_coarse(graph, removed, tiling)
    drawn = data.draw(st.lists(st.integers(0, parts - 1), min_size=n, max_size=n))
    part = np.array(drawn, np.int32)[: tiling.num_vertices]
    assert view.hypergraph is not None
    owner = part[tiling.vertex].tolist()
    needed = {(v, owner[sink]) for sink, sources in lists.items() for v in sources if owner[v] != owner[sink]}
    assert connectivity(view.hypergraph, part, parts) == 8 * len(needed)


@given(graphs(), st.data())
@settings(max_examples=60, deadline=None)
def test_all_but_hubs_have_a_coarse_vertex_and_work_is_kept(graph: ValueGraph, data: st.DataObject) -> None:
    n = graph.num_vertices
    removed = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)), np.bool_)
    tiling = build_tiling(graph, removed, (), (), data.draw(st.integers(1, 8)))
    kept = tiling.vertex[~removed]
    assert tiling.vertex[removed].tolist() == [-1] * int(removed.sum())
    assert sorted(set(kept.tolist())) == list(range(tiling.num_vertices))
    assert np.array_equal(tiling.vertex[tiling.neighbours.anchor], tiling.vertex)
    work = build_coarse(graph, removed, tiling).adjacency.work_flops.sum()
    fed = removed[graph.rows.row_sink[np.repeat(np.arange(graph.num_rows), np.diff(graph.rows.row_ptr))]]
    spread = np.unique(graph.rows.row_sink[graph.rows.row_of_source()][fed & ~removed[graph.rows.source]])
    assert work == pytest.approx(graph.work_flops[~removed].sum() + graph.work_flops[spread].sum())


# --- divisions --------------------------------------------------------------------------------------------


def test_square_blocks_of_a_grid_are_found_and_counted_on_the_full_graph() -> None:
    graph = jacobi(16)
    portfolio = portfolio_of(graph, 4, wanted=64)
    found = {c.method: c.part for c in portfolio.candidates(4)}
    assert portfolio.coarse_vertices == 64
    blocks = found["blocks 2x2"]
    place = np.arange(512) % 256
    assert np.array_equal(blocks, place // 128 * 2 + place % 16 // 8)
    assert count_volume(graph, blocks, 4).total_bytes == 2 * 2 * 16 * 8
    assert all(len(part) == 512 and set(part.tolist()) == {0, 1, 2, 3} for part in found.values())


def test_the_search_ends_where_most_values_cannot_be_tiled(monkeypatch: pytest.MonkeyPatch) -> None:
    tiled = replace(SEARCH, small_flows=0, least_vertices=16, most_vertices=16)
    for name, value in {"LEAST_PER_PART": 1, "_MOST_LINKS": 0, "SEARCH": tiled}.items():
        monkeypatch.setattr(f"commanalyzer.division.portfolio.{name}", value)
    # Elements 0 to 63 of an array; 64 to 163 are in no array and each is read by two elements.
    rows = [row(i % 64, 64 + i % 100, (i + 1) % 64) for i in range(300)]
    graph = build(164, rows, inputs=range(64, 164), work=dict.fromkeys(range(64), 1.0))
    objects = (
        HomeObject(HomeKind.UNKNOWN, "other memory"),
        HomeObject(HomeKind.GLOBAL, "u", size_bytes=512, key="u"),
    )
    graph = homed(graph, np.repeat([1, 0], [64, 100]), [*range(0, 512, 8), *range(0, 800, 8)], objects)
    portfolio = portfolio_of(graph, 2)
    assert portfolio.view.tiling.groups
    assert 100 < portfolio.coarse_vertices <= 100 + 16


def test_islands_beside_borders_are_removed() -> None:
    graph = jacobi(16)
    portfolio = portfolio_of(graph, 2, wanted=64)
    place = np.arange(512) % 256
    straight = (place % 16 >= 8).astype(np.int32)
    # One point of row 8 on either side belongs to the other: it sends one word more, its neighbours four.
    ragged = np.where((place == 130) | (place == 141), 1 - straight, straight).astype(np.int32)
    assert count_volume(graph, straight, 2).total_bytes == 2 * 16 * 8
    assert count_volume(graph, ragged, 2).total_bytes == 2 * (16 + 1 + 4) * 8
    better = refine_borders(portfolio.surface, ragged, 2, 0.03)
    assert better is not None
    assert count_volume(graph, better, 2).total_bytes <= 2 * 16 * 8


def test_a_part_with_too_much_work_gives_some_away_though_that_moves_more_bytes() -> None:
    graph = jacobi(16)
    portfolio = portfolio_of(graph, 2, wanted=64)
    # Seven columns of sixteen: straight, but the other part has 9 / 8 of the mean.
    narrow = (np.arange(512) % 16 >= 9).astype(np.int32)
    better = refine_borders(portfolio.surface, narrow, 2, 0.03, work_flops=lambda: graph.work_flops)
    assert better is not None
    assert imbalance_of_work(graph.work_flops, better, 2) <= 1.03
    # With the work where it is even, nothing has to move.
    even = np.where(narrow, 9.0, 7.0)
    assert refine_borders(portfolio.surface, narrow, 2, 0.03, work_flops=lambda: even) is None


def test_free_values_beside_borders_follow_one_by_one_and_others_stay() -> None:
    graph = jacobi(16)
    portfolio = portfolio_of(graph, 2, wanted=64)
    place = np.arange(512) % 256
    left = (place % 16 >= 8).astype(np.int32)
    # v is cut one column beside u: each v there goes back to where its u and most neighbours are.
    beside = np.where(np.arange(512) >= 256, place % 16 >= 9, left).astype(np.int32)
    free = np.arange(512) >= 256
    part = follow_borders(portfolio.surface, beside, 2, 0.03, lambda: graph.work_flops, free)
    assert part is not None
    assert np.array_equal(part, left)


def test_forced_coarsening_says_so_and_its_bytes_are_those_of_its_owners() -> None:
    graph = jacobi(12)
    counted = decompose(GraphStore.of(graph), 288, _options(36), SilentProgress())
    direct = decompose(GraphStore.of(graph), 288, _options("never"), SilentProgress())
    for item in counted.decompositions:
        assert item.coarse_vertices == 36
        assert item.comm_bytes == count_volume(graph, item.part, item.nodes).total_bytes
    assert {d.coarse_vertices for d in direct.decompositions} == {0}
    best = {d.nodes: d.comm_bytes for d in counted.decompositions if d.best}
    assert best[4] <= 2 * 2 * 12 * 8


@pytest.mark.parametrize("flows", [7, 1000])
def test_slices_give_what_the_expanded_graph_gives(monkeypatch: pytest.MonkeyPatch, flows: int) -> None:
    store = GraphStore.of(jacobi(12))
    whole = decompose(store, 288, _options(36), SilentProgress())
    for name in ("LARGE_FLOWS", "LARGE_VALUES"):
        monkeypatch.setattr(f"commanalyzer.division.options.{name}", 0)
    monkeypatch.setattr("commanalyzer.graph.storage.store.SLICE_FLOWS", flows)
    monkeypatch.setattr(GraphStore, "graph", None)  # nothing expands all of it
    sliced = decompose(store, 288, _options(36), SilentProgress())
    assert (sliced.singletons, sliced.vcg_words) == (whole.singletons, whole.vcg_words)
    for one, other in zip(sliced.decompositions, whole.decompositions, strict=True):
        assert (one.nodes, one.method, one.best) == (other.nodes, other.method, other.best)
        assert one.part.tolist() == other.part.tolist()
        assert one.communication.comm_bytes.tolist() == other.communication.comm_bytes.tolist()
        assert one.communication.messages.tolist() == other.communication.messages.tolist()
        assert (one.imbalance, one.lower_bound_bytes) == (other.imbalance, other.lower_bound_bytes)


def test_a_graph_that_needs_more_memory_than_allowed_is_not_divided() -> None:
    options = replace(_options("auto"), memory_limit_bytes=1000)
    with pytest.raises(ConfigError, match=r"within 1 kB, found 288 values"):
        decompose(GraphStore.of(jacobi(12)), 288, options, SilentProgress())


def test_singletons_of_large_graphs_are_counted_only_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("commanalyzer.division.views._MOST_SIDE_FLOWS", 100)
    graph, options = jacobi(12), _options("never")
    assert decompose(GraphStore.of(graph), 288, options, SilentProgress()).singletons is None
    both = replace(options, models=("volume", "hpdc18"))
    assert decompose(GraphStore.of(graph), 288, both, SilentProgress()).singletons == SingletonCounts()


def _options(coarsen: Coarsen) -> CountOptions:
    return CountOptions((2, 4), check=True, coarsen=coarsen)


def test_entries_that_two_products_of_a_row_read_follow_the_row() -> None:
    # Entry 0 times 4, in two registers that are stored to 3; entry 5 is read in two places.
    rows = [row(1, 0, 4), row(2, 0, 4, 5), row(3, 1), row(3, 2), row(4, 5)]
    graph = build(6, rows, registers=(1, 2), inputs=(0, 4, 5))
    anchor = find_neighbours(graph, none_removed(graph)).anchor
    assert anchor.tolist() == [3, 3, 3, 3, 4, 5]


def test_what_a_rule_names_keeps_its_owner_and_the_rest_follows_one_by_one() -> None:
    graph = jacobi(16)
    options = replace(_options(9), nodes=(2,), decompose=("u[16x16]=block:1x2",))  # tiles lie across the cut
    counted = decompose(GraphStore.of(graph), 512, options, SilentProgress())
    (asked,) = (d for d in counted.decompositions if d.method == "u[16x16]=block:1x2")
    half = (np.arange(256) % 16 >= 8).astype(np.int32)
    assert asked.part[:256].tolist() == half.tolist()
    assert asked.comm_bytes == 2 * 16 * 8
