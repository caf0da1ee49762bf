from __future__ import annotations

import itertools

import numpy as np
import pytest

from commanalyzer.quantities import Bytes, BytesPerSecond, Dimensionless, Seconds
from commanalyzer.roofline import loggp
from commanalyzer.roofline.equations import efficiency


def test_terms() -> None:
    # 10 rounds of 4 messages, 2 us latency, 0.1 us gap, 80 kB at 8 GB/s, 80 messages handled in 0.25 us each
    assert loggp.latency_time(10.0, Seconds(2e-6)) == pytest.approx(20e-6)
    assert loggp.gap_time(40.0, 10.0, Seconds(1e-7)) == pytest.approx(3e-6)
    assert loggp.transfer_time(80e3, BytesPerSecond(8e9)) == pytest.approx(10e-6)
    assert loggp.processor_time(80.0, Seconds(2.5e-7)) == pytest.approx(20e-6)


@pytest.mark.parametrize(("partners", "rounds"), [(0, 0), (1, 1), (2, 2), (3, 2), (4, 3), (15, 4), (63, 6)])
def test_binomial_tree(partners: int, rounds: int) -> None:
    assert loggp.collective_rounds(partners) == rounds


def test_exposed_time() -> None:
    # 10 us on the network of which 60 % hide; 3 us of the processor are in the shadow of it, 7 us are not.
    assert loggp.exposed_time(Seconds(10e-6), Seconds(3e-6), Dimensionless(0.6)) == pytest.approx(4e-6)
    assert loggp.exposed_time(Seconds(10e-6), Seconds(7e-6), Dimensionless(0.6)) == pytest.approx(7e-6)


def test_overhead_of_all_nodes() -> None:
    # T_p = 100 us / 4 + 15 us = 40 us, so E = 100 / (4 * 40)
    overhead_s = loggp.node_overhead(Seconds(15e-6), 4)
    assert efficiency(overhead_s, Seconds(100e-6)) == pytest.approx(0.625)


def _least_cut(matrix: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> int:
    p = len(matrix)
    both = matrix + matrix.T
    return min(
        int(both[np.ix_(half, [i for i in range(p) if i not in half])].sum())
        for half in itertools.combinations(range(p), p // 2)
    )


@pytest.mark.parametrize("p", [2, 3, 4, 7, 8])
def test_crossing_is_exact_when_all_exchange_the_same(p: int) -> None:
    matrix = np.full((p, p), 5, dtype=np.int64) - 5 * np.eye(p, dtype=np.int64)
    assert loggp.least_crossing_bytes(matrix) == pytest.approx(_least_cut(matrix))


@pytest.mark.parametrize("seed", range(5))
def test_crossing_is_never_more_than_the_least_cut(seed: int) -> None:
    random = np.random.default_rng(seed)
    matrix = random.integers(0, 100, (7, 7)) * random.integers(0, 2, (7, 7))
    np.fill_diagonal(matrix, 0)
    assert -1e-9 <= loggp.least_crossing_bytes(matrix) <= _least_cut(matrix) + 1e-9


def test_crossing_of_a_ring_and_of_two_islands() -> None:
    ring = np.roll(np.eye(8, dtype=np.int64), 1, axis=1)
    # Laplacian of the cycle: 2 - 2 cos(2 pi / 8); the true least cut is 2
    assert loggp.least_crossing_bytes(ring) == pytest.approx((2 - np.sqrt(2)) * 8 / 4)
    islands = np.kron(np.eye(2, dtype=np.int64), np.array([[0, 9], [9, 0]]))
    assert loggp.least_crossing_bytes(islands) == pytest.approx(0.0, abs=1e-9)


def test_uniform_traffic_across_the_middle_takes_as_long_as_equation_2_says() -> None:
    p, each = 6, 1000
    matrix = np.full((p, p), each, dtype=np.int64) - each * np.eye(p, dtype=np.int64)
    crossing_s = loggp.crossing_time(loggp.least_crossing_bytes(matrix), p, BytesPerSecond(1e6))
    assert crossing_s == pytest.approx(matrix.sum() / (p * 1e6))
    assert loggp.crossing_time(Bytes(0.0), p, BytesPerSecond(1e6)) == 0.0
