"""Stored registers and nested reductions: by hand, and undone exactly on random graphs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commanalyzer.communication.totals import totals_of
from commanalyzer.communication.volume import charge_volume
from commanalyzer.foundation.flows import Fold
from commanalyzer.graph.contraction.simplify import (
    flatten_reductions,
    merge_replicated,
    merge_stored_registers,
    simplified,
)
from commanalyzer.graph.invariants import check_graph
from commanalyzer.graph.value_graph import Int32, ValueGraph
from tests.graphs import Row, build, copied, folded, row
from tests.reference.counting import entries_of, rows_of
from tests.strategies import graphs

RowKey = tuple[int, int, int, bool, tuple[tuple[tuple[int, int], ...], ...]]


def described(graph: ValueGraph) -> list[RowKey]:
    """Sink, count, fold, accumulates and terms of every row, in one order."""
    result, entries = [], entries_of(graph)
    for r, (sink, count, _, accumulates, terms) in enumerate(rows_of(graph)):
        flows = iter(entries[r])
        found = sorted(tuple(sorted(islice(flows, len(term)))) for term in terms)
        result.append((sink, count, int(graph.rows.row_fold[r]), accumulates, tuple(found)))
    return sorted(result)


def check(found: ValueGraph) -> None:
    """The laws of graphs; vertices that lost their rows are not asked for their versions."""
    made = np.bincount(found.rows.row_sink, found.rows.row_count, found.num_vertices).astype(np.int64)
    has_rows = np.isin(np.arange(found.num_vertices), found.rows.row_sink)
    check_graph(replace(found, versions=np.where(has_rows, found.versions, made + found.is_input)))


def same(found: ValueGraph, num_vertices: int, rows: Sequence[Row]) -> None:
    """``found`` has exactly these rows."""
    check(found)
    assert described(found) == described(build(num_vertices, rows))


# --- values that are stored unchanged ---------------------------------------------------------------------


def test_a_recurrence_through_a_stored_register_becomes_a_chain_of_homes() -> None:
    # u[k] = u[k] + c * u[k + 1], where u[k + 1] is still in a register: homes 0-3, registers 4-6
    rows = [row(4, 0, 3)]
    rows += [row(4 + k, k, 3 + k) for k in (1, 2)]
    rows += [copied(k, 4 + k) for k in (0, 1, 2)]
    expected = [Row(k, [[(k - 1) % 4]], accumulates=True) for k in (0, 1, 2)]
    same(merge_stored_registers(build(7, rows, registers=[4, 5, 6])), 7, expected)


REFUSED = {
    "stored in two places": ([row(2, 0, count=3), copied(3, 2, 3), copied(4, 2, 3)], {}),
    "not stored every time": ([row(2, 0, count=3), copied(3, 2, 2)], {}),
    "made in two places": ([row(2, 0), row(2, 1), copied(3, 2, 2)], {}),
    "another width": ([row(2, 0), copied(3, 2)], {3: 4}),
    "changed on the way": ([row(2, 0), row(3, 2)], {}),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_certain_stays(case: str) -> None:
    rows, widths = REFUSED[case]
    graph = build(5, rows, registers=[2], widths=widths)
    assert merge_stored_registers(graph) is graph


def test_values_of_memory_and_registers_as_targets_stay() -> None:
    rows = [row(1, 0), copied(2, 1)]
    for registers in ([], [1, 2]):
        graph = build(3, rows, registers=registers)
        assert merge_stored_registers(graph) is graph


# --- nested reductions ------------------------------------------------------------------------------------


def test_a_sink_that_a_register_took_in_goes_on_from_its_own_value() -> None:
    # r2 = min(0, 1); 0 = min(r2, 3)
    rows = [Row(2, [[0], [1]], 4, Fold.MIN), Row(0, [[2], [3]], 4, Fold.MIN)]
    found = flatten_reductions(build(4, rows, registers=[2], work={2: 4.0, 0: 4.0}))
    same(found, 4, [Row(0, [[1], [3]], 4, Fold.MIN, accumulates=True)])
    assert found.work_flops.tolist() == [8.0, 0, 0, 0]


def test_reductions_are_opened_from_the_outside_to_a_depth_of_eight() -> None:
    # vertex v sums v - 1 and 0; vertices 2 to 10 are registers, 11 is memory
    rows = [folded(2, [0], [1])] + [folded(v, [v - 1], [0]) for v in range(3, 12)]
    found = flatten_reductions(build(12, rows, registers=range(2, 11)))
    assert found.work_flops.sum() == 0
    lengths = sorted(len(terms) for *_, terms in described(found))
    # nine registers, of which eight were opened
    assert lengths == [2, 10]


STAYS = {
    "another operation": [Row(1, [[0]], 1, Fold.MAX), folded(2, [1], [3])],
    "a factor of a term": [folded(1, [0], [3]), folded(2, [1, 3])],
    "two readers": [folded(1, [0], [3]), folded(2, [1]), folded(4, [1])],
    "two definitions": [folded(1, [0]), folded(1, [3]), folded(2, [1], count=2)],
    "read more often": [folded(1, [0], [3]), folded(2, [1], count=2)],
    "a sum that goes on": [folded(1, [0], [3], accumulates=True), folded(2, [1])],
    "no operation": [folded(1, [0], [3]), row(2, 1)],
}


@pytest.mark.parametrize("case", STAYS)
def test_other_registers_are_no_part_of_the_outer_reduction(case: str) -> None:
    graph = build(5, STAYS[case], registers=[1])
    assert flatten_reductions(graph) is graph


# --- properties -------------------------------------------------------------------------------------------


def ancestors(graph: ValueGraph) -> dict[int, set[int]]:
    """Memory values that each written memory value depends on, through registers."""
    direct: dict[int, set[int]] = {}
    for sink, _, _, accumulates, terms in rows_of(graph):
        direct.setdefault(sink, set()).update(v for term in terms for v in term)
        if accumulates:
            direct[sink].add(sink)
    register = graph.is_register

    def reached(start: int) -> set[int]:
        found: set[int] = set()
        stack, seen = [start], {start}
        while stack:
            for source in direct.get(stack.pop(), set()) - seen:
                seen.add(source)
                if register[source]:
                    stack.append(source)
                else:
                    found.add(source)
        return found

    return {v: reached(v) - {v} for v in direct if not register[v]}


@given(graphs(registers=True))
@settings(max_examples=200, deadline=None)
def test_work_and_reachable_sources_are_conserved(graph: ValueGraph) -> None:
    found = flatten_reductions(graph)
    check(found)
    assert found.num_vertices == graph.num_vertices
    assert found.work_flops.sum() == graph.work_flops.sum()
    assert ancestors(found) == ancestors(graph)


@dataclass(frozen=True, slots=True)
class Decorated:
    """A graph without registers, and the same program with some of its values in registers.

    Attributes:
        plain: Vertices 0..n-1.
        graph: The same vertices and registers behind them.
        home: int32[V], vertex of ``plain`` that each vertex belongs to.
    """

    plain: ValueGraph
    graph: ValueGraph
    home: Int32


@st.composite
def decorated(draw: st.DrawFn) -> Decorated:
    """Values computed in registers and stored; sums of some terms of a row made in a register before.

    Everything happens once per step, the inputs are new in every step.
    """
    n, steps = draw(st.integers(3, 7)), draw(st.integers(1, 3))
    first = draw(st.integers(1, n - 1))
    rows = [_base_row(draw, sink, steps) for sink in range(first, n)]
    stored = [draw(st.booleans()) for _ in rows]
    home = list(range(n))
    register_of = {}
    for r, through in zip(rows, stored, strict=True):
        if through:
            register_of[r.sink] = len(home)
            home.append(r.sink)
    made: list[Row] = []
    for r in rows:
        terms = [[_read(draw, v, r.sink, register_of) for v in _vertices(t)] for t in r.terms]
        sink = register_of.get(r.sink, r.sink)
        if r.fold != Fold.NONE and len(terms) > 1 and draw(st.booleans()):
            cut = draw(st.integers(1, len(terms) - 1))
            made.append(Row(len(home), terms[:cut], r.count, r.fold))
            terms = [[len(home)], *terms[cut:]]
            home.append(r.sink)
        made.append(Row(sink, terms, r.count, r.fold))
        if sink != r.sink:
            made.append(copied(r.sink, sink, r.count))
    versions = dict.fromkeys(range(first), steps)
    graph = build(len(home), made, registers=range(n, len(home)), versions=versions)
    return Decorated(build(n, rows, versions=versions), graph, np.array(home, dtype=np.int32))


def _base_row(draw: st.DrawFn, sink: int, steps: int) -> Row:
    """The only row of a sink, computed from vertices before it."""
    term = st.lists(st.integers(0, sink - 1), min_size=1, max_size=2, unique=True)
    fold = draw(st.sampled_from([Fold.NONE, Fold.SUM, Fold.SUM]))
    terms = draw(st.lists(term, min_size=1, max_size=1 if fold == Fold.NONE else 4))
    return Row(sink, terms, steps, fold)


def _vertices(term: Sequence[object]) -> list[int]:
    return [v for v in term if isinstance(v, int)]


def _read(draw: st.DrawFn, value: int, sink: int, register_of: dict[int, int]) -> int:
    """The value in memory or still in its register."""
    return register_of[value] if value in register_of and draw(st.booleans()) else value


@given(decorated())
@settings(max_examples=300, deadline=None)
def test_registers_that_hold_what_is_stored_vanish(case: Decorated) -> None:
    found = simplified(case.graph)
    check(found)
    assert described(found) == described(case.plain)


@given(decorated(), st.data())
@settings(max_examples=300, deadline=None)
def test_bytes_never_rise_where_registers_go_with_their_home(case: Decorated, data: st.DataObject) -> None:
    n = case.plain.num_vertices
    owner = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)), dtype=np.int32)
    part = owner[case.home]
    graph = simplified(case.graph)
    assert _owner_computes_bytes(graph, part) <= _owner_computes_bytes(case.graph, part)


def _owner_computes_bytes(graph: ValueGraph, part: Int32) -> int:
    """Bytes where no operand is rarer than another, so that the sink's owner computes terms of several parts.

    Which operand is the rarest may change where a register vanishes: its terms read the home instead.
    """
    totals = totals_of(graph)
    alike = replace(totals, readers=np.ones_like(totals.readers))
    return charge_volume(graph, part, 3, totals=alike).communication(graph, part).total_bytes


# --- values that everyone can make -------------------------------------------------------------------------


def test_values_made_again_and_again_of_what_never_changes_are_made_by_their_readers() -> None:
    """2 in turns, with 3 round a loop; 4 once; 5 of constants; 8 of what changes; 10 by work, one by one."""
    rows = [
        *(row(2, 0, count=9), row(2, 3, count=9), row(3, 1, 2, count=9), row(4, 0), row(5, count=6)),
        *(row(6, 2, 7, count=9), row(7, 4, 5, 6, count=9), row(8, 6, count=9), row(9, 3, 8, 10, count=9)),
        row(10, 0, count=9, accumulates=True),
    ]
    found = merge_replicated(build(11, rows, registers=[2, 3, 4, 5, 8, 10], work={5: 18.0, 8: 1.0, 10: 9.0}))
    left = [row(4, 0), row(6, 0, 1, 7, count=9), row(7, 4, 6, count=9), row(8, 6, count=9), rows[-1]]
    assert described(found) == described(build(11, [*left, row(9, 0, 1, 8, 10, count=9)]))
    assert found.work_flops.tolist() == [0, 0, 0, 0, 0, 0, 0, 18.0, 1.0, 0, 9.0]


def test_values_of_a_long_chain_are_made_of_its_first_ones_unless_these_are_many() -> None:
    for count, read in ((2, (0, 1)), (6, (3005,))):
        rows = [row(6, *range(count), count=9), *(row(v, v - 1, count=9) for v in range(7, 3007))]
        found = described(merge_replicated(build(3007, rows, registers=range(6, 3006))))
        assert found[-1] == described(build(3007, [row(3006, *read, count=9)]))[0]
