"""Simulated runs as text and as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from commanalyzer.foundation.quantities import (
    format_bandwidth,
    format_count,
    format_percent,
    format_seconds,
    format_throughput,
)
from commanalyzer.machine.parameters import MachineParameters
from commanalyzer.machine.simulation.run import SimulatedRun, Simulation, SimulationOptions
from commanalyzer.report.tables import Field, numeric, terminal_table, worded
from commanalyzer.result.artifact_header import Json
from commanalyzer.result.results import Provenance

SCHEMA = "commanalyzer.simulation/1"
_WHERE = {
    "order": "hosts in order",
    "random": "random hosts (seed {})",
    "near": "partners on near hosts (seed {})",
}


@dataclass(frozen=True, slots=True)
class SimulationReport:
    """What a report of simulated runs shows.

    Attributes:
        program: Name of the program.
        platform: Topology or file.
        simulator: Version line of SimGrid.
        options: How it was simulated.
        simulation: Runs, and what was measured on the platform.
        provenance: Origin.
    """

    program: str
    platform: str
    simulator: str
    options: SimulationOptions
    simulation: Simulation
    provenance: Provenance


def show_simulation(report: SimulationReport, console: Console, *, quiet: bool = False) -> None:
    """Print the simulated runs; only their table with ``quiet``."""
    where = _WHERE[report.options.placement].format(report.options.seed)
    title = f"{report.program} on {report.platform}, {where}"
    console.print(terminal_table(report.simulation.runs, _RUN, title))
    if quiet:
        return
    for line in _remarks(report):
        console.print(Text(line))


_RUN: tuple[Field[SimulatedRun], ...] = (
    numeric("nodes", lambda run: str(run.decomposition.nodes)),
    worded("decomposition", lambda run: run.decomposition.method),
    numeric("rounds", lambda run: format_count(run.all_rounds)),
    numeric("time", lambda run: format_seconds(run.parallel_s)),
    numeric("speed-up", lambda run: f"{run.serial_s / run.parallel_s:.2f}"),
    numeric("efficiency", lambda run: format_percent(run.efficiency)),
    numeric("bound (Eq. 4)", lambda run: format_percent(run.bound.paper_efficiency)),
    numeric("with latency", lambda run: format_percent(run.bound.efficiency)),
    worded("binds", lambda run: run.bound.times.binds),
)


def _remarks(report: SimulationReport) -> list[str]:
    runs = report.simulation.runs
    lines = [f"{report.simulator}; measured on the platform: {_machine_line(report.simulation.machine)}"]
    shortened = [run for run in runs if run.rounds < run.all_rounds]
    if shortened:
        lines.append(
            f"simulated {shortened[0].rounds} rounds of long programs and scaled the time (--rounds)"
        )
    if any(run.collectives for run in runs):
        counts = ", ".join(f"{run.collectives} on {run.decomposition.nodes}" for run in runs)
        lines.append(f"collective operations for values that most nodes use: {counts} nodes")
    above = [run for run in runs if run.efficiency > 1.02 * run.bound.expected_efficiency]
    if above:
        nodes = ", ".join(str(run.decomposition.nodes) for run in above)
        lines.append(
            f"on {nodes} nodes more efficient than with random partners (Eq. 4 with their bandwidth): "
            "nodes that talk to each other are near each other in this network"
        )
    return lines


def _machine_line(machine: MachineParameters) -> str:
    parts = []
    if machine.throughput is not None:
        parts.append(format_throughput(machine.throughput.value))
    if machine.latency is not None:
        parts.append(f"latency {format_seconds(machine.latency.value)}")
    curve = machine.bandwidth.curve if machine.bandwidth is not None else None
    if curve is not None:
        pairs = zip(curve.nodes, curve.values, strict=True)
        parts.append("bandwidth " + ", ".join(f"{format_bandwidth(b)} on {p:g}" for p, b in pairs) + " nodes")
    return ", ".join(parts)


def simulation_document(report: SimulationReport) -> dict[str, Json]:
    """Contract document; seconds, B/s, Flop/s, fractions."""
    origin, machine = report.provenance, report.simulation.machine
    curve = machine.bandwidth.curve if machine.bandwidth is not None else None
    return {
        "schema": SCHEMA,
        "program": report.program,
        "platform": report.platform,
        "simulator": report.simulator,
        "placement": report.options.placement,
        "seed": report.options.seed,
        "throughput_flop_per_s": machine.throughput.value if machine.throughput is not None else None,
        "latency_s": machine.latency.value if machine.latency is not None else None,
        "bandwidth_nodes": list(curve.nodes) if curve is not None else [],
        "bandwidth_bytes_per_s": list(curve.values) if curve is not None else [],
        "tool_version": origin.tool_version,
        "git_revision": origin.git_revision,
        "created": origin.created,
        "runs": [_run(run) for run in report.simulation.runs],
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
        "efficiency_bound": run.bound.paper_efficiency,
        "expected_efficiency": run.bound.expected_efficiency,
        "efficiency_bound_with_latency": run.bound.efficiency,
        "binds": run.bound.times.binds,
    }


def simulation_text(report: SimulationReport) -> str:
    """The document as JSON text, newline at the end."""
    return json.dumps(simulation_document(report), indent=1, allow_nan=False) + "\n"
