"""Processes that are ended with everything that they started, also when this process is killed.

Each is started by a small program (``runtime_shim/supervisor``) that watches this process and adopts orphans.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from commanalyzer.foundation.errors import RuntimeBuildError
from commanalyzer.program.frontend.cache import cached_file, content_key
from commanalyzer.program.frontend.shim import shim_directory
from commanalyzer.program.frontend.subprocesses import run_tool
from commanalyzer.program.frontend.toolchain import bundled_toolchain

_FLAGS = ("-std=gnu11", "-O2", "-g0", "-Wall", "-Wextra", "-fno-sanitize=all")
_TIMEOUT_S = 300.0
Stream = IO[bytes] | int | None


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended.

    Attributes:
        status: As wait(2) says.
        cpu_s: CPU time of the process and the children it waited for, user and system, seconds.
        peak_rss_bytes: Largest resident size of the process or one of those children, bytes.
    """

    status: int
    cpu_s: float
    peak_rss_bytes: int


class Supervised(threading.Thread):
    """A program that runs; the thread waits for what its supervisor reports.

    Attributes:
        ended: Set when the program has ended, or its supervisor.
        end: How it ended; ``None`` if its supervisor did not say.
    """

    def __init__(
        self,
        command: Sequence[str],
        streams: tuple[Stream, Stream, Stream],
        environment: Mapping[str, str] | None,
    ) -> None:
        """Start ``command``.

        Raises:
            OSError: If it cannot be started.
            ValueError: If a word or variable holds a NUL.
            RuntimeBuildError: If the supervisor cannot be built.
        """
        super().__init__(daemon=True)
        supervisor = build_supervisor()
        self.ended = threading.Event()
        self.end: Ended | None = None
        reading, writing = os.pipe()
        self._report = os.fdopen(reading, "rb")
        try:
            self._process = subprocess.Popen(
                [str(supervisor), str(writing), str(os.getpid()), *command],
                stdin=streams[0],
                stdout=streams[1],
                stderr=streams[2],
                env=environment,
                pass_fds=(writing,),
                start_new_session=True,
            )
        except BaseException:
            self._report.close()
            raise
        finally:
            os.close(writing)
        self.start()

    @property
    def pid(self) -> int:
        """The supervisor, of which all processes of the program are descendants."""
        return self._process.pid

    @property
    def error(self) -> int:
        """Error number if the program could not be started, else 0; known once it has ended."""
        return self._error

    def run(self) -> None:
        """Read the report up to its end."""
        self._error = 0
        with self._report:
            for line in self._report:
                kind, *numbers = line.split()
                if kind == b"cannot":
                    self._error = int(numbers[0])
                elif kind == b"end":
                    status, user_us, system_us, peak_kib = map(int, numbers)
                    self.end = Ended(status, (user_us + system_us) / 1e6, peak_kib * 1024)
                    self.ended.set()
        self.ended.set()

    def finish(self) -> None:
        """End the program, if it has not ended, and all that it started; return when they are gone."""
        if not self.ended.is_set():
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGTERM)
        self._process.wait()
        self.join()


def build_supervisor() -> Path:
    """The supervisor; compiled at first use, then cached.

    Raises:
        RuntimeBuildError: If it does not compile.
        ConfigError: If the cache is not usable.
    """
    toolchain = bundled_toolchain()
    source = shim_directory() / "supervisor" / "supervise.c"
    command = [*toolchain.cc, *toolchain.target_flags, *_FLAGS, str(source)]
    key = content_key(["supervisor", toolchain.version, *command, source.read_bytes()])

    def produce(draft: Path) -> None:
        output = run_tool([*command, "-o", str(draft)], timeout_s=_TIMEOUT_S)
        if not output.ok:
            raise RuntimeBuildError(f"the supervisor of programs does not compile:\n{output.last_lines()}")

    return cached_file(key, "", produce)
