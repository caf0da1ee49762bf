"""Chapters of the page that are not about one result: laws, allocations, tasks, learning.

Formulas, and what they project; front, choices, lines for Slurm; kernels with their range mappers; features.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.documents import parse_json, reading, typed
from commanalyzer.foundation.errors import CommAnalyzerError
from commanalyzer.foundation.quantities import format_bytes, format_count, format_percent
from commanalyzer.kernels.learning.model import SpeedupErrors
from commanalyzer.kernels.learning.training import Insight, RankedFeature
from commanalyzer.kernels.tasks.graph import TaskGraph
from commanalyzer.machine.parameters import MachineParameters
from commanalyzer.report.figures.chart import Chart, Values
from commanalyzer.report.figures.scaling import (
    ScalingCurve,
    draw_efficiency,
    draw_front,
    draw_laws,
    draw_speedup,
)
from commanalyzer.report.html.blocks import Chapter, Content, Figures, Points, Section, Table, Words
from commanalyzer.report.html.subject import machine_name
from commanalyzer.report.kernels.task_files import tasks_chart
from commanalyzer.report.kernels.text import kernel_fields
from commanalyzer.report.scaling.allocations_text import configuration_fields, decision_lines
from commanalyzer.report.scaling.laws_text import advice_lines, law_fields, projection_fields
from commanalyzer.report.tables import Field, numeric, page_table, worded
from commanalyzer.result.provenance import file_hash
from commanalyzer.scaling.allocations.advice import AllocationReport
from commanalyzer.scaling.allocations.decisions import sbatch_lines
from commanalyzer.scaling.laws.data import Observations, read_observations
from commanalyzer.scaling.laws.document import LawsDocument
from commanalyzer.scaling.laws.formula import doubt_text
from commanalyzer.scaling.laws.law import CONFIDENCE, Law
from commanalyzer.scaling.laws.projection import Projection, advise, project
from commanalyzer.scaling.laws.terms import NODES

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def allocations_chapter(report: AllocationReport) -> Chapter:
    """What to ask for, the front as figure and table, and ``#SBATCH`` lines."""
    found, decision = report.found, report.decision
    lines = tuple(f"{line}." for line in decision_lines(report))
    blocks: list[Content] = [
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

    numbers: dict[str, Values] = {
        "nodes": found.nodes.tolist(),
        "processes_per_node": found.processes.tolist(),
        "compute_s": found.compute_s.tolist(),
        "communication_s": found.comm_s.tolist(),
        "on_front": [int(k in decision.front) for k in range(len(found.nodes))],
    }
    count = len(decision.front)
    text = f"Time against cores of {len(found.nodes)} configurations, {count} of them on the front."
    return Chart("allocations-front-figure", "Time against cores", text, (5.2, 3.6), draw, lambda: numbers)


GOOD_EFFICIENCY = 0.8


@dataclass(frozen=True, slots=True)
class LawsRequest:
    """Laws to show and what to project."""

    document: LawsDocument
    # Problem of the projection, values of the program's parameters; empty for no projection
    sizes: Mapping[str, float] = field(default_factory=dict)
    nodes: tuple[int, ...] = ()  # node counts of the projection
    weak_parameter: str = ""  # parameter that weak scaling grows; empty for strong scaling only


def laws_chapter(request: LawsRequest, machines: Sequence[MachineParameters]) -> Chapter:
    """Laws, and projections on each machine; ``FitError`` if a law or a parameter for these is missing."""
    document = request.document
    fields = (*law_fields(), worded("fitted on", _range))
    caption = "Formulas, in bytes, messages and floating-point operations"
    formulas = page_table(caption, document.laws, fields)
    chart = _law_chart(document)
    figures = (Figures((chart,)),) if chart else ()
    sections = [Section("laws-formulas", "Scaling laws", (*figures, formulas, _notes(document.laws)))]
    needs = sorted({name for law in document.laws for name in law.parameters if name != NODES})
    lacking = "" if machines else "a machine with bandwidth and throughput (--machine NAME|FILE)"
    if needs and not request.sizes and not lacking:
        lacking = f"the problem, such as --param {needs[0]}=4096"
    if lacking:
        words = Words((f"No projection: give {lacking}.",))
        sections.append(Section("laws-projection", "Projection", (words,)))
    else:
        sections += [_projection(request, machine, k) for k, machine in enumerate(machines)]
    title = f"Laws of {PurePath(document.program).name}"
    return Chapter("laws", title, "Fitted to smaller runs", tuple(sections))


def _law_chart(document: LawsDocument) -> Chart | None:
    """Bytes over p of three problems of the data, beside what was measured; ``None`` without such laws."""
    known = {law.metric: law for law in document.laws if NODES in law.parameters}
    if "comm_bytes" not in known:
        return None
    law, seen = known["comm_bytes"], _observations(document)
    others = [name for name in law.parameters if name != NODES]
    points = np.array([law.lowest, law.highest]) if seen is None else _columns(seen, law.parameters)
    problems = np.unique(points[:, [law.parameters.index(name) for name in others]], axis=0)
    p = points[:, law.parameters.index(NODES)]
    nodes = np.union1d(np.geomspace(1, 2, 2) * p.max(), p[p > 1])
    curves, worst = [], 0.0
    for group, problem in enumerate(problems[sorted({0, len(problems) // 2, len(problems) - 1})]):
        sizes = dict(zip(others, problem.tolist(), strict=True))
        for metric, name in (("comm_bytes", "least found"), ("regular_bytes", "plain division")):
            if metric not in known or set(known[metric].parameters) - {NODES, *others}:
                continue
            own = np.empty((2, 0))
            if seen is not None and seen.knows(metric):
                kept = (_columns(seen, others) == problem).all(axis=1) & (seen.metrics[metric] > 0)
                own = np.stack([_columns(seen, (NODES,))[kept, 0], seen.metrics[metric][kept]])
                found = known[metric].predict({**sizes, NODES: own[0]})
                worst = max(worst, float(np.abs(found / own[1] - 1).max(initial=0.0)))
            label = ", ".join((*(f"{key} = {value:g}" for key, value in sizes.items()), name))
            at = {**sizes, NODES: nodes}
            value, band = known[metric].predict(at), known[metric].band(at)
            curves.append(ScalingCurve(label, nodes, value, *band, metric != "comm_bytes", group, own))
    dots = f"Dots: measured (hollow: plain division), at most {format_percent(worst)} from their line."
    if seen is None:
        dots = "Measured points are not drawn: the files of the fit are not there as they were."
    return Chart(
        "laws-bytes",
        "Bytes by node count",
        f"Lines: laws, shaded: bands of {100 * CONFIDENCE:g} %; dashed: plain division. {dots}",
        (5.6, 3.9),
        lambda figure: draw_laws(figure.subplots(), curves),
        lambda: {
            "law": [curve.name for curve in curves for _ in nodes],
            "nodes": np.tile(nodes, len(curves)).tolist(),
            "bytes": np.concatenate([curve.efficiency for curve in curves]).tolist(),
        },
    )


def _columns(seen: Observations, names: Sequence[str]) -> NDArray[np.float64]:
    return seen.points[:, [seen.parameters.index(name) for name in names]]


def _observations(document: LawsDocument) -> Observations | None:
    """The data of the laws, if its files are there as they were fitted; ``None`` otherwise."""
    files = cast("Sequence[tuple[str, str]]", document.provenance.get("input_hashes", ()))
    try:
        if not files or any(file_hash(Path(name)) != digest for name, digest in files):
            return None
        seen = read_observations([Path(name) for name, _ in files])
        laws = [law for law in document.laws if law.metric in ("comm_bytes", "regular_bytes")]
        are_its = (len(seen.of(law.metric)[2]) == law.num_points for law in laws)
        return seen if all(are_its) and {*laws[0].parameters} <= {*seen.parameters} else None
    except (OSError, ValueError, TypeError, CommAnalyzerError):
        return None


def _range(law: Law) -> str:
    ranges = zip(law.parameters, law.lowest, law.highest, strict=True)
    return ", ".join(f"{name} {low:g} to {high:g}" for name, low, high in ranges)


def _notes(laws: Sequence[Law]) -> Points:
    notes = [f"`{law.metric}`: {note}" for law in laws for note in law.notes]
    notes += [
        f"`{law.metric}`: {len(law.alternatives)} other formulas explain the data as well; bands include them"
        + (f"; {doubt}" if (doubt := doubt_text(law)) else "")
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
    blocks: list[Content] = [
        Words((f"Bounds for {problem or 'the fitted problem'} on {name}, with bands of {CONFIDENCE:.0%}.",)),
        Points(tuple(advice)),
        Figures(_charts(curves, number, name)),
        *(
            page_table(
                f"{curve.kind.capitalize()} scaling; * outside of the data",
                range(len(curve.nodes)),
                projection_fields(curve, 1)[:-1],
            )
            for curve in curves
        ),
    ]
    return Section(f"laws-projection-{number}", f"Projection on {name}", tuple(blocks))


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

    numbers = partial(_numbers, projections)
    speedup = f"Strong scaling: at best {float(last.speedup[-1]):.3g} times one node, shaded: band."
    return (
        Chart(
            f"laws-speedup-{number}",
            "Projected speed-up",
            speedup,
            (3.9, 3.3),
            lambda figure: draw_speedup(figure.subplots(), curves),
            numbers,
        ),
        Chart(
            f"laws-efficiency-{number}",
            "Projected efficiency",
            f"Strong scaling: at best {end}, shaded: band.",
            (3.9, 3.3),
            lambda figure: draw_efficiency(figure.subplots(), curves),
            numbers,
        ),
    )


def _numbers(projections: Sequence[Projection]) -> dict[str, Values]:
    names = ("comm_bytes", "efficiency", "efficiency_low", "efficiency_high", "time_s")
    return {
        "scaling": [p.kind for p in projections for _ in p.nodes],
        "nodes": [int(n) for p in projections for n in p.nodes],
        **{name: np.concatenate([getattr(p, name) for p in projections]).tolist() for name in names},
    }


def tasks_chapter(graph: TaskGraph) -> Chapter:
    """Picture, kernels and flows of a task graph."""
    words = Words(
        (
            f"{len(graph.tasks)} executions of {len(graph.kernels)} kernels in the order of the program. On"
            f" average {graph.parallelism():.2f} of them could run at once; the critical path is marked.",
        )
    )
    rows = [(kernel, access) for kernel in graph.kernels for access in kernel.accesses]
    kernels = page_table("Accessors of each kernel", rows, kernel_fields())
    sections = (
        Section("tasks-graph", "Task graph", (words, Figures((tasks_chart(graph),)))),
        Section("tasks-kernels", "Kernels and range mappers", (kernels,)),
        Section("tasks-flows", "Bytes between tasks", (_moved(graph),)),
    )
    return Chapter("tasks", "Tasks", "What flows between the kernels of one run", sections)


def _moved(graph: TaskGraph) -> Table:
    moved = graph.moved_bytes()
    fields: tuple[Field[int], ...] = (
        numeric("nodes", lambda k: str(graph.nodes[k])),
        numeric(
            "bytes moved",
            lambda k: format_bytes(moved[k]),
            "between nodes that execute blocks of each task's work items",
        ),
        numeric(
            "flows",
            lambda k: format_count(sum(1 for edge in graph.edges if edge.moved_bytes[k])),
            "pairs of tasks and a buffer between which values are moved",
        ),
    )
    return page_table("All tasks together", range(len(graph.nodes)), fields)


TRAINING_SCHEMA = "commanalyzer.training/1"


def load_training(path: Path) -> Insight:
    """Insight of a document of ``learn --insight --json``.

    Raises ``ArtifactError`` if it is missing, another document, or has no insight.
    """
    hint = "commanalyzer learn TABLE -o MODEL --insight --json FILE"
    with reading(path, "what a model was trained on", hint=hint):
        content = parse_json(path.read_text(encoding="utf-8"), is_finite=True, schema=TRAINING_SCHEMA)
        insight = typed(content["insight"], Insight)
        if insight.distances.shape != (len(insight.kernels),) * 2:
            raise ValueError("distances that are no square")
        return insight


def learning_chapter(insight: Insight) -> Chapter:
    """Distances, ranking and ablation of a training document."""
    groups = "; ".join(map(", ".join, insight.clusters))
    words = Words((f"Kernels whose static features are alike (distance below 0.1): {groups}.",))
    chart = _distances(insight.kernels, insight.distances.tolist())
    ranked: tuple[Field[RankedFeature], ...] = (
        worded("feature", lambda r: r.name),
        numeric("R2 with those before", lambda r: f"{r.score:.4f}"),
    )
    ranking = page_table("Features by greedy selection", insight.ranking, ranked)
    compared: tuple[Field[tuple[str, SpeedupErrors]], ...] = (
        worded("features", lambda item: item[0]),
        numeric("MSE", lambda item: f"{item[1].mse:.2f}"),
        numeric("MSLE", lambda item: f"{item[1].msle:.4f}"),
        numeric("MAPE %", lambda item: f"{item[1].mape:.2f}"),
        numeric("R2", lambda item: f"{item[1].r2:.3f}"),
    )
    errors = page_table("Errors on kernels that were left out", insight.ablation.items(), compared)
    sections = (
        Section("learning-distances", "Which kernels are alike", (words, Figures((chart,)))),
        Section("learning-features", "Which features matter", (ranking, errors)),
    )
    return Chapter("learning", "Learned speed-ups", "What the features of the training runs tell", sections)


def _distances(names: Sequence[str], distances: Sequence[Sequence[float]]) -> Chart:
    side = max(3.5, 0.2 * len(names) + 1.5)

    def draw(figure: Figure) -> None:
        ax = figure.add_subplot()
        image = ax.imshow(distances, cmap="gray", vmin=0.0, vmax=1.0, interpolation="none")
        ax.set_xticks(range(len(names)), names, rotation=90)
        ax.set_yticks(range(len(names)), names)
        ax.tick_params(length=0)
        figure.colorbar(image, ax=ax, shrink=0.8, label="cosine distance")

    def numbers() -> dict[str, Values]:
        pairs = [(a, b, distances[i][j]) for i, a in enumerate(names) for j, b in enumerate(names)]
        return {
            "kernel": [a for a, _, _ in pairs],
            "other kernel": [b for _, b, _ in pairs],
            "cosine distance": [d for _, _, d in pairs],
        }

    text = f"Cosine distances of the static features of {len(names)} kernels, strong where they are alike."
    return Chart("learning-distances", "Distances of kernels", text, (side + 1.0, side), draw, numbers)
