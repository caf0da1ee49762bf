"""Projections by hand: W = 70 n^2 flops, C = 320 n (sqrt(p) - 1) bytes, M = 40 (p - sqrt(p)) messages."""

from __future__ import annotations

import numpy as np
import pytest

from commanalyzer.errors import FitError, MachineModelError
from commanalyzer.laws.projection import advise, project
from commanalyzer.machine.parameters import MachineParameters, Parameter
from commanalyzer.report.predictions.projection_text import advice_lines
from tests.unit.laws.samples import HALO, MESSAGES, WORK, factor, law

MACHINE = MachineParameters(
    name="box",
    bandwidth=Parameter(1e9, "B/s"),
    overlap=Parameter(0.5, "1"),
    throughput=Parameter(1e10, "Flop/s"),
)
NODES = (1, 4, 16, 64, 256)
SIZE = {"n": 1000.0}


def test_strong_scaling_is_the_papers_equations() -> None:
    found = project((HALO, WORK), MACHINE, NODES, SIZE)
    assert found.serial_s.tolist() == pytest.approx([7e7 / 1e10] * 5)
    assert found.comm_bytes.tolist() == pytest.approx([0, 320e3, 960e3, 2240e3, 4800e3])
    # On 64 nodes: T_o = 2.24e6 * 0.5 / 1e9 s, T_1 = 7e-3 s.
    assert found.efficiency[3] == pytest.approx(1 / (1 + 1.12e-3 / 7e-3))
    assert found.time_s[3] == pytest.approx(7e-3 / 64 * (1 + 0.16))
    assert found.efficiency[0] == 1.0
    assert found.core_hours(32)[0] == pytest.approx(32 * 7e-3 / 3600)
    assert not found.has_messages
    assert found.is_beyond.all()  # n = 1000 was not analysed


def test_weak_scaling_keeps_the_work_per_node() -> None:
    found = project((HALO, WORK), MACHINE, NODES, SIZE, weak_parameter="n")
    assert found.sizes["n"].tolist() == pytest.approx([1000, 2000, 4000, 8000, 16000])
    assert (found.work_flop / found.nodes).tolist() == pytest.approx([7e7] * 5)
    # 64 nodes: C = 320 * 8000 * 7 bytes, T_1 = 64 * 7e-3 s.
    assert found.efficiency[3] == pytest.approx(1 / (1 + 320 * 8000 * 7 * 0.5 / 1e9 / (64 * 7e-3)))


def test_messages_cost_their_time() -> None:
    machine = MACHINE.updated(gap=Parameter(1e-6, "s"), message_overhead=Parameter(5e-6, "s"))
    found = project((HALO, WORK, MESSAGES), machine, (64,), SIZE)
    count = 40 * (64 - 8)
    network_s, busy_s = 2.24e6 / 1e9 + count * 1e-6, 2 * count * 5e-6
    assert found.has_messages
    assert found.efficiency[0] == pytest.approx(1 / (1 + max(0.5 * network_s, busy_s) / 7e-3))


def test_plain_blocks_have_laws_of_their_own() -> None:
    blocks = law("regular_bytes", (640.0, (factor(0, "rise", "1/2"), factor(1))))
    found = project((HALO, WORK, blocks), MACHINE, (64,), SIZE, division="regular")
    assert found.comm_bytes.tolist() == pytest.approx([4480e3])
    with pytest.raises(FitError, match="expected a law of regular_bytes"):
        project((HALO, WORK), MACHINE, (64,), SIZE, division="regular")


def test_an_uncertain_law_gives_a_band() -> None:
    unsure = law("comm_bytes", (320.0, (factor(0, "rise", "1/2"), factor(1))), error=0.1)
    found = project((unsure, WORK), MACHINE, (64,), SIZE)
    student = 2.0859634  # two-sided 95 %, 20 degrees of freedom, from a table
    assert found.comm_bytes_high[0] == pytest.approx(2240e3 * (1 + 0.1 * student), rel=1e-6)
    assert found.efficiency_low[0] < found.efficiency[0] < found.efficiency_high[0]
    assert found.time_low_s[0] < found.time_s[0] < found.time_high_s[0]


def test_advice_by_hand() -> None:
    """Efficiencies 1, 0.978, 0.936, 0.862, 0.745 at 1, 4, 16, 64, 256 nodes."""
    found = project((HALO, WORK), MACHINE, NODES, SIZE)
    advice = advise(found, 0.8)
    assert (advice.largest, advice.largest_certain, advice.fastest, advice.cheapest) == (64, 64, 256, 1)
    in_time = advise(found, 0.8, deadline_s=5e-4)
    assert in_time.cheapest == 16  # 7e-3 / 16 / 0.936 s is 0.47 ms; on 4 nodes 1.8 ms
    assert advise(found, 0.8, deadline_s=1e-9).cheapest is None
    assert advise(found, 0.99999).largest == 1
    assert any("64 nodes" in line for line in advice_lines(found, advice))


def test_what_is_missing_is_said() -> None:
    with pytest.raises(FitError, match="law of work_flops"):
        project((HALO,), MACHINE, NODES, SIZE)
    with pytest.raises(FitError, match="value of n"):
        project((HALO, WORK), MACHINE, NODES, {})
    with pytest.raises(MachineModelError, match="bandwidth and a throughput"):
        project((HALO, WORK), MachineParameters(), NODES, SIZE)
    with pytest.raises(FitError, match="work depends on"):
        project((HALO, WORK), MACHINE, NODES, {**SIZE, "steps": 3.0}, weak_parameter="steps")
    constant = law("work_flops", (5.0, ()), parameters=("n",))
    with pytest.raises(FitError, match="does not"):
        project((HALO, constant), MACHINE, NODES, SIZE, weak_parameter="n")


def test_arrays_have_one_entry_per_node_count() -> None:
    found = project((HALO, WORK), MACHINE, (64, 4, 4), SIZE)
    assert found.nodes.tolist() == [4, 64]
    assert np.shape(found.speedup) == (2,)
