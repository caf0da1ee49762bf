"""Chapter of scaling laws: formulas, and what they project for larger problems and more nodes.

Chapter of allocations: front, choices, lines for Slurm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING

import numpy as np

from commanalyzer.foundation.quantities import format_bytes, format_count, format_percent, format_seconds
from commanalyzer.machine.parameters import MachineParameters
from commanalyzer.report.figures.chart import Chart, Values
from commanalyzer.report.figures.scaling import ScalingCurve, draw_efficiency, draw_speedup
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
from commanalyzer.report.html.subject import machine_name
from commanalyzer.report.scaling.projection_text import advice_lines, size_text
from commanalyzer.report.tables import Field, numeric, page_table
from commanalyzer.scaling.laws.document import LawsDocument
from commanalyzer.scaling.laws.formula import accuracy_text, law_text
from commanalyzer.scaling.laws.law import CONFIDENCE, Law
from commanalyzer.scaling.laws.naming import law_name
from commanalyzer.scaling.laws.projection import Projection, advise, project
from commanalyzer.scaling.laws.terms import NODES, Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure
from typing import TYPE_CHECKING

from commanalyzer.report.figures.scaling import draw_front
from commanalyzer.report.scaling.allocations_text import (
    AllocationReport,
    configuration_fields,
    decision_lines,
)
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
        page_table("Fewest cores for each time (Pareto front)", decision.front, configuration_fields(report)),
    ]
    if decision.fastest is not None:
        script = " ".join(f"`{line}`" for line in sbatch_lines(found, decision.fastest))
        blocks.append(Words((f"To ask Slurm for the fastest: {script}.",)))
    section = Section("allocations-front", "Nodes and processes to ask for", tuple(blocks))
    title = f"Allocations of {PurePath(report.program).name}"
    return Chapter("allocations", title, "Predicted time of nodes x processes per node", (section,))


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


GOOD_EFFICIENCY = 0.8


@dataclass(frozen=True, slots=True)
class LawsRequest:
    """Laws to show and what to project.

    Attributes:
        document: The laws.
        sizes: Problem of the projection, values of the program's parameters; empty for no projection.
        nodes: Node counts of the projection.
        weak_parameter: Parameter that weak scaling grows; empty for strong scaling only.
    """

    document: LawsDocument
    sizes: Mapping[str, float] = field(default_factory=dict)
    nodes: tuple[int, ...] = ()
    weak_parameter: str = ""


def laws_chapter(request: LawsRequest, machines: Sequence[MachineParameters]) -> Chapter:
    """Laws, and projections on each machine.

    Raises:
        FitError: If a law that the projection needs, or a parameter, is missing.
    """
    document = request.document
    sections = [Section("laws-formulas", "Scaling laws", (_laws_table(document.laws), _notes(document.laws)))]
    needs = sorted({name for law in document.laws for name in law.parameters if name != NODES})
    if not machines:
        why = "No projection: give a machine with bandwidth and throughput (--machine NAME|FILE)."
        sections.append(Section("laws-projection", "Projection", (Words((why,)),)))
    elif not request.sizes and needs:
        why = f"No projection: give the problem, such as --param {needs[0]}=4096."
        sections.append(Section("laws-projection", "Projection", (Words((why,)),)))
    else:
        sections += [_projection(request, machine, k) for k, machine in enumerate(machines)]
    title = f"Laws of {PurePath(document.program).name}"
    return Chapter("laws", title, "Fitted to smaller runs", tuple(sections))


def _laws_table(laws: Sequence[Law]) -> Table:
    columns = (
        Column("metric", is_number=False),
        Column("law", is_number=False, meaning="p: nodes; other letters: parameters of the program"),
        Column("reads as", is_number=False, meaning="what usually grows so"),
        Column("prediction error", meaning="of rows and largest values that were left out of the fit"),
        Column("points"),
        Column("fitted on", is_number=False),
    )
    rows = [
        Row(
            (
                law.metric,
                law_text(law),
                law_name(law),
                accuracy_text(law.formula),
                str(law.num_points),
                _range(law),
            )
        )
        for law in laws
    ]
    return Table("Formulas, in bytes, messages and floating-point operations", columns, tuple(rows))


def _range(law: Law) -> str:
    ranges = zip(law.parameters, law.lowest, law.highest, strict=True)
    return ", ".join(f"{name} {low:g} to {high:g}" for name, low, high in ranges)


def _notes(laws: Sequence[Law]) -> Points:
    notes = [f"`{law.metric}`: {note}" for law in laws for note in law.notes]
    notes += [
        f"`{law.metric}`: {len(law.alternatives)} other formulas explain the data as well; bands include them"
        for law in laws
        if law.alternatives
    ]
    return Points(tuple(f"{note}." for note in notes))


def _projection(request: LawsRequest, machine: MachineParameters, number: int) -> Section:
    laws, name = request.document.laws, machine_name(machine)
    curves = [project(laws, machine, request.nodes, request.sizes)]
    if request.weak_parameter:
        weak = request.weak_parameter
        curves.append(project(laws, machine, request.nodes, request.sizes, weak_parameter=weak))
    advice = [line.strip() for line in advice_lines(curves[0], advise(curves[0], GOOD_EFFICIENCY))]
    problem = ", ".join(f"{key} = {value:g}" for key, value in request.sizes.items())
    blocks: list[Block] = [
        Words((f"Bounds for {problem or 'the fitted problem'} on {name}, with bands of {CONFIDENCE:.0%}.",)),
        Points(tuple(advice)),
        Figures(_charts(curves, number, name)),
        *(_table(curve) for curve in curves),
    ]
    return Section(f"laws-projection-{number}", f"Projection on {name}", tuple(blocks))


def _table(curve: Projection) -> Table:
    growing = [name for name, values in curve.sizes.items() if values[-1] != values[0]]
    band = zip(
        map(format_percent, curve.efficiency_low), map(format_percent, curve.efficiency_high), strict=True
    )
    bands = [" to ".join(ends) for ends in band]
    fields: list[Field[int]] = [
        numeric(
            "nodes",
            lambda i: f"{format_count(int(curve.nodes[i]))}{' *' if curve.is_beyond[i] else ''}",
            "with a star: outside of the data of a law",
        ),
        *(numeric(name, partial(_size, curve.sizes[name])) for name in growing),
        numeric("work", lambda i: format_count(curve.work_flop[i])),
        numeric("bytes", lambda i: format_bytes(curve.comm_bytes[i])),
        numeric("efficiency", lambda i: format_percent(curve.efficiency[i]), "best possible"),
        numeric("band", lambda i: bands[i]),
        numeric("least time", lambda i: format_seconds(curve.time_s[i])),
        numeric("speed-up", lambda i: f"{curve.speedup[i]:.3g}"),
    ]
    caption = f"{curve.kind.capitalize()} scaling; * outside of the data"
    return page_table(caption, range(len(curve.nodes)), fields)


def _size(values: Floats, index: int) -> str:
    return size_text(values[index])


def _charts(projections: Sequence[Projection], number: int, machine: str) -> tuple[Chart, ...]:
    curves = [
        ScalingCurve(
            f"{p.kind} scaling",
            p.nodes.astype(np.float64),
            p.efficiency,
            p.efficiency_low,
            p.efficiency_high,
            group=group,
        )
        for group, p in enumerate(projections)
    ]
    last = projections[0]
    end = f"{format_percent(last.efficiency[-1])} on {format_count(int(last.nodes[-1]))} nodes of {machine}"

    def numbers() -> dict[str, Values]:
        return _numbers(projections)

    def faster(figure: Figure) -> None:
        draw_speedup(figure.subplots(), curves)

    def share(figure: Figure) -> None:
        draw_efficiency(figure.subplots(), curves)

    speedup = f"Strong scaling: at best {float(last.speedup[-1]):.3g} times one node, shaded: band."
    return (
        Chart(f"laws-speedup-{number}", "Projected speed-up", speedup, (3.9, 3.3), faster, numbers),
        Chart(
            f"laws-efficiency-{number}",
            "Projected efficiency",
            f"Strong scaling: at best {end}, shaded: band.",
            (3.9, 3.3),
            share,
            numbers,
        ),
    )


def _numbers(projections: Sequence[Projection]) -> dict[str, Values]:
    def joined(name: str) -> list[float]:
        parts = [np.asarray(getattr(p, name), dtype=np.float64) for p in projections]
        return [float(value) for value in np.concatenate(parts)]

    return {
        "scaling": [p.kind for p in projections for _ in p.nodes],
        "nodes": [int(n) for p in projections for n in p.nodes],
        "comm_bytes": joined("comm_bytes"),
        "efficiency": joined("efficiency"),
        "efficiency_low": joined("efficiency_low"),
        "efficiency_high": joined("efficiency_high"),
        "time_s": joined("time_s"),
    }
