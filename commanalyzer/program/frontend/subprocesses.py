"""Runs external tools (compiler, linker, optimiser child) with a time limit."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool left behind.

    Attributes:
        exit_status: Exit status; negative signal number when a signal ended it; ``None`` after a time-out.
        stdout: Standard output, undecodable bytes replaced.
        stderr: Standard error, undecodable bytes replaced.
    """

    exit_status: int | None
    stdout: str
    stderr: str

    @property
    def ok(self) -> bool:
        """The tool ended with status 0."""
        return self.exit_status == 0

    def last_lines(self, count: int = 20) -> str:
        """The last non-empty lines of standard error (of standard output when that is empty)."""
        text = self.stderr.strip() or self.stdout.strip()
        return "\n".join([line for line in text.splitlines() if line.strip()][-count:])


def run_tool(
    command: Sequence[str],
    *,
    timeout_s: float,
    environment: Mapping[str, str] | None = None,
    directory: Path | None = None,
) -> ToolOutput:
    """Output of ``command``, run without a terminal.

    Args:
        command: Program and arguments.
        timeout_s: Wall-clock limit, seconds; it and all that it started are killed then.
        environment: Variables added to this process's environment.
        directory: Working directory; the current one when ``None``.

    Raises:
        OSError: If the program cannot be started at all.
    """
    try:
        with subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **(environment or {})},
            cwd=directory,
            start_new_session=True,
        ) as process:
            try:
                output, errors = process.communicate(timeout=timeout_s)
            except BaseException:  # compilers are drivers of others, which would go on
                os.killpg(process.pid, signal.SIGKILL)
                raise
    except subprocess.TimeoutExpired as expired:
        return ToolOutput(None, _text(expired.stdout), _text(expired.stderr))
    return ToolOutput(process.returncode, _text(output), _text(errors))


def tool_bytes(command: Sequence[str], *, timeout_s: float) -> bytes | None:
    """What ``command`` writes to standard output, as it is; none if it fails or takes longer.

    Raises:
        OSError: If the program cannot be started at all.
    """
    try:
        done = subprocess.run(
            list(command), stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout_s, check=False
        )
    except subprocess.TimeoutExpired:
        return None
    return done.stdout if done.returncode == 0 else None


def _text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", errors="replace")
