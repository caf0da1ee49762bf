"""Memory of divisions."""

from __future__ import annotations

import numpy as np
import psutil

from commanalyzer.partition.memory import give_back

_SIZE, _COUNT = 100_000, 1000  # bytes: too few for the system to get them back by themselves


def test_free_memory_between_what_is_kept_goes_back() -> None:
    arrays = [np.ones(_SIZE, np.uint8) for _ in range(_COUNT)]
    del arrays[::2]
    before = psutil.Process().memory_info().rss
    give_back()
    assert before - psutil.Process().memory_info().rss > _SIZE * _COUNT // 4
    assert all(array[0] == 1 for array in arrays)
