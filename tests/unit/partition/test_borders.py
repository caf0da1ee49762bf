"""Rows beside borders: they have all pins of the nets that a refinement of borders may change."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from commanalyzer.partition import border_kernels as kernels
from commanalyzer.partition.borders import _beside_border, _with_neighbours
from commanalyzer.partition.coarse import RowRuns, build_coarse, build_nets
from commanalyzer.partition.tiles import build_tiling
from commanalyzer.vcg.graph import ValueGraph
from tests.strategies import graphs


@given(graphs(registers=True), st.integers(2, 4), st.data())
@settings(max_examples=100, deadline=None)
def test_rows_beside_borders_have_all_pins(graph: ValueGraph, num_parts: int, data: st.DataObject) -> None:
    v = graph.num_vertices
    flags = st.lists(st.booleans(), min_size=v, max_size=v)
    removed = np.array(data.draw(flags), np.bool_)
    tiling = build_tiling(graph, removed, (), (), max(v // 3, 1))
    view = build_coarse(graph, removed, tiling)
    owners = st.lists(st.integers(0, num_parts - 1), min_size=v, max_size=v)
    part = np.array(data.draw(owners), np.int32)[tiling.neighbours.anchor]
    beside = _beside_border(view, part, num_parts)
    anchor = tiling.neighbours.anchor
    single = part.copy()
    chosen = np.empty(v, np.int64)
    chosen = chosen[: kernels.list_movable(tiling.vertex, anchor, beside, chosen)]
    expected = [i for i in range(v) if not removed[i] and beside[tiling.vertex[i]] and anchor[i] == i]
    assert chosen.tolist() == expected
    single[chosen] = num_parts + np.arange(len(chosen))
    total = num_parts + len(chosen)
    number = np.empty(v, np.int32)
    kernels.number_values(tiling.vertex, anchor, single, total, number)
    hubs = np.cumsum(removed) - 1
    assert number.tolist() == [total + hubs[i] if removed[i] else single[anchor[i]] for i in range(v)]
    rows = RowRuns.of(graph, tiling).chosen(_with_neighbours(view, beside))
    work = np.zeros(total)
    every, some = (build_nets(graph, number, total, tiling.neighbours, work, r) for r in (None, rows))
    assert every is not None and some is not None
    assert some.net_pointer.tolist() == every.net_pointer.tolist()
    assert some.pin.tolist() == every.pin.tolist()
    assert some.net_bytes.tolist() == every.net_bytes.tolist()


def test_work_is_added_by_number_without_hubs() -> None:
    work = np.zeros(2)
    kernels.add_work(np.array([0, 1, 2, 1], np.int32), np.array([1.0, 2.0, 4.0, 8.0]), work)
    assert work.tolist() == [1.0, 10.0]
