"""Progress of a sweep, on standard error: a live line on a terminal, a line per point elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

from commanalyzer.foundation.quantities import format_seconds
from commanalyzer.scaling.sweep.drive import SweepStatus
from commanalyzer.scaling.sweep.store import PointRecord

_MOST_LABELS = 4


class SweepProgress:
    """Shows points as they end, and on a terminal what runs and how long it will take.

    Args:
        console: Where to.
        quiet: Show nothing.
    """

    def __init__(self, console: Console, *, quiet: bool = False) -> None:
        self._console = console
        self._quiet = quiet
        self._bar = Progress(
            BarColumn(20),
            TextColumn("{task.completed:.0f}/{task.total:.0f} points"),
            TextColumn("{task.description}"),
            console=console,
            transient=True,
            disable=quiet or not console.is_terminal,
        )
        self._task = self._bar.add_task("", total=0, visible=False)

    def show(self, status: SweepStatus) -> None:
        """Show where the sweep is."""
        if self._quiet:
            return
        ended = status.finished + status.failed - len(status.news)
        for number, record in enumerate(status.news, ended + 1):
            self._console.print(Text(f"[{number}/{status.total}] {_ended(record)}"))
        if not status.news and not status.running and ended:
            self._console.print(Text(f"{ended} of {status.total} points were finished or failed before"))
        self._bar.update(
            self._task,
            visible=True,
            total=status.total,
            completed=status.finished + status.failed,
            description=_description(status),
        )

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()


def label_of(parameters: Mapping[str, str]) -> str:
    """Parameters of a point: ``n=64 kind=banded``."""
    return " ".join(f"{name}={value}" for name, value in parameters.items())


def _ended(record: PointRecord) -> str:
    label = label_of(record.parameters)
    if record.error is None:
        return f"{label}: {format_seconds(record.wall_s)}"
    return f"{label}: failed: {record.error.message}"


def _description(status: SweepStatus) -> str:
    parts = [f"{status.failed} failed"] if status.failed else []
    if status.running:
        more = "" if len(status.running) <= _MOST_LABELS else " ..."
        parts.append(f"running {', '.join(status.running[:_MOST_LABELS])}{more}")
    if status.left_s is not None:
        parts.append(f"about {format_seconds(status.left_s)} left")
    return ", ".join(parts).replace("[", "\\[")
