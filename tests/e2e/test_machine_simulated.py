"""The measurements on simulated networks whose bandwidth, latency and overheads are known (SimGrid).

The code that measures real machines runs unchanged; only the communicator is SMPI's, see ``tests/simgrid``.
"""

from pathlib import Path

import numpy as np
import pytest

from commanalyzer.machine.measuring.job import estimate_network
from commanalyzer.machine.measuring.kernels import random_matchings, random_rings
from commanalyzer.machine.parameters import MachineParameters
from tests.simgrid.communicator import IS_KNOWN
from tests.simgrid.platforms import measure_on, star, two_leaves

pytestmark = pytest.mark.skipif(not IS_KNOWN, reason="needs SimGrid 3.32 (Debian 12: libsimgrid-dev)")
LATENCY_S = 10e-6  # two links of 5 us
BANDWIDTH = 1e9  # B/s
LARGE_BYTES = 1 << 20


def _plan(*message_bytes: int, rounds: int = 6, messages: int = 8, **more: int) -> dict[str, object]:
    counts = {"num_repetitions": rounds, "num_messages": messages}
    return {"message_bytes": list(message_bytes), **counts, "series_s": 1e9, **more}


def _measured(folder: Path, platform: str, ranks: int, sizes: list[int]) -> MachineParameters:
    series = measure_on(folder, platform, ranks, _plan(*sizes))
    machine, _ = estimate_network(series, name="simulated", date="2026-01-31")
    return machine


def _value(machine: MachineParameters, key: str, nodes: int | None = None, size: int | None = None) -> float:
    return machine.parameters[key].at(nodes=nodes, message_bytes=size).value


def test_bandwidth_latency_and_broadcast_are_recovered(tmp_path: Path) -> None:
    machine = _measured(tmp_path, star(4, "1GBps", "5us"), 4, [8, LARGE_BYTES])
    assert _value(machine, "bandwidth") == pytest.approx(BANDWIDTH, rel=0.05)
    assert _value(machine, "latency") == pytest.approx(LATENCY_S, rel=0.05)
    for nodes, steps in ((2, 1), (4, 2)):
        assert _value(machine, "bandwidth", nodes, LARGE_BYTES) == pytest.approx(BANDWIDTH, rel=0.05)
        # SMPI broadcasts along a binomial tree
        assert _value(machine, "bcast", nodes, 8) == pytest.approx(steps * LATENCY_S, rel=0.05)
    # two ranks reduce and broadcast
    assert _value(machine, "allreduce", 2, 8) == pytest.approx(2 * LATENCY_S, rel=0.05)
    # the network moves the data: all of a large transfer is hidden
    assert _value(machine, "overlap", size=LARGE_BYTES) == 0.99


def test_a_shared_backbone_is_found(tmp_path: Path) -> None:
    platform = star(3, "1GBps", "5us", backbone="1GBps")
    series = measure_on(tmp_path, platform, 3, _plan(8, LARGE_BYTES))
    machine, _ = estimate_network(series, name="simulated", date="2026-01-31")
    # one pair at a time (the third rank is idle), both directions through the backbone
    assert _value(machine, "bandwidth", 3, LARGE_BYTES) == pytest.approx(BANDWIDTH / 2, rel=0.05)
    # a ring of three sends three messages at once
    (ring,) = (s for s in series if s.benchmark == "ring" and s.message_bytes == LARGE_BYTES)
    rates = ring.num_messages * LARGE_BYTES / ring.times_s
    assert np.allclose(rates, BANDWIDTH / 3, rtol=0.05)


def test_every_round_has_the_bandwidth_of_its_pattern(tmp_path: Path) -> None:
    plan = _plan(LARGE_BYTES, rounds=12, seed=5)
    series = measure_on(tmp_path, two_leaves("1GBps", "5us"), 4, plan)
    for name, make in (("matching", random_matchings), ("ring", random_rings)):
        pattern = make(4, 12, 5)
        (found,) = (s for s in series if s.benchmark == name and s.num_ranks == 4)
        # ranks 0 and 1 share a leaf, 2 and 3 the other; what leaves a leaf shares one link
        crosses = pattern.targets // 2 != np.arange(4) // 2
        crossing = np.stack([crosses[:, :2].sum(axis=1), crosses[:, 2:].sum(axis=1)], axis=1)
        share = np.where(crosses, np.repeat(crossing, 2, axis=1), 1)
        assert {1, 2} <= set(share.ravel().tolist())
        # a rank waits for what it sends and for what it receives
        receiving = np.take_along_axis(share, pattern.sources, axis=1)
        expected = BANDWIDTH / np.maximum(share, receiving)
        rates = found.num_messages * LARGE_BYTES / found.times_s.T
        assert np.allclose(rates, expected, rtol=0.05)


def test_one_rank_of_each_host_is_measured(tmp_path: Path) -> None:
    hosts = ["a", "a", "b", "b", "c", "c"]
    series = measure_on(tmp_path, star(6, "1GBps", "5us"), 6, _plan(8, messages=2), hosts=hosts)
    assert {s.num_ranks for s in series if s.benchmark == "matching"} == {2, 3}
    assert {s.num_ranks for s in series if s.benchmark == "round_trip"} == {3}


def test_overhead_gap_and_overlap_are_recovered(tmp_path: Path) -> None:
    size = 32768
    send_s, receive_s, per_byte_s = 3e-6, 2e-6, 1e-9
    overheads = {"os": f"0:{send_s}:{per_byte_s}", "or": f"0:{receive_s}:0"}
    machine = _measured(tmp_path, star(2, "1GBps", "5us", overheads=overheads), 2, [8, size])
    assert _value(machine, "message_overhead") == pytest.approx((send_s + receive_s) / 2, rel=0.05)
    assert _value(machine, "gap") == pytest.approx(max(send_s, receive_s), rel=0.05)
    assert _value(machine, "latency") == pytest.approx(send_s + LATENCY_S + receive_s, rel=0.05)
    # An exchange: the processor sends, then the data travel and are taken in; only the travel can be hidden.
    busy_s, travel_s = send_s + size * per_byte_s, size / BANDWIDTH + LATENCY_S
    hidden = travel_s / (busy_s + travel_s + receive_s)
    assert _value(machine, "overlap", size=size) == pytest.approx(hidden, rel=0.05)
