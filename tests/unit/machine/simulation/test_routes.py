"""Distances of generated platforms against their latencies, and placements."""

import numpy as np
import pytest

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.machine.simulation.platforms import LinkParameters, Platform, make_platform
from commanalyzer.machine.simulation.routes import near_hosts, network_distances, network_of, place
from commanalyzer.machine.simulation.schedule import replay
from tests.simgrid.platforms import needs_simgrid

LINK = LinkParameters(bandwidth=1e9, latency_s=2e-6, throughput=4e9)


def _sent_in_turn(platform: Platform) -> list[float]:
    """Seconds of an empty message from the first host to each other one, one after another."""
    count = len(platform.hosts)
    first = "".join(f"0 send {k} 0 0 6\n0 recv {k} 0 0 6\n" for k in range(1, count))
    traces = [f"0 init\n{first}0 finalize\n"]
    traces += [f"{k} init\n{k} recv 0 0 0 6\n{k} send 0 0 0 6\n{k} finalize\n" for k in range(1, count)]
    ends = [a.end_s for a in replay(platform, traces, 60.0) if (a.rank, a.kind) == (0, "recv")]
    return [float(round_trip_s) / 2 for round_trip_s in np.diff([0.0, *ends])]


@needs_simgrid
@pytest.mark.parametrize(
    ("topology", "hosts"),
    [("star", 4), ("fat-tree", 12), ("dragonfly", 64), ("torus", 16), ("torus", 27), ("hypercube", 16)],
)
def test_routes_have_the_latencies_of_the_simulator(topology: str, hosts: int) -> None:
    platform = make_platform(topology, hosts, LINK)
    network = network_of(platform)
    others = np.arange(1, len(platform.hosts))
    there = network.latency_s(network.routes(np.zeros_like(others), others), LINK.wire_s)
    back = network.latency_s(network.routes(others, np.zeros_like(others)), LINK.wire_s)
    assert _sent_in_turn(platform) == pytest.approx(((there + back) / 2).tolist(), rel=0.03)


def test_distances_of_a_dragonfly_are_those_of_its_levels() -> None:
    distances = network_distances(network_of(make_platform("dragonfly", 64, LINK)), 64)[0]
    # Itself, own router, own group; of the 12 routers in 3 other groups, 3 are at the end of the own group's
    # link (and router 0 first goes to the router that has it).
    assert np.bincount(distances).tolist() == [1, 0, 3, 12, 3 * 4, 9 * 4]


def test_a_scattered_ring_is_put_on_a_ring() -> None:
    platform = make_platform("torus", 5, LINK)
    assert platform.sides == (5,)
    order = [0, 2, 4, 1, 3]
    comm_bytes = np.zeros((5, 5), dtype=np.int64)
    comm_bytes[order, np.roll(order, 1)] = 100
    placed = place(platform, "near", 1, comm_bytes)
    where = [platform.hosts.index(name) for name in placed.hosts]
    distances = network_distances(network_of(platform), 5)
    steps = zip(order, np.roll(order, 1), strict=True)
    assert [int(distances[where[a], where[b]]) for a, b in steps] == [1] * 5


def test_partners_are_put_on_one_switch() -> None:
    platform = make_platform("fat-tree", 16, LINK)
    comm_bytes = np.zeros((8, 8), dtype=np.int64)
    for members in ([0, 2, 4, 6], [1, 3, 5, 7]):
        comm_bytes[np.ix_(members, members)] = 1
    np.fill_diagonal(comm_bytes, 0)
    found = near_hosts(network_distances(network_of(platform), 16), comm_bytes, np.random.default_rng(1))
    assert sorted(found.tolist()) == list(range(16))
    assert len({host // 4 for host in found[[0, 2, 4, 6]].tolist()}) == 1
    assert len({host // 4 for host in found[[1, 3, 5, 7]].tolist()}) == 1


def test_random_placement_uses_every_host_once() -> None:
    platform, nothing = make_platform("star", 16, LINK), np.zeros((2, 2), dtype=np.int64)
    placed = place(platform, "random", 3, nothing)
    assert sorted(placed.hosts) == sorted(platform.hosts)
    assert placed.hosts != platform.hosts
    assert placed.hosts == place(platform, "random", 3, nothing).hosts
    assert place(platform, "order", 3, nothing).hosts == platform.hosts


def test_impossible_placements_are_refused() -> None:
    with pytest.raises(ConfigError, match="at least 5 hosts, found 4"):
        place(make_platform("star", 4, LINK), "order", 1, np.zeros((5, 5), dtype=np.int64))
    with pytest.raises(ConfigError, match="expected a generated platform"):
        place(Platform("mine.xml", "", ("a", "b")), "near", 1, np.zeros((2, 2), dtype=np.int64))
