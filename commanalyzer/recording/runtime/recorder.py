"""Runs of one analysis: the plain program, which is the one that is seen, and its recordings.

Input: executables and the request. Output: :class:`TargetRun`; a recording also writes its trace. What the
program prints is shown by the plain run, completely and once: a recording may end before the program does.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil

from commanalyzer.foundation.errors import TargetRunError
from commanalyzer.recording.runtime.launch import (
    FileLimit,
    RunLimits,
    Stream,
    TargetRun,
    run_target,
    spool_stdin,
)
from commanalyzer.request import AnalysisRequest

_STANDARD_ERROR = 2  # descriptor: sys.stderr may be replaced (notebooks, test runners)
_SHARE_OF_DISK = 2  # the rest is for the graph, and for others
_RECORDER_FAILED = 113  # exit status of the shim when it cannot reserve its memory


@dataclass(frozen=True, slots=True)
class ProgramRuns:
    """Starts the program of a request, always with the same arguments and input.

    Attributes:
        stdin: File with its standard input; ``None`` to inherit ours.
    """

    request: AnalysisRequest
    stdin: Path | None

    @classmethod
    def of(cls, request: AnalysisRequest, directory: Path) -> ProgramRuns:
        """Runs of ``request``; its input is kept in ``directory``.

        Raises:
            TargetRunError: If its input cannot be read.
        """
        return cls(request, spool_stdin(request.stdin, directory))

    def plain(self, native: Path) -> TargetRun:
        """Run the program itself; its output goes where the request says.

        Raises:
            TargetRunError: As :func:`run_target` says.
        """
        output = {"discard": subprocess.DEVNULL, "stderr": _STANDARD_ERROR}.get(self.request.program_output)
        return self._run(native, {}, output, None)

    def recorded(self, instrumented: Path, trace: Path, *, workspace: Path | None = None) -> TargetRun:
        """Record the program; what it prints is discarded.

        Args:
            workspace: List of the words whose lifetimes are named.

        Raises:
            TargetRunError: As :func:`run_target` says, or if the recorder cannot start.
        """
        environment = recorder_environment(trace, self.request.memory_limit_bytes)
        if workspace is not None:
            environment["COMMANALYZER_WORKSPACE"] = str(workspace)
        trace.unlink(missing_ok=True)
        room = self.request.disk_limit_bytes or shutil.disk_usage(trace.parent).free // _SHARE_OF_DISK
        run = self._run(
            instrumented, environment, subprocess.DEVNULL, subprocess.DEVNULL, FileLimit(trace, room)
        )
        if run.exit_status == _RECORDER_FAILED and not trace.exists():
            raise TargetRunError(
                "the recorder could not reserve its address space",
                hint="allow overcommitted memory (vm.overcommit_memory 0 or 1) and unlimited address space",
            )
        return run

    def profiled(self, instrumented: Path, variables: Mapping[str, str]) -> TargetRun:
        """Run the program's profile run; what it prints is discarded.

        Args:
            variables: What it is told, by name without ``COMMANALYZER_``.

        Raises:
            TargetRunError: As :func:`run_target` says.
        """
        environment = {f"COMMANALYZER_{name}": value for name, value in variables.items()}
        return self._run(instrumented, environment, subprocess.DEVNULL, subprocess.DEVNULL)

    def _run(
        self,
        executable: Path,
        environment: dict[str, str],
        stdout: Stream,
        stderr: Stream,
        trace: FileLimit | None = None,
    ) -> TargetRun:
        with _input(self.stdin) as stream:
            return run_target(
                executable,
                self.request.arguments,
                stdin=stream,
                stdout=stdout,
                stderr=stderr,
                environment=environment,
                limits=RunLimits(self.request.timeout_s, self.request.memory_limit_bytes, trace),
                label=self.request.sources[0].name,
            )


def recorder_environment(trace: Path, memory_limit_bytes: int | None) -> dict[str, str]:
    """What the recorder is told: its file, and the memory beyond half of which it uses that file.

    Args:
        memory_limit_bytes: Limit of the run's memory; without one, a quarter of what the machine has left.
    """
    allowed = memory_limit_bytes or psutil.virtual_memory().available // 4  # the rest is for the graph
    return {"COMMANALYZER_TRACE": str(trace), "COMMANALYZER_MEMORY": f"{allowed:020d}"}


@contextmanager
def _input(path: Path | None) -> Iterator[IO[bytes] | None]:
    if path is None:
        yield None
        return
    with path.open("rb") as stream:
        yield stream
