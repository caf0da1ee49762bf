"""Section on what causes the communication: variables, and source lines with their text.

Source files of a result: found again, and only believed if they are what was analysed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePath

import numpy as np

from commanalyzer.communication.attribution import LineTraffic
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.foundation.quantities import format_bytes, format_percent
from commanalyzer.graph.value_graph import HomeKind
from commanalyzer.report.html.blocks import Code, CodeLine, Content, Section, Table, Words
from commanalyzer.report.html.subject import Subject, count_nodes, place_of
from commanalyzer.report.result.causes_text import LOOPS_TITLE, line_fields, loop_fields, variable_fields
from commanalyzer.report.tables import Field, numeric, page_table, worded
from commanalyzer.result.causes import causes_of
from commanalyzer.result.provenance import file_hash
from commanalyzer.result.results import Decomposition, Provenance


@dataclass(frozen=True, slots=True)
class Source:
    """A source file as far as it can be shown."""

    file: str  # name as in the result
    lines: tuple[str, ...]  # its lines; empty when it is not shown
    reason: str = ""  # why it is not shown, empty when it is


def find_source(file: str, provenance: Provenance, folders: Sequence[Path]) -> Source:
    """Return the file if it is there and has the hash of the analysis.

    ``file`` is absolute or relative to where the analysis ran; in ``folders`` it may also lie without its
    leading directories.
    """
    wanted = {
        digest
        for name, digest in provenance.input_hashes
        if name == file or Path(name).parts[-2:] == Path(file).parts[-2:]
    }
    if not wanted:
        return Source(file, (), "not among the hashed inputs of the analysis (a header or a library)")
    present = [path for path in _places(file, folders) if path.is_file()]
    for path in present:
        try:
            if file_hash(path) in wanted:
                return Source(file, tuple(path.read_text(encoding="utf-8", errors="replace").splitlines()))
        except OSError:
            continue
    if present:
        return Source(file, (), "changed since the analysis")
    return Source(file, (), "not found (--source names a directory to look in)")


def _places(file: str, folders: Sequence[Path]) -> list[Path]:
    """Every directory with every ending of the path, the longest first."""
    path = Path(file)
    if path.is_absolute():
        return [
            path,
            *(folder.joinpath(*path.parts[k:]) for folder in folders for k in range(1, len(path.parts))),
        ]
    return [folder.joinpath(*path.parts[k:]) for folder in folders for k in range(len(path.parts))]


_MOST_VARIABLES = 15
_MOST_LINES = 12
_MOST_NEEDING = 5  # lines with an excerpt
_MOST_MAKING = 4
_AROUND = 3  # lines before and after
_MOST_PAIRS = 32  # of nodes that the page explains, and variables and lines of each
_PAIR_CAUSES = 6
_PAIR_FLOWS = 20_000_000  # of all pairs: of a large graph, fewer pairs are explained
_KINDS = {
    HomeKind.UNKNOWN: "",
    HomeKind.GLOBAL: "global",
    HomeKind.HEAP: "heap",
    HomeKind.STACK: "local",
    HomeKind.REGISTER: "scalar",
}


def causes_section(subject: Subject) -> Section:
    """Variables and lines of the largest node count, leading model."""
    blocks: list[Content] = []
    if not subject.largest.comm_bytes:
        blocks.append(Words((f"Nothing is communicated on {count_nodes(subject.largest.nodes)}.",)))
    else:
        blocks += _variables(subject)
        blocks += _lines(subject)
    return Section(f"{subject.name}-causes", "What causes the communication", tuple(blocks))


def _variables(subject: Subject) -> list[Content]:
    items = [d for d in subject.pictured if len(d.object_bytes)]
    if not items:
        return [Words(("Bytes per variable were not counted.",))]
    amount, objects = items[-1].object_bytes, subject.result.store.objects
    total = max(int(amount.sum()), 1)
    order = [i for i in np.argsort(-amount, kind="stable").tolist() if amount[i]]
    shown = order[:_MOST_VARIABLES]

    def moved(item: Decomposition, variable: int) -> str:
        return format_bytes(int(item.object_bytes[variable])) if item.object_bytes[variable] else ""

    fields: tuple[Field[int], ...] = (
        worded("variable", lambda i: objects[i].name, "array or scalar whose values are sent"),
        worded("declared at", lambda i: place_of(objects[i]), "allocation or declaration"),
        worded("in", lambda i: objects[i].function, "function"),
        worded("kind", lambda i: _KINDS[objects[i].kind]),
        *(numeric(count_nodes(d.nodes), partial(moved, d)) for d in items),
        numeric("share", lambda i: format_percent(int(amount[i]) / total), "of all bytes on the most nodes"),
    )
    more = f"; {len(order) - len(shown)} smaller ones left out" if len(order) > len(shown) else ""
    caption = f"Variables by bytes on {items[-1].nodes} nodes{more}"
    return [page_table(caption, shown, fields, share=lambda i: int(amount[i]) / total)]


def _lines(subject: Subject) -> list[Content]:
    item = subject.largest
    if item.model != "volume":
        return [Words(("Source lines are attributed in the model volume only.",))]
    try:
        causes = causes_of(subject.result, item.nodes, method=item.method)
    except ConfigError as error:
        return [Words((f"Source lines are not shown: {error.message}.",))]
    total, found, shown = item.comm_bytes, causes.lines, causes.lines[:_MOST_LINES]
    more = f"; {len(found) - len(shown)} smaller ones left out" if len(found) > len(shown) else ""
    caption = (
        f"Source lines on {item.nodes} nodes; a value that several lines read is shared among them{more}"
    )

    def share(item: LineTraffic) -> float:
        return item.needed_bytes / total

    table = page_table(caption, shown, line_fields(total), share=share)
    loops = causes.loops[:_MOST_LINES]
    ranked = [page_table(LOOPS_TITLE, loops, loop_fields(total), share=share)] if loops else []
    return [*ranked, table, *_excerpts(subject, found)]


def _excerpts(subject: Subject, found: Sequence[LineTraffic]) -> list[Content]:
    """Text around the lines that need or make most, files in the order of their largest line."""
    named = [t for t in found if t.file and t.line]
    needing = sorted(named, key=lambda t: -t.needed_bytes)[:_MOST_NEEDING]
    making = sorted(named, key=lambda t: -t.made_bytes)[:_MOST_MAKING]
    ranked = [t for t in dict.fromkeys((*needing, *making)) if t.needed_bytes + t.made_bytes >= 1]
    blocks: list[Content] = []
    unseen: dict[str, list[str]] = {}
    for file in dict.fromkeys(t.file for t in ranked):
        source = find_source(file, subject.result.provenance, subject.folders)
        if source.reason:
            unseen.setdefault(source.reason, []).append(file)
            continue
        traffic = {t.line: t for t in named if t.file == file}
        blocks.append(_code(source, [t.line for t in ranked if t.file == file], traffic))
    notes = [f"Source not shown, {reason}: {', '.join(files)}." for reason, files in unseen.items()]
    return [*blocks, Words(tuple(notes))] if notes else blocks


def _code(source: Source, centres: Sequence[int], traffic: dict[int, LineTraffic]) -> Code:
    """The lines and what stands around them."""
    wanted = sorted({n for c in centres for n in range(c - _AROUND, c + _AROUND + 1)})
    shown = [n for n in wanted if 1 <= n <= len(source.lines)]
    return Code(PurePath(source.file).as_posix(), tuple(_line(source, n, traffic) for n in shown))


def _line(source: Source, number: int, traffic: dict[int, LineTraffic]) -> CodeLine:
    found = traffic.get(number)
    text = source.lines[number - 1].expandtabs(4)
    if found is None:
        return CodeLine(number, text)
    needed, made = found.needed_bytes, found.made_bytes
    return CodeLine(number, text, format_bytes(needed) if needed else "", format_bytes(made) if made else "")


def causes_of_pairs(subject: Subject, nodes: int) -> dict[str, object]:
    """Tables of variables and of lines, as of ``commanalyzer why``, and their rows by ``sender receiver``.

    Of the pairs that send most; empty where values are not known.
    """
    result, item = subject.result, subject.result.decomposition(nodes)
    count = min(_MOST_PAIRS, _PAIR_FLOWS // max(result.store.num_flows, 1))
    if item.model != "volume":
        return {}
    tables: list[Table] = []
    rows: dict[str, object] = {}
    for place in np.argsort(-item.communication.comm_bytes, axis=None, kind="stable")[:count].tolist():
        pair = divmod(place, nodes)
        if not item.communication.comm_bytes[pair]:
            break
        try:
            found = causes_of(result, nodes, pair, method=item.method)
        except ConfigError:
            break  # counted with another threshold of hubs
        if found.comm_bytes:
            variables, lines = variable_fields(found.comm_bytes), line_fields(found.comm_bytes)
            tables = [
                page_table("Variables whose values are sent", found.variables[:_PAIR_CAUSES], variables),
                page_table("Source lines that read or make them", found.lines[:_PAIR_CAUSES], lines),
            ]
            rows[f"{pair[0]} {pair[1]}"] = [[row.cells for row in table.rows] for table in tables]
    heads = [(table.caption, [(c.name, c.is_number) for c in table.columns]) for table in tables]
    return {"tables": heads, "rows": rows}
