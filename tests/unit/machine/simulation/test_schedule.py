"""Messages in rounds, and their traces, by hand."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from commanalyzer.communication.matrix import Collective
from commanalyzer.foundation.errors import ConfigError, TargetRunError
from commanalyzer.machine.simulation.platforms import TOPOLOGIES, LinkParameters, make_platform
from commanalyzer.machine.simulation.run import (
    SimulationOptions,
    matching_bandwidth,
    measured_machine,
    pair_bandwidth,
    replayed_time,
)
from commanalyzer.machine.simulation.schedule import (
    Operation,
    collective_operations,
    find_smpirun,
    make_schedule,
    replay,
    schedule_traces,
)
from tests.samples import sample_communication
from tests.simgrid.platforms import needs_simgrid


def test_messages_are_spread_over_the_rounds_of_the_busiest_pair() -> None:
    found = make_schedule(sample_communication([[0, 10], [7, 0]], [[0, 4], [2, 0]]))
    assert (found.num_rounds, found.all_rounds, found.scale) == (4, 4, 1.0)
    assert found.round.tolist() == [0, 1, 2, 3, 0, 2]
    assert found.sender.tolist() == [0, 0, 0, 0, 1, 1]
    assert found.size_bytes.tolist() == [2, 3, 2, 3, 3, 4]


def test_nothing_sent_is_one_round_of_work() -> None:
    found = make_schedule(sample_communication([[0, 0], [0, 0]], [[0, 0], [0, 0]]))
    assert schedule_traces(found, [4.0, 2.0]) == [
        "0 init\n0 compute 4.0\n0 finalize\n",
        "1 init\n1 compute 2.0\n1 finalize\n",
    ]


def test_what_is_rare_is_not_repeated_in_full() -> None:
    """0 sends 1 once 64 kB and takes a thousand messages; ten of these rounds are a hundredth of it all."""
    once = Collective("bcast", "table", 0, 1, 1, 8000)
    traffic = sample_communication([[0, 64_000], [8000, 0]], [[0, 1], [1000, 0]], once)
    found = make_schedule(traffic, most_rounds=10)
    sent = np.zeros(2)
    np.add.at(sent, found.sender, found.size_bytes * found.scale)
    assert sent.tolist() == [64_000, 8000]
    assert found.operations == (Operation("bcast", 0, 80, 1),)
    assert (found.num_rounds, found.all_rounds, found.scale) == (10, 1000, 100.0)
    assert found.size_bytes.tolist() == [640, *[8] * 10] and found.round.tolist() == [0, *range(10)]
    with pytest.raises(ConfigError, match="at least one round"):
        make_schedule(sample_communication([[0, 0], [0, 0]]), most_rounds=0)


def test_every_byte_is_sent() -> None:
    random = np.random.default_rng(3)
    size_bytes = random.integers(0, 1000, (9, 9))
    np.fill_diagonal(size_bytes, 0)
    messages = random.integers(0, 30, (9, 9)) * (size_bytes > 0)
    found = make_schedule(sample_communication(size_bytes, messages))
    sent = np.zeros((9, 9), dtype=np.int64)
    np.add.at(sent, (found.sender, found.receiver), found.size_bytes)
    assert sent.tolist() == size_bytes.tolist()
    assert len(found.round) == np.maximum(messages, size_bytes > 0).sum()


def test_phases_take_turns_within_a_step() -> None:
    # 2 steps: 0 sends 10 bytes to 1, then 1 answers with 20; 4 bytes that are in no phase go with the first.
    phases = np.zeros((2, 2, 2), dtype=np.int64)
    phases[0, 0, 1], phases[1, 1, 0] = 20, 40
    plain = sample_communication([[0, 20], [44, 0]], [[0, 2], [2, 0]])
    found = make_schedule(replace(plain, phase_bytes=phases, phase_messages=np.sign(phases) * 2))
    assert (found.num_rounds, found.all_rounds) == (4, 4)
    sent = list(zip(found.round, found.sender, found.size_bytes, strict=True))
    assert sent == [(0, 0, 10), (2, 0, 10), (0, 1, 4), (1, 1, 20), (3, 1, 20)]
    half = make_schedule(replace(plain, phase_bytes=phases, phase_messages=np.sign(phases) * 2), 3)
    assert (half.num_rounds, half.all_rounds, half.scale) == (2, 4, 2.0)


def test_hub_values_are_collective_operations() -> None:
    norm = [Collective(kind, "norm", 2, 3, 5, 3 * 5 * 8) for kind in ("bcast", "reduce")]
    checksum = Collective("reduce", "sum", 0, 3, 1, 24)
    parameter = Collective("bcast", "n", 1, 3, 1, 12)
    expected = Operation("allreduce", 2, 8, 5), Operation("bcast", 1, 4, 1), Operation("reduce", 0, 8, 1)
    assert collective_operations([*norm, checksum, parameter]) == expected
    found = [Collective("bcast", "x", 1, 3, 7, 3 * 7 * 8), Collective("reduce", "x", 1, 3, 5, 3 * 5 * 16)]
    assert collective_operations(found) == (Operation("allreduce", 1, 16, 5), Operation("bcast", 1, 8, 2))


def test_traces_of_two_rounds() -> None:
    once = Collective("bcast", "n", 1, 1, 1, 4)
    twice = [Collective(kind, "dt", 0, 1, 2, 16) for kind in ("bcast", "reduce")]
    found = make_schedule(sample_communication([[0, 30], [16, 0]], [[0, 2], [1, 0]], once, *twice))
    assert schedule_traces(found, [10.0, 20.0]) == [
        "0 init\n"
        "0 irecv 1 0 16 6\n0 isend 1 0 15 6\n0 waitall 2\n0 bcast 4 1 6\n0 allreduce 8 0 6\n0 compute 5.0\n"
        "0 isend 1 0 15 6\n0 waitall 1\n0 allreduce 8 0 6\n0 compute 5.0\n"
        "0 finalize\n",
        "1 init\n"
        "1 irecv 0 0 15 6\n1 isend 0 0 16 6\n1 waitall 2\n1 bcast 4 1 6\n1 allreduce 8 0 6\n1 compute 10.0\n"
        "1 irecv 0 0 15 6\n1 waitall 1\n1 allreduce 8 0 6\n1 compute 10.0\n"
        "1 finalize\n",
    ]


LINK = LinkParameters(bandwidth=1e9, latency_s=2e-6, throughput=4e9)
TIMEOUT_S = 60.0


@needs_simgrid
@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_a_message_between_neighbours_takes_latency_and_transfer(topology: str) -> None:
    platform = make_platform(topology, 8, LINK)
    schedule = make_schedule(sample_communication([[0, 500_000], [0, 0]], [[0, 1], [0, 0]]))
    expected_s = 2e-6 + 500_000 / 1e9 + 1e6 / 4e9
    assert replayed_time(schedule, [1e6, 1e6], platform, TIMEOUT_S) == pytest.approx(expected_s, rel=1e-3)


@needs_simgrid
def test_rounds_follow_each_other() -> None:
    platform = make_platform("star", 2, LINK)
    both = sample_communication([[0, 10_000], [10_000, 0]], [[0, 10], [10, 0]])
    expected_s = 10 * (2e-6 + 1000 / 1e9) + 4e4 / 4e9
    whole_s = replayed_time(make_schedule(both), [4e4, 4e4], platform, TIMEOUT_S)
    assert whole_s == pytest.approx(expected_s, rel=0.01)
    half_s = replayed_time(make_schedule(both, most_rounds=5), [4e4, 4e4], platform, TIMEOUT_S)
    assert half_s == pytest.approx(whole_s, rel=1e-6)


@needs_simgrid
@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("sends", [True, False])
def test_a_node_moves_what_a_link_carries_in_one_direction(topology: str, sends: bool) -> None:
    platform = make_platform(topology, 64, LINK)
    partners = [1, 4, 16, 63]  # on a torus along three dimensions, so that no two share a link
    comm_bytes = np.zeros((64, 64), dtype=np.int64)
    comm_bytes[0, partners] = 10**8
    one_way = comm_bytes if sends else comm_bytes.T
    schedule = make_schedule(sample_communication(one_way.tolist(), (one_way > 0).astype(int).tolist()))
    found_s = replayed_time(schedule, [0.0] * 64, platform, TIMEOUT_S)
    assert found_s == pytest.approx(4e8 / 1e9, rel=1e-3)


@needs_simgrid
def test_message_overheads_add_up_to_the_latency() -> None:
    platform = make_platform("star", 2, LinkParameters(1e9, 1e-4, 4e9, message_overhead_s=3e-5))
    four = sample_communication([[0, 400], [0, 0]], [[0, 1], [0, 0]])
    found_s = replayed_time(make_schedule(four), [0.0] * 2, platform, TIMEOUT_S)
    assert found_s == pytest.approx(1e-4 + 400 / 1e9, rel=1e-3)


@needs_simgrid
@pytest.mark.parametrize(("topology", "least", "most"), [("star", 0.99, 1.0), ("torus", 0.3, 0.8)])
def test_random_matchings_find_the_bandwidth_of_the_network(topology: str, least: float, most: float) -> None:
    platform = make_platform(topology, 16, LINK)
    share = matching_bandwidth(platform, 16, seed=1, timeout_s=TIMEOUT_S, count=10) / 1e9
    assert least <= share <= most
    assert pair_bandwidth(platform, timeout_s=TIMEOUT_S) == pytest.approx(1e9, rel=1e-3)


@needs_simgrid
def test_parameters_are_measured_on_the_platform() -> None:
    platform = make_platform("star", 8, LINK)
    found = measured_machine(platform, dict.fromkeys((2, 4, 8), platform), SimulationOptions())
    assert found.throughput is not None and found.latency is not None and found.bandwidth is not None
    assert found.throughput.value == pytest.approx(4e9, rel=1e-6)
    assert found.latency.value == pytest.approx(2e-6, rel=0.02)
    assert found.bandwidth.curve is not None
    assert found.bandwidth.curve.nodes == (2.0, 4.0, 8.0)
    assert found.bandwidth.curve.values == pytest.approx((1e9, 1e9, 1e9), rel=0.01)


@needs_simgrid
def test_one_host_has_no_network_to_measure() -> None:
    platform = make_platform("star", 1, LINK)
    found = measured_machine(platform, {1: platform}, SimulationOptions())
    assert found.latency is None and found.bandwidth is not None and found.bandwidth.source == "assumed"


def test_without_simgrid_one_is_told_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match="libsimgrid-dev"):
        find_smpirun()


@needs_simgrid
def test_too_few_hosts_and_failed_simulations_are_reported() -> None:
    platform = make_platform("star", 2, LINK)
    with pytest.raises(ConfigError, match="at least 3 hosts, found 2"):
        replay(platform, ["0 init\n", "1 init\n", "2 init\n"], TIMEOUT_S)
    with pytest.raises(TargetRunError, match="expected the simulation to succeed"):
        replay(platform, ["0 init\n0 nonsense\n0 finalize\n"], TIMEOUT_S)
