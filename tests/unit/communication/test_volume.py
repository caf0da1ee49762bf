"""Volume counter: textbook volumes by hand, and the plain-Python counter on random graphs."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from commanalyzer.communication.invariants import check_charges, check_matrix
from commanalyzer.communication.messages.transfers import Transfers
from commanalyzer.communication.volume import charge_volume
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.foundation.flows import SourceRole
from commanalyzer.graph.value_graph import Int32
from tests.counts import count_volume, parts
from tests.graphs import build, chain, folded, grid, grid_parts, row
from tests.reference.counting import matrix_of, volume_transfers
from tests.strategies import Case, cases


def as_dict(items: Transfers, other: Int32) -> dict[tuple[int, int], tuple[int, int, int]]:
    columns = items.value, other, items.low, items.count, items.high
    return {(v, q): (lo, n, hi) for v, q, lo, n, hi in zip(*(c.tolist() for c in columns), strict=True)}


@given(cases())
@settings(max_examples=300, deadline=None)
def test_equals_the_plain_counter(case: Case) -> None:
    # without work: what would make it uneven decides as well, which the plain counter leaves out
    case = replace(case, graph=replace(case.graph, work_flops=np.zeros(case.graph.num_vertices)))
    part = parts(*case.part)
    charges = charge_volume(case.graph, part, case.num_parts, np.array(case.hubs))
    expand, fold = volume_transfers(case.graph, case.part, case.hubs)
    assert as_dict(charges.expand, charges.expand.receiver) == expand
    assert as_dict(charges.fold, charges.fold.sender) == fold
    communication = charges.communication(case.graph, part)
    volume, messages = matrix_of(case.graph, case.part, case.num_parts, expand, fold)
    assert communication.comm_bytes.tolist() == volume
    assert communication.messages.tolist() == messages
    check_charges(case.graph, part, charges)
    check_matrix(charges, communication)


@pytest.mark.parametrize("p", [1, 2, 4])
def test_chain_moves_two_words_per_boundary_and_step(p: int) -> None:
    n, steps = 16, 10
    part = np.tile(np.arange(n) * p // n, 2).astype(np.int32)
    result = count_volume(chain(n, count=steps), part, p)
    assert result.total_bytes == 2 * (p - 1) * 8 * steps
    assert result.low_bytes == result.high_bytes
    assert result.total_messages == 2 * (p - 1) * steps


@pytest.mark.parametrize("fold", [False, True])
@pytest.mark.parametrize("q", [2, 4])
def test_five_point_grid_in_blocks(q: int, fold: bool) -> None:
    n = 16
    result = count_volume(grid(n, count=3, fold=fold), grid_parts(n, q, 2), q * q)
    assert result.total_bytes == 4 * n * (q - 1) * 8 * 3


def test_staircase_boundary_sends_no_value_twice() -> None:
    # Old cells 0..3 on part 0, new cells 4..6 on part 1; cell 5 reads two values that go there anyway.
    rows = [folded(4, [0], count=2), folded(5, [0], [1], count=2), folded(6, [1], count=2)]
    g = build(7, rows, versions={0: 2, 1: 2})
    result = count_volume(g, parts(0, 0, 0, 0, 1, 1, 1), 2)
    assert result.total_bytes == 2 * 2 * 8


@pytest.mark.parametrize("q1, q2", [(4, 1), (1, 4), (2, 2), (2, 3), (3, 2)])
def test_dense_matvec_by_blocks_sends_x_along_columns_and_folds_y_along_rows(q1: int, q2: int) -> None:
    # y_i += a_ij x_j, a in q1 x q2 blocks; x on the first row of the grid, y on its first column.
    n, m = 6 * q1, 6 * q2
    x, y, a = 0, m, m + n
    rows = [folded(y + i, *([a + i * m + j, x + j] for j in range(m)), accumulates=True) for i in range(n)]
    of_x = [j * q2 // m for j in range(m)]
    of_y = [i * q1 // n * q2 for i in range(n)]
    part = parts(*of_x, *of_y, *(of_y[i] + of_x[j] for i in range(n) for j in range(m)))
    result = count_volume(build(m + n + n * m, rows), part, q1 * q2)
    assert result.total_bytes == 8 * (m * (q1 - 1) + n * (q2 - 1))
    assert result.low_bytes == result.high_bytes


def test_histogram_folds_once_per_bin_and_part() -> None:
    # 12 items in 3 bins, items on 4 parts, bins on part 0; every part holds one item of each bin.
    items, bins = 12, 3
    rows = [row(items + b) for b in range(bins)]
    rows += [folded(items + i % bins, [(i, SourceRole.ADDRESS)], accumulates=True) for i in range(items)]
    part = parts(*(i // 3 for i in range(items)), 0, 0, 0)
    result = count_volume(build(items + bins, rows), part, 4)
    assert result.comm_bytes.tolist() == [[0] * 4] + [[3 * 8, 0, 0, 0]] * 3
    assert result.messages.tolist() == [[0] * 4] + [[1, 0, 0, 0]] * 3


def test_a_sum_is_sent_as_often_as_it_is_read_between_contributions() -> None:
    # In each of n stages of a transform in place, another x_i of part 1 is added to s, which y_i then reads.
    n = 5
    rows = [r for i in range(1, n + 1) for r in (folded(0, [i], accumulates=True), row(n + i, 0))]
    result = count_volume(build(2 * n + 1, rows), parts(0, *[1] * n, *[0] * n), 2)
    assert result.low_bytes <= n * 8 == result.high_bytes


def test_register_scalar_is_folded_from_its_terms_and_expanded_to_its_readers() -> None:
    # alpha = sum r_i q_i in a register; x_i += alpha p_i: p-1 words in, p-1 words out, every step.
    n, p, steps = 12, 4, 6
    r, q, d, x, alpha = 0, n, 2 * n, 3 * n, 4 * n
    rows = [row(v, count=steps) for v in range(3 * n)]
    rows.append(folded(alpha, *([r + i, q + i] for i in range(n)), count=steps))
    rows += [folded(x + i, [alpha, d + i], accumulates=True, count=steps) for i in range(n)]
    g = build(4 * n + 1, rows, registers=[alpha])
    part = parts(*(i * p // n for _ in range(4) for i in range(n)), 2)
    hubs = np.arange(4 * n + 1) == alpha
    result = count_volume(g, part, p, hubs)
    assert result.comm_bytes.sum(axis=1).tolist() == [8 * steps, 8 * steps, 3 * 8 * steps, 8 * steps]
    assert result.low_bytes == result.high_bytes == 2 * (p - 1) * 8 * steps


def test_rows_that_are_read_by_all_are_sent_once_in_each_round() -> None:
    # Shortest paths of n places, rows in p blocks: in round k, all others need row k as it is then.
    n, p = 12, 3
    rows = [row(n * i + j, n * i + k, n * k + j, accumulates=True) for k, i, j in np.ndindex(n, n, n)]
    result = count_volume(build(n * n, rows), parts(*np.repeat(range(p), n * n // p)), p)
    assert result.total_bytes == result.low_bytes == (p - 1) * n * n * 8 < result.high_bytes


def test_stages_of_a_step_send_what_each_of_them_makes() -> None:
    # In each of 5 steps, a value is read, made, read, and made again.
    g = build(3, 2 * [row(1, 0, count=5), row(0, 2, count=5)], inputs=[0, 2])
    result = count_volume(g, parts(0, 1, 0), 2)
    assert result.low_bytes < result.total_bytes == result.high_bytes == 2 * 5 * 8  # each may see all


def test_hub_operand_goes_to_where_the_term_is_computed() -> None:
    # t(part 0) = sum of c*a_i with a_i on part 1 and the parameter c on part 2.
    g = build(6, [folded(5, *([4, i] for i in range(4)))])
    hubs = np.arange(6) == 4
    result = count_volume(g, parts(1, 1, 1, 1, 2, 0), 3, hubs)
    assert result.comm_bytes.tolist() == [[0, 0, 0], [8, 0, 0], [0, 8, 0]]


def test_wrong_owners_are_refused() -> None:
    g = build(2, [row(1, 0)])
    with pytest.raises(ConfigError, match=r"owners must lie in \[0, 2\)"):
        count_volume(g, parts(0, 2), 2)
    with pytest.raises(ConfigError, match="each of 2 values, found 1"):
        count_volume(g, parts(0), 2)
    with pytest.raises(ConfigError, match="at least 1"):
        count_volume(g, parts(0, 0), 0)
