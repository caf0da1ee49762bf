"""Parallel patterns as text for a terminal, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from commanalyzer.foundation.quantities import format_count, format_percent
from commanalyzer.kernels.patterns.find import ForbiddingFlow, FoundPattern

SCHEMA = "commanalyzer.patterns/1"
_MOST_REASONS = 3


def show_patterns(patterns: Sequence[FoundPattern], console: Console, *, quiet: bool = False) -> None:
    """Print a table of loops and recursive functions; with ``quiet`` without the reasons."""
    if not patterns:
        console.print(Text("no loop made more than one iteration"))
        return
    table = Table()
    for name in ("line", "in", "work", "iterations", "pattern"):
        table.add_column(name, justify="right" if name in ("work", "iterations") else "left", no_wrap=True)
    table.add_column("" if quiet else "what it takes, what forbids more")
    for p in patterns:
        where = f"{Path(p.place.file).name}:{p.place.line}" if p.place.line else "unknown"
        name = p.function if p.is_loop else f"{p.function} (recursive)"
        iterations = format_count(p.iterations)
        notes = "" if quiet else "\n".join(remarks(p))
        table.add_row(where, name, format_percent(p.share), iterations, p.kind, notes)
    console.print(table)
    if not quiet:
        console.print(Text("The flows of this run decide; another input may have more."))


def remarks(p: FoundPattern) -> list[str]:
    """What the table says beside a pattern, one line each."""
    lines = []
    if p.reduced:
        lines.append(f"reduces {', '.join(p.reduced)}")
    if p.kind == "stencil":
        names = ", ".join(p.neighbours)
        lines.append(f"iterations up to {p.radius} apart read the same elements of {names}")
    if p.private:
        lines.append(f"a copy of {', '.join(p.private)} for each worker")
    for number, stage in enumerate(p.stages, 1):
        how = "independent executions" if stage.is_replicable else "in order"
        places = ", ".join(map(str, stage.lines)) or "?"
        lines.append(f"stage {number}: line {places}, {format_percent(stage.share)}, {how}")
    lines += [_reason(flow) for flow in p.forbidding[:_MOST_REASONS]]
    if len(p.forbidding) > _MOST_REASONS:
        lines.append(f"and {len(p.forbidding) - _MOST_REASONS} more")
    return lines


def _reason(flow: ForbiddingFlow) -> str:
    if not flow.variable:
        return f"line {flow.source.line}: {flow.reason}" if flow.source.line else flow.reason
    place = f"line {flow.source.line}" if flow.source.line else "here"
    if flow.sink.line != flow.source.line:
        place += f" to line {flow.sink.line}"
    return f"{flow.variable}, {place}: {flow.reason}"


def patterns_json(patterns: Sequence[FoundPattern]) -> str:
    """JSON text of all patterns."""
    content = {
        "schema": SCHEMA,
        "patterns": [{**asdict(p), "expression": p.expression} for p in patterns],
    }
    return json.dumps(content, indent=1) + "\n"
