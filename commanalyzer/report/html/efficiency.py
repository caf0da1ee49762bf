"""Section on node counts: table, efficiency roofline, speed-up and efficiency."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from commanalyzer.quantities import (
    format_bandwidth,
    format_bytes,
    format_count,
    format_percent,
    format_throughput,
)
from commanalyzer.report.figures.chart import Chart, Values
from commanalyzer.report.figures.roofline import Roof, draw_roofline, eq4
from commanalyzer.report.figures.scaling import ScalingCurve, draw_efficiency, draw_speedup
from commanalyzer.report.html.blocks import Block, Column, Figures, Row, Section, Table, Words
from commanalyzer.report.html.bounds import Bounds, bounds_on
from commanalyzer.report.html.subject import Subject, machine_name
from commanalyzer.results import Decomposition

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_EQUATION = (
    "The bound is E = 1 / (1 + R I (1 - O) / B) with throughput R, intensity I, overlap O and bandwidth B "
    "(paper Eq. 4): what bandwidth leaves possible when everything else is perfect."
)
_TEXT_COLUMNS = (
    Column("nodes", meaning="number of parts, one per node"),
    Column("decomposition", is_number=False, meaning="how the values were divided"),
    Column("bytes", meaning="all bytes sent between nodes, C"),
    Column("per node", meaning="bytes / nodes"),
    Column("messages", meaning="all values of a pair of nodes and a round travel together"),
    Column("bytes/flop", meaning="communication intensity C / W"),
    Column("imbalance", meaning="work of the most loaded node over the mean"),
    Column("at most", meaning="upper end where collapsed versions leave doubt"),
)


def efficiency_section(subject: Subject) -> Section:
    """How bytes, efficiency and speed-up depend on the number of nodes."""
    curves = [bounds_on(subject.bests, machine) for machine in subject.machines]
    curves = [c for c in curves if np.isfinite(c.efficiency).any()]
    blocks: list[Block] = [_table(subject, curves)]
    if curves:
        blocks.append(Figures(_charts(subject, curves)))
        blocks.append(Words((_EQUATION, *(_machine_words(c) for c in curves))))
    else:
        blocks.append(Words((_why_no_bound(subject),)))
    return Section(f"{subject.name}-efficiency", "Node counts and efficiency", tuple(blocks))


def _table(subject: Subject, curves: Sequence[Bounds]) -> Table:
    columns = list(_TEXT_COLUMNS)
    for bounds in curves:
        of = f", {machine_name(bounds.machine)}" if len(curves) > 1 else ""
        columns.append(Column(f"efficiency{of}", meaning="best possible, paper Eq. 4"))
        columns.append(Column(f"speed-up{of}", meaning="best possible, over one node"))
    rows = tuple(Row(_cells(d, k, curves)) for k, d in enumerate(subject.bests))
    return Table("Best decomposition per node count, whole analysed run", tuple(columns), rows)


def _cells(item: Decomposition, index: int, curves: Sequence[Bounds]) -> tuple[str, ...]:
    traffic = item.communication
    exact = traffic.low_bytes == traffic.high_bytes
    cells = [
        str(item.nodes),
        item.method,
        format_bytes(traffic.total_bytes),
        format_bytes(traffic.total_bytes / item.nodes),
        format_count(traffic.total_messages),
        f"{item.intensity:.3g}" if math.isfinite(item.intensity) else "no flops",
        f"{item.imbalance:.3f}",
        "exact" if exact else format_bytes(traffic.high_bytes),
    ]
    for bounds in curves:
        cells.append(format_percent(float(bounds.efficiency[index])))
        cells.append(f"{float(bounds.speedup[index]):.3g}")
    return tuple(cells)


def roof_of(items: Sequence[Decomposition], bounds: Bounds) -> Roof:
    """Return the roof of a machine with the dots of ``items``."""
    intensity = np.array([d.intensity for d in items])
    return Roof(machine_name(bounds.machine), partial(eq4, bounds.machine), intensity, bounds.nodes)


def curves_of(curves: Sequence[Bounds]) -> list[ScalingCurve]:
    """Return the efficiency of each machine over its node counts, for the plots."""
    named = len(curves) > 1
    return [
        ScalingCurve(
            machine_name(c.machine) if named else "",
            np.array(c.nodes, dtype=np.float64),
            c.efficiency,
        )
        for c in curves
    ]


def _charts(subject: Subject, curves: Sequence[Bounds]) -> tuple[Chart, ...]:
    roofs = [roof_of(subject.bests, c) for c in curves]
    lines = curves_of(curves)
    nodes = [n for c in curves for n in c.nodes]
    names = [machine_name(c.machine) for c in curves for _ in c.nodes]
    efficiency = [float(e) for c in curves for e in c.efficiency]
    speedup = [float(s) for c in curves for s in c.speedup]
    intensity = [d.intensity for _ in curves for d in subject.bests]
    columns: dict[str, Values] = {"machine": names, "nodes": nodes}

    def roofline(figure: Figure) -> None:
        draw_roofline(figure.subplots(), roofs)

    def faster(figure: Figure) -> None:
        draw_speedup(figure.subplots(), lines)

    def share(figure: Figure) -> None:
        draw_efficiency(figure.subplots(), lines)

    first = curves[0]
    ends = f"from {format_percent(float(first.efficiency[0]))} on {first.nodes[0]} to "
    ends += f"{format_percent(float(first.efficiency[-1]))} on {first.nodes[-1]} nodes"
    return (
        Chart(
            f"{subject.name}-roofline",
            "Efficiency roofline",
            f"Dots are node counts, lines the best efficiency at an intensity: {ends}.",
            (3.7, 3.2),
            roofline,
            lambda: {**columns, "intensity_bytes_per_flop": intensity, "efficiency_bound": efficiency},
        ),
        Chart(
            f"{subject.name}-speedup",
            "Speed-up",
            f"At best {float(first.speedup[-1]):.3g} times one node on {first.nodes[-1]} nodes.",
            (3.0, 3.2),
            faster,
            lambda: {**columns, "speedup_bound": speedup},
        ),
        Chart(
            f"{subject.name}-efficiency-curve",
            "Efficiency",
            f"At best {ends}.",
            (3.0, 3.2),
            share,
            lambda: {**columns, "efficiency_bound": efficiency},
        ),
    )


def _machine_words(bounds: Bounds) -> str:
    machine = bounds.machine
    assert machine.throughput is not None and machine.bandwidth is not None
    rate = machine.throughput.value * (1.0 - machine.overlap_value) / machine.bandwidth.value
    return (
        f"{machine_name(machine)[:1].upper()}{machine_name(machine)[1:]}: bandwidth "
        f"{format_bandwidth(machine.bandwidth.value)}, overlap {format_percent(machine.overlap_value)}, "
        f"{format_throughput(machine.throughput.value)} per node. Half of the time is communication at "
        f"{1.0 / rate:.3g} bytes per flop."
    )


def _why_no_bound(subject: Subject) -> str:
    if not subject.result.work.flops:
        return "No efficiency bound: the program executes no floating-point operations."
    return "No efficiency bound: give a machine with bandwidth and throughput (--machine FILE)."
