"""Adjacency of the values: weights by hand, hubs left out; what is refused."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commanalyzer.division.coarsening.coarse import build_by_value
from commanalyzer.division.libraries.adjacency import Adjacency
from commanalyzer.foundation.errors import PartitionError
from commanalyzer.graph.value_graph import ValueGraph
from tests.graphs import build, folded, row
from tests.strategies import graphs


def edges_of(adjacency: Adjacency) -> dict[tuple[int, int], int]:
    ends = zip(adjacency.vertex_of_edge().tolist(), adjacency.neighbour.tolist(), strict=True)
    return {e: w for e, w in zip(ends, adjacency.edge_bytes.tolist(), strict=True) if e[0] < e[1]}


def test_both_directions_and_all_rows_add_up() -> None:
    rows = [row(1, 0, count=3), row(0, 1, count=2), row(2, 1, count=10)]
    g = build(3, rows, widths={1: 4}, inputs=[0], work={0: 2, 1: 5})
    a = build_by_value(g, np.zeros(3, dtype=np.bool_)).adjacency
    # 0-1: 3 uses of 8 bytes (3 versions) and 2 uses of 4 bytes; 1-2: at most the 3 versions of value 1.
    assert edges_of(a) == {(0, 1): 3 * 8 + 2 * 4, (1, 2): 3 * 4}
    assert a.work_flops.tolist() == [2, 5, 0]


def test_hub_gives_its_work_to_the_operands_and_ties_those_of_a_term() -> None:
    n = 4
    g = build(2 * n + 1, [folded(2 * n, *([i, n + i] for i in range(n)), count=3)], work={2 * n: 16.0})
    removed = np.arange(2 * n + 1) == 2 * n
    result = build_by_value(g, removed)
    assert result.tiling.vertex.tolist() == [*range(2 * n), -1]
    assert result.adjacency.work_flops.tolist() == [2.0] * (2 * n)
    assert edges_of(result.adjacency) == {(i, n + i): 8 for i in range(n)}


@given(graphs(registers=True))
@settings(max_examples=100, deadline=None)
def test_work_is_conserved(graph: ValueGraph) -> None:
    result = build_by_value(graph, np.zeros(graph.num_vertices, dtype=np.bool_))
    assert result.adjacency.work_flops.sum() == pytest.approx(graph.work_flops.sum())
    assert result.adjacency.num_vertices == graph.num_vertices


def path() -> tuple[list[int], list[int], list[int], list[float]]:
    return [0, 1, 3, 4], [1, 0, 2, 1], [5, 5, 6, 6], [1.0, 1.0, 1.0]


def make(pointer: list[int], neighbour: list[int], weight: list[int], work: list[float]) -> Adjacency:
    start, end, size = (np.array(part, dtype=np.int64) for part in (pointer, neighbour, weight))
    return Adjacency(start, end, size, np.array(work, dtype=np.float64))


Parts = tuple[list[int], list[int], list[int], list[float]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p, n, w, f: (p, n, w, [1.0, float("nan"), 1.0]), "finite"),
        (lambda p, n, w, f: (p, n, w, [1.0, -1.0, 1.0]), "negative"),
        (lambda p, n, w, f: (p, n, [5, 5, 0, 0], f), "edge weights must be positive"),
    ],
)
def test_adjacency_refuses(change: Callable[..., Parts], message: str) -> None:
    assert make(*path()).num_edges == 2
    with pytest.raises(PartitionError, match=message):
        make(*change(*path()))


@given(st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_parallel_links_between_groups_are_added_up(seed: int) -> None:
    generator = np.random.default_rng(seed)
    upper = np.triu(generator.integers(1, 5, (12, 12)) * (generator.random((12, 12)) < 0.3), 1)
    dense = upper + upper.T
    start, end = np.nonzero(dense)
    pointer = np.concatenate(([0], np.cumsum(np.count_nonzero(dense, axis=1))))
    graph = Adjacency(pointer, end, dense[start, end], np.arange(12.0))
    number = np.unique(generator.integers(0, 5, 12), return_inverse=True)[1]
    groups = int(number.max()) + 1
    one, other = number[graph.vertex_of_edge()], number[graph.neighbour]
    work, links = np.bincount(number, graph.work_flops).astype(np.float64), one < other
    merged = Adjacency.of_links(one[links], other[links], graph.edge_bytes[links], work)
    one_hot = (number[None, :] == np.arange(groups)[:, None]).astype(np.int64)
    expected = one_hot @ dense @ one_hot.T
    np.fill_diagonal(expected, 0)
    found = np.zeros_like(expected)
    found[merged.vertex_of_edge(), merged.neighbour] = merged.edge_bytes
    assert found.tolist() == expected.tolist()
    assert merged.work_flops.tolist() == (one_hot @ np.arange(12.0)).tolist()
