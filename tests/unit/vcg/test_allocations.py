"""Blocks of one path: one array with rows, or several arrays."""

from __future__ import annotations

import numpy as np
import pytest

from commanalyzer.abi.trace_layout import BLOCKS
from commanalyzer.vcg.allocations import Layout


@pytest.mark.parametrize(
    ("first", "size", "period", "count", "expected"),
    [
        (16, 800, 0, 1, Layout(16, 0, 1, 800)),
        (4096, 804, 0, 1, Layout(4096, 0, 1, 804)),  # aligned: offsets count from there
        (16, 800, 816, 3, Layout(16, 816, 3, 800)),  # three fields of 100 elements
        (16, 800, 816, 10, Layout(16, row=816)),  # ten rows of a square
        (16, 800, 0, 3, Layout(16)),  # of different sizes: a container that grows
        (0, 0, 0, 0, Layout(16)),  # pages
    ],
)
def test_few_large_blocks_are_arrays_of_their_own(
    first: int, size: int, period: int, count: int, expected: Layout
) -> None:
    blocks = np.array([(first, size, period, count)], BLOCKS)
    assert Layout.of(blocks[0]) == expected
