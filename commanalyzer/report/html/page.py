"""Results to one HTML page that loads nothing: chapters are made, rendered by templates, joined."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commanalyzer.foundation.quantities import format_bytes, format_count, format_percent, format_work
from commanalyzer.foundation.version import tool_version
from commanalyzer.foundation.work import WorkCounts
from commanalyzer.kernels.tasks.graph import TaskGraph
from commanalyzer.machine.parameters import MachineParameters, Parameter
from commanalyzer.report.figures.chart import Chart, inline_svg
from commanalyzer.report.html.blocks import Chapter, Section, explained
from commanalyzer.report.html.causes import causes_section
from commanalyzer.report.html.chapters import (
    LawsRequest,
    allocations_chapter,
    laws_chapter,
    learning_chapter,
    tasks_chapter,
)
from commanalyzer.report.html.counted import counted_chapter
from commanalyzer.report.html.division import division_section, places_of, shape_of
from commanalyzer.report.html.efficiency import efficiency_section
from commanalyzer.report.html.origin import origin_section, recording_section, warnings_of
from commanalyzer.report.html.overview import overview_section
from commanalyzer.report.html.subject import MOST_SHOWN_NODES, Subject, machines_of
from commanalyzer.report.html.talk import talk_section
from commanalyzer.report.scaling.allocations_text import AllocationReport
from commanalyzer.report.tables import Field, numeric, page_table, worded
from commanalyzer.result.results import AnalysisResult, Decomposition

if TYPE_CHECKING:
    from jinja2 import Environment

_TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True, slots=True)
class NamedResult:
    """A result and what its file is called, without folder and ending."""

    name: str
    result: AnalysisResult


@dataclass(frozen=True, slots=True)
class FurtherChapters:
    """What a page shows besides results.

    Attributes:
        laws: Scaling laws, and what to project with them.
        tasks: Task graph.
        training: What a model was trained on.
        allocations: Allocations.
    """

    laws: LawsRequest | None = None
    tasks: TaskGraph | None = None
    training: Mapping[str, Any] | None = None
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
    """A report before it is rendered.

    Attributes:
        title: Title of the page.
        chapters: One per result, the comparison first where there are several.
    """

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

    Args:
        results: Predictions and counted runs.
        machines: Machines of the bounds; each result's own when there is none.
        folders: Where source files are looked for.
        throughput: Throughput of one node, Flop/s, for machines that do not say it.
        further: What else to show.

    Raises:
        FitError: If a law or parameter of the projection is missing.
    """
    subjects = [
        Subject(named.result, name, title, machines_of(named.result, machines, throughput), tuple(folders))
        for named, name, title in _names(results)
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
    style = (_TEMPLATES / "style.css").read_text(encoding="utf-8")
    return template.render(page=page, style=style, version=tool_version())


def _with_columns(chapter: Chapter) -> Chapter:
    last = explained(chapter.sections)
    return chapter if last is None else replace(chapter, sections=(*chapter.sections, last))


def _names(results: Sequence[NamedResult]) -> list[tuple[NamedResult, str, str]]:
    """Results with an identifier and a title each."""
    taken: set[str] = set()
    return [(named, _free_name(named.name, taken), _title(named)) for named in results]


def _title(named: NamedResult) -> str:
    return named.name if named.result.counted is None else f"{named.name} (counted MPI run)"


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
        talk_section(subject.name, matrices, left_out=left_out),
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
    return Chapter("comparison", "Comparison", counts, (section,))


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
    made.filters["svg"] = lambda chart: Markup(inline_svg(chart))
    return made
