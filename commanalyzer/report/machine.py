"""Machines, bounds and simulated runs as text and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import cast

from rich.console import Console
from rich.table import Table
from rich.text import Text

from commanalyzer.foundation.quantities import (
    format_bandwidth,
    format_bytes,
    format_count,
    format_percent,
    format_seconds,
    format_throughput,
    format_work,
)
from commanalyzer.machine.parameters import KINDS, Curve, MachineParameters, Parameter, ParameterKind
from commanalyzer.machine.phase_times import AreaFormula, conditions_text
from commanalyzer.machine.roofline.bound import BETTER, BetterMachine, BoundPoint, ScalingBound
from commanalyzer.machine.simulation.run import SimulatedRun, Simulation, SimulationOptions
from commanalyzer.report.result.json_document import picked, provenance_document
from commanalyzer.report.tables import PLAIN, Field, across, numeric, print_lines, terminal_table, worded
from commanalyzer.result.artifacts import Json
from commanalyzer.result.results import AnalysisResult, Provenance

SCHEMA = "commanalyzer.bound/1"
_BAR_WIDTH = 12
_LATENCY_TERMS = ("latency", "message_overhead", "gap", "allreduce")


def show_bound(
    found: ScalingBound, result: AnalysisResult, efficiency: float, console: Console, *, quiet: bool = False
) -> None:
    """Print ``found``; only the table with ``quiet``; ``efficiency`` is the least acceptable one."""
    if not quiet:
        work, machine = format_work(found.work_flop, found.unit), machine_line(found.machine)
        console.print(Text(f"{result.program}, {work}, on {machine}"))
        console.print()
    console.print(_table(found))
    if quiet:
        return
    doubts = (f"warning: {text}" for text in result.warnings if "no efficiency bound" not in text)
    print_lines(console, [*_advice(found, efficiency), *_remarks(found), *doubts])
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
        worded(
            "", lambda p: "█" * round(_BAR_WIDTH * p.efficiency) or "▏", no_wrap=True, min_width=_BAR_WIDTH
        ),
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
    by_nodes: dict[int, list[BetterMachine]] = {}
    for change in found.changes:
        by_nodes.setdefault(change.num_nodes, []).append(change)

    def cell(nodes: int, k: int) -> str:
        return f"{format_percent(by_nodes[nodes][k].efficiency)}, x {by_nodes[nodes][k].time_ratio:.2f}"

    title = "What a better machine would change (efficiency, time)"
    return terminal_table(by_nodes, (numeric("nodes", str), *across(BETTER, cell)), title)


def bound_text(found: ScalingBound, result: AnalysisResult, efficiency: float) -> str:
    """JSON text of ``found``: seconds, bytes, fractions; ``efficiency`` is the least acceptable one."""
    largest, between = found.largest(efficiency), found.crossing_nodes(efficiency)
    content: dict[str, Json] = {
        "schema": SCHEMA,
        **picked(result, "program command regions"),
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
    return json.dumps(content, indent=1, allow_nan=False) + "\n"


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
            **picked(point, "efficiency time_s speedup method comm_bytes"),
            "times": cast(Json, asdict(point.times)),
            **picked(point.times, "limit binds"),
        },
        "network": cast(Json, asdict(point.network)),
    }


_AREA_FIELDS: tuple[Field[AreaFormula], ...] = (
    worded("area", lambda area: area.name, no_wrap=True),
    worded("where", lambda area: conditions_text(area.where) or "all"),
    numeric("points", lambda area: str(area.points or "-")),
    numeric("error of prediction", lambda area: format_percent(area.error) if area.points else "-"),
    worded("formula", lambda area: area.formula),
)


def show_machine(machine: MachineParameters, console: Console, *, every: bool = False) -> None:
    """Print ``machine``; with ``every``, also the values over node counts and message sizes."""
    console.print(Text(machine.name or "machine", style="bold"))
    fields: tuple[Field[tuple[str, Parameter]], ...] = (
        worded("parameter", lambda item: item[0], no_wrap=True),
        worded("value", lambda item: KINDS[item[0]].show(item[1].value), no_wrap=True),
        worded("source", lambda item: item[1].source, no_wrap=True),
        worded("date", lambda item: item[1].date, no_wrap=True),
        worded("how", lambda item: item[1].note or KINDS[item[0]].meaning),
    )
    console.print(terminal_table(machine.parameters.items(), fields, **PLAIN))
    if machine.phase_times is not None:
        console.print(terminal_table(machine.phase_times.areas, _AREA_FIELDS, "Seconds of a phase", **PLAIN))
    if not every:
        return
    for key, parameter in machine.parameters.items():
        if parameter.curve is not None:
            console.print()
            console.print(Text(f"{key}: {KINDS[key].meaning}"))
            console.print(_curve_table(parameter.curve, KINDS[key]))


def show_machines(machines: Mapping[str, MachineParameters], console: Console) -> None:
    """Print one line per machine: name for ``--machine``, title, what is known."""

    def known(key: str) -> Field[tuple[str, MachineParameters]]:
        parameters = {name: machine.parameters for name, machine in machines.items()}
        return worded(
            key,
            lambda row: KINDS[key].show(parameters[row[0]][key].value) if key in parameters[row[0]] else "-",
            no_wrap=True,
        )

    fields = (
        worded("name", lambda row: row[0], no_wrap=True),
        worded("machine", lambda row: row[1].name),
        *map(known, ("bandwidth", "overlap", "latency", "throughput")),
    )
    console.print(terminal_table(machines.items(), fields, **PLAIN))


def show_remarks(remarks: Iterable[str], console: Console) -> None:
    """Print what a reader of measured numbers must know."""
    for remark in remarks:
        console.print(Text(f"note: {remark}", style="yellow"))


def _curve_table(curve: Curve, kind: ParameterKind) -> Table:
    """Message sizes down, node counts across."""
    sizes, width = curve.message_bytes, max(len(curve.message_bytes), 1)
    heads = [f"{nodes:.0f} nodes" for nodes in curve.nodes] or ["value"]
    fields: tuple[Field[int], ...] = (
        numeric("message" if sizes else "", lambda i: format_bytes(sizes[i]) if sizes else "", no_wrap=True),
        *across(heads, lambda i, k: kind.show(curve.values[i + k * width]), no_wrap=True),
    )
    return terminal_table(range(width), fields, **PLAIN)


SIMULATION_SCHEMA = "commanalyzer.simulation/1"
_WHERE = {
    "order": "hosts in order",
    "random": "random hosts (seed {})",
    "near": "partners on near hosts (seed {})",
}


@dataclass(frozen=True, slots=True)
class SimulationReport:
    """What a report of simulated runs shows."""

    program: str
    platform: str
    simulator: str  # version line of SimGrid
    options: SimulationOptions
    simulation: Simulation  # runs, and what was measured on the platform
    provenance: Provenance


def show_simulation(report: SimulationReport, console: Console, *, quiet: bool = False) -> None:
    """Print the simulated runs; only their table with ``quiet``."""
    where = _WHERE[report.options.placement].format(report.options.seed)
    title = f"{report.program} on {report.platform}, {where}"
    console.print(terminal_table(report.simulation.runs, _RUN, title))
    print_lines(console, () if quiet else _simulation_remarks(report))


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


def _simulation_remarks(report: SimulationReport) -> list[str]:
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


def simulation_text(report: SimulationReport) -> str:
    """JSON text of the contract document; seconds, B/s, Flop/s, fractions."""
    machine = report.simulation.machine
    curve = machine.bandwidth.curve if machine.bandwidth is not None else None
    content: dict[str, Json] = {
        "schema": SIMULATION_SCHEMA,
        **picked(report, "program platform simulator"),
        **picked(report.options, "placement seed"),
        "throughput_flop_per_s": machine.throughput.value if machine.throughput is not None else None,
        "latency_s": machine.latency.value if machine.latency is not None else None,
        "bandwidth_nodes": list(curve.nodes) if curve is not None else [],
        "bandwidth_bytes_per_s": list(curve.values) if curve is not None else [],
        **picked(report.provenance, "tool_version git_revision created"),
        "runs": [_run(run) for run in report.simulation.runs],
    }
    return json.dumps(content, indent=1, allow_nan=False) + "\n"


def _run(run: SimulatedRun) -> Json:
    return {
        **picked(run.decomposition, "nodes model method comm_bytes"),
        "rounds": run.all_rounds,
        "simulated_rounds": run.rounds,
        **picked(run, "collectives serial_s parallel_s efficiency"),
        "efficiency_bound": run.bound.paper_efficiency,
        "expected_efficiency": run.bound.expected_efficiency,
        "efficiency_bound_with_latency": run.bound.efficiency,
        "binds": run.bound.times.binds,
    }
