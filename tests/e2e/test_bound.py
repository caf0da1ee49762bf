"""Bounds of real programs against hand computation."""

import pytest

from commanalyzer.machine.parameters import MachineParameters, Parameter
from commanalyzer.machine.roofline.traffic import node_traffic
from tests.e2e.analysed import analyse_text
from tests.e2e.conftest import Analyse

MACHINE = MachineParameters(
    bandwidth=Parameter(1e8, "B/s"), throughput=Parameter(1e9, "Flop/s"), latency=Parameter(1e-5, "s")
)


def test_halo_exchange_of_blocks(analysed: Analyse) -> None:
    result = analysed("heat2d", 32, 6, nodes=(4,), region="heat_solve", model=("volume",))
    found = result.bound(MACHINE, method="blocks 2x2").points[-1]
    # Each of 6 steps needs two sides of 16 numbers. The first state, which no statement of the region made,
    # is taken to travel with another message: 5 latencies.
    assert found.times.latency_s == pytest.approx(5e-5)
    assert found.times.transfer_s == pytest.approx(6 * 2 * 16 * 8 / 1e8)
    assert found.time_s == pytest.approx(result.work.flops / 4e9 + 5e-5 + 6 * 256 / 1e8)


def test_centroids_are_reduced_and_spread(analysed: Analyse) -> None:
    result = analysed("kmeans", 400, 2, 3, 5, nodes=(8,), model=("volume",))
    traffic = node_traffic(result.best(8).communication)
    # five sums, each spread for the next iteration or, the last, for the distances that are printed
    assert (traffic.collective_rounds, traffic.collective_partners) == (5, 7)
    assert traffic.messages[:-1].tolist() == [0] * 8
    found = result.bound(MACHINE).points[-1]
    assert found.times.latency_s == pytest.approx(5 * 3 * 1e-5)
    assert found.times.limit == "collectives"


RED_BLACK = """
double red[65], black[65];
__attribute__((noinline)) void sweep(int n, int steps) {
    for (int step = 0; step < steps; step++) {
        for (int i = 0; i < n; i++) red[i] = 0.5 * (black[i] + black[i + 1]);
        for (int i = 1; i < n; i++) black[i] = 0.25 * (red[i] + red[i - 1]);
    }
}
int main(int argc, char **argv) {
    int n = atoi(argv[1]), steps = atoi(argv[2]);
    for (int i = 0; i <= n; i++) black[i] = i * i;
    sweep(n, steps);
    printf("%.15g\\n", red[n / 2]);
}
"""


def test_half_steps_that_need_each_other_are_phases() -> None:
    result = analyse_text(RED_BLACK, 64, 6, nodes=2, regions=["sweep"])
    item = result.decomposition(2, method="slabs 2").communication
    assert item.phase_bytes is not None and item.phase_messages is not None
    # 6 steps: red to the right, then black back to the left, 8 bytes each.
    assert item.phase_bytes.tolist() == [[[0, 48], [0, 0]], [[0, 0], [48, 0]]]
    found = result.bound(MACHINE, method="slabs 2").points[-1]
    assert found.times.latency_s == pytest.approx(12 * 1e-5)
    assert found.times.transfer_s == pytest.approx(96 / 1e8)
