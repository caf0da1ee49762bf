"""Rows that are kept until all others were counted."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from commanalyzer.communication.combining.open_rows import OpenRows
from commanalyzer.vcg.graph import ValueGraph
from commanalyzer.vcg.storage.rows import chosen_rows
from commanalyzer.vcg.storage.slices import row_slices
from tests.graphs import chain
from tests.strategies import graphs

NAMES = ("row_sink", "row_count", "row_accumulates", "term_ptr", "source_ptr", "source")


@given(graphs(), st.integers(1, 6), st.data())
@settings(max_examples=60, deadline=None)
def test_kept_rows_are_those_that_were_chosen(graph: ValueGraph, flows: int, data: st.DataObject) -> None:
    r = graph.num_rows
    wanted = np.array(data.draw(st.lists(st.booleans(), min_size=r, max_size=r)), np.bool_)
    kept, first = OpenRows(), 0
    for piece in row_slices(graph, flows):
        kept.add(piece, wanted[first : first + piece.num_rows])
        first += piece.num_rows
    expected = chosen_rows(graph.rows, wanted)
    assert len(kept) == np.count_nonzero(wanted)
    for name in NAMES:
        assert getattr(kept.rows, name).tolist() == getattr(expected, name).tolist()
    per_row = np.diff(expected.source_ptr[expected.term_ptr]).tolist()
    assert [kept.rows.flows_of(row) for row in range(len(kept))] == per_row


def test_columns_that_grow_keep_what_they_have() -> None:
    rows, kept = chain(5000).rows, OpenRows()
    for _ in range(20):
        kept.add(rows, np.ones(rows.num_rows, np.bool_))
    assert kept.rows.row_sink.tolist() == rows.row_sink.tolist() * 20
