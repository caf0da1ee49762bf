"""Replayed traces against times computed by hand."""

from pathlib import Path

import numpy as np
import pytest

from commanalyzer.foundation.errors import ConfigError, TargetRunError
from commanalyzer.machine.simulation.platforms import TOPOLOGIES, LinkParameters, make_platform
from commanalyzer.machine.simulation.run import (
    SimulationOptions,
    matching_bandwidth,
    measured_machine,
    pair_bandwidth,
    replayed_time,
)
from commanalyzer.machine.simulation.schedule import find_smpirun, make_schedule, replay
from tests.simgrid.platforms import needs_simgrid
from tests.unit.machine.simulation.test_schedule import communication

LINK = LinkParameters(bandwidth=1e9, latency_s=2e-6, throughput=4e9)
TIMEOUT_S = 60.0


@needs_simgrid
@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_a_message_between_neighbours_takes_latency_and_transfer(topology: str) -> None:
    platform = make_platform(topology, 8, LINK)
    schedule = make_schedule(communication([[0, 500_000], [0, 0]], [[0, 1], [0, 0]]))
    expected_s = 2e-6 + 500_000 / 1e9 + 1e6 / 4e9
    assert replayed_time(schedule, [1e6, 1e6], platform, TIMEOUT_S) == pytest.approx(expected_s, rel=1e-3)


@needs_simgrid
def test_rounds_follow_each_other() -> None:
    platform = make_platform("star", 2, LINK)
    both = communication([[0, 10_000], [10_000, 0]], [[0, 10], [10, 0]])
    expected_s = 10 * (2e-6 + 1000 / 1e9) + 4e4 / 4e9
    whole_s = replayed_time(make_schedule(both), [4e4, 4e4], platform, TIMEOUT_S)
    assert whole_s == pytest.approx(expected_s, rel=0.01)
    half_s = replayed_time(make_schedule(both, most_rounds=5), [4e4, 4e4], platform, TIMEOUT_S)
    assert half_s == pytest.approx(whole_s, rel=1e-6)


@needs_simgrid
def test_two_messages_share_the_link_of_their_receiver() -> None:
    platform = make_platform("star", 3, LINK)
    schedule = make_schedule(
        communication([[0, 0, 10**6], [0, 0, 10**6], [0] * 3], [[0, 0, 1], [0, 0, 1], [0] * 3])
    )
    found_s = replayed_time(schedule, [0.0] * 3, platform, TIMEOUT_S)
    assert found_s == pytest.approx(2e-6 + 2e6 / 1e9, rel=1e-3)


@needs_simgrid
@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("sends", [True, False])
def test_a_node_moves_what_a_link_carries_in_one_direction(topology: str, sends: bool) -> None:
    platform = make_platform(topology, 64, LINK)
    partners = [1, 4, 16, 63]  # on a torus along three dimensions, so that no two share a link
    comm_bytes = np.zeros((64, 64), dtype=np.int64)
    comm_bytes[0, partners] = 10**8
    one_way = comm_bytes if sends else comm_bytes.T
    schedule = make_schedule(communication(one_way.tolist(), (one_way > 0).astype(int).tolist()))
    found_s = replayed_time(schedule, [0.0] * 64, platform, TIMEOUT_S)
    assert found_s == pytest.approx(4e8 / 1e9, rel=1e-3)


@needs_simgrid
def test_message_overheads_add_up_to_the_latency() -> None:
    platform = make_platform("star", 2, LinkParameters(1e9, 1e-4, 4e9, message_overhead_s=3e-5))
    four = communication([[0, 400], [0, 0]], [[0, 1], [0, 0]])
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
