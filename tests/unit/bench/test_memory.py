"""Tests of tests.bench.memory."""

from __future__ import annotations

import resource
from pathlib import Path

from tests.bench.memory import PageCost, page_cost


def test_both_costs_are_stated() -> None:
    text = PageCost(5.25, 0.5).text
    assert "5.25 us" in text
    assert "0.50 us" in text


def test_touched_memory_was_resident_and_is_free_again() -> None:
    num_bytes = 1 << 28
    cost = page_cost(num_bytes)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 > num_bytes
    assert cost.found_us > 0
    with Path("/proc/self/statm").open(encoding="ascii") as file:
        resident = int(file.read().split()[1]) * resource.getpagesize()
    assert resident < resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - num_bytes // 2
