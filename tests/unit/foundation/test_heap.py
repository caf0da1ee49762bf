"""The heap keeps what is freed, and gives it back when told."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import psutil

from commanalyzer.foundation.heap import give_back

_SIZE, _COUNT = 100_000, 1000  # bytes: too few for the system to get them back by themselves


def test_free_memory_between_what_is_kept_goes_back() -> None:
    arrays = [np.ones(_SIZE, np.uint8) for _ in range(_COUNT)]
    del arrays[::2]
    before = psutil.Process().memory_info().rss
    give_back()
    assert before - psutil.Process().memory_info().rss > _SIZE * _COUNT // 4
    assert all(array[0] == 1 for array in arrays)


_LARGE = 64_000_000  # bytes: more than the C library keeps by itself
_PROGRAM = f"""
import json
import numpy, psutil
from commanalyzer.foundation.heap import give_back, keep_freed_memory
resident = lambda: psutil.Process().memory_info().rss
keep_freed_memory()
before = resident()
array = numpy.ones({_LARGE}, numpy.uint8)
del array
kept = resident() - before
give_back()
print(json.dumps([kept, resident() - before]))
"""


def test_a_large_array_that_is_freed_stays_until_it_is_given_back() -> None:
    run = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True)
    kept, left = json.loads(run.stdout)
    assert kept > _LARGE * 0.9
    assert left < _LARGE * 0.1
