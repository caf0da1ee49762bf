from dataclasses import replace

import numpy as np
import pytest

from commanalyzer.foundation.errors import GraphInvariantError
from commanalyzer.foundation.flows import Fold
from commanalyzer.graph.contraction.dissolve import dissolve_registers
from commanalyzer.graph.invariants import check_dissolved, check_graph
from commanalyzer.graph.value_graph import ValueGraph
from tests.graphs import Row, build, chain, grid, row


def test_sound_graphs_pass() -> None:
    for g in (chain(8), grid(4, fold=True), build(0, [])):
        check_graph(g)
        check_dissolved(g, dissolve_registers(g))
    assert chain(8).num_rows == 16


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (build(1, [row(0, 0)]), "1 sources are the sink itself"),
        (build(3, [Row(0, [[1], [2]], fold=Fold.NONE)]), "1 rows without fold"),
        (build(2, [row(0, 1, count=2)], versions={0: 9}), "vertex 0 has 9 versions, its rows made 2"),
    ],
)
def test_broken_graphs_are_refused(broken: ValueGraph, message: str) -> None:
    with pytest.raises(GraphInvariantError, match=message):
        check_graph(broken)


def test_lost_stores_and_registers() -> None:
    before = build(3, [row(1, 0), row(2, 1)], registers=[1])
    with pytest.raises(GraphInvariantError, match="registers are left"):
        check_dissolved(before, before)
    after = dissolve_registers(before)
    doubled = replace(after, rows=after.rows._replace(row_count=np.array([2], dtype=np.int64)))
    with pytest.raises(GraphInvariantError, match="1 stores before dissolving, 2 after"):
        check_dissolved(before, doubled)
