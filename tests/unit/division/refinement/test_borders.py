"""Rows beside borders: they have all pins of the nets that a refinement of borders may change."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commanalyzer.division.coarsening.coarse import build_coarse, build_nets
from commanalyzer.division.coarsening.neighbours import Neighbours
from commanalyzer.division.coarsening.tiles import Tiling, build_tiling
from commanalyzer.division.refinement.borders import (
    SharedRows,
    Surface,
    _is_everywhere,
    _least_gain,
    _numbered,
    refine_borders,
)
from commanalyzer.division.refinement.refine import LEAST_GAIN
from commanalyzer.graph.value_graph import ValueGraph
from tests.graphs import build, flows_of, row
from tests.strategies import graphs, loop_graphs


@given(graphs(registers=True) | loop_graphs(), st.integers(2, 4), st.data())
@settings(max_examples=100, deadline=None)
def test_rows_beside_borders_have_all_pins(graph: ValueGraph, num_parts: int, data: st.DataObject) -> None:
    v = graph.num_vertices
    flags = st.lists(st.booleans(), min_size=v, max_size=v)
    removed = np.array(data.draw(flags), np.bool_)
    tiling = build_tiling(graph, removed, (), (), max(v // 3, 1))
    view = build_coarse(graph, removed, tiling)
    owners = st.lists(st.integers(0, num_parts - 1), min_size=v, max_size=v)
    part = np.array(data.draw(owners), np.int32)[tiling.neighbours.anchor]
    beside = Surface(graph, view).beside(part)
    anchor = tiling.neighbours.anchor
    single = part.copy()
    chosen = Surface(graph, view).movable(beside)
    expected = [i for i in range(v) if not removed[i] and beside[tiling.vertex[i]] and anchor[i] == i]
    assert chosen.tolist() == expected
    single[chosen] = num_parts + np.arange(len(chosen))
    total = num_parts + len(chosen)
    number, first = _numbered(tiling, part, num_parts, chosen, chosen, np.arange(len(chosen), dtype=np.int32))
    assert first.tolist() == chosen.tolist()  # all that follow a value are in its part
    number[removed] = total + np.arange(np.count_nonzero(removed))
    hubs = np.cumsum(removed) - 1
    assert number.tolist() == [total + hubs[i] if removed[i] else single[anchor[i]] for i in range(v)]
    rows = SharedRows(graph, number, total)
    work = np.zeros(total)
    every, some = (build_nets(graph, number, total, tiling.neighbours, work, r) for r in (None, rows))
    assert every is not None and some is not None
    assert some.net_pointer.tolist() == every.net_pointer.tolist()
    assert some.pin.tolist() == every.pin.tolist()
    assert some.net_bytes.tolist() == every.net_bytes.tolist()
    for most, is_found in ((every.num_nets, True), (every.num_nets - 1, every.num_nets == 0)):
        limited = build_nets(graph, number, total, tiling.neighbours, work, rows, most)
        assert (limited is not None) == is_found


@given(graphs(registers=True), st.integers(2, 4), st.data())
@settings(max_examples=100, deadline=None)
def test_what_moves_together_is_in_one_part(graph: ValueGraph, num_parts: int, data: st.DataObject) -> None:
    """Refinement begins with the division that it is given, wherever the anchors of its values are."""
    v, none = graph.num_vertices, np.zeros(graph.num_vertices, np.bool_)
    tiling = build_tiling(graph, none, (), (), max(v // 3, 1))
    part = np.array(data.draw(st.lists(st.integers(0, num_parts - 1), min_size=v, max_size=v)), np.int32)
    chosen = np.flatnonzero(tiling.neighbours.anchor == np.arange(v))
    first, label = chosen[:1], np.zeros(len(chosen), np.int32)  # all in one group
    number, first = _numbered(tiling, part, num_parts, chosen, first, label)
    start = np.concatenate((np.arange(num_parts), part[first]))
    assert start[number].tolist() == part.tolist()
    assert len(set(number.tolist())) == len(set(part.tolist())) == len(first)


@given(graphs(registers=True) | loop_graphs(), st.integers(2, 4), st.data())
@settings(max_examples=100, deadline=None)
def test_ends_anchor_flows_between_parts(graph: ValueGraph, num_parts: int, data: st.DataObject) -> None:
    v = graph.num_vertices
    removed = np.array(data.draw(st.lists(st.sampled_from([False, False, True]), min_size=v, max_size=v)))
    tiling = build_tiling(graph, removed, (), (), max(v // 3, 1))
    anchor = tiling.neighbours.anchor
    owners = st.lists(st.integers(0, num_parts - 1), min_size=v, max_size=v)
    part = np.array(data.draw(owners), np.int32)[anchor]
    expected = set()
    for _, sink, source in flows_of(graph):
        if not removed[sink] and not removed[source] and part[sink] != part[source]:
            expected |= {int(anchor[sink]), int(anchor[source])}
    surface = Surface(graph, build_coarse(graph, removed, tiling))
    assert surface.ends(part, num_parts).tolist() == sorted(expected)


def test_where_borders_hold_too_much_only_ends_of_flows_move(monkeypatch: pytest.MonkeyPatch) -> None:
    # A chain of 64 values in coarse vertices of 16 and one island: 5 values move for each border.
    graph = build(64, [row(i + 1, i) for i in range(63)], work=dict.fromkeys(range(64), 1.0))
    removed = np.zeros(64, np.bool_)
    near = build_tiling(graph, removed, (), (), 64).neighbours
    tiling = Tiling(np.repeat(np.arange(4, dtype=np.int32), 16), 4, "runs", near)
    surface = Surface(graph, build_coarse(graph, removed, tiling))
    part = np.repeat([0, 1], 32).astype(np.int32)
    part[40] = 0
    assert surface.ends(part, 2).tolist() == [31, 32, 39, 40, 41]
    for most, is_found in ((64, True), (31, True), (4, False)):
        monkeypatch.setattr("commanalyzer.division.refinement.borders._MOST_MOVABLE", most)
        better = refine_borders(surface, part, 2, 0.1)
        assert (better is not None) == is_found
        if better is not None:
            assert np.flatnonzero(np.diff(better)).tolist() == [31]


def test_borders_are_everywhere_in_large_dense_graphs_only() -> None:
    number, most = np.zeros(0, np.int32), 1 << 24

    def is_everywhere(flows: int, anchors: int, movable: int) -> bool:
        near = Neighbours(
            number, number, number, number, flows, anchors, number.astype(np.int64), number, number
        )
        return _is_everywhere(Tiling(number, anchors, "runs", near), movable)

    assert is_everywhere(most + 1, 1000, 501)
    assert not is_everywhere(most + 1, 1000, 500)
    assert not is_everywhere(most + 1, most // 32 + 1, most // 32 + 1)  # 32 flows per anchor
    assert not is_everywhere(most, 1000, 1000)


def test_passes_over_long_borders_have_to_save_more() -> None:
    assert _least_gain(1000) == _least_gain(10_000) == LEAST_GAIN
    assert _least_gain(2_000_000) == 2 * _least_gain(1_000_000) > 10 * LEAST_GAIN
