import json
import subprocess
import sys

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
