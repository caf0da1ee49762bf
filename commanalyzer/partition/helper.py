"""A process that calls functions for another one: ``python -m commanalyzer.partition.helper``.

Its standard input has pickled (function, arguments), its standard output an answer to each: (what happened,
result or message, its peak memory in bytes). It ends with its input.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Literal

_Kind = Literal["done", "failed", "no memory"]
_MODULE = "commanalyzer.partition.helper"


class HelperEndedError(Exception):
    """The process ended before it answered."""


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

    def call(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """Return ``function(*arguments)``, as computed by the process.

        Raises:
            HelperEndedError: If it ended.
            RuntimeError: If the function raised an error; with its text.
            MemoryError: If the function raised one.
        """
        request, answer = self._process.stdin, self._process.stdout
        assert request is not None and answer is not None
        try:
            pickle.dump((function, arguments), request, protocol=5)
            request.flush()
            kind, result, self.peak_bytes = pickle.load(answer)
        except (OSError, EOFError, ValueError, pickle.UnpicklingError) as error:
            self.end()
            raise HelperEndedError(f"exit status {self._process.returncode}") from error
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
            function, arguments = pickle.load(requests)
            kind, result = _outcome(function, arguments)
            pickle.dump((kind, result, _peak_bytes()), answers, protocol=5)
            answers.flush()


def _outcome(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[_Kind, Any]:
    try:
        return "done", function(*arguments)
    except MemoryError:
        return "no memory", ""
    except Exception as error:  # noqa: BLE001 whoever asked gets it
        return "failed", str(error)


def _peak_bytes() -> int:
    """Not from ``resource``: the largest memory of what this process was forked from would count."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def _main() -> None:
    # Libraries may print: not into answers.
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)
        _serve(sys.stdin.buffer, answers)


if __name__ == "__main__":
    _main()
