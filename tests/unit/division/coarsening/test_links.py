"""Links between coarse vertices, and pins of their nets: against dictionaries filled flow by flow."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from commanalyzer.division.coarsening.links import Links, find_links
from commanalyzer.graph.value_graph import Int32, ValueGraph
from tests.graphs import build, row
from tests.strategies import graphs

Pair = tuple[int, int]


def expected_links(graph: ValueGraph, number: Int32, coarse: int, readers: Int32) -> dict[Pair, list[int]]:
    """Bytes, bytes shared by readers in 64ths, and uses by hubs, of each pair of numbers."""
    found: dict[Pair, list[int]] = {}

    def add(one: int, other: int, volume: int, shared: int, uses: int) -> None:
        sums = found.setdefault((min(one, other), max(one, other)), [0, 0, 0])
        for place, value in enumerate((volume, shared, uses)):
            sums[place] += value

    for r in range(graph.num_rows):
        k, count = int(number[graph.rows.row_sink[r]]), int(graph.rows.row_count[r])
        for t in range(graph.rows.term_ptr[r], graph.rows.term_ptr[r + 1]):
            operands: list[tuple[int, int, int]] = []
            for s in graph.rows.source[graph.rows.source_ptr[t] : graph.rows.source_ptr[t + 1]].tolist():
                volume = min(count, max(int(graph.versions[s]), 1)) * int(graph.width_bytes[s])
                if (a := int(number[s])) == k:
                    continue
                share = max(int(readers[s]), 1)
                add(a, k, volume, max(64 * volume // share, 1), count if k >= coarse > a else 0)
                if k >= coarse > a:
                    operands.append((a, volume, share))
            for (one, bytes_of_one, _), (other, volume, share) in pairwise(operands):
                if graph.rows.row_fold[r] and one != other:
                    less = min(bytes_of_one, volume)
                    add(one, other, less, max(64 * less // share, 1), 0)
    return found


def as_dict(links: Links) -> dict[Pair, list[int]]:
    pairs = list(zip(links.one.tolist(), links.other.tolist(), strict=True))
    assert pairs == sorted(set(pairs))
    return dict(zip(pairs, links.sums.tolist(), strict=True))


@given(graphs(registers=True), st.integers(1, 4), st.data())
@settings(max_examples=80, deadline=None)
def test_links_are_those_of_all_flows(graph: ValueGraph, coarse: int, data: st.DataObject) -> None:
    v = graph.num_vertices
    drawn = data.draw(st.lists(st.integers(0, coarse + 1), min_size=v, max_size=v))  # the last two are hubs
    number = np.array(drawn, np.int32)
    readers = np.bincount(graph.rows.source, minlength=v).astype(np.int32)
    expected = expected_links(graph, number, coarse, readers)
    found = find_links(graph, number, coarse, coarse + 2, readers)
    assert found is not None
    assert as_dict(found) == expected
    inner = sum(other < coarse for _, other in expected)
    assert find_links(graph, number, coarse, coarse + 2, readers, most=inner) is not None
    if inner:
        assert find_links(graph, number, coarse, coarse + 2, readers, most=inner - 1) is None


def test_the_table_of_links_grows_in_the_middle_of_a_row() -> None:
    n = 70_000  # the first table has room for 32,768 links
    graph = build(n, [row(0, *range(1, n)), row(1, 0, count=3)])
    ones = np.ones(n, np.int32)
    found = find_links(graph, np.arange(n, dtype=np.int32), n, n, ones)
    assert found is not None
    assert found.one.tolist() == [0] * (n - 1)
    assert found.other.tolist() == list(range(1, n))
    width = int(graph.width_bytes[0])
    assert found.sums[1:, 0].tolist() == [width] * (n - 2)
    versions = max(int(graph.versions[0]), 1)
    assert found.sums[0, 0] == width * (1 + min(3, versions))
