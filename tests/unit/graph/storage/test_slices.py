"""Slices of a graph: together they are the graph."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from commanalyzer.graph.storage.slices import row_slices
from commanalyzer.graph.value_graph import ValueGraph
from tests.strategies import graphs


@given(graph=graphs(), flows=st.integers(1, 20))
def test_slices_are_the_graph(graph: ValueGraph, flows: int) -> None:
    slices = list(row_slices(graph, flows))
    assert sum(s.num_rows for s in slices) == graph.num_rows
    if slices:
        for name in ("row_sink", "row_count", "row_fold", "row_accumulates", "source", "source_role"):
            found = np.concatenate([getattr(s, name) for s in slices])
            assert np.array_equal(found, getattr(graph.rows, name))
        for name in ("term_ptr", "source_ptr"):
            lengths = np.concatenate([np.diff(getattr(s, name)) for s in slices])
            assert np.array_equal(lengths, np.diff(getattr(graph.rows, name)))
    assert all(s.num_flows <= flows or s.num_rows == 1 for s in slices)
