"""Algorithm 4: pruning and singleton collectives."""

import numpy as np
import pytest
from hypothesis import given, settings

from commanalyzer.communication.hpdc18 import charge_hpdc18, singleton_rounds
from commanalyzer.communication.invariants import check_charges, check_matrix
from commanalyzer.communication.totals import totals_of
from commanalyzer.graph.structure.singletons import SingletonKind, find_singletons
from tests.counts import count_hpdc18, parts
from tests.graphs import build, grid, grid_parts, row
from tests.reference.counting import hpdc18_transfers, matrix_of
from tests.strategies import Case, cases


@given(cases())
@settings(max_examples=200, deadline=None)
def test_equals_the_plain_counter(case: Case) -> None:
    found = find_singletons(case.graph, high=0.6)
    part = parts(*case.part)
    charges = charge_hpdc18(case.graph, part, case.num_parts, found, totals_of(case.graph))
    expected = hpdc18_transfers(case.graph, case.part, (found > 0).tolist())
    volume, _ = matrix_of(case.graph, case.part, case.num_parts, expected, {})
    assert charges.communication(case.graph, part).comm_bytes.tolist() == volume
    result = count_hpdc18(case.graph, part, case.num_parts, found)
    low, _ = singleton_rounds(case.graph, found, totals_of(case.graph))
    words = 0
    for v in range(case.graph.num_vertices):
        factor = {0: 0, 1: 1, 2: 1, 3: 2}[int(found[v])]
        words += factor * (case.num_parts - 1) * int(low[v]) * int(case.graph.width_bytes[v])
    assert result.singleton_bytes == words
    check_charges(case.graph, part, charges, (found > 0))
    check_matrix(charges, result)


@pytest.mark.parametrize("q", [1, 2, 4])
def test_grid_in_blocks(q: int) -> None:
    g, part = grid(16, count=3), grid_parts(16, q, 2)
    assert count_hpdc18(g, part, q * q, find_singletons(g)).total_bytes == 4 * 16 * (q - 1) * 24


def test_kinds_cost_one_one_and_two_words_per_other_part_and_round() -> None:
    n, p, steps = 40, 4, 5
    a, total, rr = n, n + 1, n + 2
    rows = [row(i, (i + 1) % n, (i - 1) % n, a, rr, accumulates=True, count=steps) for i in range(n)]
    rows += [row(total, *range(n), count=steps), row(rr, *range(n), count=steps)]
    g = build(n + 3, rows)
    found = find_singletons(g, high=0.85)
    assert np.count_nonzero(found == SingletonKind.NONE) == n
    part = parts(*(i * p // n for i in range(n)), 0, 1, 2)
    result = count_hpdc18(g, part, p, found)
    # The parameter is an input (one version); sum and reduction happen in every step.
    assert result.singleton_bytes == 8 * (p - 1) * (1 + steps + 2 * steps)
    ring = 2 * p * 8 * min(steps, int(g.versions[0]))
    assert result.total_bytes == result.singleton_bytes + ring
    # Row 0 sends the parameter to all; column 1 receives the sum from all.
    assert result.comm_bytes[0, 2] == 8 * (1 + steps)
    assert result.comm_bytes[3, 1] == 8 * steps
