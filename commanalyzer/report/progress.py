"""Progress on a terminal: one line per stage, on standard error."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self, TextIO

from rich.console import Console
from rich.status import Status

from commanalyzer.foundation.quantities import format_seconds


class LineProgress:
    """Writes a line when a stage begins: for standard error that is a file or goes through a launcher."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def stage(self, name: str, steps: int = 1) -> None:
        """Say that ``name`` begins."""
        self._stream.write(f"{name} ...\n")
        self._stream.flush()

    def advance(self, steps: int = 1) -> None:
        """Say nothing."""


class TerminalProgress:
    """Shows the running stage with a spinner on a terminal; nothing elsewhere.

    The program under analysis writes to the same terminal, so the spinner is stopped while it runs:
    stages called ``run ...`` or ``record ...`` show a plain line.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status: Status | None = None
        self._name = ""
        self._steps = 1
        self._done = 0
        self._start_s = 0.0

    def stage(self, name: str, steps: int = 1) -> None:
        """End the running stage, begin ``name``."""
        self._finish()
        self._name, self._steps, self._done, self._start_s = name, steps, 0, time.perf_counter()
        if not self._console.is_terminal:
            return
        if name.startswith(("run", "record")):
            self._console.print(f"[dim]{name} ...[/dim]")
        else:
            self._status = self._console.status(name)
            self._status.start()

    def advance(self, steps: int = 1) -> None:
        """Count steps of the running stage."""
        self._done += steps
        if self._status is not None and self._steps > 1:
            self._status.update(f"{self._name} {self._done}/{self._steps}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._finish(show=error is None)

    def _finish(self, show: bool = True) -> None:
        status, self._status = self._status, None
        if status is None:
            return
        status.stop()
        elapsed_s = time.perf_counter() - self._start_s
        # Short stages would only be noise.
        if show and elapsed_s > 0.5:
            self._console.print(f"[dim]{self._name}: {format_seconds(elapsed_s)}[/dim]")
