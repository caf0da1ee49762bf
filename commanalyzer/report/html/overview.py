"""First section of a chapter: what a scientist acts on, in words and a few numbers."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence

import numpy as np

from commanalyzer.foundation.quantities import (
    format_bytes,
    format_count,
    format_percent,
    format_work,
)
from commanalyzer.machine.roofline.bound import ScalingBound
from commanalyzer.report.figures.chart import short_name
from commanalyzer.report.html.blocks import Points, Section, Tile, Tiles
from commanalyzer.report.html.efficiency import binding
from commanalyzer.report.html.subject import Subject, count_nodes, machine_name, place_of
from commanalyzer.report.result.text import NOT_FOUND, advice_lines, largest_names
from commanalyzer.result.results import Decomposition

GOOD_EFFICIENCY = 0.8


def overview_section(subject: Subject, bounds: Sequence[ScalingBound]) -> Section:
    """Numbers that stand out, and sentences; bounds are those of the first machine."""
    found = bounds[0] if bounds else None
    sentences = [_amount(subject), *_causes(subject), *_growth(subject)]
    names = largest_names(subject.largest, subject.result.store.objects)
    sentences += advice_lines(subject.candidates(subject.largest), ", ".join(names))
    sentences += _efficiency(subject, found)
    sentences += _caution(subject)
    return Section(
        f"{subject.name}-summary",
        "Summary",
        (Tiles(_tiles(subject, found)), Points(tuple(_sentence(s) for s in sentences))),
    )


def _sentence(text: str) -> str:
    return text if text.endswith((".", ")")) else f"{text}."


def _tiles(subject: Subject, found: ScalingBound | None) -> tuple[Tile, ...]:
    largest, work = subject.largest, subject.result.work
    traffic = largest.communication
    on = f"on {count_nodes(largest.nodes)}"
    tiles = [
        Tile("Communication", format_bytes(traffic.total_bytes), f"{on}, {_exactness(largest)}")
        if largest.is_balanced
        else Tile("Communication", "-", f"{on}: {NOT_FOUND}"),
        Tile("Per node", format_bytes(traffic.total_bytes / largest.nodes), "sent, on average"),
        Tile("Work", format_work(work.amount, work.unit), "of the analysed run"),
    ]
    if math.isfinite(largest.intensity):
        tiles.append(Tile("Intensity", f"{largest.intensity:.3g}", f"bytes per {work.unit}, {on}"))
    if found is not None:
        best = format_percent(found.points[-1].efficiency)
        tiles.append(Tile("Efficiency, at best", best, f"{on}, {short_name(machine_name(found.machine))}"))
    partners = largest.neighbours
    tiles.append(
        Tile("Partners", f"{np.median(partners):g}", f"median; {partners.min()} to {partners.max()} {on}")
    )
    return tuple(tiles)


def _exactness(item: Decomposition) -> str:
    traffic = item.communication
    if traffic.low_bytes == traffic.high_bytes:
        return "exact"
    return f"at most {format_bytes(traffic.high_bytes)}"


def _amount(subject: Subject) -> str:
    item, traffic = subject.largest, subject.largest.communication
    part = f" (region {', '.join(subject.result.regions)})" if subject.result.regions else ""
    return (
        f"Divided over {count_nodes(item.nodes)}, `{shlex.join(subject.result.command)}`{part} has to move "
        f"{format_bytes(traffic.total_bytes)} in {format_count(traffic.total_messages)} messages; the best "
        f"division that was found is {item.method}"
    )


def _causes(subject: Subject) -> list[str]:
    amount, objects = subject.largest.object_bytes, subject.result.store.objects
    total = int(amount.sum())
    if not total:
        return []
    top = int(np.argmax(amount))
    place = place_of(objects[top])
    where = f" ({place})" if place else ""
    share = format_percent(int(amount[top]) / total)
    names = largest_names(subject.largest, objects)
    others = [f"`{name}`" for name in names if name != objects[top].name]
    more = f"; next comes {' and '.join(others)}" if others else ""
    return [f"{share} of these bytes are values of `{objects[top].name}`{where}{more}"]


def _growth(subject: Subject) -> list[str]:
    bests = [d for d in subject.bests if d.comm_bytes]
    if len(bests) < 2:
        return []
    first, last = bests[0], bests[-1]
    factor, nodes = last.comm_bytes / first.comm_bytes, last.nodes / first.nodes
    power = math.log(factor) / math.log(nodes)
    per_node = (format_bytes(d.comm_bytes / d.nodes) for d in (first, last))
    start, end = per_node
    return [
        f"From {first.nodes} to {last.nodes} nodes, all communication grows {factor:.3g} times (as p to the "
        f"power {power:.2f}); what one node sends goes from {start} to {end}"
    ]


def _efficiency(subject: Subject, found: ScalingBound | None) -> list[str]:
    if found is None:
        if not subject.result.work.amount:
            return ["No efficiency bound: the program computes no values"]
        return ["No efficiency bound: bandwidth and throughput of a machine are not known (--machine)"]
    last, name = found.points[-1], machine_name(found.machine)
    lines = [
        f"On {count_nodes(last.num_nodes)} of {name}, no program with any of these divisions is more than "
        f"{format_percent(last.efficiency)} efficient ({format_percent(last.paper_efficiency)} by bandwidth "
        f"alone, Eq. 4), that is {last.speedup:.3g} times as fast as one node; what limits it: "
        f"{binding(last)}"
    ]
    good, goal = found.largest(GOOD_EFFICIENCY), format_percent(GOOD_EFFICIENCY)
    if good is None or good.num_nodes == 1:
        lines.append(f"None of the analysed node counts can reach an efficiency of {goal}")
    elif good is not last:
        between = found.crossing_nodes(GOOD_EFFICIENCY)
        about = f" (interpolated: about {between:.0f})" if between and round(between) > good.num_nodes else ""
        lines.append(f"To stay above {goal}, ask for at most {count_nodes(good.num_nodes)}{about}")
    return lines


def _caution(subject: Subject) -> list[str]:
    result = subject.result
    count = (
        len(result.warnings) + bool(result.recording.unmodelled_calls) + bool(result.recording.dropped_events)
    )
    if not count:
        return []
    what = "the warning" if count == 1 else f"the {count} warnings"
    return [f"Read {what} under Recording and warnings before you rely on these numbers"]
