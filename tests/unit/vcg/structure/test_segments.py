"""Sorting and grouping of keys."""

from __future__ import annotations

import numpy as np
import pytest

from commanalyzer.vcg.structure.segments import order_by, sorted_unique


@pytest.mark.parametrize("count", [0, 1, 100, 5000])
@pytest.mark.parametrize("most", [1, 3, 1 << 11, 1 << 35, (1 << 63) - 1])
def test_distinct_keys_in_order(count: int, most: int) -> None:
    keys = np.random.default_rng(count).integers(0, most, count)
    assert sorted_unique(keys.copy()).tolist() == np.unique(keys).tolist()


@pytest.mark.parametrize(("count", "size"), [(0, 0), (0, 5), (1, 1), (1000, 7), (1000, 5000)])
def test_entries_by_key_stay_in_order(count: int, size: int) -> None:
    key = np.random.default_rng(count).integers(0, max(size, 1), count)
    start, order = order_by(key, size)
    assert order.tolist() == np.argsort(key, kind="stable").tolist()
    assert start.tolist() == np.searchsorted(np.sort(key), np.arange(size + 1)).tolist()
