"""Links between coarse vertices, and pins of their nets: against dictionaries filled flow by flow."""

from collections import Counter
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from commanalyzer.division.coarsening.coarse import Links, find_links
from commanalyzer.graph.storage.store import GraphStore, LargeGraph
from commanalyzer.graph.value_graph import Int32, ValueGraph
from tests.strategies import graphs

Pair = tuple[int, int]


def expected_links(graph: ValueGraph, number: Int32, coarse: int) -> tuple[Counter[Pair], Counter[Pair]]:
    """Bytes of each pair of numbers, and uses by hubs."""
    found, used = Counter[Pair](), Counter[Pair]()

    for r in range(graph.num_rows):
        k, count = int(number[graph.rows.row_sink[r]]), int(graph.rows.row_count[r])
        for t in range(graph.rows.term_ptr[r], graph.rows.term_ptr[r + 1]):
            operands: list[tuple[int, int]] = []
            for s in graph.rows.source[graph.rows.source_ptr[t] : graph.rows.source_ptr[t + 1]].tolist():
                volume = min(count, max(int(graph.versions[s]), 1)) * int(graph.width_bytes[s])
                if (a := int(number[s])) == k:
                    continue
                found[min(a, k), max(a, k)] += volume
                if k >= coarse > a:
                    used[a, k] += count
                    operands.append((a, volume))
            for (one, bytes_of_one), (other, volume) in pairwise(operands):
                if graph.rows.row_fold[r] and one != other:
                    found[min(one, other), max(one, other)] += min(bytes_of_one, volume)
    return found, used


def as_dicts(links: Links) -> tuple[dict[Pair, int], ...]:
    tables = [table.todok() for table in links]
    return tuple({(int(i), int(j)): int(n) for (i, j), n in table.items()} for table in tables)


@given(graphs(registers=True), st.integers(1, 4), st.data())
@settings(max_examples=80, deadline=None)
def test_links_are_those_of_all_flows(graph: ValueGraph, coarse: int, data: st.DataObject) -> None:
    v = graph.num_vertices
    drawn = data.draw(st.lists(st.integers(0, coarse + 1), min_size=v, max_size=v))  # the last two are hubs
    number = np.array(drawn, np.int32)
    expected = expected_links(graph, number, coarse)
    found = find_links(graph, number, coarse, coarse + 2)
    assert found is not None
    assert as_dicts(found) == expected
    inner = sum(other < coarse for _, other in expected[0])
    assert find_links(graph, number, coarse, coarse + 2, inner) is not None
    if inner:
        assert find_links(graph, number, coarse, coarse + 2, inner - 1) is None
    sliced = find_links(LargeGraph(GraphStore.of(graph), 2), number, coarse, coarse + 2)
    assert sliced is not None
    assert as_dicts(sliced) == expected
