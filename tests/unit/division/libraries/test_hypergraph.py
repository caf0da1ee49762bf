"""Hypergraph: nets, pins and weights by hand; its metric against the counter."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from commanalyzer.division.coarsening.coarse import build_by_value
from commanalyzer.division.libraries.hypergraph import Hypergraph
from commanalyzer.foundation.flows import Fold
from commanalyzer.graph.value_graph import ValueGraph, sink_of_source
from tests.counts import count_volume
from tests.graphs import Row, build, folded, row
from tests.strategies import graphs

Nets = dict[tuple[int, ...], list[int]]


def hypergraph(graph: ValueGraph, removed: tuple[int, ...] = ()) -> Hypergraph:
    mask = np.isin(np.arange(graph.num_vertices), removed)
    found = build_by_value(graph, mask, with_terms=True).hypergraph
    assert found is not None
    return found


def nets(found: Hypergraph) -> Nets:
    """Bytes of the nets with the given pins."""
    result: Nets = {}
    for m, weight in enumerate(found.net_bytes.tolist()):
        pins = found.pin[found.net_pointer[m] : found.net_pointer[m + 1]]
        result.setdefault(tuple(pins.tolist()), []).append(weight)
    return result


# --- expand nets ------------------------------------------------------------------------------------------


def test_a_net_weighs_the_versions_that_its_most_frequent_reader_reads() -> None:
    # 1 has 3 versions, of which 2 reads 2 and 3 reads all, 10 times
    graph = build(4, [row(1, 0, count=3), row(2, 1, count=2), row(3, 1, count=10)])
    assert nets(hypergraph(graph)) == {(0, 1): [8], (1, 2, 3): [3 * 8]}


def test_values_nobody_reads_and_hubs_have_no_nets() -> None:
    graph = build(5, [row(2, 0, 4), row(3, 1, 4), row(4, 2)])
    found = hypergraph(graph, removed=(4,))
    # 4 takes no part: neither as a source nor as a sink
    assert nets(found) == {(0, 2): [8], (1, 3): [8]}
    assert found.num_vertices == 4
    assert nets(hypergraph(graph)) == {(0, 2): [8], (1, 3): [8], (2, 4): [8], (2, 3, 4): [8]}


# --- fold nets --------------------------------------------------------------------------------------------


def test_terms_of_one_operand_that_nobody_else_reads_are_their_operand() -> None:
    graph = build(4, [folded(3, [0], [1], [2], count=5)], widths={3: 4}, work={3: 15.0})
    found = hypergraph(graph)
    assert nets(found) == {(0, 1, 2, 3): [5 * 4]}
    assert found.work_flops.tolist() == [5.0, 5.0, 5.0, 0]


def test_terms_of_several_operands_are_vertices_with_their_share_of_the_work() -> None:
    # 4 = 0 * 1 + 2 * 1 + 3: term vertices 5 and 6
    graph = build(5, [folded(4, [0, 1], [2, 1], [3], count=2)], work={4: 12.0})
    found = hypergraph(graph)
    assert nets(found) == {(0, 5): [8], (1, 5, 6): [8], (2, 6): [8], (3, 4, 5, 6): [2 * 8]}
    assert found.work_flops.tolist() == [0, 0, 0, 4.0, 0, 4.0, 4.0]


def test_products_of_shared_factors_are_computed_at_their_sum() -> None:
    # c = a b for 2 x 2 matrices: each a is read by a row of c, each b by a column; no term is a vertex.
    a, b, c = np.arange(12).reshape(3, 2, 2).tolist()
    rows = [folded(c[i][j], *([a[i][k], b[k][j]] for k in range(2))) for i in range(2) for j in range(2)]
    graph = build(12, rows, work=dict.fromkeys(range(8, 12), 4.0))
    found = hypergraph(graph)
    expected = {(a[i][k], *c[i]): [8] for i in range(2) for k in range(2)}
    expected |= {(b[k][j], c[0][j], c[1][j]): [8] for k in range(2) for j in range(2)}
    assert nets(found) == expected
    assert found.work_flops.tolist() == [0.0] * 8 + [4.0] * 4
    # One block of each matrix per part: every element goes to one other part, 2 N^2 (sqrt(4) - 1) words.
    part = [0, 1, 2, 3] * 3
    assert metric(found, part) == counted(graph, part, 4) == 2 * 4 * 8


def test_an_operand_of_two_sums_makes_a_term_in_each() -> None:
    # 2 = 0 + 1, 3 = 0: the terms of 0 are the vertices 4 and 5
    graph = build(4, [folded(2, [0], [1]), folded(3, [0])])
    assert nets(hypergraph(graph)) == {(0, 4, 5): [8], (1, 2, 4): [8], (3, 5): [8]}


def test_rows_that_accumulate_in_one_sink_share_its_net() -> None:
    rows = [folded(2, [0], count=3, accumulates=True), folded(2, [1], count=4, accumulates=True)]
    assert nets(hypergraph(build(3, rows))) == {(0, 1, 2): [4 * 8]}


def test_terms_of_a_removed_sink_tie_nothing() -> None:
    graph = build(3, [folded(2, [0, 1])], work={2: 6.0})
    found = hypergraph(graph, removed=(2,))
    assert nets(found) == {(0, 2): [8], (1, 2): [8]}
    # the work of a hub is at its operands
    assert found.work_flops.tolist() == [3.0, 3.0, 0.0]


# --- properties -------------------------------------------------------------------------------------------


def metric(found: Hypergraph, part: list[int]) -> int:
    """Sum over nets of bytes times (parts - 1), in plain Python."""
    return sum(sum(weights) * (len({part[v] for v in pins}) - 1) for pins, weights in nets(found).items())


@st.composite
def single_versions(draw: st.DrawFn, fold: bool) -> ValueGraph:
    """Every value has one version of 8 bytes; sinks are computed from vertices before them."""
    n = draw(st.integers(3, 8))
    rows = []
    for sink in range(draw(st.integers(1, n - 1)), n):
        kind = draw(st.sampled_from([Fold.NONE, Fold.SUM])) if fold else Fold.NONE
        # other values of several operands may be made where these are, which no net says
        term = st.lists(
            st.integers(0, sink - 1), min_size=1, max_size=3 if kind or not fold else 1, unique=True
        )
        terms = draw(st.lists(term, min_size=1, max_size=3 if kind else 1))
        rows.append(Row(sink, terms, 1, kind))
    return build(n, rows)


def owners(data: st.DataObject, graph: ValueGraph, parts: int) -> list[int]:
    n = graph.num_vertices
    return data.draw(st.lists(st.integers(0, parts - 1), min_size=n, max_size=n))


def counted(graph: ValueGraph, part: list[int], parts: int) -> int:
    return count_volume(graph, np.array(part, dtype=np.int32), parts).total_bytes


@given(single_versions(fold=False), st.data())
@settings(max_examples=200, deadline=None)
def test_the_metric_is_what_owners_need(graph: ValueGraph, data: st.DataObject) -> None:
    part = owners(data, graph, 4)
    flows = zip(graph.rows.source.tolist(), sink_of_source(graph.rows).tolist(), strict=True)
    needed = {(v, part[sink]) for v, sink in flows if part[v] != part[sink]}
    assert metric(hypergraph(graph), part) == 8 * len(needed)


def has_shared_factors(graph: ValueGraph) -> bool:
    """Some term has several operands that all have other readers."""
    readers = np.bincount(graph.rows.source, minlength=graph.num_vertices).tolist()
    source, start = graph.rows.source.tolist(), graph.rows.source_ptr.tolist()
    terms = [source[i:j] for i, j in pairwise(start)]
    return any(len(term) > 1 and all(readers[v] > 1 for v in term) for term in terms)


@given(single_versions(fold=True), st.data())
@settings(max_examples=200, deadline=None)
def test_counted_volume_is_a_metric_of_some_places_of_terms(graph: ValueGraph, data: st.DataObject) -> None:
    assume(not has_shared_factors(graph))
    part = owners(data, graph, 2)
    found = hypergraph(graph)
    terms = found.num_vertices - graph.num_vertices
    if terms > 7:
        return
    reachable = {metric(found, [*part, *place]) for place in product(range(2), repeat=terms)}
    assert counted(graph, part, 2) in reachable


@given(graphs())
@settings(max_examples=200, deadline=None)
def test_nets_are_proper_and_work_is_conserved(graph: ValueGraph) -> None:
    found = hypergraph(graph)
    assert found.net_bytes.min(initial=1) > 0
    lengths = np.diff(found.net_pointer)
    assert lengths.min(initial=2) >= 2
    assert lengths.sum() == found.num_pins
    for m in range(found.num_nets):
        pins = found.pin[found.net_pointer[m] : found.net_pointer[m + 1]]
        assert (np.diff(pins) > 0).all()
        assert pins[-1] < found.num_vertices
    assert found.work_flops.sum() == pytest.approx(graph.work_flops.sum())
    assert found.work_flops.min(initial=0.0) >= 0
