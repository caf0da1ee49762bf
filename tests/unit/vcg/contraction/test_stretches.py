"""Stretches of rows: those that join several owners are found, few others are."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from commanalyzer.vcg.contraction.stretch_kernels import MOST_JOINED
from commanalyzer.vcg.contraction.stretches import ChosenRows, RowStretches
from commanalyzer.vcg.graph import Rows, ValueGraph
from commanalyzer.vcg.storage.large import LargeGraph
from commanalyzer.vcg.storage.rows import joined_rows
from commanalyzer.vcg.storage.store import GraphStore
from tests.graphs import chain
from tests.strategies import graphs, loop_graphs


def rows_of(stretches: RowStretches, owner: list[int], num_owners: int, is_wanted: bool) -> list[int]:
    """Rows that are chosen if each value has a coarse vertex of its own, and all or none are wanted."""
    wanted = np.full(len(owner) + 1, is_wanted)
    ranges = stretches.shared(np.array(owner, np.int32), num_owners, wanted)
    pairs = zip(ranges.first[0].tolist(), ranges.count[0].tolist(), strict=True)
    return [row for first, count in pairs for row in range(first, first + count)]


def owners_of(graph: ValueGraph, owner: list[int], row: int, num_owners: int) -> set[int]:
    """Owners of the sink and the sources of a row, as far as they count."""
    first, last = graph.source_ptr[graph.term_ptr[row : row + 2]]
    values = [graph.row_sink[row], *graph.source[first:last]]
    return {owner[v] for v in values if 0 <= owner[v] < num_owners}


def test_a_stencil_is_two_lines_and_its_ends() -> None:
    stretches = RowStretches.of(chain(100), np.arange(200, dtype=np.int32), 200)
    assert stretches.table[:, 0].tolist() == [0, 1, 99, 100, 200]  # rows
    assert stretches.table[:-1, 3].tolist() == [0, 98, 0, 100]  # rounds
    assert stretches.lane.tolist() == [[101, 1], [0, 1], [1, 1], [2, 1], [0, 1], [100, 1]]
    assert stretches.tile.tolist() == [100, 199]
    halves = [int(v % 100 >= 50) for v in range(200)]
    assert rows_of(stretches, halves, 2, False) == [49, 50]
    assert rows_of(stretches, [0] * 200, 1, True) == [0, 99]
    thirds = [v % 100 // 33 for v in range(200)]  # the last one is a value and does not count
    assert rows_of(stretches, thirds, 3, False) == [*range(32, 34), *range(65, 67)]


@given(graphs() | loop_graphs(), st.integers(1, 3), st.integers(1, 30), st.data())
@settings(max_examples=150, deadline=None)
def test_rows_of_several_owners_are_chosen(
    graph: ValueGraph, num_owners: int, flows: int, data: st.DataObject
) -> None:
    v = graph.num_vertices
    owner = data.draw(st.lists(st.integers(0, num_owners), min_size=v, max_size=v))
    coded = LargeGraph(GraphStore.of(graph), flows)
    shared = {r for r in range(graph.num_rows) if len(owners_of(graph, owner, r, num_owners)) > 1}
    for item in (graph, coded):
        stretches = RowStretches.of(item, np.arange(v, dtype=np.int32), v)
        assert shared <= set(rows_of(stretches, owner, num_owners, True))
        loose = [
            row
            for entry, (first, *_) in enumerate(stretches.table[:-1].tolist())
            if stretches.table[entry, 3] == 0
            for row in range(first, int(stretches.table[entry + 1, 0]))
        ]
        assert shared <= set(rows_of(stretches, owner, num_owners, False)) | set(loose)


@given(graphs() | loop_graphs(), st.integers(1, 30), st.data())
@settings(max_examples=100, deadline=None)
def test_chosen_rows_are_those_of_the_graph(graph: ValueGraph, flows: int, data: st.DataObject) -> None:
    v = graph.num_vertices
    owner = np.array(data.draw(st.lists(st.integers(0, 1), min_size=v, max_size=v)), np.int32)
    found = RowStretches.of(graph, np.arange(v, dtype=np.int32), v).shared(owner, 2, np.ones(v + 1, np.bool_))
    for item in (graph, LargeGraph(GraphStore.of(graph), flows)):
        parts = list(ChosenRows(item, found).slices())
        assert sum(part.num_flows for part in parts) == found.count[2].sum()
        if not parts:
            continue
        rows = joined_rows(parts)
        at = 0
        for first, count in zip(found.first[0].tolist(), found.count[0].tolist(), strict=True):
            for r in range(first, first + count):
                for name in ("row_sink", "row_count", "row_site", "row_fold", "row_accumulates"):
                    assert getattr(rows, name)[at] == getattr(graph, name)[r]
                terms = [(rows, at), (graph.rows, r)]
                read = [[_term(g, t) for t in range(g.term_ptr[k], g.term_ptr[k + 1])] for g, k in terms]
                assert read[0] == read[1]
                at += 1
        assert at == rows.num_rows


def _term(rows: Rows, term: int) -> list[int]:
    first, last = rows.source_ptr[term : term + 2]
    return rows.source[first:last].tolist()  # type: ignore[no-any-return]


def test_long_ranges_are_not_joined() -> None:
    # A range is expanded as a whole: rows of the whole graph side by side must not become one.
    n = MOST_JOINED // 3
    graph, vertex = chain(n), np.arange(2 * n, dtype=np.int32)
    found = RowStretches.of(graph, vertex, 2 * n)
    ranges = found.shared(vertex % 2, 2, np.ones(2 * n + 1, np.bool_))
    size = ranges.count[0] + ranges.count[2]
    assert size.sum() > MOST_JOINED >= size.max()
