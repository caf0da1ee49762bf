"""Sorting keys digit by digit against numpy's sort."""

from __future__ import annotations

import numpy as np
import pytest

from commanalyzer.vcg.structure.segments import sorted_unique


@pytest.mark.parametrize("count", [0, 1, 100, 5000])  # few keys are sorted otherwise
@pytest.mark.parametrize("most", [1, 3, 1 << 11, 1 << 35, (1 << 63) - 1])
def test_distinct_keys_in_order(count: int, most: int) -> None:
    keys = np.random.default_rng(count).integers(0, most, count)
    assert sorted_unique(keys.copy()).tolist() == np.unique(keys).tolist()
