"""The task graph: what later stages and reports read.

Paper Section 4.1: a computation directed acyclic graph (V, I, O, E); vertices are executions of kernels on
the whole cluster, edges are data dependences, the schedule is the order of the program.

Repetitions in a schedule: time steps and solver iterations become one group.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from commanalyzer.foundation.documents import document_text, parse_json, reading, typed
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.kernels.tasks.mappers import Box, RangeMapper, parse_mapper
from commanalyzer.program.ir.names.debug_info import SourcePlace

AccessMode = Literal["read", "write"]
KernelOrder = Literal["any", "reduction", "ordered"]
HOST = -1


@dataclass(frozen=True, slots=True)
class RangeAccess:
    """How a kernel accesses a buffer: one accessor.

    Attributes:
        buffer: Name of the buffer.
        mode: Reads or writes.
        mapper: Range mapper.
        index: Per dimension what the index is (:class:`commanalyzer.kernels.tasks.accesses.buffers.Cover`).
        shape: Extents of the buffer, the slowest dimension first.
        element_bytes: Size of an element.
        touched_bytes: What was accessed, summed over work items.
        granted_bytes: What the mapper grants, summed over work items.
    """

    buffer: str
    mode: AccessMode
    mapper: RangeMapper
    index: tuple[str, ...]
    shape: tuple[int, ...]
    element_bytes: int
    touched_bytes: int
    granted_bytes: int


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel of the program.

    Attributes:
        name: Its function, with the line if that has several.
        file: Where its loop stands.
        line: There; 0 when unknown.
        order: Its work items run in any order, are combined, or one after the other.
        executions: Number of its tasks.
        range: First index and the one after the last of its work items, per dimension, of the first
            execution; empty if its loops are no work items.
        accesses: Of the first execution; the same mapper of other executions may have another box or buffer.
    """

    name: str
    file: str
    line: int
    order: KernelOrder
    executions: int
    range: Box
    accesses: tuple[RangeAccess, ...]

    @property
    def place(self) -> SourcePlace:
        """Where its loop stands."""
        return SourcePlace(self.file, self.line)


@dataclass(frozen=True, slots=True)
class Task:
    """An execution of a kernel, or of what the host does between kernels.

    Attributes:
        kernel: Index of the kernel; ``HOST`` for the host.
        name: Name of the kernel, ``host`` otherwise.
        range: First index and the one after the last of its work items, per dimension.
        instructions: Executed LLVM instructions, 0 for the host.
        flops: Floating-point operations.
        accesses: Accessors.
        folded_bytes: Per number of nodes: partial results of reductions that are sent to be combined.
    """

    kernel: int
    name: str
    range: Box
    instructions: int
    flops: int
    accesses: tuple[RangeAccess, ...]
    folded_bytes: tuple[int, ...]

    @property
    def num_items(self) -> int:
        """Number of work items."""
        return math.prod(end - first for first, end in self.range)


@dataclass(frozen=True, slots=True)
class TaskEdge:
    """Values of a buffer that one task writes and another one reads.

    Attributes:
        source: Index of the task that wrote last.
        sink: Index of the task that reads; the same one for flows between its work items.
        buffer: Name of the buffer.
        bytes: Values that flow, each counted once.
        write: Mapper of the write; ``None`` for the host.
        read: Mapper of the read; ``None`` for the host.
        needed_bytes: Per number of nodes: what nodes need of it that other nodes have written.
        moved_bytes: Per number of nodes: what of that no earlier task has brought to them.
    """

    source: int
    sink: int
    buffer: str
    bytes: int
    write: RangeMapper | None
    read: RangeMapper | None
    needed_bytes: tuple[int, ...]
    moved_bytes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TaskGraph:
    """Tasks in the order of the program, and what flows between them.

    Attributes:
        nodes: Numbers of nodes for which bytes are counted.
        kernels: Kernels by their first execution.
        tasks: The schedule.
        edges: By reader, then writer.
    """

    nodes: tuple[int, ...]
    kernels: tuple[Kernel, ...]
    tasks: tuple[Task, ...]
    edges: tuple[TaskEdge, ...]

    def moved_bytes(self) -> tuple[int, ...]:
        """All bytes that are sent, per number of nodes; partial results of reductions included."""
        return tuple(
            sum(e.moved_bytes[k] for e in self.edges) + sum(t.folded_bytes[k] for t in self.tasks)
            for k in range(len(self.nodes))
        )

    def critical_path(self) -> tuple[int, ...]:
        """Tasks of the path with most instructions, in order."""
        best = [task.instructions for task in self.tasks]
        before = [-1] * len(self.tasks)
        for edge in sorted(self.edges, key=lambda e: e.sink):
            if edge.source == edge.sink:
                continue
            length = best[edge.source] + self.tasks[edge.sink].instructions
            if length > best[edge.sink]:
                best[edge.sink], before[edge.sink] = length, edge.source
        at = max(range(len(best)), key=lambda t: best[t], default=-1)
        path: list[int] = []
        while at >= 0:
            path.append(at)
            at = before[at]
        return tuple(reversed(path))

    def parallelism(self) -> float:
        """All instructions over those of the critical path: how many tasks could run at once, on average."""
        longest = sum(self.tasks[t].instructions for t in self.critical_path())
        return sum(task.instructions for task in self.tasks) / max(longest, 1)


# Tasks of a repetition that are looked for: a time step with more is shown unfolded. Looking takes this many
# comparisons of the schedule; half of it still folds solvers with tens of kernels.
LONGEST_PERIOD = 64


@dataclass(frozen=True, slots=True)
class Group:
    """Tasks that are executed again and again in the same order; a single task if ``repeats`` is 1."""

    first: int  # index of its first task
    period: int  # number of tasks of one repetition
    repeats: int  # how often


@dataclass(frozen=True, slots=True)
class FoldedTask:
    """All executions of a task at one place of a group."""

    group: int  # index of the group
    first: int  # index of its first task
    repeats: int  # number of executions
    instructions: int  # of all executions


@dataclass(frozen=True, slots=True)
class FoldedEdge:
    """All flows of a buffer between the executions of two folded tasks."""

    source: int  # index of the folded task that writes
    sink: int  # index of the folded task that reads; not after the source if it is of a later repetition
    edge: TaskEdge
    count: int  # number of edges
    bytes: int  # of all of them
    needed_bytes: tuple[int, ...]  # of all of them, per number of nodes
    moved_bytes: tuple[int, ...]  # of all of them, per number of nodes


@dataclass(frozen=True, slots=True)
class FoldedGraph:
    """A task graph with repetitions folded."""

    groups: tuple[Group, ...]
    tasks: tuple[FoldedTask, ...]
    edges: tuple[FoldedEdge, ...]


def groups_of(names: tuple[str, ...]) -> tuple[Group, ...]:
    """Repetitions in a sequence of names: at each place the one that covers most, of equals the shortest."""
    groups: list[Group] = []
    at = 0
    while at < len(names):
        best = Group(at, 1, 1)
        for period in range(1, min(LONGEST_PERIOD, (len(names) - at) // 2) + 1):
            repeats = 1
            block = names[at : at + period]
            while names[at + repeats * period : at + (repeats + 1) * period] == block:
                repeats += 1
            if repeats > 1 and repeats * period > best.repeats * best.period:
                best = Group(at, period, repeats)
        groups.append(best)
        at += best.period * best.repeats
    return tuple(groups)


def fold(graph: TaskGraph) -> FoldedGraph:
    """The graph with repetitions folded."""
    groups = groups_of(tuple(task.name for task in graph.tasks))
    tasks: list[FoldedTask] = []
    folded_of: dict[int, int] = {}
    for number, group in enumerate(groups):
        for position in range(group.period):
            own = [group.first + position + k * group.period for k in range(group.repeats)]
            folded_of.update(dict.fromkeys(own, len(tasks)))
            work = sum(graph.tasks[t].instructions for t in own)
            tasks.append(FoldedTask(number, own[0], group.repeats, work))
    together: dict[tuple[int, int, str], list[TaskEdge]] = defaultdict(list)
    for edge in graph.edges:
        together[folded_of[edge.source], folded_of[edge.sink], edge.buffer].append(edge)
    edges = tuple(
        FoldedEdge(
            source,
            sink,
            own_edges[-1],  # of the last repetition: the first may read what was there before
            len(own_edges),
            sum(e.bytes for e in own_edges),
            tuple(sum(e.needed_bytes[k] for e in own_edges) for k in range(len(graph.nodes))),
            tuple(sum(e.moved_bytes[k] for e in own_edges) for k in range(len(graph.nodes))),
        )
        for (source, sink, _), own_edges in together.items()
    )
    return FoldedGraph(groups, tuple(tasks), edges)


SCHEMA = "commanalyzer.tasks/1"


def tasks_json(graph: TaskGraph) -> str:
    """JSON text of a task graph."""
    content = {
        "schema": SCHEMA,
        "nodes": graph.nodes,
        "moved_bytes": graph.moved_bytes(),
        "critical_path": graph.critical_path(),
        "parallelism": graph.parallelism(),
        "kernels": graph.kernels,
        "tasks": graph.tasks,
        "edges": graph.edges,
    }
    return document_text(content)


def load_tasks(path: Path) -> TaskGraph:
    """Read a document of :func:`tasks_json`; ``ConfigError`` if it cannot be read or is none."""
    hint = "write it with `commanalyzer tasks SOURCES --json FILE`"
    with reading(path, f"a task graph of schema {SCHEMA}", hint=hint, error=ConfigError):
        content = parse_json(path.read_text(encoding="utf-8"), is_finite=True, schema=SCHEMA)
        graph = typed(content, TaskGraph, {RangeMapper: parse_mapper})
        if any(not 0 <= end < len(graph.tasks) for edge in graph.edges for end in (edge.source, edge.sink)):
            raise ValueError("an edge of a task that is not there")
        return graph
