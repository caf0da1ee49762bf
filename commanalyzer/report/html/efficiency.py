"""Section on node counts: tables, efficiency roofline, speed-up, what a better machine brings."""

from __future__ import annotations

from collections.abc import Sequence

from commanalyzer.foundation.quantities import (
    format_bandwidth,
    format_bytes,
    format_percent,
    format_seconds,
    format_throughput,
)
from commanalyzer.machine.roofline.bound import BETTER, BoundPoint, ScalingBound
from commanalyzer.report.figures.chart import Chart, Values
from commanalyzer.report.figures.scaling import (
    curves_of,
    draw_efficiency,
    draw_roofline,
    draw_speedup,
    roof_of,
)
from commanalyzer.report.html.blocks import Content, Figures, Folded, Head, Row, Section, Table, Words
from commanalyzer.report.html.subject import Subject, count_nodes, machine_name
from commanalyzer.report.result.text import (
    NOT_FOUND,
    TITLE,
    amount_fields,
    confidence_fields,
    exact_word,
    extent,
)
from commanalyzer.report.tables import Field, numeric, page_table, worded
from commanalyzer.result.confidence import confidence_of
from commanalyzer.result.results import AnalysisResult, Decomposition

_METHOD = (
    "The bound is Eq. 4 of the paper, E = 1 / (1 + R I (1 - O) / B) with throughput R, intensity I, overlap "
    "O and bandwidth B of a node's link, for the candidate division with the least bytes: no program that "
    "moves as many is above it. With latency follows the busiest node of a division, the best one for it: "
    "rounds, messages, collectives, bytes, phases that wait for each other. Both are limits, no forecasts."
)
_NO_LATENCY = "{} has no latency: both bounds count bytes only."
_NEEDED, _GIVE = ("bandwidth", "throughput"), "--machine NAME|FILE, --throughput"
_TIMES = ("latency", "message_overhead", "gap", "allreduce")


def efficiency_section(subject: Subject, bounds: Sequence[ScalingBound]) -> Section:
    """How bytes, efficiency and speed-up depend on the number of nodes."""
    what = "What a programmer would write" if subject.result.counted is None else "What the program sent"
    caption = f"{what}, per node count, {extent(subject.result)}"
    blocks: list[Content] = [page_table(caption, subject.bests, _fields(subject.result))]
    known = confidence_of(subject.bests if subject.result.counted else subject.result.decompositions)
    leading = [c for c in known if c.best.model == subject.largest.model]
    if leading:
        blocks.append(page_table(TITLE, leading, confidence_fields()))
    missing = _without_bound(subject)
    if missing:
        blocks.append(Words(missing))
    if bounds:
        blocks.append(Figures(_charts(subject, bounds)))
        blocks += [_bound_table(found) for found in bounds]
        blocks.append(Words((_METHOD, *(words for found in bounds for words in _machine_words(found)))))
        better = [_better_table(found) for found in bounds if found.changes]
        if better:
            blocks.append(Folded("What a better machine would bring", better))
    return Section(f"{subject.name}-efficiency", "Node counts and efficiency", tuple(blocks))


def _fields(result: AnalysisResult) -> tuple[Field[Decomposition], ...]:
    return (
        numeric("nodes", lambda d: str(d.nodes), "number of parts, one per node"),
        worded(
            "decomposition",
            lambda d: d.method if d.is_balanced else f"{NOT_FOUND}; nearest: {d.method}",
            "how the values were divided",
        ),
        *amount_fields(result.work.unit),
        numeric("at most", lambda d: exactness(result, d), "upper end where collapsed versions leave doubt"),
    )


def exactness(result: AnalysisResult, item: Decomposition, words: str = "") -> str:
    """The upper end of the bytes, with words in front, or that they are exact."""
    low, high = item.communication.low_bytes, item.communication.high_bytes
    return exact_word(result) if low == high else f"{words}{format_bytes(high)}"


def _bound_table(found: ScalingBound) -> Table:
    fields: tuple[Field[BoundPoint], ...] = (
        numeric("nodes", lambda p: str(p.num_nodes)),
        numeric(
            "bound (Eq. 4)",
            lambda p: format_percent(p.paper_efficiency),
            "best possible efficiency by bytes and bandwidth of a link",
        ),
        numeric(
            "with latency",
            lambda p: format_percent(p.efficiency),
            "best possible efficiency of this decomposition, messages counted",
        ),
        numeric("speed-up", lambda p: f"{p.speedup:.3g}", "over one node, with latency"),
        numeric("time", lambda p: format_seconds(p.time_s), "least time, with latency"),
        numeric(
            "communication",
            lambda p: format_seconds(p.times.exposed_s),
            "what of it is communication that does not hide",
        ),
        worded("binds", binding, "what takes most of the time, and of the communication"),
        worded("decomposition", lambda p: p.method, "where the bound with latency is highest"),
    )
    return page_table(f"Best efficiency on {machine_name(found.machine)}", found.points, fields)


def binding(point: BoundPoint) -> str:
    """What takes most of the time, and what of the communication."""
    times = point.times
    if times.binds != "computation" or times.limit == "nothing":
        return times.binds
    return f"computation, then {times.limit}"


def _better_table(found: ScalingBound) -> Table:
    columns = [Head("nodes"), Head("efficiency now")]
    columns += [Head(name, meaning="efficiency, and time over the time now") for name in BETTER]
    rows = []
    for point in found.points:
        changes = {c.name: c for c in found.changes if c.num_nodes == point.num_nodes}
        if changes:
            cells = [f"{format_percent(c.efficiency)}, {c.time_ratio:.2f} x time" for c in changes.values()]
            rows.append(Row((str(point.num_nodes), format_percent(point.efficiency), *cells)))
    return Table(f"Changes of {machine_name(found.machine)}, with latency", tuple(columns), tuple(rows))


def _charts(subject: Subject, bounds: Sequence[ScalingBound]) -> tuple[Chart, ...]:
    roofs = [roof_of(found) for found in bounds]
    is_only = len(bounds) == 1
    lines = [c for number, found in enumerate(bounds) for c in curves_of(found, number, is_only=is_only)]

    last = bounds[0].points[-1]
    on = f"on {count_nodes(last.num_nodes)} of {machine_name(bounds[0].machine)}"
    paper, aware = format_percent(last.paper_efficiency), format_percent(last.efficiency)
    names = [f" ({name})" if name else "" for name in (last.paper_method, last.method)]
    ends = f"{paper} by Eq. 4{names[0]} and {aware} with latency{names[1]} {on}"
    numbers = _numbers(bounds)
    return (
        Chart(
            f"{subject.name}-roofline",
            "Efficiency roofline",
            f"Lines: Eq. 4 for any intensity. Dots: node counts; hollow: with latency. At best {ends}.",
            (3.7, 3.2),
            lambda figure: draw_roofline(figure.subplots(), roofs),
            lambda: numbers,
        ),
        Chart(
            f"{subject.name}-speedup",
            "Speed-up",
            f"At best {last.speedup:.3g} times as fast as one node {on}.",
            (3.0, 3.2),
            lambda figure: draw_speedup(figure.subplots(), lines),
            lambda: numbers,
        ),
        Chart(
            f"{subject.name}-efficiency-curve",
            "Efficiency",
            f"At best {ends}.",
            (3.0, 3.2),
            lambda figure: draw_efficiency(figure.subplots(), lines),
            lambda: numbers,
        ),
    )


def _numbers(bounds: Sequence[ScalingBound]) -> dict[str, Values]:
    """The numbers behind all three figures: a line per machine and node count."""
    pairs = [(found, p) for found in bounds for p in found.points]
    return {
        "machine": [machine_name(found.machine) for found, _ in pairs],
        "nodes": [p.num_nodes for _, p in pairs],
        "division_eq4": [p.paper_method for _, p in pairs],
        f"eq4_bytes_per_{bounds[0].unit}": [p.paper_bytes / found.work_flop for found, p in pairs],
        "efficiency_eq4": [p.paper_efficiency for _, p in pairs],
        "division_with_latency": [p.method for _, p in pairs],
        f"latency_bytes_per_{bounds[0].unit}": [p.comm_bytes / found.work_flop for found, p in pairs],
        "efficiency_with_latency": [p.efficiency for _, p in pairs],
        "speedup_with_latency": [p.speedup for _, p in pairs],
        "time_s": [p.time_s for _, p in pairs],
    }


def _machine_words(found: ScalingBound) -> list[str]:
    machine, network = found.machine, found.points[-1].network
    rate = network.throughput * (1.0 - network.overlap) / network.link_bandwidth
    name, nodes = machine_name(machine), count_nodes(found.points[-1].num_nodes)
    speed = format_throughput(network.throughput, found.unit)
    words = [
        f"With {nodes} of {name}, bandwidth is {format_bandwidth(network.link_bandwidth)} per node, overlap "
        f"{format_percent(network.overlap)}, throughput {speed} per node: by "
        f"Eq. 4, half of the time is communication at {1.0 / rate:.3g} bytes per {found.unit}."
    ]
    if network.bandwidth < 0.999 * network.link_bandwidth:
        words.append(
            f"Partners at random places get {format_bandwidth(network.bandwidth)} on so many nodes: "
            f"by Eq. 4 expect {format_percent(found.points[-1].expected_efficiency)} there."
        )
    if not any(getattr(machine, term) for term in _TIMES):
        words.append(_NO_LATENCY.format(f"{name[:1].upper()}{name[1:]}" if not machine.name else name))
    extrapolated = sorted({term for p in found.points for term in p.network.extrapolated})
    if extrapolated:
        terms = ", ".join(term.replace("_", " ") for term in extrapolated)
        words.append(f"Not measured at all of these node counts and message sizes (nearest taken): {terms}.")
    return words


def _without_bound(subject: Subject) -> tuple[str, ...]:
    """Why there is no bound, for each machine without one."""
    if not subject.result.work.amount:
        return ("No efficiency bound: the program computes no values.",)
    return tuple(
        f"No efficiency bound on {machine_name(m)}: no "
        f"{' and no '.join(name for name in _NEEDED if name not in m.parameters)} is known ({_GIVE})."
        for m in subject.judged_on
        if not m.is_complete
    )
