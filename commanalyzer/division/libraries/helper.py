"""A process that calls functions for another one: ``python -m commanalyzer.division.libraries.helper``.

Its standard input has pickled (function, arguments, CPU seconds that it may take), its standard output an
answer to each: (result, error if there was one, its peak memory in bytes). Libraries cannot be interrupted
and keep Python's lock, so signals end it: when a call takes longer, and when the process that asks ends.
"""

from __future__ import annotations

import fcntl
import math
import os
import pickle
import resource
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import IO


def _serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer until there are no more requests."""
    fcntl.fcntl(requests, fcntl.F_SETOWN, os.getpid())
    while True:
        function, arguments, most_seconds = pickle.load(requests)
        result: object = None
        error: Exception | None = None
        _limit(most_seconds)
        fcntl.fcntl(requests, fcntl.F_SETFL, os.O_ASYNC)  # SIGIO when the other end of the pipe is closed
        try:
            result = function(*arguments)
        except MemoryError:
            error = MemoryError()
        except Exception as caught:  # noqa: BLE001 whoever asked gets it
            error = RuntimeError(str(caught))
        fcntl.fcntl(requests, fcntl.F_SETFL, 0)  # or the next request would end this process
        _limit(math.inf)
        pickle.dump((result, error, _peak_bytes()), answers, protocol=5)
        answers.flush()


def _limit(seconds: float) -> None:
    """End this process when it has used so much more CPU time, or what the user's shell allows."""
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    wanted = min(time.process_time() + seconds, math.inf if most == resource.RLIM_INFINITY else most)
    limit = resource.RLIM_INFINITY if math.isinf(wanted) else math.ceil(wanted)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, most))


def _peak_bytes() -> int:
    """Not from ``resource``: the largest memory of what this process was forked from would count."""
    peak = Path("/proc/self/status").read_text().partition("VmHWM:")[2].split(maxsplit=1)
    return int(peak[0]) * 1024 if peak else 0


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a call that takes too long leaves no file behind
    with suppress(EOFError, BrokenPipeError), os.fdopen(os.dup(1), "wb") as own_answers:
        os.dup2(2, 1)  # libraries may print: not into answers
        _serve(sys.stdin.buffer, own_answers)
