"""A sweep as text: the table, and what failed.

Progress of a sweep, on standard error: a live line on a terminal, a line per point elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from types import TracebackType
from typing import Self

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

from commanalyzer.foundation.quantities import format_bytes, format_count, format_percent, format_seconds
from commanalyzer.report.tables import numeric, terminal_table, worded
from commanalyzer.scaling.laws.terms import Floats
from commanalyzer.scaling.sweep.run import SweepStatus
from commanalyzer.scaling.sweep.store import PointRecord, SweepOutcome
from commanalyzer.scaling.sweep.table import STATE_FILE, TABLE_FILE, Array, SweepTable

_MOST_LABELS = 4


class SweepProgress:
    """Shows points as they end, and on a terminal what runs and how long it will take."""

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


_MOST_LINES = 200
_MOST_WARNINGS = 5


def _known(form: Callable[[float], str]) -> Callable[[float], str]:
    return lambda number: form(number) if math.isfinite(number) else "-"


_SHOWN: Mapping[str, tuple[str, Callable[[float], str]]] = {
    "regular_bytes": ("bytes", _known(format_bytes)),
    "regular_messages": ("messages", _known(format_count)),
    "regular_intensity": ("bytes/op", _known("{:.3g}".format)),
    "regular_imbalance": ("imbalance", _known("{:.3f}".format)),
    "regular_efficiency_bound": ("efficiency bound", _known(format_percent)),
    "comm_bytes": ("least found", format_bytes),
    "work_flops": ("work", format_count),
    "record_s": ("recording", format_seconds),
}


def show_sweep(outcome: SweepOutcome, console: Console, *, quiet: bool = False) -> None:
    """Print the table and, unless ``quiet``, failed points and where the files are."""
    table = outcome.table
    if len(table):
        _show_table(table, console)
    for record in outcome.failed:
        if record.error is not None:
            place = f"{record.error.where}: " if record.error.where else ""
            console.print(Text(f"failed: {label_of(record.parameters)}: {place}{record.error.message}"))
            if record.error.hint and not quiet:
                console.print(Text(f"  hint: {record.error.hint}"))
    if outcome.num_waiting:
        console.print(Text(f"not analysed yet: {outcome.num_waiting} of {len(outcome.records)} points"))
    if not quiet:
        _show_warnings(outcome, console)
        console.print(Text(f"wrote {outcome.directory / TABLE_FILE}"))


def _show_table(table: SweepTable, console: Console) -> None:
    known = {name: entry for name, entry in _SHOWN.items() if np.isfinite(table.numbers(name)).any()}
    fields = (
        *(numeric(name, partial(_text, table.column(name))) for name in (*table.parameters, "nodes")),
        *([worded("model", partial(_text, table.column("model")))] if len(table.models) > 1 else []),
        worded("decomposition", partial(_text, table.column("regular_method"))),
        *(numeric(title, partial(_formed, form, table.numbers(n))) for n, (title, form) in known.items()),
    )
    console.print(terminal_table(range(min(len(table), _MOST_LINES)), fields))
    if len(table) > _MOST_LINES:
        console.print(Text(f"... and {len(table) - _MOST_LINES} lines more"))


def _text(column: Array, line: int) -> str:
    value = column[line].item()
    return f"{value:g}" if isinstance(value, float) else str(value)


def _formed(form: Callable[[float], str], column: Floats, line: int) -> str:
    return form(float(column[line]))


def _show_warnings(outcome: SweepOutcome, console: Console) -> None:
    """Every warning once, with the number of points that have it."""
    found: dict[str, list[str]] = {}
    for record in outcome.records:
        for warning in () if record is None else record.warnings:
            found.setdefault(warning, []).append(label_of(record.parameters) if record is not None else "")
    for warning, labels in list(found.items())[:_MOST_WARNINGS]:
        more = f" and {len(labels) - 1} more" if len(labels) > 1 else ""
        console.print(Text(f"warning ({labels[0]}{more}): {warning}"))
    if len(found) > _MOST_WARNINGS:
        rest = len(found) - _MOST_WARNINGS
        console.print(Text(f"{rest} more warnings, by point, are in {outcome.directory / STATE_FILE}"))
