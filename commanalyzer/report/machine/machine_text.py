"""Machine parameters as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from commanalyzer.foundation.quantities import format_bytes
from commanalyzer.machine.curves import Curve
from commanalyzer.machine.kinds import KINDS, ParameterKind
from commanalyzer.machine.parameters import MachineParameters, Parameter
from commanalyzer.report.tables import Field, terminal_table, worded

_PLAIN: dict[str, Any] = {"box": None, "padding": (0, 2, 0, 0)}


def show_machine(machine: MachineParameters, console: Console, *, every: bool = False) -> None:
    """Print ``machine``.

    Args:
        machine: What to show.
        console: Where to.
        every: Also the values over node counts and message sizes.
    """
    console.print(Text(machine.name or "machine", style="bold"))
    fields: tuple[Field[tuple[str, Parameter]], ...] = (
        worded("parameter", lambda item: item[0], no_wrap=True),
        worded("value", lambda item: KINDS[item[0]].show(item[1].value), no_wrap=True),
        worded("source", lambda item: item[1].source, no_wrap=True),
        worded("date", lambda item: item[1].date, no_wrap=True),
        worded("how", lambda item: item[1].note or KINDS[item[0]].meaning),
    )
    console.print(terminal_table(machine.parameters.items(), fields, **_PLAIN))
    if not every:
        return
    for key, parameter in machine.parameters.items():
        if parameter.curve is not None:
            console.print()
            console.print(Text(f"{key}: {KINDS[key].meaning}"))
            console.print(_curve_table(parameter.curve, KINDS[key]))


def show_machines(machines: Mapping[str, MachineParameters], console: Console) -> None:
    """Print one line per machine: name for ``--machine``, title, what is known."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("name", "machine", "bandwidth", "overlap", "latency", "throughput"):
        table.add_column(column, no_wrap=column != "machine")
    for name, machine in machines.items():
        known = machine.parameters
        cells = (
            KINDS[key].show(known[key].value) if key in known else "-"
            for key in ("bandwidth", "overlap", "latency", "throughput")
        )
        table.add_row(name, Text(machine.name), *cells)
    console.print(table)


def show_remarks(remarks: Iterable[str], console: Console) -> None:
    """Print what a reader of measured numbers must know."""
    for remark in remarks:
        console.print(Text(f"note: {remark}", style="yellow"))


def _curve_table(curve: Curve, kind: ParameterKind) -> Table:
    """Message sizes down, node counts across."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("message" if curve.message_bytes else "", justify="right", no_wrap=True)
    for nodes in curve.nodes or ("",):
        table.add_column(f"{nodes:.0f} nodes" if nodes else "value", justify="right", no_wrap=True)
    width = max(len(curve.message_bytes), 1)
    for index, size in enumerate(curve.message_bytes or (None,)):
        label = format_bytes(size) if size is not None else ""
        table.add_row(label, *(kind.show(value) for value in curve.values[index::width]))
    return table
