"""Repetitions in a schedule: time steps and solver iterations become one group."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from commanalyzer.kernels.tasks.graph import TaskEdge, TaskGraph

# Tasks of a repetition that are looked for: a time step with more is shown unfolded. Looking takes this many
# comparisons of the schedule; half of it still folds solvers with tens of kernels.
LONGEST_PERIOD = 64


@dataclass(frozen=True, slots=True)
class Group:
    """Tasks that are executed again and again in the same order; a single task if ``repeats`` is 1.

    Attributes:
        first: Index of its first task.
        period: Number of tasks of one repetition.
        repeats: How often.
    """

    first: int
    period: int
    repeats: int


@dataclass(frozen=True, slots=True)
class FoldedTask:
    """All executions of a task at one place of a group.

    Attributes:
        group: Index of the group.
        first: Index of its first task.
        repeats: Number of executions.
        instructions: Of all executions.
    """

    group: int
    first: int
    repeats: int
    instructions: int


@dataclass(frozen=True, slots=True)
class FoldedEdge:
    """All flows of a buffer between the executions of two folded tasks.

    Attributes:
        source: Index of the folded task that writes.
        sink: Index of the folded task that reads; not after the source if it is of a later repetition.
        edge: One of the edges.
        count: Number of edges.
        bytes: Of all of them.
        needed_bytes: Of all of them, per number of nodes.
        moved_bytes: Of all of them, per number of nodes.
    """

    source: int
    sink: int
    edge: TaskEdge
    count: int
    bytes: int
    needed_bytes: tuple[int, ...]
    moved_bytes: tuple[int, ...]


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
