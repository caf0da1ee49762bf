"""Source lines of communication: hand-computed shares, and sums that equal the matrix."""

from dataclasses import replace

import numpy as np
import pytest

from commanalyzer.communication.attribution import LineTraffic, traffic_of_lines
from commanalyzer.communication.charges import Charges
from commanalyzer.communication.volume import charge_volume
from commanalyzer.graph.value_graph import Int64, Site, ValueGraph
from tests.graphs import build, chain, folded, grid, grid_parts, row

LINES = (Site("f", "a.c", 7, "store", 8), Site("g", "a.c", 9, "store", 8))


def with_lines(graph: ValueGraph, lines: list[int]) -> ValueGraph:
    """``graph`` whose rows come from the given sites (0: line 7 of f, 1: line 9 of g)."""
    rows = graph.rows._replace(row_site=np.array(lines, dtype=np.int32))
    return replace(graph, sites=LINES, rows=rows)


def _charged(graph: ValueGraph, owners: list[int], parts: int = 2) -> tuple[Charges, tuple[LineTraffic, ...]]:
    part = np.array(owners, dtype=np.int32)
    charges = charge_volume(graph, part, parts)
    return charges, traffic_of_lines(graph, part, charges)


def test_a_line_needs_what_it_reads_and_makes_what_it_stores() -> None:
    # line 7 makes value 1 from an input on its node, line 9 reads it three times on the other node
    graph = with_lines(build(3, [row(1, 0, count=3), row(2, 1, count=3)]), [0, 1])
    _, found = _charged(graph, [0, 0, 1])
    assert found == (LineTraffic("a.c", 9, ("g",), 24.0, 0.0), LineTraffic("a.c", 7, ("f",), 0.0, 24.0))


def test_an_input_is_made_by_no_line() -> None:
    graph = with_lines(build(2, [row(1, 0)]), [0])
    _, found = _charged(graph, [0, 1])
    assert found == (LineTraffic("a.c", 7, ("f",), 8.0, 0.0), LineTraffic("", 0, (), 0.0, 8.0))


def test_lines_that_read_the_same_value_on_a_node_share_it() -> None:
    graph = with_lines(build(3, [row(1, 0), row(2, 0)]), [0, 1])
    _, found = _charged(graph, [0, 1, 1])
    shares = [(t.line, t.needed_bytes, t.made_bytes) for t in found]
    assert shares == [(7, 4.0, 0.0), (9, 4.0, 0.0), (0, 0.0, 8.0)]


def test_a_combined_contribution_is_needed_by_the_line_that_adds_it() -> None:
    graph = with_lines(build(5, [folded(0, [1], [2], [3], [4])]), [1])
    charges, found = _charged(graph, [0, 0, 1, 1, 1])
    assert len(charges.fold) == 1
    assert [(t.line, t.needed_bytes, t.made_bytes) for t in found] == [(9, 8.0, 8.0)]


@pytest.mark.parametrize(
    ("graph", "part", "parts"),
    [
        (chain(12, count=3), np.tile(np.arange(12) // 4, 2), 3),
        (grid(8), grid_parts(8, 2, copies=2), 4),
        (grid(8, fold=True, count=5), grid_parts(8, 4, copies=2), 16),
    ],
)
@pytest.mark.parametrize("with_hubs", [False, True])
def test_the_lines_add_up_to_the_matrix(graph: ValueGraph, part: Int64, parts: int, with_hubs: bool) -> None:
    hubs = np.zeros(graph.num_vertices, dtype=np.bool_)
    hubs[:: 5 if with_hubs else graph.num_vertices + 1] = True
    owners = part.astype(np.int32)
    charges = charge_volume(graph, owners, parts, hubs)
    found = traffic_of_lines(graph, owners, charges)
    total = charges.communication(graph, owners).total_bytes
    assert total > 0
    assert sum(t.needed_bytes for t in found) == pytest.approx(total)
    assert sum(t.made_bytes for t in found) == total


def test_nothing_is_needed_on_one_node() -> None:
    graph = chain(6)
    _, found = _charged(graph, [0] * 12, 1)
    assert found == ()
