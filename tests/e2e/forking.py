"""A process that has imported the package and forks for every command: none of them pays for the imports.

Nor for compiled kernels: what the disk has of them is loaded before a fork (:mod:`tests.e2e.kernels`).

Started with the number of a connected socket. A request is a line of JSON, the answer is the exit status. It
runs no thread and analyses nothing itself, so every fork is a fresh command line.
"""

import atexit
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from tests.native import ROOT

TIMEOUT_S = 600.0
_STREAMS = (os.O_RDONLY, os.O_WRONLY | os.O_APPEND, os.O_WRONLY | os.O_APPEND)


class Forks:
    """The other end: starts commands and waits for them."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        ours.settimeout(TIMEOUT_S)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.e2e.forking", str(theirs.fileno())],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
        theirs.close()
        self._lines = ours.makefile("rw", encoding="utf-8")

    def run(
        self, folder: Path, arguments: Sequence[str], environment: Mapping[str, str], stdin: str
    ) -> tuple[int, str, str]:
        """Exit status, output and errors of a command; ``environment`` has all of its variables.

        Raises:
            TimeoutError: If it takes longer than :data:`TIMEOUT_S`; it is killed, with all that it started.
        """
        with tempfile.TemporaryDirectory() as scratch:
            paths = [Path(scratch) / name for name in ("in", "out", "err")]
            for path, text in zip(paths, (stdin, "", ""), strict=True):
                path.write_text(text, encoding="utf-8")
            request = [str(folder), list(arguments), dict(environment), list(map(str, paths))]
            self._lines.write(f"{json.dumps(request)}\n")
            self._lines.flush()
            try:
                answer = self._lines.readline()
            except TimeoutError:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()
                forks.cache_clear()
                raise
            assert answer, f"the process that forks ended with status {self._process.wait()}"
            return int(answer), paths[1].read_text(encoding="utf-8"), paths[2].read_text(encoding="utf-8")


@cache
def forks() -> Forks:
    """The one of this test process; it ends when the test process does."""
    return Forks()


def _serve(connection: socket.socket) -> int:
    """Fork for each request; a fork returns the exit status of its command."""
    from tests.e2e.kernels import LoadedKernels

    kernels = LoadedKernels()
    lines = connection.makefile("rw", encoding="utf-8")
    for line in lines:
        kernels.load()
        gc.freeze()
        child = os.fork()
        if child == 0:
            status = _command(*json.loads(line))
            atexit._run_exitfuncs()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)  # to take all modules apart again takes longer than most commands
        status = os.waitpid(child, 0)[1]
        lines.write(f"{os.waitstatus_to_exitcode(status)}\n")
        lines.flush()
    return 0


def _command(folder: str, arguments: list[str], environment: dict[str, str], files: list[str]) -> int:
    from commanalyzer.cli.entry import main

    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None
    for stream, (path, flags) in enumerate(zip(files, _STREAMS, strict=True)):
        descriptor = os.open(path, flags)
        os.dup2(descriptor, stream)
        os.close(descriptor)
    sys.argv = ["commanalyzer", *arguments]
    return main()


if __name__ == "__main__":
    sys.exit(_serve(socket.socket(fileno=int(sys.argv[1]))))
