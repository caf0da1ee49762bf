import numpy as np
import pytest

from commanalyzer.communication.matrix import Communication
from commanalyzer.foundation.errors import MachineModelError
from commanalyzer.machine.parameters import Curve, MachineParameters, Parameter
from commanalyzer.machine.roofline.traffic import Network, NodeTraffic, network_at, node_traffic
from tests.samples import sample_machine

THROUGHPUT = Parameter(1e9, "Flop/s")


def _pair(nodes: int = 2, message_bytes: int = 100) -> NodeTraffic:
    matrix = np.zeros((nodes, nodes), dtype=np.int64)
    matrix[0, 1] = message_bytes
    messages = (matrix > 0).astype(np.int64)
    return node_traffic(Communication(matrix, messages, message_bytes, message_bytes, collectives=()))


def test_numbers_without_curves() -> None:
    machine = sample_machine(bandwidth=2e9, throughput=1e9, latency=1e-6)
    assert network_at(machine, _pair()) == Network(1e9, 2e9, 2e9, 0.0, latency_s=1e-6)


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
