"""Measured times against the bounds, as text and for JSON."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from commanalyzer.foundation.quantities import format_percent, format_seconds
from commanalyzer.report.machine.bound_text import machine_line
from commanalyzer.result.artifact_header import Json
from commanalyzer.result.comparison.measured import MeasuredPoint, MeasuredRuns

_COLUMNS = ("nodes", "time", "least time", "efficiency", "with latency", "bound (Eq. 4)", "reached")


def show_measured(runs: MeasuredRuns, console: Console) -> None:
    """Print the gap between ``runs`` and the bounds."""
    console.print()
    table = Table(title="Measured times and the best possible", title_justify="left")
    for name in _COLUMNS:
        table.add_column(name, justify="right")
    table.add_column("gap: extra traffic, other", justify="right")
    table.add_column("binds")
    for point in runs.points:
        table.add_row(*_cells(point))
    console.print(table)
    console.print(Text(f"bounds for {machine_line(runs.machine)}"))
    for remark in runs.remarks:
        console.print(Text(f"warning: {remark}", style="yellow"))


def _cells(point: MeasuredPoint) -> tuple[str, ...]:
    excess = point.traffic_excess_s
    traffic = "not counted" if excess is None else format_seconds(excess)
    other = format_seconds(abs(point.other_excess_s))
    gap = f"{traffic}, {'-' if point.other_excess_s < 0 else ''}{other}"
    return (
        str(point.num_nodes),
        format_seconds(point.time_s),
        format_seconds(point.bound.time_s),
        format_percent(point.efficiency),
        format_percent(point.bound.efficiency),
        format_percent(point.bound.paper_efficiency),
        format_percent(point.reached),
        gap if point.num_nodes > 1 else "",
        point.bound.times.binds,
    )


def measured_document(runs: MeasuredRuns) -> Json:
    """Entries per node count: seconds and fractions."""
    return [
        {
            "nodes": point.num_nodes,
            "time_s": point.time_s,
            "serial_s": point.serial_s,
            "efficiency": point.efficiency,
            "bound_time_s": point.bound.time_s,
            "bound_efficiency": point.bound.efficiency,
            "eq4_efficiency": point.bound.paper_efficiency,
            "reached": point.reached,
            "traffic_excess_s": point.traffic_excess_s,
            "other_excess_s": point.other_excess_s,
            "binds": point.bound.times.binds,
            "limit": point.bound.times.limit,
        }
        for point in runs.points
    ]
