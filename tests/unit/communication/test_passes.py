"""Counting while rows pass by: slices of a graph give what the whole gives, many uses what few give."""

from dataclasses import fields

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from commanalyzer.communication.balance import term_work, work_by_value
from commanalyzer.communication.charges import Charges
from commanalyzer.communication.totals import totals_of
from commanalyzer.communication.volume import charge_volume
from commanalyzer.graph.storage.store import GraphStore, LargeGraph
from commanalyzer.graph.value_graph import Bool, Int32
from tests.graphs import build, folded, row
from tests.strategies import Case, cases


def assert_equal(found: Charges, expected: Charges) -> None:
    for one, other in ((found.expand, expected.expand), (found.fold, expected.fold)):
        for f in fields(one):
            assert getattr(one, f.name).tolist() == getattr(other, f.name).tolist()


def charged(case: Case) -> tuple[Bool, Int32, Charges]:
    """Hubs, owners, and what the whole graph has to communicate."""
    hubs, part = np.array(case.hubs), np.array(case.part, dtype=np.int32)
    return hubs, part, charge_volume(case.graph, part, case.num_parts, hubs)


@given(cases(), st.integers(1, 6))
@settings(max_examples=100, deadline=None)
def test_slices_give_what_the_whole_gives(case: Case, flows: int) -> None:
    graph, (hubs, part, whole) = case.graph, charged(case)
    large = LargeGraph(GraphStore.of(graph), flows)
    totals = totals_of(large)
    found = charge_volume(large, part, case.num_parts, hubs, totals)
    assert_equal(found, whole)
    assert (
        found.communication(large, part, totals).messages.tolist()
        == whole.communication(graph, part).messages.tolist()
    )
    folded = (whole.fold.value, whole.fold.sender)
    arguments = (hubs, part, case.num_parts, folded, totals.readers if whole.splits_terms else None)
    work = work_by_value(graph, term_work(graph), *arguments)
    assert work_by_value(large, term_work(large), *arguments).tolist() == work.tolist()


@given(cases())
@settings(max_examples=30, deadline=None)
def test_numbers_of_parts_do_not_matter(case: Case) -> None:
    """Also where the parts share one bit of what is seen to be needed once."""
    graph, (hubs, part, whole) = case.graph, charged(case)
    found = charge_volume(graph, 16 * part, 16 * case.num_parts, hubs)
    for one, other in ((found.expand, whole.expand), (found.fold, whole.fold)):
        assert (one.sender // 16).tolist() == other.sender.tolist()
        assert (one.receiver // 16).tolist() == other.receiver.tolist()
        for name in ("value", "low", "count", "high", "width_bytes"):
            assert getattr(one, name).tolist() == getattr(other, name).tolist()


@given(cases())
@settings(max_examples=20, deadline=None)
def test_more_parts_than_are_used_cost_nothing(case: Case) -> None:
    hubs, part, narrow = charged(case)
    for wider in (129, 32769):  # codes of owners take two and four bytes
        assert_equal(charge_volume(case.graph, part, wider, hubs), narrow)


def test_tables_of_reductions_grow_with_what_they_hold() -> None:
    """Operands that reductions share, sums of them, single operands: more than the tables hold at first."""
    n = 3000
    shared = [folded(n + i, [i], [i + 1]) for i in range(n - 1)]
    part = np.repeat([1, 0], [n, n - 1]).astype(np.int32)
    found = charge_volume(build(2 * n - 1, shared, inputs=range(n)), part, 2)
    assert (found.fold.value.tolist(), len(found.expand)) == (list(range(n, 2 * n - 1)), 0)
    single = [folded(n + i, [i]) for i in range(n)]
    part = np.repeat([1, 0], n).astype(np.int32)
    found = charge_volume(build(2 * n, single, inputs=range(n)), part, 2)
    assert (found.expand.value.tolist(), len(found.fold)) == (list(range(n)), 0)


def test_a_value_with_many_readers_is_found_by_each_of_them_again() -> None:
    """Readers take turns, so that none finds what the one before used."""
    parts, turns = 20, 3
    rows = [row(1 + i, 0, count=1 + i // parts) for i in range(turns * parts)]
    part = np.concatenate(([0], np.arange(turns * parts) % parts)).astype(np.int32)
    graph = build(1 + turns * parts, rows, inputs=[0], versions={0: 1 + turns})
    found = charge_volume(graph, part, parts).expand
    assert found.receiver.tolist() == list(range(1, parts))
    assert found.low.tolist() == [turns] * (parts - 1)


def test_many_values_that_many_parts_read() -> None:
    n, parts = 100, 40
    own = [n + (i + parts) % (2 * parts) for i in range(2 * parts)]  # of the reader's part
    rows = [row(n + i, *range(n), own[i]) for i in range(2 * parts)]
    part = np.concatenate((np.zeros(n), np.arange(2 * parts) % parts)).astype(np.int32)
    found = charge_volume(build(n + 2 * parts, rows, inputs=range(n)), part, parts).expand
    needed = [(value, reader) for value in range(n) for reader in range(1, parts)]
    assert list(zip(found.value.tolist(), found.receiver.tolist(), strict=True)) == needed
    assert found.high.tolist() == [1] * len(needed)
