"""Simulated runs as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from commanalyzer.artifact_header import Json
from commanalyzer.quantities import (
    format_bandwidth,
    format_count,
    format_percent,
    format_seconds,
    format_throughput,
)
from commanalyzer.results import Provenance
from commanalyzer.simulation.run import SimulatedRun, SimulationOptions

SCHEMA = "commanalyzer.simulation/1"


@dataclass(frozen=True, slots=True)
class SimulationReport:
    """What a report of simulated runs shows.

    Attributes:
        program: Name of the program.
        platform: Topology or file.
        simulator: Version line of SimGrid.
        options: How it was simulated.
        runs: One per node count.
        provenance: Origin.
    """

    program: str
    platform: str
    simulator: str
    options: SimulationOptions
    runs: Sequence[SimulatedRun]
    provenance: Provenance


def show_simulation(report: SimulationReport, console: Console, *, quiet: bool = False) -> None:
    """Print the simulated runs; only their table with ``quiet``."""
    order = f"random hosts (seed {report.options.seed})" if report.options.is_shuffled else "hosts in order"
    table = Table(title=f"{report.program} on {report.platform}, {order}", title_justify="left")
    table.add_column("nodes", justify="right")
    table.add_column("decomposition")
    for name in (
        "rounds",
        "time",
        "speed-up",
        "efficiency",
        "B_c random",
        "bound (Eq. 4)",
        "bound, one pair",
    ):
        table.add_column(name, justify="right")
    for run in report.runs:
        table.add_row(*_cells(run))
    console.print(table)
    if quiet or not report.runs:
        return
    first = report.runs[0]
    console.print(
        Text(
            f"{report.simulator}; one node: {format_throughput(first.throughput)}, "
            f"{format_seconds(first.serial_s)}"
        )
    )
    for line in _remarks(report):
        console.print(Text(line))


def _cells(run: SimulatedRun) -> tuple[str | Text, ...]:
    bandwidth = run.matching_bandwidth
    return (
        str(run.decomposition.nodes),
        Text(run.decomposition.method),
        format_count(run.all_rounds),
        format_seconds(run.parallel_s),
        f"{run.serial_s / run.parallel_s:.2f}",
        format_percent(run.efficiency),
        "" if bandwidth is None else format_bandwidth(bandwidth),
        "" if run.bound is None else format_percent(run.bound),
        "" if run.pair_bound is None else format_percent(run.pair_bound),
    )


def _remarks(report: SimulationReport) -> list[str]:
    lines = []
    shortened = [run for run in report.runs if run.rounds < run.all_rounds]
    if shortened:
        lines.append(
            f"simulated {shortened[0].rounds} rounds of long programs and scaled the time (--rounds)"
        )
    if any(run.collectives for run in report.runs):
        counts = ", ".join(f"{run.collectives} on {run.decomposition.nodes}" for run in report.runs)
        lines.append(f"collective operations for values that most nodes use: {counts} nodes")
    above = [run for run in report.runs if run.bound is not None and run.efficiency > 1.02 * run.bound]
    if above:
        nodes = ", ".join(str(run.decomposition.nodes) for run in above)
        lines.append(
            f"on {nodes} nodes more efficient than Eq. 4 with random partners: nodes that talk to each other "
            "are near each other in this network"
        )
    return lines


def simulation_document(report: SimulationReport) -> dict[str, Json]:
    """Contract document; seconds, B/s, Flop/s, fractions."""
    origin = report.provenance
    return {
        "schema": SCHEMA,
        "program": report.program,
        "platform": report.platform,
        "simulator": report.simulator,
        "random_placement": report.options.is_shuffled,
        "seed": report.options.seed,
        "overlap": report.options.overlap,
        "tool_version": origin.tool_version,
        "git_revision": origin.git_revision,
        "created": origin.created,
        "runs": [_run(run) for run in report.runs],
    }


def _run(run: SimulatedRun) -> Json:
    return {
        "nodes": run.decomposition.nodes,
        "model": run.decomposition.model,
        "method": run.decomposition.method,
        "comm_bytes": run.decomposition.comm_bytes,
        "rounds": run.all_rounds,
        "simulated_rounds": run.rounds,
        "collectives": run.collectives,
        "serial_s": run.serial_s,
        "parallel_s": run.parallel_s,
        "efficiency": run.efficiency,
        "throughput_flop_per_s": run.throughput,
        "matching_bandwidth_bytes_per_s": run.matching_bandwidth,
        "efficiency_bound": run.bound,
        "efficiency_bound_one_pair": run.pair_bound,
    }


def simulation_text(report: SimulationReport) -> str:
    """The document as JSON text, newline at the end."""
    return json.dumps(simulation_document(report), indent=1, allow_nan=False) + "\n"
