"""Features, parallel patterns and task graphs of programs as text for a terminal, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from commanalyzer.foundation.quantities import format_bytes, format_count, format_percent
from commanalyzer.kernels.features.kernels import COUNTED, KernelFeatures, mix
from commanalyzer.kernels.patterns.find import ForbiddingFlow, FoundPattern
from commanalyzer.kernels.tasks.graph import (
    FoldedEdge,
    FoldedGraph,
    FoldedTask,
    Kernel,
    RangeAccess,
    TaskGraph,
    fold,
)
from commanalyzer.report.result.json_document import picked
from commanalyzer.report.tables import Field, across, numeric, print_lines, terminal_table, worded

SCHEMA = "commanalyzer.features/1"
_LEAST_SHOWN = 0.005  # of a mix; less is 0 % in print


def show_features(kernels: Sequence[KernelFeatures], console: Console) -> None:
    """Print a table of kernels."""
    if not kernels:
        console.print(Text("no loop, hence no kernel"))
        return
    how = "mix: by the heuristic" + (", in the run" if kernels[0].measured else "")
    fields: tuple[Field[KernelFeatures], ...] = (
        worded("kernel", lambda k: k.name, no_wrap=True),
        numeric("items", _items, no_wrap=True),
        numeric("instructions", lambda k: f"{k.static['total']:.4g}", no_wrap=True),
        numeric("coalesced", lambda k: format_percent(k.static["coalesced"]), no_wrap=True),
        worded(how, _mixes),
    )
    console.print(terminal_table(kernels, fields))
    errors = [k.heuristic_error for k in kernels if k.heuristic_error is not None]
    if errors:
        worst = format_percent(max(errors))
        console.print(
            Text(f"Largest difference of a share between heuristic and run: {worst} of all instructions.")
        )


def _items(k: KernelFeatures) -> str:
    items = k.runtime.get("work_items")
    return f"{k.item_loops}-D" if items is None else f"{k.item_loops}-D {format_count(round(items))}"


def _mixes(k: KernelFeatures) -> str:
    lines = [_mix(mix(k.counts))]
    if k.measured is not None:
        lines.append(_mix(mix(k.measured.counts)) if k.measured.launches else "did not run")
    return "\n".join(lines)


def _mix(shares: dict[str, float]) -> str:
    shown = sorted((-share, kind) for kind, share in shares.items() if share >= _LEAST_SHOWN)
    return ", ".join(f"{kind} {format_percent(-share)}" for share, kind in shown)


def features_json(kernels: Sequence[KernelFeatures]) -> str:
    """JSON text of all kernels."""
    content = {"schema": SCHEMA, "kernels": [_document(k) for k in kernels]}
    return json.dumps(content, indent=1) + "\n"


def _document(k: KernelFeatures) -> dict[str, object]:
    counts = dict(zip(COUNTED, map(float, k.counts), strict=True))
    found: dict[str, object] = {
        "name": k.name,
        "file": Path(k.place.file).name,
        "line": k.place.line,
        **picked(k, "item_loops copies static"),
        "counts_per_item": counts,
        "runtime": k.runtime,
    }
    if k.measured is not None:
        found["measured"] = {
            **picked(k.measured, "launches items"),
            "mix": mix(k.measured.counts),
            "instructions": float(k.measured.counts[COUNTED.index("total")]),
            "input_bytes": list(k.measured.input_bytes),
            "output_bytes": list(k.measured.output_bytes),
            "largest_difference": k.heuristic_error,
        }
    return found


PATTERNS_SCHEMA = "commanalyzer.patterns/1"
_MOST_REASONS = 3


def show_patterns(patterns: Sequence[FoundPattern], console: Console, *, quiet: bool = False) -> None:
    """Print a table of loops and recursive functions; with ``quiet`` without the reasons."""
    if not patterns:
        console.print(Text("no loop made more than one iteration"))
        return
    fields: tuple[Field[FoundPattern], ...] = (
        worded(
            "line",
            lambda p: f"{Path(p.place.file).name}:{p.place.line}" if p.place.line else "unknown",
            no_wrap=True,
        ),
        worded("in", lambda p: p.function if p.is_loop else f"{p.function} (recursive)", no_wrap=True),
        numeric("work", lambda p: format_percent(p.share), no_wrap=True),
        numeric("iterations", lambda p: format_count(p.iterations), no_wrap=True),
        worded("pattern", lambda p: p.kind, no_wrap=True),
        worded(
            "" if quiet else "what it takes, what forbids more",
            lambda p: "" if quiet else "\n".join(remarks(p)),
        ),
    )
    console.print(terminal_table(patterns, fields))
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
        "schema": PATTERNS_SCHEMA,
        "patterns": [{**asdict(p), "expression": p.expression} for p in patterns],
    }
    return json.dumps(content, indent=1) + "\n"


KernelAccess = tuple[Kernel | None, RangeAccess | None]
_ORDERS = {"any": "", "reduction": "combined", "ordered": "one after the other"}


def show_tasks(graph: TaskGraph, console: Console, *, quiet: bool = False) -> None:
    """Print kernels with their accessors; without ``quiet`` schedule and flows, too."""
    rows = [
        (None if number else kernel, access)
        for kernel in graph.kernels
        for number, access in enumerate(kernel.accesses or (None,))
    ]
    title = "kernels and the range mappers of their buffers"
    console.print(terminal_table(rows, kernel_fields(), title, title_justify="center"))
    if quiet:
        return
    folded = fold(graph)
    console.print(_schedule(graph, folded))
    console.print(_flows(graph, folded))
    names = [graph.tasks[t].name for t in graph.critical_path()]
    work = sum(task.instructions for task in graph.tasks)
    longest = sum(graph.tasks[t].instructions for t in graph.critical_path())
    console.print(Text(f"critical path: {len(names)} of {len(graph.tasks)} tasks, {_span(names)}"))
    console.print(
        Text(
            f"  {format_count(longest)} of {format_count(work)} instructions: on average "
            f"{graph.parallelism():.2f} tasks could run at once"
        )
    )
    moved = zip(graph.nodes, graph.moved_bytes(), strict=True)
    print_lines(console, (f"moved on {p} nodes: {format_bytes(size)}" for p, size in moved))
    console.print(Text("The accesses of this run decide; another input may have more."))


def range_text(kernel: Kernel) -> str:
    """Extents of a kernel's range, with its first index where that is not 0."""
    extents = " x ".join(str(end - first) for first, end in kernel.range)
    if any(first for first, _ in kernel.range):
        extents += f" from ({', '.join(str(first) for first, _ in kernel.range)})"
    return extents or "no work items"


def kernel_fields() -> tuple[Field[KernelAccess], ...]:
    """Columns of a table with a line per access, the kernel in the first one."""

    def kernel(show: Callable[[Kernel], str]) -> Callable[[KernelAccess], str]:
        return lambda row: "" if row[0] is None else show(row[0])

    def access(show: Callable[[RangeAccess], str]) -> Callable[[KernelAccess], str]:
        return lambda row: "" if row[1] is None else show(row[1])

    def items(kernel: Kernel) -> str:
        order = _ORDERS[kernel.order]
        return range_text(kernel) + (f", {order}" if order else "")

    return (
        worded("kernel", kernel(lambda k: k.name), no_wrap=True),
        worded("line", kernel(lambda k: f"{Path(k.place.file).name}:{k.place.line}"), no_wrap=True),
        worded("tasks", kernel(lambda k: str(k.executions)), "executions", no_wrap=True),
        worded("work items", kernel(items), "extents of the range, of the first execution"),
        worded("access", access(lambda a: a.mode), no_wrap=True),
        worded("buffer", access(lambda a: f"{a.buffer} [{' x '.join(map(str, a.shape))}]"), no_wrap=True),
        worded(
            "range mapper",
            access(lambda a: str(a.mapper)),
            "which elements a block of work items accesses",
            no_wrap=True,
        ),
        worded("index", access(lambda a: ", ".join(a.index)), "per dimension of the buffer; * for all"),
    )


def _schedule(graph: TaskGraph, folded: FoldedGraph) -> Table:
    work = max(sum(task.instructions for task in graph.tasks), 1)

    def repeated(task: FoldedTask) -> str:
        period = folded.groups[task.group].period
        steps = f" in turn, {period} per step" if period > 1 else ""
        return f"x{task.repeats}{steps}" if task.repeats > 1 else "1"

    def items(task: FoldedTask) -> str:
        first = graph.tasks[task.first]
        return format_count(first.num_items) if first.range else ""

    fields: tuple[Field[FoldedTask], ...] = (
        numeric("task", lambda task: str(task.first), no_wrap=True),
        worded("kernel", lambda task: graph.tasks[task.first].name, no_wrap=True),
        numeric("executions", repeated, no_wrap=True),
        numeric("work items", items, no_wrap=True),
        numeric("work", lambda task: format_percent(task.instructions / work), no_wrap=True),
    )
    return terminal_table(folded.tasks, fields, "schedule", title_justify="center")


def _flows(graph: TaskGraph, folded: FoldedGraph) -> Table:
    def name(number: int) -> str:
        first = folded.tasks[number].first
        return f"{first} {graph.tasks[first].name}"

    fields: tuple[Field[FoldedEdge], ...] = (
        worded("from", lambda edge: name(edge.source)),
        worded("to", lambda edge: name(edge.sink) + " (next step)" * (edge.sink < edge.source)),
        worded("buffer", lambda edge: edge.edge.buffer + (f" x{edge.count}" if edge.count > 1 else "")),
        worded("write -> read", lambda edge: f"{edge.edge.write or 'host'} -> {edge.edge.read or 'host'}"),
        numeric("bytes", lambda edge: format_bytes(edge.bytes), no_wrap=True),
        *across(
            (f"on {p}" for p in graph.nodes),
            lambda edge, k: format_bytes(edge.moved_bytes[k]),
            no_wrap=True,
        ),
    )
    title = "flows between tasks, and what of them is moved on so many nodes"
    return terminal_table(folded.edges, fields, title, title_justify="center")


def _span(names: list[str]) -> str:
    return " -> ".join(names) if len(names) <= 6 else f"{names[0]} -> ... -> {names[-1]}"
