"""Phases of a step, found in loops over time whose order is known."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commanalyzer.communication.matrix import Communication
from commanalyzer.communication.messages.phases import note_arrivals, reads_of_sites, step_order, with_phases
from commanalyzer.communication.volume import charge_volume
from commanalyzer.foundation.errors import GraphInvariantError
from commanalyzer.graph.value_graph import HomeKind, HomeObject, Site, ValueGraph
from tests.graphs import plain_rows
from tests.strategies import graphs

STEPS = 10


def _loop(statements: Sequence[tuple[int, Sequence[int], int]], num_values: int) -> ValueGraph:
    """A loop over time: each statement, in this order, makes a value from others (sink, sources, object).

    A value is read before it is made in the first step where its statement comes later.
    """
    sinks = [sink for sink, _, _ in statements]
    sources = [list(read) for _, read, _ in statements]
    source = [value for read in sources for value in read]
    terms = np.cumsum([0, *map(len, sources)]).astype(np.int64)
    objects = np.zeros(num_values, dtype=np.int32)
    for sink, _, number in statements:
        objects[sink] = number
    count = len(statements)
    names = dict.fromkeys(number for _, _, number in statements)
    site = [list(names).index(number) for _, _, number in statements]
    return ValueGraph(
        home_object=objects,
        home_offset=np.arange(num_values, dtype=np.int64) * 8,
        width_bytes=np.full(num_values, 8, dtype=np.uint8),
        versions=np.full(num_values, STEPS, dtype=np.int64),
        is_temporary=np.zeros(num_values, dtype=np.bool_),
        is_input=np.zeros(num_values, dtype=np.bool_),
        producer_site=np.full(num_values, -1, dtype=np.int32),
        work_flops=np.zeros(num_values),
        rows=plain_rows(sinks, source, (np.arange(count + 1), terms), count=STEPS, site=site),
        objects=tuple(HomeObject(HomeKind.GLOBAL, f"a{number}") for number in range(max(names) + 1)),
        sites=tuple(Site("main", "a.c", number + 1, "store", 8) for number in names),
    )


def _phases(graph: ValueGraph, part: Sequence[int]) -> Communication:
    owner, hubs = np.array(part, dtype=np.int32), np.zeros(graph.num_vertices, dtype=np.bool_)
    charges = charge_volume(graph, owner, 2, hubs)
    exchanges = charges.exchanges(graph, owner, hubs=hubs)
    return with_phases(exchanges.communication(), charges, exchanges, graph, owner, hubs, step_order(graph))


# Values 0 and 1 are a0[0], a0[1]; 2 and 3 are a1[0], a1[1]; part 0 owns 0 and 2, part 1 owns 1 and 3.
HALVES = (0, 1, 0, 1)


def test_an_answer_is_a_phase_of_its_own() -> None:
    # a0[i] = f(a1[i]); a1[i] = g(a0[1 - i]); then a0 of the next step from a1's neighbour: red and black.
    red_black = _loop([(0, (3,), 0), (1, (2,), 0), (2, (1,), 1), (3, (0,), 1)], 4)
    found = _phases(red_black, HALVES)
    assert found.phase_bytes is not None and found.phase_messages is not None
    # first a0, made first, then a1: 8 bytes each way in each step
    assert found.phase_bytes.tolist() == [[[0, 80], [80, 0]], [[0, 80], [80, 0]]]
    assert found.phase_messages.tolist() == [[[0, 10], [10, 0]], [[0, 10], [10, 0]]]
    assert found.comm_bytes.tolist() == [[0, 160], [160, 0]]


def test_what_both_read_of_the_step_before_shares_a_phase() -> None:
    # Both from the values of the step before (copies 4..7 at its end): nothing waits within a step.
    swept = [(2, (4, 5), 1), (3, (5, 4), 1), (0, (6, 7), 0), (1, (7, 6), 0)]
    jacobi = _loop([*swept, (4, (0,), 2), (5, (1,), 2), (6, (2,), 3), (7, (3,), 3)], 8)
    assert _phases(jacobi, (0, 1) * 4).phase_bytes is None


def test_two_buffers_that_take_turns_are_no_phases() -> None:
    # One statement fills both, each from the other one.
    graph = _loop([(2, (0, 1), 1), (3, (0, 1), 1), (0, (2, 3), 0), (1, (2, 3), 0)], 4)
    one_site = replace(graph, rows=graph.rows._replace(row_site=np.zeros(4, dtype=np.int32)))
    assert _phases(one_site, HALVES).phase_bytes is None


def test_steps_that_can_overlap_have_no_phases() -> None:
    # a0 from itself, a1 from a0 of the other part, 4 and 5 from a1 of the other part: a pipeline.
    graph = _loop([(0, (), 0), (1, (), 0), (2, (1,), 1), (3, (0,), 1), (4, (3,), 2), (5, (2,), 2)], 6)
    assert _phases(graph, (0, 1) * 3).phase_bytes is None


def test_an_exchange_that_may_happen_any_time_is_in_no_phase() -> None:
    # Red and black as above; 6 and 7 are made from themselves, and read by 4 and 5 that nobody needs.
    red, free = [(0, (3,), 0), (1, (2,), 0)], [(6, (4,), 3), (7, (5,), 3)]
    graph = _loop([*red, *free, (2, (1,), 1), (3, (0,), 1), (4, (7,), 2), (5, (6,), 2)], 8)
    found = _phases(graph, (0, 1) * 4)
    assert found.phase_bytes is not None
    assert found.comm_bytes.tolist() == [[0, 240], [240, 0]]
    assert found.phase_bytes.tolist() == [[[0, 80], [80, 0]], [[0, 80], [80, 0]]]


def test_phases_are_part_of_the_matrix() -> None:
    matrix = np.array([[0, 8], [0, 0]])
    with pytest.raises(GraphInvariantError, match="more than all"):
        Communication(matrix, matrix // 8, 8, 8, phase_bytes=matrix[None] * 2, phase_messages=matrix[None])
    with pytest.raises(GraphInvariantError, match="both bytes and messages"):
        Communication(matrix, matrix // 8, 8, 8, phase_bytes=matrix[None])
    with pytest.raises(GraphInvariantError, match="as large as"):
        Communication(matrix, matrix // 8, 8, 8, phase_bytes=matrix, phase_messages=matrix)


@given(graphs(registers=True), st.data())
@settings(max_examples=50, deadline=None)
def test_who_reads_what_is_found_row_by_row(graph: ValueGraph, data: st.DataObject) -> None:
    v, n = graph.num_vertices, len(graph.sites)
    main = np.array(data.draw(st.lists(st.integers(-1, n - 1), min_size=v, max_size=v)), np.int32)
    part = np.array(data.draw(st.lists(st.integers(0, 2), min_size=v, max_size=v)), np.int32)
    sent = sorted(data.draw(st.sets(st.tuples(st.integers(0, v - 1), st.integers(0, 2))))) if v else []
    first_row, read, old = reads_of_sites(graph, main)
    arrived = np.zeros((n, n), np.bool_)
    is_sent = np.isin(np.arange(v), [value for value, _ in sent]) & (main >= 0)
    arriving = np.array([value * 3 + to for value, to in sent], np.int64)
    note_arrivals(graph.rows, part, is_sent, arriving, 3, main, arrived)
    sinks, sites = graph.rows.row_sink.tolist(), graph.rows.row_site.tolist()
    entries = list(zip(graph.rows.row_of_source().tolist(), graph.rows.source.tolist(), strict=True))
    first_store = [sinks.index(u) if u in sinks else len(sinks) for u in range(v)]
    assert first_row.tolist() == [sites.index(s) if s in sites else len(sites) for s in range(n)]
    reads = {(main[u], sites[r]) for r, u in entries if main[u] >= 0}
    olds = {(main[u], sites[r]) for r, u in entries if main[u] >= 0 and r <= first_store[u]}
    crosses = {
        (main[u], sites[r])
        for r, u in entries
        if main[u] >= 0 and part[u] != part[sinks[r]] and (u, part[sinks[r]]) in sent
    }
    assert [set(zip(*np.nonzero(m), strict=True)) for m in (read, old, arrived)] == [reads, olds, crosses]
