"""Chapter of a counted MPI run: parts of the run, calls, matrix; there is no value graph."""

from __future__ import annotations

import shlex

from commanalyzer.communication.matrix import CallCounts, CountedRun
from commanalyzer.foundation.quantities import format_bytes, format_count
from commanalyzer.report.html.blocks import (
    Block,
    Chapter,
    Column,
    Facts,
    Points,
    Row,
    Section,
    Table,
    Tile,
    Tiles,
    Words,
)
from commanalyzer.report.html.origin import hashes, provenance_facts, warnings_of
from commanalyzer.report.html.subject import Subject
from commanalyzer.report.html.talk import talk_section


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
    sections = (
        Section(f"{subject.name}-summary", "Summary", (Tiles(tiles), _parts(subject))),
        talk_section(subject.name, [(counted.ranks, traffic.comm_bytes, None)], participant="rank"),
        Section(f"{subject.name}-calls", "Calls", (_calls(counted),)),
        Section(f"{subject.name}-recording", "Warnings and provenance", _origin(subject, counted)),
    )
    return Chapter(subject.name, subject.title, f"Counted: {shlex.join(result.command)}", sections)


def _parts(subject: Subject) -> Table:
    columns = (
        Column("part of the run", is_number=False),
        Column("bytes"),
        Column("exactly"),
        Column("per rank"),
        Column("messages"),
    )
    rows = [
        Row(
            (
                d.method,
                format_bytes(d.comm_bytes),
                f"{d.comm_bytes:,}",
                format_bytes(d.comm_bytes / d.nodes),
                format_count(d.communication.total_messages),
            ),
            is_marked=d.best and len(subject.result.decompositions) > 1,
        )
        for d in subject.result.decompositions
    ]
    return Table("Counted communication between different ranks", columns, tuple(rows))


def _calls(counted: CountedRun) -> Table:
    columns = (
        Column("call", is_number=False),
        Column("communicator", is_number=False),
        Column("region", is_number=False),
        Column("root"),
        Column("calls"),
        Column("passed by ranks", meaning="count times datatype size, summed over ranks"),
        Column("charged", meaning="bytes between different ranks; collectives at their least volume"),
        Column("to itself", meaning="bytes that ranks send to themselves, in no matrix"),
    )
    rows = tuple(Row(_cells(call)) for call in counted.calls)
    return Table("Calls; collectives are charged at their least volume", columns, rows)


def _cells(call: CallCounts) -> tuple[str, ...]:
    return (
        call.name,
        call.communicator,
        "/".join(call.region),
        str(call.root) if call.root >= 0 else "",
        format_count(call.operations),
        format_bytes(call.given_bytes),
        format_bytes(call.charged_bytes),
        format_bytes(call.self_bytes) if call.self_bytes else "",
    )


def _origin(subject: Subject, counted: CountedRun) -> tuple[Block, ...]:
    warnings = warnings_of(subject.result)
    first: Block = Points(warnings, is_warning=True) if warnings else Words(("No warnings.",))
    facts = provenance_facts(subject.result)
    return (first, Facts((("MPI", counted.mpi or "unknown"), *facts.pairs)), *hashes(subject.result))
