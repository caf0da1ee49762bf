"""The early end of recordings: when the log shows workspaces, at the same row in every run, else never."""

from __future__ import annotations

import pytest

from tests.shim.conftest import Driver

FEWEST_EVENTS, STEPS = 1 << 17, 40000


@pytest.mark.parametrize(("scenario", "elements"), [("long_few", 4), ("long_many", 40)])
def test_it_ends_some_rounds_behind_the_fewest_events(driver: Driver, scenario: str, elements: int) -> None:
    rows = 2 * elements
    _, trace = driver.run(scenario, may_end_early=True)
    # unpredicted rows are counted, at least one per step
    events = trace.statistics.prefix_events
    assert FEWEST_EVENTS + rows <= events <= FEWEST_EVENTS + 3 * rows
    # what was recorded until then is there
    assert len(trace.cells) == rows
    assert FEWEST_EVENTS <= int(trace.cells["count"].sum()) < 16 * STEPS
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
