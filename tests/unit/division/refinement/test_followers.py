"""Values that follow others go where most of their bytes go, one by one."""

from collections import Counter, defaultdict

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from commanalyzer.division.coarsening.tiles import build_tiling
from commanalyzer.division.refinement.borders import beside_neighbours
from commanalyzer.graph.storage.store import GraphStore, LargeGraph
from commanalyzer.graph.value_graph import ValueGraph
from tests.graphs import build, flows_of, row
from tests.strategies import graphs, loop_graphs


def test_a_value_goes_where_most_of_its_bytes_go_and_those_beside_it_after_it() -> None:
    # 3 reads 24 bytes of 0 and 1 (part 0) and 8 of 2 (part 1); 4 reads 3, 5 reads 4; 6 reads a hub.
    graph = build(8, [row(3, 2, 0, 1), row(4, 3), row(5, 4), row(7, 2), row(6, 7)], widths={0: 16})
    removed = np.arange(8) == 7
    tiling = build_tiling(graph, removed, (), (), 8)
    vertex, own = tiling.vertex, np.arange(8, dtype=np.int32)
    given_part = np.array([0, 0, 1, -1, -1, -1, -1, -1], np.int32)
    otherwise = np.array([1, 1, 1, 1, 1, 1, 2, 3], np.int32)
    found = beside_neighbours(graph, vertex, own, given_part, otherwise)
    assert found.tolist() == [0, 0, 1, 0, 0, 0, 2, 3]
    anchor = np.array([0, 1, 2, 3, 2, 5, 6, 7], np.int32)
    # 4 goes with 2, whose part is given; 5, which reads 4, goes there as well; 3 is still drawn to 0 and 1.
    found = beside_neighbours(graph, vertex, anchor, given_part, otherwise)
    assert found.tolist() == [0, 0, 1, 0, 1, 1, 2, 3]


@given(graphs(registers=True) | loop_graphs(), st.integers(2, 4), st.integers(1, 30), st.data())
@settings(max_examples=150, deadline=None)
def test_most_bytes_win(graph: ValueGraph, num_parts: int, flows: int, data: st.DataObject) -> None:
    v = graph.num_vertices
    removed = np.array(data.draw(st.lists(st.sampled_from([False, False, True]), min_size=v, max_size=v)))
    tiling = build_tiling(graph, removed, (), (), v)
    anchor = tiling.neighbours.anchor
    owners = st.lists(st.integers(-1, num_parts - 1), min_size=v, max_size=v)
    known = np.array(data.draw(owners), np.int32)
    otherwise = np.array(data.draw(st.lists(st.just(num_parts), min_size=v, max_size=v)), np.int32)
    given_ = (tiling.vertex, anchor, known, otherwise)
    found = beside_neighbours(graph, *given_)
    assert np.array_equal(found[known >= 0], known[known >= 0])
    assert (found[removed & (known < 0)] == num_parts).all()
    assert np.array_equal(found, beside_neighbours(LargeGraph(GraphStore.of(graph), flows), *given_))
    votes: defaultdict[int, Counter[int]] = defaultdict(Counter)
    for r, sink, source in flows_of(graph):
        ends = int(anchor[sink]), int(anchor[source])
        times = min(int(graph.rows.row_count[r]), max(int(graph.versions[source]), 1))
        for free, placed in (ends, ends[::-1]):
            if not removed[sink] and not removed[source] and known[free] < 0 <= known[placed]:
                votes[free][int(known[placed])] += times * int(graph.width_bytes[source])
    for free, counted in votes.items():
        part, most = counted.most_common(1)[0]
        if 2 * most > counted.total():
            assert found[free] == part
        assert found[free] in counted
