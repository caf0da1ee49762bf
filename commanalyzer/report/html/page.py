"""Results to one HTML page that loads nothing: chapters are made, rendered by templates, joined.

First section of a chapter: what to act on, in words and a few numbers. Chapter of a counted MPI run.
"""

from __future__ import annotations

import base64
import hashlib
import math
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from commanalyzer.communication.matrix import CountedRun
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.foundation.quantities import format_bytes, format_count, format_percent, format_work
from commanalyzer.foundation.version import tool_version
from commanalyzer.foundation.work import WorkCounts
from commanalyzer.kernels.learning.training import Insight
from commanalyzer.kernels.tasks.graph import TaskGraph
from commanalyzer.machine.parameters import MachineParameters, Parameter
from commanalyzer.machine.roofline.bound import ScalingBound
from commanalyzer.report.figures.chart import Chart, inline_svg, short_name
from commanalyzer.report.html.blocks import (
    Chapter,
    Content,
    Facts,
    Points,
    Section,
    Tile,
    Tiles,
    Words,
    explained,
)
from commanalyzer.report.html.causes import causes_of_pairs, causes_section
from commanalyzer.report.html.chapters import (
    GOOD_EFFICIENCY,
    LawsRequest,
    allocations_chapter,
    laws_chapter,
    learning_chapter,
    tasks_chapter,
)
from commanalyzer.report.html.division import division_section, places_of, shape_of
from commanalyzer.report.html.efficiency import binding, efficiency_section, exactness
from commanalyzer.report.html.origin import (
    hashes,
    origin_section,
    provenance_facts,
    recording_section,
    warnings_of,
)
from commanalyzer.report.html.subject import (
    MOST_SHOWN_NODES,
    Subject,
    count_nodes,
    machine_name,
    machines_of,
    place_of,
)
from commanalyzer.report.html.talk import talk_section
from commanalyzer.report.result.difference_text import (
    COUNTS,
    LINES,
    MOST_CHANGES,
    VARIABLES,
    methods_text,
    texts_in,
)
from commanalyzer.report.result.text import CALLS, NOT_FOUND, PARTS, PARTS_TITLE, advice_lines, largest_names
from commanalyzer.report.tables import Field, numeric, page_table, worded
from commanalyzer.result.comparison.difference import differences
from commanalyzer.result.results import AnalysisResult, Decomposition
from commanalyzer.scaling.allocations.advice import AllocationReport

if TYPE_CHECKING:
    from jinja2 import Environment


def overview_section(subject: Subject, bounds: Sequence[ScalingBound]) -> Section:
    """Numbers that stand out, and sentences; bounds are those of the first machine."""
    found = bounds[0] if bounds else None
    sentences = [_amount(subject), *_causes(subject), *_growth(subject)]
    sentences += advice_lines(subject.candidates(subject.largest))
    sentences += _efficiency(subject, found)
    sentences += _caution(subject)
    return Section(
        f"{subject.name}-summary",
        "Summary",
        (
            Tiles(_tiles(subject, found)),
            Points(tuple(s if s.endswith((".", ")")) else f"{s}." for s in sentences)),
        ),
    )


def _tiles(subject: Subject, found: ScalingBound | None) -> tuple[Tile, ...]:
    largest, work = subject.largest, subject.result.work
    traffic = largest.communication
    on = f"on {count_nodes(largest.nodes)}"
    tiles = [
        Tile(
            "Communication",
            format_bytes(traffic.total_bytes),
            f"{on}, {exactness(subject.result, largest, 'at most ')}",
        )
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
    start, end = (format_bytes(d.comm_bytes / d.nodes) for d in (first, last))
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
    count = len(warnings_of(subject.result))
    if not count:
        return []
    what = "the warning" if count == 1 else f"the {count} warnings"
    return [f"Read {what} under Recording and warnings before you rely on these numbers"]


def counted_chapter(subject: Subject, counted: CountedRun) -> Chapter:
    """Everything about a counted run."""
    result = subject.result
    item = result.best(counted.ranks)
    traffic = item.communication
    tiles = (
        Tile("Counted", format_bytes(traffic.total_bytes), f"between {counted.ranks} ranks, {item.method}"),
        Tile("Per rank", format_bytes(traffic.total_bytes / counted.ranks), "sent, on average"),
        Tile("Messages", format_count(traffic.total_messages)),
    )
    several = len(result.decompositions) > 1
    parts = page_table(PARTS_TITLE, result.decompositions, PARTS, is_marked=lambda d: d.best and several)
    calls = page_table("Calls; collectives are charged at their least volume", counted.calls, CALLS)
    sections = (
        Section(f"{subject.name}-summary", "Summary", (Tiles(tiles), parts)),
        talk_section(subject.name, [(counted.ranks, traffic.comm_bytes, None)], participant="rank"),
        Section(f"{subject.name}-calls", "Calls", (calls,)),
        Section(f"{subject.name}-recording", "Warnings and provenance", _origin(subject, counted)),
    )
    return Chapter(subject.name, subject.title, f"Counted: {shlex.join(result.command)}", sections)


def _origin(subject: Subject, counted: CountedRun) -> tuple[Content, ...]:
    warnings = warnings_of(subject.result)
    first: Content = Points(warnings, is_warning=True) if warnings else Words(("No warnings.",))
    facts = provenance_facts(subject.result)
    return (first, Facts((("MPI", counted.mpi or "unknown"), *facts.pairs)), *hashes(subject.result))


_TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True, slots=True)
class NamedResult:
    """A result and what its file is called, without folder and ending."""

    name: str
    result: AnalysisResult


@dataclass(frozen=True, slots=True)
class FurtherChapters:
    """What a page shows besides results."""

    laws: LawsRequest | None = None
    tasks: TaskGraph | None = None
    training: Insight | None = None
    allocations: AllocationReport | None = None

    def chapters(self, machines: Sequence[MachineParameters]) -> list[Chapter]:
        """A chapter of each; laws are projected on ``machines``."""
        return [
            *([laws_chapter(self.laws, machines)] if self.laws else []),
            *([tasks_chapter(self.tasks)] if self.tasks else []),
            *([learning_chapter(self.training)] if self.training else []),
            *([allocations_chapter(self.allocations)] if self.allocations else []),
        ]


@dataclass(frozen=True, slots=True)
class Page:
    """A report before it is rendered: a chapter per result, the comparison first where there are several."""

    title: str
    chapters: tuple[Chapter, ...]

    @property
    def charts(self) -> tuple[Chart, ...]:
        """All figures, in order."""
        return tuple(c for chapter in self.chapters for c in chapter.charts)


def make_page(
    results: Sequence[NamedResult],
    *,
    machines: Sequence[MachineParameters] = (),
    folders: Sequence[Path] = (),
    throughput: Parameter | None = None,
    further: FurtherChapters | None = None,
) -> Page:
    """Return the report of one result or several.

    ``machines`` are those of the bounds, each result's own when there is none; source files are looked for in
    ``folders``; ``throughput``, Flop/s, is for machines that do not say it. Raises ``FitError`` if a law or
    parameter of the projection is missing.
    """
    taken: set[str] = set()
    subjects = [
        Subject(
            named.result,
            _free_name(named.name, taken),
            named.name if named.result.counted is None else f"{named.name} (counted MPI run)",
            machines_of(named.result, machines, throughput),
            tuple(folders),
        )
        for named in results
    ]
    chapters = [_chapter(subject) for subject in subjects]
    if len(subjects) > 1:
        chapters.insert(0, _comparison(subjects))
    if further is not None:
        complete = dict.fromkeys(m for subject in subjects for m in subject.machines)
        chapters += further.chapters(tuple(complete))
    chapters = [_with_columns(chapter) for chapter in chapters]
    title = subjects[0].title if len(subjects) == 1 else f"{len(subjects)} results"
    return Page(f"CommAnalyzer: {title}", tuple(chapters))


def render_page(page: Page) -> str:
    """Return the page as HTML; the same page gives the same text."""
    template = _environment().get_template("page.html.j2")
    style, script = ((_TEMPLATES / name).read_text(encoding="utf-8") for name in ("style.css", "report.js"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()  # only this script runs
    return template.render(page=page, style=style, script=script, digest=digest, version=tool_version())


def _with_columns(chapter: Chapter) -> Chapter:
    last = explained(chapter.sections)
    return chapter if last is None else replace(chapter, sections=(*chapter.sections, last))


def _free_name(text: str, taken: set[str]) -> str:
    """An identifier that is not in ``taken`` yet; names that differ in other characters get a hash."""
    name = re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-").lower()
    if not name or not name[0].isalpha():
        name = f"result-{name or hashlib.sha256(text.encode()).hexdigest()[:6]}"
    free, count = name, 2
    while free in taken:
        free, count = f"{name}-{count}", count + 1
    taken.add(free)
    return free


def _chapter(subject: Subject) -> Chapter:
    counted = subject.result.counted
    if counted is not None:
        return counted_chapter(subject, counted)
    if not subject.result.decompositions:
        sections: tuple[Section, ...] = (recording_section(subject), origin_section(subject))
    else:
        sections = _sections(subject)
    created = subject.result.provenance.created.replace("T", " ").removesuffix("+00:00")
    region = f", region {', '.join(subject.result.regions)}" if subject.result.regions else ""
    subtitle = f"{shlex.join(subject.result.command)}{region}, analysed {created} UTC"
    return Chapter(subject.name, subject.title, subtitle, sections)


def _sections(subject: Subject) -> tuple[Section, ...]:
    shape, bounds = shape_of(subject), subject.bounds
    matrices = [
        (d.nodes, d.communication.comm_bytes, places_of(shape, d)) for d in subject.pictured if d.nodes > 1
    ]
    left_out = [d.nodes for d in subject.bests if d not in subject.pictured]
    return (
        overview_section(subject, bounds),
        efficiency_section(subject, bounds),
        talk_section(subject.name, matrices, left_out=left_out, causes=partial(causes_of_pairs, subject)),
        division_section(subject, shape),
        causes_section(subject),
        recording_section(subject),
        origin_section(subject),
    )


def _comparison(subjects: Sequence[Subject]) -> Chapter:
    """One line per result and node count."""
    rows = [(subject, item) for subject in subjects for item in subject.bests]
    efficiency = {
        (id(subject), point.num_nodes): format_percent(point.efficiency)
        for subject in subjects
        if subject.result.counted is None
        for found in subject.bounds[:1]
        for point in found.points
    }

    def work(row: tuple[Subject, Decomposition], form: Callable[[WorkCounts], str]) -> str:
        result = row[0].result
        return form(result.work) if result.counted is None and result.work.amount else ""

    fields: tuple[Field[tuple[Subject, Decomposition]], ...] = (
        worded("result", lambda row: row[0].title),
        numeric("nodes", lambda row: str(row[1].nodes)),
        worded("decomposition", lambda row: row[1].method),
        numeric("work", lambda row: work(row, lambda w: format_work(w.amount, w.unit))),
        numeric("bytes", lambda row: format_bytes(row[1].comm_bytes)),
        numeric("per node", lambda row: format_bytes(row[1].comm_bytes / row[1].nodes)),
        numeric("messages", lambda row: format_count(row[1].communication.total_messages)),
        numeric(
            "intensity",
            lambda row: work(row, lambda w: f"{row[1].intensity:.3g} B/{w.unit}"),
            "bytes per operation of W",
        ),
        numeric(
            "efficiency",
            lambda row: efficiency.get((id(row[0]), row[1].nodes), ""),
            "best possible with latency on the first machine",
        ),
        numeric("warnings", lambda row: str(len(warnings_of(row[0].result)) or "")),
    )
    table = page_table("All results side by side", rows, fields)
    counts = f"{len(subjects)} results, at most {MOST_SHOWN_NODES} node counts pictured of each"
    section = Section("comparison-table", "Side by side", (table,))
    return Chapter("comparison", "Comparison", counts, (section, *_changes(subjects)))


def _changes(subjects: Sequence[Subject]) -> Iterator[Section]:
    """What changed from the first of two results to the second, if they can be compared."""
    try:
        before, after = subjects
        found = differences(before.result, after.result, text_of=texts_in(before.folders))
    except (ValueError, ConfigError):
        return  # other than two, or without a node count and model in common
    largest = found[-1]
    tables = [
        page_table("Bytes by node count", found, COUNTS),
        page_table(f"Variables {methods_text(largest)}", largest.variables[:MOST_CHANGES], VARIABLES),
        page_table(f"Source lines {methods_text(largest)}", largest.lines[:MOST_CHANGES], LINES),
    ]
    title = f"What changed from {before.title} to {after.title}"
    said = [Points((text,), is_warning=True)] if (text := largest.other_program) else []
    yield Section("comparison-changes", title, (*said, *(table for table in tables if table.rows)))


def _prose(text: str) -> str:
    """Escaped text in which `names` in backquotes are code."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


@lru_cache(maxsize=1)
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    made = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    made.filters["prose"] = _prose
    made.filters["kind"] = lambda block: type(block).__name__.lower()
    made.filters["svg"] = lambda chart: Markup(inline_svg(chart))
    return made
