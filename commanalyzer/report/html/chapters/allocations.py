"""Chapter of allocations: front, choices, lines for Slurm."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from commanalyzer.foundation.quantities import format_percent, format_seconds
from commanalyzer.report.figures.chart import Chart, Values
from commanalyzer.report.figures.scaling import draw_front
from commanalyzer.report.html.blocks import (
    Block,
    Chapter,
    Column,
    Figures,
    Points,
    Row,
    Section,
    Table,
    Words,
)
from commanalyzer.report.scaling.allocations_text import AllocationReport, decision_lines, remarks_of
from commanalyzer.scaling.allocations.decisions import sbatch_lines

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def allocations_chapter(report: AllocationReport) -> Chapter:
    """What to ask for, the front as figure and table, and ``#SBATCH`` lines."""
    found, decision = report.found, report.decision
    lines = tuple(f"{line}." for line in decision_lines(report))
    blocks: list[Block] = [
        Words((f"Communication by {report.model}, on {report.machine or 'the given machine'}.",)),
        Points(lines),
        Figures((_chart(report),)),
        _table(report),
    ]
    if decision.fastest is not None:
        script = " ".join(f"`{line}`" for line in sbatch_lines(found, decision.fastest))
        blocks.append(Words((f"To ask Slurm for the fastest: {script}.",)))
    section = Section("allocations-front", "Nodes and processes to ask for", tuple(blocks))
    title = f"Allocations of {PurePath(report.program).name}"
    return Chapter("allocations", title, "Predicted time of nodes x processes per node", (section,))


def _table(report: AllocationReport) -> Table:
    found = report.found
    hours = found.core_hours(report.limits.cores_per_node)
    columns = (
        Column("nodes"),
        Column("per node", meaning="processes per node"),
        Column("cores"),
        Column("compute"),
        Column("communication"),
        Column("time"),
        Column("efficiency", meaning="time of one process over cores times time"),
        Column("core-hours"),
        Column("remarks", is_number=False),
    )
    rows = [
        Row(
            (
                str(found.nodes[k]),
                str(found.processes[k]),
                str(found.cores[k]),
                format_seconds(found.compute_s[k]),
                format_seconds(found.comm_s[k]),
                format_seconds(found.time_s[k]),
                format_percent(found.efficiency[k]),
                f"{hours[k]:.3g}",
                ", ".join(remarks_of(report, k)),
            )
        )
        for k in report.decision.front
    ]
    return Table("Fewest cores for each time (Pareto front)", columns, tuple(rows))


def _chart(report: AllocationReport) -> Chart:
    found, decision = report.found, report.decision

    def draw(figure: Figure) -> None:
        choices = {"fastest": decision.fastest, "fewest core-hours": decision.cheapest}
        draw_front(figure.subplots(), found.cores, found.time_s, decision.front, choices)

    def numbers() -> dict[str, Values]:
        return {
            "nodes": found.nodes.tolist(),
            "processes_per_node": found.processes.tolist(),
            "compute_s": found.compute_s.tolist(),
            "communication_s": found.comm_s.tolist(),
            "on_front": [int(k in decision.front) for k in range(len(found.nodes))],
        }

    count = len(decision.front)
    text = f"Time against cores of {len(found.nodes)} configurations, {count} of them on the front."
    return Chart("allocations-front-figure", "Time against cores", text, (5.2, 3.6), draw, numbers)
