"""Runs of one analysis: the plain program, which is the one that is seen, and its recordings.

Input: executables and the request. Output: :class:`TargetRun`; a recording also writes its trace. What the
program prints is shown by the plain run, completely and once: a recording may end before the program does.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

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

    ``stdin`` is a file with its standard input; ``None`` to inherit ours.
    """

    request: AnalysisRequest
    stdin: Path | None

    @classmethod
    def of(cls, request: AnalysisRequest, directory: Path) -> ProgramRuns:
        """Runs of ``request``; its input is kept in ``directory``. TargetRunError if that cannot be read."""
        return cls(request, spool_stdin(request.stdin, directory))

    def plain(self, native: Path) -> TargetRun:
        """Run the program itself; its output goes where the request says. Errors as :func:`run_target`."""
        output = {"discard": subprocess.DEVNULL, "stderr": _STANDARD_ERROR}.get(self.request.program_output)
        return self._run(native, {}, output, None)

    def recorded(self, instrumented: Path, trace: Path, *, workspace: Path | None = None) -> TargetRun:
        """Record the program; what it prints is discarded.

        ``workspace`` lists the words whose lifetimes are named. Errors are those of :func:`run_target`, and
        TargetRunError if the recorder cannot start.
        """
        # beyond half of this memory, the recorder uses its file; the rest of what is left is for the graph
        allowed = self.request.memory_limit_bytes or psutil.virtual_memory().available // 4
        environment = {"COMMANALYZER_TRACE": str(trace), "COMMANALYZER_MEMORY": f"{allowed:020d}"}
        if workspace is not None:
            environment["COMMANALYZER_WORKSPACE"] = str(workspace)
        trace.unlink(missing_ok=True)
        room = self.request.disk_limit_bytes or shutil.disk_usage(trace.parent).free // _SHARE_OF_DISK
        limit, nowhere = FileLimit(trace, room), subprocess.DEVNULL
        run = self._run(instrumented, environment, nowhere, nowhere, limit)
        if run.exit_status == _RECORDER_FAILED and not trace.exists():
            raise TargetRunError(
                "the recorder could not reserve its address space",
                hint="allow overcommitted memory (vm.overcommit_memory 0 or 1) and unlimited address space",
            )
        return run

    def profiled(self, instrumented: Path, variables: Mapping[str, str]) -> TargetRun:
        """Run the program's profile run; what it prints is discarded. Errors as :func:`run_target`.

        ``variables`` are what it is told, by name without ``COMMANALYZER_``.
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
        with nullcontext() if self.stdin is None else self.stdin.open("rb") as stream:
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
