from dataclasses import asdict, replace

import numpy as np
import pytest

from commanalyzer.communication.matrix import Collective, Communication
from commanalyzer.foundation.errors import MachineModelError
from commanalyzer.machine.parameters import Curve, Parameter
from commanalyzer.machine.roofline.bound import scaling_bound
from tests.samples import sample_communication, sample_machine

# R = 1 GFlop/s, B_c = 1 GB/s, L = 1 us
MACHINE = sample_machine(bandwidth=1e9, throughput=1e9, latency=1e-6)


def _ring(nodes: int, pair_bytes: int, rounds: int) -> Communication:
    """Every part exchanges ``pair_bytes`` in ``rounds`` messages with both neighbours of a ring (p > 2)."""
    step = np.roll(np.eye(nodes, dtype=np.int64), 1, axis=1)
    linked = step + step.T
    return sample_communication(linked * pair_bytes, linked * rounds)


def test_ring_by_hand() -> None:
    # T_1 = 1 ms. Each of 4 nodes: 250 us of work, 20 rounds of 1 us, 2 x 40 kB sent at 1 GB/s = 80 us.
    found = scaling_bound(1_000_000, [("ring", _ring(4, 40_000, 20))], MACHINE)
    one, four = found.points
    assert (one.num_nodes, one.efficiency, one.paper_efficiency, one.time_s) == (1, 1.0, 1.0, 1e-3)
    expected = {"computation_s": 250e-6, "latency_s": 20e-6, "transfer_s": 80e-6, "exposed_s": 100e-6}
    expected |= dict.fromkeys(("gap_s", "crossing_s", "collective_s", "processor_s", "waiting_s"), 0.0)
    assert asdict(four.times) == pytest.approx(expected)
    assert four.time_s == pytest.approx(350e-6)
    assert four.speedup == pytest.approx(1000 / 350)
    # Eq. 4: C = 320 kB, T_o = 320 us
    assert four.paper_efficiency == pytest.approx(1 / 1.32)
    assert four.paper_time_s == pytest.approx(330e-6)
    assert (four.times.binds, four.times.limit) == ("computation", "bandwidth")


@pytest.mark.parametrize(("imbalance", "time_s"), [(1.2, 35e-5), (1.6, 4e-4), (3, 75e-5), (np.nan, 35e-5)])
def test_the_node_with_the_most_work_ends_the_run(imbalance: float, time_s: float) -> None:
    """The ring above: 250 us of work in the mean and 100 us of communication; 1.6 times 250 us is longer."""
    ring = ("ring", _ring(4, 40_000, 20))
    (_, four) = scaling_bound(1_000_000, [ring], MACHINE, imbalances=[imbalance]).points
    assert (four.time_s, four.speedup) == pytest.approx((time_s, 1e-3 / time_s))
    assert four.times.binds == ("imbalance" if imbalance == 3 else "computation")
    assert four.paper_efficiency == pytest.approx(1 / 1.32)


def test_overlap_gap_and_overhead_by_hand() -> None:
    machine = MACHINE.updated(
        overlap=Parameter(0.5, "1"), message_overhead=Parameter(5e-7, "s"), gap=Parameter(1e-7, "s")
    )
    (_, four) = scaling_bound(1_000_000, [("ring", _ring(4, 40_000, 20))], machine).points
    # 40 messages each way in 20 rounds: 20 gaps; (20 + 2 + 80) / 2 us exposed, 80 messages handled in 40 us
    assert four.times.gap_s == pytest.approx(2e-6)
    assert four.times.processor_s == pytest.approx(40e-6)
    assert four.times.exposed_s == pytest.approx(51e-6)
    slow = machine.updated(message_overhead=Parameter(1e-6, "s"))
    (_, four) = scaling_bound(1_000_000, [("ring", _ring(4, 40_000, 20))], slow).points
    assert four.times.exposed_s == pytest.approx(80e-6)


def test_reductions_take_trees_or_the_measured_time() -> None:
    star = np.zeros((8, 8), dtype=np.int64)
    star[1:, 0] = star[0, 1:] = 80
    none = np.zeros_like(star)
    sums = Collective("reduce", "s", 0, 7, 10, 560), Collective("bcast", "s", 0, 7, 10, 560)
    all_sent = sample_communication(star, star // 8)
    item = replace(all_sent, collectives=sums, peer_bytes=none, peer_messages=none)
    (_, eight) = scaling_bound(80_000, [("any", item)], MACHINE).points
    # 10 rounds of log2(8) latencies beside 1120 / 8 bytes: 30 us + 0.14 us, and 80 us / 8 of work
    assert eight.time_s == pytest.approx(40.14e-6)
    assert (eight.times.limit, eight.times.binds) == ("collectives", "collectives")
    measured = MACHINE.updated(allreduce=Parameter(1.0, "s", curve=Curve((8.0,), (8.0,), (5e-6,))))
    (_, eight) = scaling_bound(80_000, [("any", item)], measured).points
    assert eight.time_s == pytest.approx(60e-6)
    assert eight.times.binds == "collectives"


def test_random_partners_get_less_than_a_link_carries() -> None:
    # Links carry 1 GB/s (two nodes alone) but eight nodes with random partners only 0.1 GB/s each.
    machine = MACHINE.updated(bandwidth=Parameter(1e8, "B/s", curve=Curve((2.0, 8.0), (), (1e9, 1e8))))
    # 2 kB per node. The best placement may put partners side by side: 1 + 2 us beside 10 us of work.
    (_, eight) = scaling_bound(80_000, [("ring", _ring(8, 1000, 1))], machine).points
    assert eight.times.exposed_s == pytest.approx(3e-6)
    assert (eight.times.limit, eight.times.crossing_s) == ("bandwidth", 0.0)
    assert eight.paper_efficiency == pytest.approx(10 / 12)
    assert eight.expected_efficiency == pytest.approx(10 / 30)
    # At random places they get 0.1 GB/s, as Eq. 2 says.
    found = scaling_bound(80_000, [("ring", _ring(8, 1000, 1))], machine, "random")
    (_, eight) = found.points
    assert found.placement == "random"
    assert eight.times.exposed_s == pytest.approx(21e-6)
    assert eight.times.binds == "bisection bandwidth"
    assert eight.paper_efficiency == eight.expected_efficiency == pytest.approx(10 / 30)


def test_phases_by_hand() -> None:
    # Each step, 0 sends 1 kB to 1 and then, because of it, 1 sends 3 kB back; 10 steps.
    phases = np.zeros((2, 2, 2), dtype=np.int64)
    phases[0, 0, 1], phases[1, 1, 0] = 10_000, 30_000
    both = phases.sum(axis=0)
    item = sample_communication(both, np.sign(both) * 10)
    (_, two) = scaling_bound(200_000, [("any", item)], MACHINE).points
    # without phases both travel at once: 10 us of latency, 30 us
    assert (two.times.latency_s, two.times.transfer_s) == pytest.approx((10e-6, 30e-6))
    serial = replace(item, phase_bytes=phases, phase_messages=np.sign(phases) * 10)
    (_, two) = scaling_bound(200_000, [("any", serial)], MACHINE).points
    assert (two.times.latency_s, two.times.transfer_s) == pytest.approx((20e-6, 40e-6))
    assert two.efficiency == pytest.approx(100 / 160)
    assert two.paper_efficiency == pytest.approx(100 / 120)  # of the mean node


def test_each_bound_is_the_highest_of_all_decompositions() -> None:
    few = _ring(4, 40_000, 1)  # more bytes, fewer messages
    many = _ring(4, 10_000, 500)
    (_, four) = scaling_bound(1_000_000, [("few", few), ("many", many)], MACHINE).points
    assert (four.paper_method, four.method) == ("many", "few")
    assert four.times.exposed_s == pytest.approx(81e-6)
    assert four.comm_bytes == 320_000


def test_better_machines() -> None:
    found = scaling_bound(1_000_000, [("ring", _ring(4, 40_000, 20))], MACHINE)
    changes = {change.name: change for change in found.changes}
    assert all(change.num_nodes == 4 for change in found.changes)
    # 350 us now: 250 + 20 + 40, 250 + 10 + 80, 125 + 20 + 80
    assert changes["2x bandwidth"].time_ratio == pytest.approx(310 / 350)
    assert changes["half the latency"].time_ratio == pytest.approx(340 / 350)
    assert changes["2x faster nodes"].time_ratio == pytest.approx(225 / 350)
    assert changes["2x faster nodes"].efficiency == pytest.approx(125 / 225)


def test_no_work_no_bound() -> None:
    with pytest.raises(MachineModelError, match="operations on values, found none"):
        scaling_bound(0, [("ring", _ring(4, 1, 1))], MACHINE)
