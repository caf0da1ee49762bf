"""Costs of the tool itself: which stage and which step they belong to."""

import math
from dataclasses import replace

import numpy as np
import pytest

from commanalyzer.scaling.sweep import executors
from commanalyzer.scaling.sweep.executors import Spent, StageClock, division_costs, stage_costs
from commanalyzer.scaling.sweep.table import table_lines
from tests.samples import sample_decomposition, sample_result


class Time:
    """A clock that the test sets: processors work half of the time."""

    def __init__(self) -> None:
        self.wall_s = 100.0

    def __call__(self) -> Spent:
        return np.array([self.wall_s, 0.5 * self.wall_s])


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> Time:
    time = Time()
    monkeypatch.setattr(executors, "_now", time)
    return time


def test_stages_of_one_name_are_added_up(now: Time) -> None:
    clock = StageClock()
    for name, seconds in (
        ("compile", 2.0),
        ("instrument", 4.0),
        ("run the program", 64.0),
        ("build the value graph", 8.0),
        ("record the private temporaries", 64.0),
        ("build the value graph", 16.0),
    ):
        clock.stage(name)
        now.wall_s += seconds
    clock.finish()
    assert stage_costs(clock) == {"compile_s": 3.0, "graph_s": 12.0}
    result = sample_result(
        *(replace(sample_decomposition(nodes), seconds=seconds) for nodes, seconds in ((2, 3.0), (4, 10.0)))
    )
    clock.stage("partition and count", 4)
    for seconds in (4.0, 8.0, 16.0, 4.0):
        now.wall_s += seconds
        clock.advance()
    clock.finish()
    # Half of the wall time: 12 s, of which 3 s found candidates; 20 s, of which 10 s.
    assert division_costs(result, clock) == {(2, "volume"): (1.5, 4.5), (4, "volume"): (5.0, 5.0)}


def test_without_known_steps_costs_are_not_known() -> None:
    found = division_costs(sample_result(sample_decomposition(2)), StageClock())
    assert all(math.isnan(cost) for cost in found[2, "volume"])


def test_lines_are_those_of_the_best_decompositions() -> None:
    other = replace(sample_decomposition(4), best=False, method="other", lower_bound_bytes=0)
    result = sample_result(sample_decomposition(2), other, sample_decomposition(4))
    lines = table_lines(
        result, {"n": "8"}, per_point={"graph_s": 1.5}, per_division={(2, "volume"): (1.0, 2.0)}
    )
    assert [(line["n"], line["nodes"], line["method"]) for line in lines] == [
        ("8", 2, sample_decomposition(2).method),
        ("8", 4, sample_decomposition(4).method),
    ]
    first, second = lines
    assert (first["graph_s"], first["partition_s"], first["count_s"]) == (1.5, 1.0, 2.0)
    assert (second["partition_s"], second["count_s"]) == ("", "")
    best = result.best(4)
    assert second["comm_bytes"] == int(np.sum(best.communication.comm_bytes))
    assert second["work_flops"] == result.work.flops


def test_what_a_programmer_would_write_stands_beside_the_best() -> None:
    best = sample_decomposition(4)
    blocks = replace(best, best=False, method="blocks 2x2 of 8x8 by work")
    refined = replace(best, best=False, method="blocks 2x2 refined")
    (with_blocks,) = table_lines(sample_result(best, blocks, refined), {"n": "8"})
    assert with_blocks["regular_method"] == blocks.method
    assert with_blocks["regular_bytes"] == blocks.comm_bytes
    assert with_blocks["regular_messages"] == blocks.communication.total_messages
    (without,) = table_lines(sample_result(best, refined), {"n": "8"})
    assert without["regular_method"] == best.method  # nothing else can be written
