"""A task graph as text for a terminal."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from commanalyzer.foundation.quantities import format_bytes, format_count, format_percent
from commanalyzer.kernels.tasks.folding import FoldedGraph, FoldedTask, fold
from commanalyzer.kernels.tasks.graph import Kernel, TaskGraph
from commanalyzer.report.tables import Field, numeric, terminal_table, worded

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
