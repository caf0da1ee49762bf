"""Chapter of a counted MPI run: parts of the run, calls, matrix; there is no value graph."""

from __future__ import annotations

import shlex

from commanalyzer.communication.matrix import CountedRun
from commanalyzer.foundation.quantities import format_bytes, format_count
from commanalyzer.report.html.blocks import (
    Block,
    Chapter,
    Facts,
    Points,
    Section,
    Tile,
    Tiles,
    Words,
)
from commanalyzer.report.html.origin import hashes, provenance_facts, warnings_of
from commanalyzer.report.html.subject import Subject
from commanalyzer.report.html.talk import talk_section
from commanalyzer.report.result.text import CALLS, PARTS, PARTS_TITLE
from commanalyzer.report.tables import page_table


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


def _origin(subject: Subject, counted: CountedRun) -> tuple[Block, ...]:
    warnings = warnings_of(subject.result)
    first: Block = Points(warnings, is_warning=True) if warnings else Words(("No warnings.",))
    facts = provenance_facts(subject.result)
    return (first, Facts((("MPI", counted.mpi or "unknown"), *facts.pairs)), *hashes(subject.result))
