"""What changed between two results, as text for a terminal, and as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Protocol, TypeVar

from rich.console import Console
from rich.text import Text

from commanalyzer.communication.attribution import LineTraffic
from commanalyzer.foundation.quantities import format_bytes, format_percent
from commanalyzer.report.html.causes import find_source
from commanalyzer.report.result.text import ROOMY
from commanalyzer.report.tables import Field, numeric, print_lines, terminal_table, worded
from commanalyzer.result.comparison.difference import Change, Difference, LineChange, TextOf, VariableChange
from commanalyzer.result.results import AnalysisResult, Provenance

SCHEMA = "commanalyzer.difference/1"
MOST_CHANGES = 8


class _Changed(Protocol):
    """What changes the bytes."""

    @property
    def comm_bytes(self) -> Change: ...


C = TypeVar("C", bound=_Changed)


def change_fields(name: str, shown: Callable[[C], str]) -> tuple[Field[C], ...]:
    """What something is called, its bytes before and after."""
    return (
        worded(name, shown),
        numeric("bytes before", lambda item: format_bytes(item.comm_bytes.before)),
        numeric("after", lambda item: format_bytes(item.comm_bytes.after)),
        numeric("change", lambda item: change_text(item.comm_bytes), min_width=9),
    )


def _both(name: str, change: Callable[[Difference], Change], form: str) -> tuple[Field[Difference], ...]:
    return (
        numeric(f"{name} before", lambda item: _number(change(item).before, form)),
        numeric("after", lambda item: _number(change(item).after, form)),
    )


COUNTS = (
    *change_fields("nodes", lambda item: str(item.nodes)),
    *_both("messages", lambda item: item.messages, ",.0f"),
    *_both("bytes/op", lambda item: item.intensity, ".3g"),
    *_both("imbalance", lambda item: item.imbalance, ".3f"),
)
VARIABLES: tuple[Field[VariableChange], ...] = change_fields(
    "variable", lambda v: _where(v.name, v.function, v.place)
)
LINES: tuple[Field[LineChange], ...] = change_fields("line", lambda t: _where(_places(t), t.function))


def _places(line: LineChange) -> str:
    if not (line.before and line.after):
        return f"{line.before} only before" if line.before else f"{line.after} only after"
    return " -> ".join(dict.fromkeys((line.before, line.after)))


def _where(name: str, function: str, place: str = "") -> str:
    return name + (f" in {function}" if function else "") + (f" ({place})" if place else "")


def texts_in(folders: Sequence[Path]) -> TextOf:
    """Texts of source lines, of files in ``folders`` that are as they were analysed."""

    @cache
    def lines(provenance: Provenance, file: str) -> tuple[str, ...]:
        return find_source(file, provenance, folders).lines

    def text(result: AnalysisResult, line: LineTraffic) -> str:
        found = lines(result.provenance, line.file) if line.line else ()
        return found[line.line - 1].strip() if line.line <= len(found) and found else ""

    return text


def show_differences(found: Sequence[Difference], console: Console, *, quiet: bool = False) -> None:
    """Print a table over node counts, and the variables and lines behind the changes of the most nodes."""
    print_lines(console, filter(None, [found[0].other_program]))
    is_narrow = console.width < ROOMY
    console.print(terminal_table(found, COUNTS[:6] if is_narrow else COUNTS, "Before and after"))
    if is_narrow:
        console.print(f"Left out here: bytes/op, imbalance (--json, or a terminal of {ROOMY} columns).")
    if quiet:
        return
    largest = found[-1]
    console.print(Text(f"Compared {methods_text(largest)}"))
    bounds = largest.efficiency_bound
    if not math.isnan(bounds.before) and not math.isnan(bounds.after):
        console.print(f"Efficiency bound {format_percent(bounds.before)} -> {format_percent(bounds.after)}")
    if not largest.variables:
        console.print("  no variable sends more or less than before")
    tables = (
        terminal_table(largest.variables[:MOST_CHANGES], VARIABLES, "Variables that send more or less"),
        terminal_table(largest.lines[:MOST_CHANGES], LINES, "Source lines that need more or less"),
    )
    for table, items in zip(tables, (largest.variables, largest.lines), strict=True):
        if items:
            console.print(table)
        if len(items) > MOST_CHANGES:
            console.print(f"  and {len(items) - MOST_CHANGES} smaller changes (--json)")


def methods_text(item: Difference) -> str:
    """What was compared on some nodes."""
    before, after = item.methods
    return f"on {item.nodes} nodes: {before if before == after else f'{before} before, {after} after'}"


def worse_text(item: Difference) -> str:
    """What grew on some nodes: all bytes, those of one variable and those that one line needs."""
    grown = [
        (f"on {item.nodes} nodes", item.comm_bytes),
        *sorted(((VARIABLES[0].cell(v), v.comm_bytes) for v in item.variables), key=_growth)[-1:],
        *sorted(((LINES[0].cell(t), t.comm_bytes) for t in item.lines), key=_growth)[-1:],
    ]
    return "; ".join(
        f"{name} {format_bytes(x.before)} before, {format_bytes(x.after)} after ({change_text(x)})"
        for name, x in grown
    )


def _growth(named: tuple[str, Change]) -> float:
    return named[1].after - named[1].before


def differences_json(found: Sequence[Difference]) -> str:
    """The document ``commanalyzer.difference/1``."""
    return json.dumps({"schema": SCHEMA, "differences": _document(found)}, indent=1) + "\n"


def _document(value: object) -> object:
    """Changes as pairs, what they are of as objects."""
    if isinstance(value, Change):
        return [x if math.isfinite(x) else None for x in (value.before, value.after)]
    if isinstance(value, tuple | list):
        return [_document(item) for item in value]
    if isinstance(value, Difference | VariableChange | LineChange):
        return {f.name: _document(getattr(value, f.name)) for f in fields(value)}
    return value


def change_text(change: Change) -> str:
    """``+12.5 %``, or ``4.0 times`` and ``1/4.0`` where it is more than twice or less than half."""
    ratio = change.ratio
    if change.before == change.after:
        return "same"
    if math.isinf(ratio):
        return "new"
    if ratio == 0:
        return "gone"
    if 0.5 <= ratio <= 2:
        return f"{100 * (ratio - 1):+.1f} %"
    return f"{ratio:.1f} times" if ratio > 1 else f"1/{1 / ratio:.1f}"


def _number(value: float, form: str) -> str:
    return format(value, form) if math.isfinite(value) else "-"
