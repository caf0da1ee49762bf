"""A process that calls functions for another one: ``python -m commanalyzer.partition.libraries.helper``.

Its standard input has pickled (function, arguments, CPU seconds that it may take), its standard output an
answer to each: (what happened, result or message, its peak memory in bytes). It ends with its input, and when
a call takes longer: libraries cannot be interrupted otherwise.
"""

from __future__ import annotations

import math
import os
import pickle
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Literal

_Kind = Literal["done", "failed", "no memory"]
_LOOK_S = 1.0
_MODULE = "commanalyzer.partition.libraries.helper"


class HelperEndedError(Exception):
    """The process ended before it answered.

    Attributes:
        is_overtime: It had used up the CPU time of the call.
    """

    def __init__(self, message: str, *, is_overtime: bool = False) -> None:
        super().__init__(message)
        self.is_overtime = is_overtime


class Helper:
    """The other end: starts the process and talks to it.

    Attributes:
        peak_bytes: Largest resident memory of the process so far.
    """

    def __init__(self) -> None:
        self.peak_bytes = 0
        paths = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
        self._process = subprocess.Popen(
            [sys.executable, "-m", _MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": paths},
            process_group=0,  # a terminal's interrupt is for the one who asks, who then ends this process
        )

    def call(
        self, function: Callable[..., Any], arguments: tuple[Any, ...], most_seconds: float = math.inf
    ) -> Any:
        """Return ``function(*arguments)``, as computed by the process.

        Args:
            function: Of a module.
            arguments: What it is called with.
            most_seconds: CPU time after which the process ends itself, in whole seconds, rounded up.

        Raises:
            HelperEndedError: If it ended.
            RuntimeError: If the function raised an error; with its text.
            MemoryError: If the function raised one.
        """
        request, answer = self._process.stdin, self._process.stdout
        assert request is not None and answer is not None
        try:
            pickle.dump((function, arguments, most_seconds), request, protocol=5)
            request.flush()
            kind, result, self.peak_bytes = pickle.load(answer)
        except (OSError, EOFError, ValueError, pickle.UnpicklingError) as error:
            self.end()
            status = self._process.returncode
            raise HelperEndedError(f"exit status {status}", is_overtime=status == -signal.SIGXCPU) from error
        if kind == "no memory":
            raise MemoryError
        if kind == "failed":
            raise RuntimeError(result)
        return result

    def end(self) -> None:
        """End the process, even in the midst of a call."""
        self._process.kill()
        self._process.wait()


def _serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer until there are no more requests."""
    with suppress(EOFError, BrokenPipeError):
        while True:
            function, arguments, most_seconds = pickle.load(requests)
            _limit(most_seconds)
            kind, result = _outcome(function, arguments)
            _limit(math.inf)
            pickle.dump((kind, result, _peak_bytes()), answers, protocol=5)
            answers.flush()


def _outcome(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[_Kind, Any]:
    try:
        return "done", function(*arguments)
    except MemoryError:
        return "no memory", ""
    except Exception as error:  # noqa: BLE001 whoever asked gets it
        return "failed", str(error)


def _limit(seconds: float) -> None:
    """End this process when it has used so much more CPU time."""
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    wanted = resource.RLIM_INFINITY if math.isinf(seconds) else math.ceil(time.process_time() + seconds)
    if most != resource.RLIM_INFINITY and (wanted == resource.RLIM_INFINITY or wanted > most):
        wanted = most  # of the user's shell
    resource.setrlimit(resource.RLIMIT_CPU, (wanted, most))


def _peak_bytes() -> int:
    """Not from ``resource``: the largest memory of what this process was forked from would count."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def _follow(parent: int) -> None:
    """End with the process that asks, also in the midst of a call."""
    while os.getppid() == parent:
        time.sleep(_LOOK_S)
    os.kill(os.getpid(), signal.SIGKILL)


def _main() -> None:
    threading.Thread(target=_follow, args=(os.getppid(),), daemon=True).start()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a call that takes too long leaves no file behind
    # Libraries may print: not into answers.
    with suppress(BrokenPipeError), os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)
        _serve(sys.stdin.buffer, answers)


if __name__ == "__main__":
    _main()
