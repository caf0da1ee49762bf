"""A sweep as text: the table, and what failed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from commanalyzer.foundation.quantities import format_bytes, format_count, format_percent, format_seconds
from commanalyzer.report.scaling.sweep_progress import label_of
from commanalyzer.scaling.sweep.state import SweepOutcome
from commanalyzer.scaling.sweep.table import STATE_FILE, TABLE_FILE, SweepTable

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
    """Print the table, failed points, and where the files are.

    Args:
        outcome: What to show.
        console: Where to.
        quiet: Only the table.
    """
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
    shown = Table()
    several = len(table.models) > 1
    for name in (*table.parameters, "nodes"):
        shown.add_column(name, justify="right")
    if several:
        shown.add_column("model")
    shown.add_column("decomposition", no_wrap=True)
    known = {name: entry for name, entry in _SHOWN.items() if np.isfinite(table.numbers(name)).any()}
    for title, _ in known.values():
        shown.add_column(title, justify="right")
    names = *table.parameters, "nodes", *(["model"] if several else []), "regular_method"
    cells = [_texts(table, name) for name in names]
    cells += [list(map(form, table.numbers(name).tolist())) for name, (_, form) in known.items()]
    for row in list(zip(*cells, strict=True))[:_MOST_LINES]:
        shown.add_row(*map(Text, row))
    console.print(shown)
    if len(table) > _MOST_LINES:
        console.print(Text(f"... and {len(table) - _MOST_LINES} lines more"))


def _texts(table: SweepTable, name: str) -> list[str]:
    values = table.column(name).tolist()
    return [f"{value:g}" if isinstance(value, float) else str(value) for value in values]


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
