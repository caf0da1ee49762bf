from dataclasses import replace

import numpy as np
import pytest

from commanalyzer.communication.matrix import Collective, Communication
from commanalyzer.foundation.errors import MachineModelError
from commanalyzer.machine.parameters import Curve, MachineParameters, Parameter
from commanalyzer.machine.roofline.traffic import Network, NodeTraffic, network_at, node_traffic
from tests.samples import sample_communication

# A line of three parts, ten rounds; the middle one sends and receives twice as much.
LINE_BYTES = [[0, 80, 0], [80, 0, 40], [0, 160, 0]]
LINE_MESSAGES = [[0, 10, 0], [10, 0, 5], [0, 10, 0]]


def test_line() -> None:
    traffic = node_traffic(sample_communication(LINE_BYTES, LINE_MESSAGES))
    assert (traffic.num_nodes, traffic.comm_bytes, traffic.mean_message_bytes) == (3, 360, 360 / 35)
    # the more of sent and received; the mean node at the end
    assert traffic.node_bytes.tolist() == [80, 240, 160, 120]
    assert traffic.messages.tolist() == [10, 20, 10, 35 / 3]
    assert traffic.handled.tolist() == [20, 35, 15, 70 / 3]
    # 1 answers 2 only five times: five rounds wait for each other
    assert traffic.rounds.tolist() == [10, 10, 5, 25 / 3]
    assert traffic.collective_steps == 0


def test_a_stream_in_one_direction_waits_once() -> None:
    traffic = node_traffic(
        sample_communication([[0, 80, 0], [0, 0, 0], [0, 0, 0]], [[0, 10, 0], [0] * 3, [0] * 3])
    )
    assert traffic.rounds.tolist() == [1, 1, 0, 2 / 3]


def test_without_knowing_the_hubs_there_is_only_the_mean_node() -> None:
    traffic = node_traffic(replace(sample_communication(LINE_BYTES, LINE_MESSAGES), collectives=None))
    assert traffic.node_bytes.tolist() == [120]
    assert traffic.messages.tolist() == [35 / 3]
    assert traffic.rounds.tolist() == [25 / 3]


def _star(reduce_rounds: int, bcast_rounds: int) -> Communication:
    """Part 0 of four reduces 8 bytes per round and spreads them; 1 and 2 also exchange 100 bytes once."""
    peer_bytes, peer_messages = np.zeros((4, 4), dtype=np.int64), np.zeros((4, 4), dtype=np.int64)
    peer_bytes[1, 2] = peer_bytes[2, 1] = 100
    peer_messages[1, 2] = peer_messages[2, 1] = 1
    comm_bytes, messages = peer_bytes.copy(), peer_messages.copy()
    comm_bytes[1:, 0] += 8 * reduce_rounds
    comm_bytes[0, 1:] += 8 * bcast_rounds
    messages[1:, 0] += reduce_rounds
    messages[0, 1:] += bcast_rounds
    kinds = (("reduce", reduce_rounds), ("bcast", bcast_rounds))
    found = [Collective("reduce" if k == "reduce" else "bcast", "s", 0, 3, n, 24 * n) for k, n in kinds if n]
    plain = sample_communication(comm_bytes, messages)
    return replace(plain, collectives=tuple(found), peer_bytes=peer_bytes, peer_messages=peer_messages)


def test_hubs_are_trees_that_wait_only_where_the_result_is_spread() -> None:
    traffic = node_traffic(_star(10, 10))
    assert traffic.node_bytes.tolist() == [0, 100, 100, 0, (200 + 480) / 4]
    assert traffic.messages.tolist() == [0, 1, 1, 0, 62 / 4]
    # log2(4) messages one after another in each of ten rounds
    assert (traffic.collective_rounds, traffic.collective_partners, traffic.collective_steps) == (10, 3, 20)
    assert traffic.collective_bytes == 8.0
    assert node_traffic(_star(10, 0)).collective_rounds == 1
    assert node_traffic(_star(10, 4)).collective_rounds == 4
    assert node_traffic(_star(0, 10)).collective_rounds == 0


THROUGHPUT = Parameter(1e9, "Flop/s")


def _pair(nodes: int = 2, message_bytes: int = 100) -> NodeTraffic:
    matrix = np.zeros((nodes, nodes), dtype=np.int64)
    matrix[0, 1] = message_bytes
    return node_traffic(sample_communication(matrix))


def test_curves_are_read_at_the_node_count_and_message_size() -> None:
    machine = MachineParameters(
        # rows: 2 and 8 nodes; columns: 1 kB and 1 MB. The longest message counts.
        bandwidth=Parameter(2e9, "B/s", curve=Curve((2, 8), (1e3, 1e6), (1e9, 4e9, 5e8, 2e9))),
        overlap=Parameter(0.5, "1", curve=Curve((), (10.0, 1000.0), (0.2, 0.6))),
        throughput=THROUGHPUT,
        # of a latency the smallest message
        latency=Parameter(9e-6, "s", curve=Curve((), (8.0, 1024.0), (1e-6, 3e-6))),
        message_overhead=Parameter(2e-7, "s"),
        gap=Parameter(1e-7, "s"),
    )
    found = network_at(machine, _pair(4))
    assert (found.bandwidth, found.overlap) == pytest.approx((3e9, 0.4))
    assert found == Network(1e9, found.bandwidth, 4e9, found.overlap, 1e-6, 2e-7, 1e-7)
    outside = network_at(machine, _pair(16, 5000))
    assert (outside.bandwidth, outside.overlap) == (2e9, 0.6)
    assert outside.extrapolated == ("bandwidth", "overlap")


@pytest.mark.parametrize(
    ("machine", "found"),
    [
        (MachineParameters(throughput=THROUGHPUT), "no bandwidth"),
        (MachineParameters(bandwidth=Parameter(1e9, "B/s")), "no throughput"),
        (MachineParameters(), "no bandwidth and no throughput"),
    ],
)
def test_incomplete_machine(machine: MachineParameters, found: str) -> None:
    with pytest.raises(MachineModelError, match=found) as caught:
        network_at(machine, _pair())
    assert "--" in caught.value.hint
