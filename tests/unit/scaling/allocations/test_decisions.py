"""Choices among configurations, against brute force and arithmetic by hand."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.scaling.allocations import decisions
from commanalyzer.scaling.allocations.metrics import InjectionModel
from commanalyzer.scaling.allocations.workload import Halo, HaloWorkload, Ranks


def _found(rows: list[tuple[int, int, float]], serial_s: float = 100.0) -> decisions.Configurations:
    nodes, processes, time_s = (np.array(column) for column in zip(*rows, strict=True))
    nothing = np.zeros(len(rows), dtype=np.bool_)
    node_bytes = 64e9 / nodes
    return decisions.Configurations(
        nodes, processes, time_s, np.zeros(len(rows)), serial_s, node_bytes, nothing, nothing, nothing
    )


TABLE = _found([(1, 1, 100.0), (1, 4, 40.0), (2, 2, 28.0), (4, 1, 27.0), (4, 4, 10.0), (8, 4, 12.0)])


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6).map(float)), min_size=1, max_size=12))
def test_the_front_is_what_nobody_beats(points: list[tuple[int, float]]) -> None:
    cores, time_s = (np.array(column) for column in zip(*points, strict=True))
    front = decisions.pareto_front(cores, time_s)
    best = {p for p in points if not any(q != p and q[0] <= p[0] and q[1] <= p[1] for q in points)}
    assert [points[k] for k in front] == sorted(best)


def test_choices() -> None:
    found = decisions.decide(TABLE, least_efficiency=0.6)
    assert found.front == (0, 3, 4)  # 1 x 1, 4 x 1, 4 x 4; 32 cores take longer than 16
    assert (found.fastest, found.cheapest, found.break_cores) == (4, 0, 16)
    assert found.largest == 4  # 100 / (16 x 10) = 0.625


def test_limits_exclude_and_say_why() -> None:
    limits = decisions.AllocationLimits(memory_bytes=20e9, most_nodes=4, most_s=30.0, budget_core_hours=0.04)
    found = decisions.decide(TABLE, limits)
    # 4 x 4: 160 core-seconds = 0.0444 core-hours; 4 x 1: 0.03.
    assert found.front == (3,)
    assert found.reasons[:2] == (("memory", "time"), ("memory", "time", "budget"))
    assert found.reasons[2:] == (("memory",), (), ("budget",), ("queue", "budget"))
    nothing = decisions.decide(TABLE, decisions.AllocationLimits(most_s=1.0))
    assert (nothing.front, nothing.fastest, nothing.cheapest, nothing.largest) == ((), None, None, None)


def test_whole_nodes_are_charged_where_asked() -> None:
    assert TABLE.core_hours()[3] == pytest.approx(4 * 27 / 3600)
    assert TABLE.core_hours(16)[3] == pytest.approx(4 * 16 * 27 / 3600)


@pytest.mark.parametrize(
    ("system", "time_s", "lines"),
    [
        ({}, 3000.0, ("#SBATCH --nodes=4", "#SBATCH --ntasks-per-node=8", "#SBATCH --time=01:15:00")),
        ({"system": "PBS"}, 3000.0, ("#PBS -l select=4:ncpus=8:mpiprocs=8", "#PBS -l walltime=01:15:00")),
        ({"system": "LSF"}, 3001.0, ("#BSUB -n 32", '#BSUB -R "span[ptile=8]"', "#BSUB -W 01:16")),
    ],
)
def test_slurm_lines(system: dict[str, Any], time_s: float, lines: tuple[str, ...]) -> None:
    assert decisions.sbatch_lines(_found([(4, 8, time_s)]), 0, **system) == lines


def test_memory_of_a_node_is_shared() -> None:
    # 8 Flop and 16 bytes per point: 1e9 Flop/s per process want 2 GB/s each.
    program = HaloWorkload("p", Halo((64, 64, 64)), 10, 8, 16)
    silent = InjectionModel(0.0, 0.0, 0.0, 1e30, 1e30)
    rates = decisions.ComputeRates(1e9, memory_bandwidth=4e9)
    found = decisions.configurations(program, [1], [1, 2, 4], silent, rates, Ranks())
    work_s = 64**3 * 10 * 8 / 1e9
    assert found.compute_s.tolist() == pytest.approx([work_s, work_s / 2, work_s / 2])
    assert found.is_memory_bound.tolist() == [False, False, True]
    assert found.efficiency.tolist() == pytest.approx([1, 1, 0.5])


def test_what_cannot_run_is_left_out() -> None:
    program = HaloWorkload("p", Halo((4, 4)), 10, 8)
    model, rates = InjectionModel(1e-6, 0.0, 0.0, 1e9, 1e9), decisions.ComputeRates(1e9)
    found = decisions.configurations(program, [4, 64], [1], model, rates, Ranks())
    assert found.nodes.tolist() == [4]
    with pytest.raises(ConfigError, match="can run on, found none"):
        decisions.configurations(program, [64], [1], model, rates, Ranks())
