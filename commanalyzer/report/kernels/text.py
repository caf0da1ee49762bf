"""Features, parallel patterns and task graphs of programs as text for a terminal, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from commanalyzer.foundation.quantities import format_bytes, format_count, format_percent
from commanalyzer.kernels.features.kernels import KernelFeatures, mix
from commanalyzer.kernels.features.static import COUNTED
from commanalyzer.kernels.patterns.find import ForbiddingFlow, FoundPattern
from commanalyzer.kernels.tasks.graph import FoldedGraph, FoldedTask, Kernel, TaskGraph, fold
from commanalyzer.report.tables import Field, numeric, terminal_table, worded

SCHEMA = "commanalyzer.features/1"
_LEAST_SHOWN = 0.005  # of a mix; less is 0 % in print


def show_features(kernels: Sequence[KernelFeatures], console: Console) -> None:
    """Print a table of kernels."""
    if not kernels:
        console.print(Text("no loop, hence no kernel"))
        return
    table = Table()
    for name in ("kernel", "items", "instructions", "coalesced"):
        table.add_column(name, justify="left" if name == "kernel" else "right", no_wrap=True)
    table.add_column("mix: by the heuristic" + (", in the run" if kernels[0].measured else ""))
    for k in kernels:
        items = k.runtime.get("work_items")
        shown = f"{k.item_loops}-D" if items is None else f"{k.item_loops}-D {format_count(round(items))}"
        static = k.static
        lines = [_mix(mix(k.counts))]
        if k.measured is not None:
            lines.append(_mix(mix(k.measured.counts)) if k.measured.launches else "did not run")
        total = f"{static['total']:.4g}"
        table.add_row(k.name, shown, total, format_percent(static["coalesced"]), "\n".join(lines))
    console.print(table)
    errors = [k.heuristic_error for k in kernels if k.heuristic_error is not None]
    if errors:
        worst = format_percent(max(errors))
        console.print(
            Text(f"Largest difference of a share between heuristic and run: {worst} of all instructions.")
        )


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
        "item_loops": k.item_loops,
        "copies": k.copies,
        "static": k.static,
        "counts_per_item": counts,
        "runtime": k.runtime,
    }
    if k.measured is not None:
        found["measured"] = {
            "launches": k.measured.launches,
            "items": k.measured.items,
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
        "schema": PATTERNS_SCHEMA,
        "patterns": [{**asdict(p), "expression": p.expression} for p in patterns],
    }
    return json.dumps(content, indent=1) + "\n"


_ORDERS = {"any": "", "reduction": "combined", "ordered": "one after the other"}


def show_tasks(graph: TaskGraph, console: Console, *, quiet: bool = False) -> None:
    """Print kernels with their accessors; without ``quiet`` schedule and flows, too."""
    console.print(_kernels(graph))
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
    for p, moved in zip(graph.nodes, graph.moved_bytes(), strict=True):
        console.print(Text(f"moved on {p} nodes: {format_bytes(moved)}"))
    console.print(Text("The accesses of this run decide; another input may have more."))


def range_text(kernel: Kernel) -> str:
    """Extents of a kernel's range, with its first index where that is not 0."""
    extents = " x ".join(str(end - first) for first, end in kernel.range)
    if any(first for first, _ in kernel.range):
        extents += f" from ({', '.join(str(first) for first, _ in kernel.range)})"
    return extents or "no work items"


def _kernels(graph: TaskGraph) -> Table:
    table = Table(title="kernels and the range mappers of their buffers")
    for name in ("kernel", "line", "tasks", "work items", "access", "buffer", "range mapper", "index"):
        table.add_column(name, no_wrap=name not in ("index", "work items"))
    for kernel in graph.kernels:
        order = _ORDERS[kernel.order]
        items = range_text(kernel) + (f", {order}" if order else "")
        where = f"{Path(kernel.place.file).name}:{kernel.place.line}"
        head = (kernel.name, where, str(kernel.executions), items)
        for number, access in enumerate(kernel.accesses):
            shape = " x ".join(map(str, access.shape))
            table.add_row(
                *(head if not number else ("",) * len(head)),
                access.mode,
                f"{access.buffer} [{shape}]".replace("[", r"\["),
                str(access.mapper),
                ", ".join(access.index),
            )
        if not kernel.accesses:
            table.add_row(*head, "", "", "", "")
    return table


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
    table = Table(title="flows between tasks, and what of them is moved on so many nodes")
    for name in ("from", "to", "buffer", "write -> read", "bytes"):
        table.add_column(name, justify="right" if name == "bytes" else "left", no_wrap=name == "bytes")
    for p in graph.nodes:
        table.add_column(f"on {p}", justify="right", no_wrap=True)
    for edge in folded.edges:
        source, sink = folded.tasks[edge.source].first, folded.tasks[edge.sink].first
        remark = " (next step)" if edge.sink < edge.source else ""
        table.add_row(
            f"{source} {graph.tasks[source].name}",
            f"{sink} {graph.tasks[sink].name}{remark}",
            edge.edge.buffer + (f" x{edge.count}" if edge.count > 1 else ""),
            f"{edge.edge.write or 'host'} -> {edge.edge.read or 'host'}",
            format_bytes(edge.bytes),
            *map(format_bytes, edge.moved_bytes),
        )
    return table


def _span(names: list[str]) -> str:
    return " -> ".join(names) if len(names) <= 6 else f"{names[0]} -> ... -> {names[-1]}"
