"""Why nodes exchange bytes, as text for a terminal, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from rich.console import Console
from rich.text import Text

from commanalyzer.communication.attribution import LineTraffic
from commanalyzer.foundation.quantities import format_bytes, format_count, format_percent
from commanalyzer.program.ir.names.addresses import source_name
from commanalyzer.report.result.json_document import picked
from commanalyzer.report.result.text import place_of_home
from commanalyzer.report.tables import Field, numeric, terminal_table, worded
from commanalyzer.result.artifacts import Json
from commanalyzer.result.causes import Causes, VariableTraffic, is_by_rows, path_of

SCHEMA = "commanalyzer.causes/1"
LOOPS_TITLE = "Which loop to change: loops by what their stores need"
_MOST = 12


def show_causes(causes: Causes, console: Console, *, quiet: bool = False) -> None:
    """Print variables, lines and loops; only the largest of each with ``quiet``."""
    least = " as counted by rows" if is_by_rows(causes.decomposition) else ""
    console.print(Text(f"{_which(causes)}: {format_bytes(causes.comm_bytes)}{least}"))
    if not causes.comm_bytes:
        return
    most = 1 if quiet else _MOST
    variables = variable_fields(causes.comm_bytes)
    console.print(terminal_table(causes.variables[:most], variables, "Variables whose values are sent"))
    fields = line_fields(causes.comm_bytes)
    console.print(terminal_table(causes.lines[:most], fields, "Source lines that read or make them"))
    if causes.loops:
        console.print(terminal_table(causes.loops[:most], loop_fields(causes.comm_bytes), LOOPS_TITLE))
    for kind, items in (("variables", causes.variables), ("lines", causes.lines), ("loops", causes.loops)):
        if len(items) > most and not quiet:
            console.print(Text(f"{len(items) - most} smaller {kind} are in --json"))


def causes_json(causes: Causes) -> str:
    """The document ``commanalyzer.causes/1``."""
    item = causes.decomposition
    document = {
        "schema": SCHEMA,
        **picked(item, "nodes model method"),
        "sender": None if causes.pair is None else causes.pair[0],
        "receiver": None if causes.pair is None else causes.pair[1],
        "comm_bytes": causes.comm_bytes,
        "variables": [
            {
                **picked(v.variable, "name function file line"),
                **picked(v, "comm_bytes values"),
                "first_element": v.first,
                "last_element": v.last,
            }
            for v in causes.variables
        ],
        "lines": [
            {
                **picked(t, "file line"),
                "functions": list(dict.fromkeys(map(source_name, t.functions))),
                **picked(t, "needed_bytes made_bytes"),
            }
            for t in causes.lines
        ],
        "loops": [
            {"function": path_of(t)[0] if t.line else "", **picked(t, "file line needed_bytes advice")}
            for t in causes.loops
        ],
    }
    return json.dumps(document, indent=1) + "\n"


def hatchet_literal(causes: Causes) -> list[Json]:
    """What ``hatchet.GraphFrame.from_literal`` reads: the division, its functions, their lines."""
    functions: dict[str, list[LineTraffic]] = {}
    for line in causes.lines:
        functions.setdefault(path_of(line)[0], []).append(line)
    below = [
        _tree(name, lines, [_tree(path_of(line)[1], [line], []) for line in lines])
        for name, lines in functions.items()
    ]
    return [_tree(f"{causes.decomposition.method}, {causes.decomposition.nodes} nodes", causes.lines, below)]


def _tree(name: str, lines: Sequence[LineTraffic], children: list[Json]) -> Json:
    """Bytes of ``lines``, which only a node without children has as its own (metrics without ``(inc)``)."""
    metrics: dict[str, Json] = {}
    for metric in ("needed_bytes", "made_bytes"):
        total = sum(getattr(line, metric) for line in lines)
        metrics |= {metric: 0.0 if children else total, f"{metric} (inc)": total}
    frame: Json = {"name": name, "type": "function" if children else "line"}
    return {"frame": frame, "metrics": metrics, "children": children}


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


def variable_fields(total: int) -> tuple[Field[VariableTraffic], ...]:
    """Columns of variables; shares are of ``total`` bytes."""
    return (
        worded("variable", lambda item: place_of_home(item.variable)),
        worded("elements", _elements),
        numeric("values", lambda item: format_count(item.values)),
        numeric("bytes", lambda item: format_bytes(item.comm_bytes)),
        numeric("share", lambda item: format_percent(item.comm_bytes / total)),
    )


def line_fields(total: int) -> tuple[Field[LineTraffic], ...]:
    """Columns of source lines; shares are of ``total`` bytes."""
    return (
        worded("line", lambda t: path_of(t)[1]),
        worded("function", lambda t: path_of(t)[0]),
        numeric(
            "needs",
            lambda t: format_bytes(t.needed_bytes) if t.needed_bytes else "",
            "bytes that come from other nodes because this line reads them or adds to them",
        ),
        numeric(
            "makes",
            lambda t: format_bytes(t.made_bytes) if t.made_bytes else "",
            "bytes of values computed here that go to other nodes",
        ),
        numeric("share", lambda t: format_percent(t.needed_bytes / total), "of the bytes needed"),
    )


def loop_fields(total: int) -> tuple[Field[LineTraffic], ...]:
    """Columns of loops, those of lines but for what they make; shares are of ``total`` bytes."""
    place, function, needs, _, share = line_fields(total)
    return (
        replace(place, name="loop", cell=lambda t: path_of(t)[1] if t.line else "outside of loops"),
        replace(function, cell=lambda t: path_of(t)[0] if t.line else ""),
        needs,
        share,
        worded("what helps", lambda t: "; ".join(t.advice), "as far as the counted flows say"),
    )
