"""The early end of recordings: when the log shows workspaces, at the same row in every run, else never."""

from __future__ import annotations

import numpy as np
import pytest

from commanalyzer.abi.trace_layout import EXTENT_GLOBAL, WORKSPACE
from commanalyzer.vcg.workspaces import MOST_ROWS, SPARE_ROWS, read_workspaces
from tests.shim.conftest import Driver

FEWEST_EVENTS, STEPS = 1 << 17, 40000


@pytest.mark.parametrize(("scenario", "elements"), [("long_few", 4), ("long_many", 40)])
def test_it_ends_some_rounds_behind_the_fewest_events(driver: Driver, scenario: str, elements: int) -> None:
    rows = 2 * elements
    _, trace = driver.run(scenario, may_end_early=True)
    # unpredicted rows are counted, at least one per step; rows are not written
    events = trace.statistics.prefix_events
    assert FEWEST_EVENTS + rows <= events <= FEWEST_EVENTS + 3 * rows
    assert len(trace.cells) == 0
    # the array that is worked on has no name; the workspace is one value
    assert read_workspaces(driver.found).tolist() == [(EXTENT_GLOBAL, 7, 0, 64, 72)]
    assert int(np.fromfile(driver.found, WORKSPACE, 1)["max_rows"][0]) == MOST_ROWS * rows + SPARE_ROWS
    _, again = driver.run(scenario, may_end_early=True)
    assert again.statistics.prefix_events == events


def test_without_signs_of_workspaces_it_goes_on(driver: Driver) -> None:
    _, trace = driver.run("long_without", may_end_early=True)
    assert trace.statistics.prefix_events == 0
    assert int(trace.cells["count"].sum()) == 16 * STEPS


def test_nobody_asked(driver: Driver) -> None:
    _, trace = driver.run("long_few")
    assert trace.statistics.prefix_events == 0
    assert trace.cells["count"].tolist() == [STEPS] * 8
