"""Sections on how far a result can be trusted and where it comes from."""

from __future__ import annotations

import shlex
from operator import itemgetter

from commanalyzer.foundation.quantities import format_bytes, format_count
from commanalyzer.machine.parameters import KINDS, MachineParameters, Parameter
from commanalyzer.report.html.blocks import Content, Facts, Folded, Points, Section, Table, Words
from commanalyzer.report.html.subject import Subject
from commanalyzer.report.result.text import (
    graph_line,
    recording_line,
    remarks,
    singletons_line,
    work_line,
)
from commanalyzer.report.tables import Field, numeric, page_table, worded
from commanalyzer.result.results import AnalysisResult


def recording_section(subject: Subject) -> Section:
    """How the recording went, and every warning."""
    result = subject.result
    pairs = [
        ("Exit status", str(result.recording.exit_status)),
        ("Recording", recording_line(result)),
        ("Work", work_line(result.work)),
        ("Value graph", graph_line(result)),
        ("Analysis", f"peak {format_bytes(result.peak_memory_bytes)}"),
        ("Singletons", singletons_line(result)),
        ("Events that could not be recorded", format_count(result.recording.dropped_events)),
    ]
    warnings = warnings_of(result)
    blocks: list[Content] = [Facts(tuple(pairs))]
    blocks.append(Points(warnings, is_warning=True) if warnings else Words(("No warnings.",)))
    return Section(f"{subject.name}-recording", "Recording and warnings", tuple(blocks))


def warnings_of(result: AnalysisResult) -> tuple[str, ...]:
    """Every reason for caution, one sentence each."""
    return tuple(text[:1].upper() + text[1:].removesuffix(".") + "." for text in remarks(result))


def origin_section(subject: Subject) -> Section:
    """Machine and provenance."""
    blocks: list[Content] = [t for t in map(_machine_table, subject.judged_on) if t.rows]
    blocks += [provenance_facts(subject.result), *hashes(subject.result)]
    return Section(f"{subject.name}-origin", "Machine and provenance", tuple(blocks))


def provenance_facts(result: AnalysisResult) -> Facts:
    """Where a result comes from."""
    origin = result.provenance
    pairs = [
        ("Command", shlex.join(result.command)),
        ("Created", origin.created),
        ("CommAnalyzer", f"{origin.tool_version} {origin.git_revision[:12]}".rstrip()),
        ("Host", origin.host_class),
        ("Compiler", " ".join((origin.compiler, *origin.flags))),
        ("Seed", str(origin.seed)),
    ]
    return Facts(tuple((name, value) for name, value in pairs if value))


def hashes(result: AnalysisResult) -> tuple[Folded, ...]:
    """The files that were read, folded."""
    rows = result.provenance.input_hashes
    if not rows:
        return ()
    table = page_table(
        "Files that were read", rows, (worded("file", itemgetter(0)), worded("SHA-256", itemgetter(1)))
    )
    title = f"Hashes of the {len(rows)} input files" if len(rows) > 1 else "Hash of the input"
    return (Folded(title, [table]),)


def _machine_table(machine: MachineParameters) -> Table:
    fields: tuple[Field[tuple[str, Parameter]], ...] = (
        worded("parameter", lambda item: KINDS[item[0]].meaning),
        numeric("value", lambda item: KINDS[item[0]].show(item[1].value)),
        worded("source", lambda item: item[1].source),
        worded("date", lambda item: item[1].date),
        worded("note", lambda item: _note(item[1])),
    )
    return page_table(f"Machine {machine.name}".rstrip(), machine.parameters.items(), fields)


def _note(parameter: Parameter) -> str:
    notes = [parameter.note] if parameter.note else []
    if parameter.curve is not None:
        axes = (("node counts", parameter.curve.nodes), ("message sizes", parameter.curve.message_bytes))
        notes += [f"known for {len(points)} {axis}" for axis, points in axes if points]
    return "; ".join(notes)
