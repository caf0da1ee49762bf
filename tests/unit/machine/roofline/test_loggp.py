from __future__ import annotations

import numpy as np
import pytest

from commanalyzer.foundation.quantities import Bytes, BytesPerSecond, Dimensionless, Seconds
from commanalyzer.machine.roofline import loggp
from commanalyzer.machine.roofline.equations import efficiency


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


def test_phases_share_no_link_time() -> None:
    # Node 0: receives 10 and sends 2, then sends 20 and receives 4; node 1: the same both times.
    sent, received = np.array([[2, 5], [20, 5]]), np.array([[10, 5], [4, 5]])
    assert loggp.phased_amount(sent, received).tolist() == [30, 10]


def test_traffic_at_random_places_takes_as_long_as_equation_2_says() -> None:
    # C = 30 kB among 6 nodes at 1 MB/s each: 5 ms. Of the mean placement 3 / 5 of the traffic crosses.
    crossing = loggp.mean_crossing_bytes(Bytes(30_000), 6)
    assert crossing == pytest.approx(18_000)
    assert loggp.crossing_time(crossing, 6, BytesPerSecond(1e6)) == pytest.approx(5e-3)
    assert loggp.crossing_time(Bytes(0.0), 6, BytesPerSecond(1e6)) == 0.0
