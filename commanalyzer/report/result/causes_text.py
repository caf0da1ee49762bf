"""Why nodes exchange bytes, as text for a terminal, and as JSON."""

from __future__ import annotations

import json

from rich.console import Console
from rich.table import Table
from rich.text import Text

from commanalyzer.communication.attribution import LineTraffic
from commanalyzer.foundation.quantities import format_bytes, format_count, format_percent
from commanalyzer.program.ir.names.addresses import source_name
from commanalyzer.report.result.text import place_of_home
from commanalyzer.result.causes import Causes, VariableTraffic

SCHEMA = "commanalyzer.causes/1"
_MOST = 12


def show_causes(causes: Causes, console: Console, *, quiet: bool = False) -> None:
    """Print variables and lines; only the largest of each with ``quiet``."""
    least = " as counted by rows" if causes.decomposition.is_replayed else ""
    console.print(Text(f"{_which(causes)}: {format_bytes(causes.comm_bytes)}{least}"))
    if not causes.comm_bytes:
        return
    most = 1 if quiet else _MOST
    variables = Table(title="Variables whose values are sent", title_justify="left")
    for name, justify in (
        ("variable", "left"),
        ("elements", "left"),
        ("values", "right"),
        ("bytes", "right"),
    ):
        variables.add_column(name, justify="right" if justify == "right" else "left", overflow="fold")
    variables.add_column("share", justify="right")
    for item in causes.variables[:most]:
        share = format_percent(item.comm_bytes / causes.comm_bytes)
        cells = (place_of_home(item.variable), _elements(item), format_count(item.values))
        variables.add_row(*map(Text, (*cells, format_bytes(item.comm_bytes), share)))
    console.print(variables)
    lines = Table(title="Source lines that read or make them", title_justify="left")
    lines.add_column("line", overflow="fold")
    lines.add_column("function", overflow="fold")
    for name in ("needs", "makes", "share"):
        lines.add_column(name, justify="right")
    for line in causes.lines[:most]:
        lines.add_row(*map(Text, _cells(line, causes.comm_bytes)))
    console.print(lines)
    for kind, items in (("variables", causes.variables), ("lines", causes.lines)):
        if len(items) > most and not quiet:
            console.print(Text(f"{len(items) - most} smaller {kind} are in --json"))


def causes_json(causes: Causes) -> str:
    """The document ``commanalyzer.causes/1``."""
    item = causes.decomposition
    document = {
        "schema": SCHEMA,
        "nodes": item.nodes,
        "model": item.model,
        "method": item.method,
        "sender": None if causes.pair is None else causes.pair[0],
        "receiver": None if causes.pair is None else causes.pair[1],
        "comm_bytes": causes.comm_bytes,
        "variables": [
            {
                "name": v.variable.name,
                "function": v.variable.function,
                "file": v.variable.file,
                "line": v.variable.line,
                "comm_bytes": v.comm_bytes,
                "values": v.values,
                "first_element": v.first,
                "last_element": v.last,
            }
            for v in causes.variables
        ],
        "lines": [
            {
                "file": t.file,
                "line": t.line,
                "functions": list(dict.fromkeys(map(source_name, t.functions))),
                "needed_bytes": t.needed_bytes,
                "made_bytes": t.made_bytes,
            }
            for t in causes.lines
        ],
    }
    return json.dumps(document, indent=1) + "\n"


def _which(causes: Causes) -> str:
    item = causes.decomposition
    where = f"{item.nodes} nodes, {item.method}"
    if causes.pair is None:
        return f"All that is sent on {where}"
    return f"What node {causes.pair[0]} sends to node {causes.pair[1]} ({where})"


def _elements(item: VariableTraffic) -> str:
    if item.last == 0:
        return ""
    return f"[{item.first}]" if item.first == item.last else f"[{item.first}] to [{item.last}]"


def _cells(line: LineTraffic, total: int) -> tuple[str, ...]:
    needed, made = line.needed_bytes, line.made_bytes
    return (
        f"{line.file}:{line.line}" if line.file else "input or unknown",
        ", ".join(dict.fromkeys(map(source_name, line.functions))),
        format_bytes(needed) if needed else "",
        format_bytes(made) if made else "",
        format_percent(needed / total),
    )
