"""Columns that outgrow the memory: the trace is the same whether they move to the disk or not."""

import numpy as np

from commanalyzer.recording.trace import Trace
from tests.shim.conftest import Driver

_MANY = 400_000
_SECTIONS = ("heads", "labels", "groups", "runs", "listed", "external_calls")


def _recorded(driver: Driver, memory_bytes: int | None) -> Trace:
    numbers, trace = driver.run("many_rows", memory_bytes=memory_bytes)
    assert numbers == {"child": 0}
    return trace


def test_spilled_columns_are_the_same_trace(driver: Driver) -> None:
    kept = _recorded(driver, None)
    assert len(kept.heads) == 2 * _MANY + 2 * _MANY // 100
    assert np.unique(kept.cells["count"]).tolist() == [2]
    assert kept.statistics.spilled_bytes == 0
    columns = {name: np.array(getattr(kept, name)) for name in (*_SECTIONS, "cells")}
    kept_rss_bytes = kept.statistics.peak_rss_bytes
    spilled = _recorded(driver, 1_000_000)
    for name, column in columns.items():
        assert np.array_equal(column, getattr(spilled, name)), name
    assert spilled.extents["object"].tolist() == [7, 8]
    assert spilled.statistics.dropped_rows == 0
    assert spilled.statistics.spilled_bytes > spilled.statistics.recorder_bytes
    # the disk took what the memory did not
    assert spilled.statistics.peak_rss_bytes < kept_rss_bytes - 10_000_000
