"""Which decomposition is best, where work is counted, hubs with work, methods that fail."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commanalyzer.communication.balance import term_work, work_by_value
from commanalyzer.communication.totals import totals_of
from commanalyzer.communication.volume import charge_volume
from commanalyzer.division import portfolio as module
from commanalyzer.division.coarsening import coarse_attempts
from commanalyzer.division.coarsening.coarse import build_by_value
from commanalyzer.division.portfolio import Portfolio
from commanalyzer.division.selection import Cost, Latest, best_of, promising
from commanalyzer.foundation.errors import PartitionError
from commanalyzer.graph.value_graph import Bool, Float64, ValueGraph
from tests.counts import imbalance_of_work
from tests.graphs import build, folded, row
from tests.strategies import graphs
from tests.unit.division.measures import none_removed, portfolio_of


def worked(graph: ValueGraph, part: list[int], parts: int, hubs: Bool | None = None) -> Float64:
    none = none_removed(graph) if hubs is None else hubs
    owner = np.array(part, np.int32)
    charges = charge_volume(graph, owner, parts, none)
    folds = (charges.fold.value, charges.fold.sender)
    readers = totals_of(graph).readers if charges.splits_terms else None
    return work_by_value(graph, term_work(graph), none, owner, parts, folds, readers)


# --- the best ---------------------------------------------------------------------------------------------


def test_the_least_volume_within_the_limit_is_best_and_both_are_weighed_where_none_is() -> None:
    assert best_of([50, 80, 70, 70], [1.5, 1.0, 1.02, 1.01], 1.03) == 2
    # 250 * 1.22 = 305 beats 658 * 1.11 = 730 (a hair of balance) and 249 * 5.0 (a hair of volume).
    assert best_of([658, 250, 249], [1.11, 1.22, 5.0], 1.03) == 1


def test_what_is_far_above_the_best_balanced_division_is_not_promising() -> None:
    volumes, imbalances = [300, 151, 100, 150, 90], [1.0, 1.0, 1.0, 1.0, 2.0]
    assert promising(volumes, imbalances, 1.03, 1.5) == [4, 2, 3]
    assert promising(volumes, imbalances, 1.03, math.inf) == [4, 2, 3, 1, 0]
    assert promising(volumes, [2.0] * 5, 1.03, 1.5) == [4, 2, 3, 1, 0]


# --- work -------------------------------------------------------------------------------------------------


def test_work_of_a_sum_lies_where_it_is_combined() -> None:
    # 6 = 0 + ... + 5 with 12 operations: three terms are combined in part 1, three beside the sink.
    graph = build(7, [folded(6, *([i] for i in range(6)))], work={6: 12.0})
    part = [0, 0, 0, 1, 1, 1, 0]
    work = worked(graph, part, 2)
    assert np.bincount(part, work, 2).tolist() == [6.0, 6.0]
    assert work[3:6].tolist() == [2.0, 2.0, 2.0]


def test_work_of_a_product_lies_at_its_sink_unless_its_factors_meet() -> None:
    graph = build(5, [folded(4, [0, 1], [2, 3])], work={4: 8.0})
    part = [1, 1, 0, 1, 0]
    assert np.bincount(part, worked(graph, part, 2), 2).tolist() == [4.0, 4.0]


def test_values_are_balanced_where_there_is_no_work() -> None:
    graph = build(4, [row(1, 0)])
    assert worked(graph, [0, 0, 1, 1], 2, np.arange(4) == 3).tolist() == [1, 1, 1, 0]
    assert imbalance_of_work(np.array([3.0, 1.0]), np.array([0, 1], np.int32), 2) == 1.5


@given(graphs(), st.data())
@settings(max_examples=100, deadline=None)
def test_work_is_conserved(graph: ValueGraph, data: st.DataObject) -> None:
    n = graph.num_vertices
    part = data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    total = float(graph.work_flops.sum()) or float(n)
    assert worked(graph, part, 3).sum() == pytest.approx(total)


# --- hubs -------------------------------------------------------------------------------------------------


def spread(graph: ValueGraph, hubs: Bool, owner: list[int], work: list[float], most: float) -> list[int]:
    """Owners of the hubs on two nodes."""
    part = np.array(owner, np.int32)
    found = build_by_value(graph, hubs).hubs.spread(part, part[~hubs], 2, np.array(work), most)
    return [int(p) for p in found]


def test_hubs_go_where_their_work_has_room() -> None:
    # Hub 4 is fed by 0 and 1 (part 0), hub 5 by 0; both carry as much work as a part may have.
    graph, work = build(6, [folded(4, [0], [1]), folded(5, [0])]), [1.0, 1.0, 1.0, 1.0, 4.0, 4.0]
    assert spread(graph, np.arange(6) >= 4, [0, 0, 1, 1, 0, 0], work, 6.5) == [0, 1]


def test_hubs_that_belong_together_stay_together_while_they_are_light() -> None:
    # Sum 4 makes centroid 5; part 0 has no room for them.
    graph, light = build(6, [folded(4, [0], [1]), row(5, 4)]), [10.0, 10.0, 9.0, 9.0, 0.5, 0.5]
    assert spread(graph, np.arange(6) >= 4, [0, 0, 1, 1, 0, 0], light, 20.6) == [1, 1]


def test_hubs_without_work_stay() -> None:
    graph = build(3, [folded(2, [0], [1])])
    assert spread(graph, np.arange(3) == 2, [0, 1, 1], [1.0, 1.0, 0.0], 1.0) == [1]


# --- failures ---------------------------------------------------------------------------------------------


def chain_portfolio(n: int) -> Portfolio:
    rows, work = [row(i + 1, i) for i in range(n - 1)], dict.fromkeys(range(1, n), 1.0)
    return portfolio_of(build(n, rows, work=work), 4)


def test_a_method_that_fails_does_not_end_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise PartitionError("METIS failed on purpose")

    monkeypatch.setattr(coarse_attempts, "partition", fails)
    portfolio = chain_portfolio(64)
    assert "mt-kahypar km1" in [c.method for c in portfolio.candidates(4)]
    assert portfolio.failures(4) == ("METIS: METIS failed on purpose",)
    assert portfolio.failures(2) == ()


def test_what_is_impossible_for_all_methods_is_an_error() -> None:
    with pytest.raises(PartitionError, match="cannot divide 3 values among 4 parts"):
        list(chain_portfolio(3).candidates(4))


def test_refinements_are_given_only_where_they_are_better_and_say_which_graph_they_are_of() -> None:
    portfolio = chain_portfolio(64)
    # Every value elsewhere than its neighbours: 63 cuts. Four pieces of 16 need 3, which is the least.
    interleaved = module.Candidate("interleaved", (np.arange(64) % 4).astype(np.int32), 0.0, 8)
    (better,) = portfolio.refined([interleaved], 4)
    assert (better.method, better.coarse_vertices) == ("interleaved refined", 8)
    ideal = module.Candidate("ideal", (np.arange(64) // 16).astype(np.int32), 0.0)
    assert list(portfolio.refined([ideal], 4)) == []


# --- what is known is not counted again -------------------------------------------------------------------


def test_the_latest_costs_are_known_by_content() -> None:
    known: Latest[Cost] = Latest()
    cost = Cost(8, 1.0, lambda: np.zeros(2))
    known.note(np.array([0, 1], np.int32), 2, cost)
    assert known.find(np.array([0, 1], np.int32), 2) is cost
    assert known.find(np.array([0, 1], np.int32), 3) is None
    assert known.find(np.array([1, 0], np.int32), 2) is None
    for i in range(16):
        known.note(np.array([0, 2 + i], np.int32), 32, cost)
    assert known.find(np.array([0, 1], np.int32), 2) is None
    assert known.find(np.array([0, 2], np.int32), 32) is cost


def test_what_is_known_takes_no_more_memory_than_it_may() -> None:
    known: Latest[str] = Latest(most_bytes=10)
    owners = [np.full(3, i, np.int32) for i in range(4)]
    for part, name, nbytes in zip(owners, "abcd", (4, 6, 11, 5), strict=True):
        known.note(part, 4, name, nbytes)
    assert [known.find(part, 4) for part in owners] == [None, None, None, "d"]
    known.note(owners[3], 4, "e", 9)  # instead of what was known of the same
    known.note(owners[0], 4, "f", 1)
    assert [known.find(part, 4) for part in owners] == ["f", None, None, "e"]
