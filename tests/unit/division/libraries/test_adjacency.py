"""Adjacency of the values: weights by hand, hubs left out; what is refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.sparse import csr_array

from commanalyzer.division.coarsening.coarse import build_by_value
from commanalyzer.division.libraries.adjacency import Adjacency
from commanalyzer.foundation.errors import PartitionError
from commanalyzer.graph.value_graph import ValueGraph
from tests.graphs import build, folded, row
from tests.strategies import graphs


def edges_of(adjacency: Adjacency) -> dict[tuple[int, int], int]:
    ends = zip(adjacency.vertex_of_edge().tolist(), adjacency.neighbour.tolist(), strict=True)
    found = dict(zip(ends, adjacency.edge_bytes.tolist(), strict=True))
    assert found == {(other, one): size for (one, other), size in found.items()}
    return {e: size for e, size in found.items() if e[0] < e[1]}


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


@pytest.mark.parametrize(
    ("weight", "work", "message"),
    [(5, float("nan"), "finite"), (5, -1.0, "negative"), (-5, 1.0, "edge weights must be positive")],
)
def test_adjacency_refuses(weight: int, work: float, message: str) -> None:
    with pytest.raises(PartitionError, match=message):
        Adjacency.of_links(csr_array([[0, weight], [0, 0]]), np.array([1.0, work]))
