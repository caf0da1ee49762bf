"""Laws, projections and advice as text for a terminal, and as a JSON document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from commanalyzer.foundation.documents import document_text
from commanalyzer.foundation.quantities import format_bytes, format_count, format_percent, format_seconds
from commanalyzer.machine.parameters import MachineParameters
from commanalyzer.report.html.subject import count_nodes
from commanalyzer.report.machine import machine_line
from commanalyzer.report.result.json_document import or_null
from commanalyzer.report.scaling.allocations_text import memory_line
from commanalyzer.report.tables import Field, across, numeric, print_lines, terminal_table, worded
from commanalyzer.scaling.laws.document import LawsDocument
from commanalyzer.scaling.laws.formula import (
    APART,
    accuracy_text,
    amount_text,
    doubt_text,
    formula_text,
    grid_note,
    law_name,
    law_text,
)
from commanalyzer.scaling.laws.law import CONFIDENCE, Law
from commanalyzer.scaling.laws.projection import Advice, Division, Projection, advise, gain_of_best, project

_MOST_SHOWN = 3
_FAMILY = {"polynomial": "exact", "lattice": "physical", "pmnf": "normal form", "power": "power law"}


def show_laws(
    document: LawsDocument,
    targets: Mapping[str, float],
    others: Sequence[Law],
    console: Console,
    *,
    quiet: bool = False,
) -> None:
    """Print laws, what explains the data as well, predictions and second opinions.

    Predictions are at ``targets``, ``others`` are laws of somebody else; only tables if ``quiet``.
    """
    console.print(terminal_table(document.laws, law_fields(targets), "Scaling laws"))
    print_lines(console, (line for law in document.laws if not quiet for line in _remarks(law, targets)))
    if targets:
        console.print(_predictions(document.laws, targets))
    opinions = (_opinion(document.laws, other, targets) for other in others if not quiet)
    print_lines(console, (line for lines in opinions for line in lines))


def law_fields(asked: Mapping[str, float] | None = None) -> tuple[Field[Law], ...]:
    """Columns of a table of laws; no law is exact of which the data allow other forms where it is asked."""

    def accuracy(law: Law) -> str:
        found = accuracy_text(law.formula)
        return "undecided" if found == "exact" and doubt_text(law, asked) else found

    return (
        worded("metric", lambda law: law.metric),
        worded("law", law_text, "p: nodes; other letters: parameters of the program"),
        worded("reads as", law_name, "what usually grows so"),
        worded("family", lambda law: _FAMILY.get(law.formula.family, law.formula.family)),
        numeric("prediction error", accuracy, "of rows and largest values that were left out of the fit"),
        numeric("points", lambda law: str(law.num_points)),
    )


def _remarks(law: Law, targets: Mapping[str, float]) -> list[str]:
    notes = (*law.notes, doubt_text(law, targets), grid_note(law.formula))
    lines = [f"{law.metric}: {note}" for note in notes if note]
    shown = [formula_text(f, law.parameters) for f in law.alternatives[:_MOST_SHOWN]]
    if shown:
        tail = f" and {more} more" if (more := len(law.alternatives) - len(shown)) else ""
        lines.append(f"{law.metric}: the data allow as well: {'; '.join(shown)}{tail}")
    return lines


def _predictions(laws: Sequence[Law], targets: Mapping[str, float]) -> Table:
    at = ", ".join(f"{name} = {value:g}" for name, value in targets.items())

    def end(law: Law, k: int) -> str:
        lacking = ("no band: too few runs", f"add {law.lacks}")
        return lacking[k] if law.lacks else amount_text(law.band(targets)[k][0])

    fields: tuple[Field[Law], ...] = (
        worded("metric", lambda law: law.metric),
        numeric("value", lambda law: amount_text(law.predict(targets)[0])),
        *across((f"{100 * CONFIDENCE:.0f} % from", "to"), end),
        worded("", lambda law: "extrapolated" if law.is_beyond(targets).any() else ""),
    )
    return terminal_table(laws, fields, f"Predicted at {at}")


def predictions_content(laws: Sequence[Law], targets: Mapping[str, float]) -> dict[str, object]:
    """Predictions as objects of JSON, nothing without targets; ends are null where there is no band."""
    return {"predictions": [_predicted(law, targets) for law in laws]} if laws and targets else {}


def _predicted(law: Law, targets: Mapping[str, float]) -> dict[str, object]:
    ends = zip(("low", "high"), (or_null(end)[0] for end in law.band(targets)), strict=True)
    found = {"metric": law.metric, "value": float(law.predict(targets)[0]), **dict(ends)}
    return {**found, "is_beyond": bool(law.is_beyond(targets).any())}


def _opinion(laws: Sequence[Law], other: Law, targets: Mapping[str, float]) -> list[str]:
    metric = other.metric.split(":")[0]
    own = next((law for law in laws if law.metric == metric), None)
    head = f"Extra-P for {other.metric}: {law_text(other)}"
    if own is None:
        return [head]
    highest = {n: x for law in (other, own) for n, x in zip(law.parameters, law.highest, strict=True)}
    point = {name: targets.get(name, 2.0 * x) for name, x in highest.items()}
    ours, theirs = own.predict(point)[0], other.predict(point)[0]
    where = ", ".join(f"{name} = {value:g}" for name, value in point.items())
    verdict = "DISAGREES" if abs(ours - theirs) > APART * max(ours, theirs) else "agrees"
    return [head, f"  {verdict} at {where}: {amount_text(theirs)} against {amount_text(ours)}"]


SCHEMA = "commanalyzer.projection/1"
_ENDS = tuple(f"{name}{end}" for name in ("comm_bytes", "efficiency") for end in ("", "_low", "_high"))
_ARRAYS = ("work_flop", *_ENDS, "time_s", "time_low_s", "time_high_s", "speedup", "node_bytes")


@dataclass(frozen=True, slots=True)
class ProjectionReport:
    """What laws say of larger problems on a machine.

    Attributes:
        curves: Strong scaling, which the advice is about, and others.
        advice: What to ask for.
        cores_per_node: For core-hours.
        gain: Strong scaling with the best division, where the curves are of plain blocks.
    """

    document: LawsDocument
    machine: MachineParameters
    curves: Sequence[Projection]
    advice: Advice
    cores_per_node: int
    gain: Projection | None = None

    def __repr__(self) -> str:
        return f"ProjectionReport({self.document.program} on {machine_line(self.machine)}: {self.advice})"


def project_laws(
    document: LawsDocument,
    machine: MachineParameters,
    nodes: Sequence[int],
    sizes: Mapping[str, float],
    *,
    weak: str,
    division: Division | None,
    efficiency: float,
    deadline_s: float | None,
    cores: int,
) -> ProjectionReport:
    """Curves of strong scaling, and of weak scaling where a parameter ``weak`` grows, with the advice."""
    curves = [
        project(document.laws, machine, nodes, sizes, weak_parameter=name, division=division)
        for name in dict.fromkeys(("", weak))
    ]
    gain = gain_of_best(document.laws, machine, curves[0]) if division is None else None
    advice = advise(curves[0], efficiency, deadline_s)
    return ProjectionReport(document, machine, curves, advice, cores, gain)


def show_projection(report: ProjectionReport, console: Console, *, quiet: bool = False) -> None:
    """Print curves and advice; only the advice with ``quiet``."""
    document, curves = report.document, report.curves
    if not quiet:
        console.print(Text(f"{document.program} on {machine_line(report.machine)}"))
        for curve in curves:
            console.print(_projection_table(curve, report.cores_per_node))
    lines = advice_lines(curves[0], report.advice, report.cores_per_node)
    if report.gain is not None:
        lines += _gain_lines(curves[0], report.gain, report.advice)
    doubts = dict.fromkeys(n for law in document.laws if law.metric.endswith("_per_round") for n in law.notes)
    print_lines(console, [*lines, *_projection_remarks(curves), *(f"warning: {doubt}" for doubt in doubts)])


def _projection_table(curve: Projection, cores_per_node: int) -> Table:
    sizes = ", ".join(f"{name} = {size_text(values[0])}" for name, values in curve.sizes.items())
    title = f"{curve.kind} scaling, {sizes}" + "".join(
        f", {name} growing" for name in growing_sizes(curve)[:1]
    )
    return terminal_table(range(len(curve.nodes)), projection_fields(curve, cores_per_node), title)


def growing_sizes(curve: Projection) -> list[str]:
    """Parameters that grow with the nodes."""
    return [name for name, values in curve.sizes.items() if values[-1] != values[0]]


def projection_fields(curve: Projection, cores_per_node: int) -> tuple[Field[int], ...]:
    """Columns of a table with a line per node count, core-hours last."""
    growing = [curve.sizes[name] for name in growing_sizes(curve)]
    hours = curve.core_hours(cores_per_node)

    def size(i: int, k: int) -> str:
        return size_text(growing[k][i])

    def band(i: int) -> str:
        ends = (curve.efficiency_low[i], curve.efficiency_high[i])
        return "none" if curve.lacking else " - ".join(map(format_percent, ends))

    return (
        numeric(
            "nodes",
            lambda i: f"{curve.nodes[i]}{' *' if curve.is_beyond[i] else ''}",
            "with a star: outside of the data of a law",
        ),
        *across(growing_sizes(curve), size),
        numeric("work", lambda i: format_count(curve.work_flop[i])),
        numeric("bytes", lambda i: format_bytes(curve.comm_bytes[i])),
        numeric("efficiency", lambda i: format_percent(curve.efficiency[i]), "best possible"),
        numeric(f"{100 * CONFIDENCE:.0f} % band", band),
        numeric("least time", lambda i: format_seconds(curve.time_s[i])),
        numeric("speed-up", lambda i: f"{curve.speedup[i]:.3g}"),
        numeric("core-hours", lambda i: f"{hours[i]:.3g}"),
    )


def size_text(value: float) -> str:
    """A size to run: every digit where it is a whole number."""
    return f"{value:.0f}" if value % 1 == 0 else f"{value:.6g}"


def advice_lines(curve: Projection, advice: Advice, cores_per_node: int = 1) -> list[str]:
    """What to ask for, in words."""
    memory = memory_line(curve.node_bytes, curve.node_bytes_limit)
    if advice.fastest is None:
        return ["No node count has memory for the program", memory]
    wanted = format_percent(advice.least_efficiency)
    if advice.largest is None:
        lines = [f"No node count reaches an efficiency of {wanted}"]
    else:
        is_plain = curve.lacking or advice.largest_certain == advice.largest
        on = f"certain on {advice.largest_certain}" if advice.largest_certain else "not certain on any"
        certain = "" if is_plain else f" ({on})"
        sensible = f"Largest sensible: {count_nodes(advice.largest)} with an efficiency of {wanted}"
        lines = [f"{sensible}{certain}: {_at(curve, advice.largest)}"]
    few = curve.nodes[~curve.has_memory]
    if len(few):
        lines.append(f"Not advised, as the program does not fit: {count_nodes(int(few.max()))} and fewer")
    if advice.largest == curve.nodes[-1]:
        lines.append(f"  (no more were considered: try --nodes ..{16 * int(curve.nodes[-1])})")
    lines.append(f"Fastest: {count_nodes(advice.fastest)}: {_at(curve, advice.fastest)}")
    if advice.cheapest is None:
        lines.append(f"No node count is done within {format_seconds(advice.deadline_s or 0.0)}")
    else:
        hours = float(curve.core_hours(cores_per_node)[curve.nodes.tolist().index(advice.cheapest)])
        within = f" within {format_seconds(advice.deadline_s)}" if advice.deadline_s is not None else ""
        lines.append(
            f"Fewest core-hours{within}: {count_nodes(advice.cheapest)}, {hours:.3g} core-hours: "
            f"{_at(curve, advice.cheapest)}"
        )
    return [*lines, memory]


def _gain_lines(curve: Projection, gain: Projection, advice: Advice) -> list[str]:
    """What the best division found changes; nothing where it has no fewer bytes."""
    alone = advice.largest is None or advice.largest == 1
    if advice.fastest is None:
        return []
    i = curve.nodes.tolist().index(advice.fastest if alone else advice.largest or 1)
    if not gain.comm_bytes[i] < curve.comm_bytes[i]:
        return ["All this is of plain blocks; the best division found has no fewer bytes"]
    nodes = int(curve.nodes[i])
    fewer = f"{format_bytes(gain.comm_bytes[i])} instead of {format_bytes(curve.comm_bytes[i])}"
    return [
        f"All this is of plain blocks; the best division found (--division best) has on {count_nodes(nodes)} "
        f"{fewer}: {_at(gain, nodes)}"
    ]


def _at(curve: Projection, nodes: int) -> str:
    i = curve.nodes.tolist().index(nodes)
    efficiency = format_percent(curve.efficiency[i])
    return f"{format_seconds(curve.time_s[i])} at least, efficiency {efficiency} at most"


def _projection_remarks(curves: Sequence[Projection]) -> list[str]:
    lines = []
    if any(curve.is_beyond.any() for curve in curves):
        lines.append("* outside of the data of the laws: extrapolated")
    lines += [f"no band: too few runs; {runs}" for runs in curves[0].lacking]
    lines += dict.fromkeys(doubt for curve in curves for doubt in curve.doubts)
    if curves[0].missing:
        lines.append(
            f"No laws of {', '.join(curves[0].missing)}: their time is left out, and the bound is above that "
            "of commanalyzer bound (fit a sweep or results without --metric to have them)"
        )
    return lines


def projection_json(report: ProjectionReport) -> str:
    """JSON text: machine, advice, and the arrays of each curve."""
    document, machine, cores, gain = report.document, report.machine, report.cores_per_node, report.gain
    content = {
        "schema": SCHEMA,
        "program": document.program,
        "confidence": CONFIDENCE,
        "machine": machine,
        "laws": {law.metric: law.parameters for law in document.laws},
        "provenance": document.provenance,
        "advice": report.advice,
        "cores_per_node": cores,
        "node_bytes_limit": None if machine.memory is None else machine.memory.value,
        "curves": [curve_arrays(curve, cores) for curve in report.curves],
        "best_division": None if gain is None else curve_arrays(gain, cores),
    }
    return document_text(content)


def curve_arrays(curve: Projection, cores_per_node: int = 1) -> dict[str, object]:
    """Plain lists of one curve by name, for figures and files."""
    return {
        "kind": curve.kind,
        "nodes": curve.nodes.tolist(),
        "sizes": {name: values.tolist() for name, values in curve.sizes.items()},
        **{name: or_null(getattr(curve, name)) for name in _ARRAYS},
        "core_hours": curve.core_hours(cores_per_node).tolist(),
        "is_beyond": curve.is_beyond.tolist(),
        "missing_laws": list(curve.missing),
        "runs_to_add": list(curve.lacking),
        "doubts": list(curve.doubts),
    }
