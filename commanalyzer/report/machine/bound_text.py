"""Bounds over node counts, as text and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import cast

from rich.console import Console
from rich.table import Table
from rich.text import Text

from commanalyzer.foundation.quantities import format_percent, format_seconds, format_work
from commanalyzer.machine.kinds import KINDS
from commanalyzer.machine.parameters import MachineParameters
from commanalyzer.machine.roofline.bound import BETTER, BoundPoint, Change, ScalingBound
from commanalyzer.report.result.json_document import provenance_document
from commanalyzer.report.tables import Field, numeric, terminal_table, worded
from commanalyzer.result.artifact_header import Json
from commanalyzer.result.results import AnalysisResult

SCHEMA = "commanalyzer.bound/1"
_BAR_WIDTH = 12
_LATENCY_TERMS = ("latency", "message_overhead", "gap", "allreduce")


def show_bound(
    found: ScalingBound, program: str, efficiency: float, console: Console, *, quiet: bool = False
) -> None:
    """Print ``found``; only the table with ``quiet``.

    Args:
        found: Bounds.
        program: Name of the program.
        efficiency: Least acceptable efficiency.
        console: Where to print.
        quiet: Leave out machine, advice and what a better machine brings.
    """
    if not quiet:
        console.print(
            Text(f"{program}, {format_work(found.work_flop, found.unit)}, on {machine_line(found.machine)}")
        )
        console.print()
    console.print(_table(found))
    if quiet:
        return
    for line in [*_advice(found, efficiency), *_remarks(found)]:
        console.print(Text(line))
    if found.changes:
        console.print()
        console.print(_changes(found))


def machine_line(machine: MachineParameters) -> str:
    """Name and known parameters of a machine, with where each comes from."""
    known = machine.parameters
    parts = [machine.name or "a machine of"]
    for name, item in known.items():
        number = f"{name.replace('_', ' ')} {KINDS[name].show(item.value)}{' and more' if item.curve else ''}"
        parts.append(f"assumed {number}" if item.source == "assumed" else f"{number} ({item.source})")
    return f"{parts[0]}{', ' if machine.name else ' '}{', '.join(parts[1:])}"


def _table(found: ScalingBound) -> Table:
    names = _efficiency_names(found)
    fields: tuple[Field[BoundPoint], ...] = (
        numeric("nodes", lambda p: str(p.num_nodes)),
        worded("decomposition", lambda p: p.method or "one node"),
        numeric(names[0], lambda p: format_percent(p.paper_efficiency)),
        *(numeric(name, lambda p: format_percent(p.expected_efficiency)) for name in names[1:]),
        numeric("with latency", lambda p: format_percent(p.efficiency)),
        worded("", lambda p: _bar(p.efficiency), no_wrap=True, min_width=_BAR_WIDTH),
        numeric("speed-up", lambda p: f"{p.speedup:.3g}"),
        numeric("time", lambda p: format_seconds(p.time_s)),
        worded("communication", _communication),
        worded("binds", lambda p: p.times.binds),
    )
    return terminal_table(found.points, fields, "Best efficiency and time on each node count")


def _efficiency_names(found: ScalingBound) -> tuple[str, ...]:
    """Columns of Eq. 4: the bound and, where it differs, what random partners get."""
    if found.placement == "random":
        return ("random partners",)
    differs = any(p.expected_efficiency < 0.999 * p.paper_efficiency for p in found.points)
    return ("bound (Eq. 4)", "random partners") if differs else ("bound (Eq. 4)",)


def _bar(share: float) -> str:
    return "█" * round(_BAR_WIDTH * share) or "▏"


def _communication(point: BoundPoint) -> str:
    times = point.times
    return f"{format_seconds(times.exposed_s)} ({times.limit})" if times.exposed_s else "none"


def _advice(found: ScalingBound, efficiency: float) -> list[str]:
    """What the table means for the number of nodes to ask for."""
    wanted = format_percent(efficiency)
    largest, between = found.largest(efficiency), found.crossing_nodes(efficiency)
    if largest is None or (largest.num_nodes == 1 and between is None):
        lines = [f"No analysed node count has an efficiency of {wanted}."]
    else:
        lines = [f"Most nodes with an efficiency of {wanted} at best: {largest.num_nodes} (analysed)"]
        if between is not None and int(between) > largest.num_nodes:
            lines[0] += f", about {int(between)} (interpolated)"
        elif largest is found.points[-1]:
            lines[0] += "; more were not analysed"
    fastest = min(found.points, key=lambda point: point.time_s)
    lines.append(
        f"Shortest time: {format_seconds(fastest.time_s)} on {fastest.num_nodes} nodes, "
        f"{fastest.speedup:.3g} times faster than one"
    )
    return lines


def _remarks(found: ScalingBound) -> list[str]:
    """What the reader must know about these numbers."""
    lines = []
    if not any(getattr(found.machine, name) for name in _LATENCY_TERMS):
        lines.append("no latency is known for this machine: give --latency; both bounds count bytes only")
    extrapolated = {name: p.num_nodes for p in found.points for name in p.network.extrapolated}
    for name, count in extrapolated.items():
        lines.append(
            f"{name.replace('_', ' ')} was not measured as far as {count} nodes: its nearest value is used"
        )
    if found.placement == "random":
        lines.append("all numbers are for the mean of random placements: a lucky one may be faster")
    elif len(_efficiency_names(found)) > 1:
        lines.append(
            "random partners: Eq. 4 with the bandwidth that nodes at random places get from each other, an "
            "estimate; the bounds are those of the best placement"
        )
    differing = [p for p in found.points if p.method != p.paper_method]
    if differing:
        last = differing[-1]
        lines.append(
            f"on {last.num_nodes} nodes {last.paper_method} moves fewer bytes than {last.method}, "
            "but that one is faster: fewer messages or a less busy busiest node"
        )
    return lines


def _changes(found: ScalingBound) -> Table:
    table = Table(title="What a better machine would change (efficiency, time)", title_justify="left")
    table.add_column("nodes", justify="right")
    for name in BETTER:
        table.add_column(name, justify="right")
    by_nodes: dict[int, list[Change]] = {}
    for change in found.changes:
        by_nodes.setdefault(change.num_nodes, []).append(change)
    for nodes, changes in by_nodes.items():
        table.add_row(str(nodes), *(f"{format_percent(c.efficiency)}, x {c.time_ratio:.2f}" for c in changes))
    return table


def bound_document(found: ScalingBound, result: AnalysisResult, efficiency: float) -> dict[str, Json]:
    """Contract document of ``found``: seconds, bytes, fractions.

    Args:
        found: Bounds.
        result: What they are bounds of.
        efficiency: Least acceptable efficiency.
    """
    largest, between = found.largest(efficiency), found.crossing_nodes(efficiency)
    return {
        "schema": SCHEMA,
        "program": result.program,
        "command": list(result.command),
        "regions": list(result.regions),
        "provenance": provenance_document(result),
        "work_flop": found.work_flop,
        "work_unit": found.unit,
        "machine": cast(Json, asdict(found.machine)),
        "points": [_point(point) for point in found.points],
        "changes": [cast(Json, asdict(change)) for change in found.changes],
        "placement": found.placement,
        "least_efficiency": efficiency,
        "largest_nodes": None if largest is None else largest.num_nodes,
        "crossing_nodes": between,
    }


def _point(point: BoundPoint) -> Json:
    return {
        "nodes": point.num_nodes,
        "serial_s": point.serial_s,
        "eq4": {
            "efficiency": point.paper_efficiency,
            "expected_efficiency": point.expected_efficiency,
            "time_s": point.paper_time_s,
            "method": point.paper_method,
            "comm_bytes": point.paper_bytes,
        },
        "latency_aware": {
            "efficiency": point.efficiency,
            "time_s": point.time_s,
            "speedup": point.speedup,
            "method": point.method,
            "comm_bytes": point.comm_bytes,
            "times": cast(Json, asdict(point.times)),
            "limit": point.times.limit,
            "binds": point.times.binds,
        },
        "network": cast(Json, asdict(point.network)),
    }


def bound_text(found: ScalingBound, result: AnalysisResult, efficiency: float) -> str:
    """The document as JSON text, newline at the end."""
    return json.dumps(bound_document(found, result, efficiency), indent=1, allow_nan=False) + "\n"
