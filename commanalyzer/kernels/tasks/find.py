"""Finds kernels, tasks, range mappers and flows of a program in one interpreted run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.kernels.patterns.find import observe
from commanalyzer.kernels.tasks.accesses.buffers import (
    BLOCK,
    Accesses,
    Bools,
    Ints,
    Linear,
    WorkItemObserver,
    coordinates,
    covers,
    linear,
    loop_iterations,
    pitches_of,
    shape_of,
)
from commanalyzer.kernels.tasks.accesses.kernels import Analysis, Judgement, analyse
from commanalyzer.kernels.tasks.graph import HOST, Kernel, KernelOrder, RangeAccess, Task, TaskEdge, TaskGraph
from commanalyzer.kernels.tasks.mappers import Box, RangeMapper
from commanalyzer.program.ir.model import Module
from commanalyzer.program.ir.names.addresses import source_name
from commanalyzer.program.ir.names.debug_info import DebugInfo, SourcePlace
from commanalyzer.program.ir.names.source_text import function_at, loop_function, loop_place, user_place


def item_indices(iterations: Ints, writes: Iterable[tuple[Ints, Ints, Bools]]) -> Ints:
    """Index of each access's work item, int64[dimensions of the range, n].

    ``iterations``: of the loops over work items, int64[loops, n], for all accesses; ``writes``: per
    instruction, writing ones first, the positions of its accesses in ``iterations``, and the indices of the
    elements in their buffer, int64[dimensions, m], and which of these dimensions the kernel goes along by
    other instructions.
    """
    fallback: dict[int, tuple[int, int]] = {}
    for positions, index, is_longer in writes:
        lines = [_line(iterations[:, positions], row) for row in index]
        loops = [line[0] for line in lines if line[0] >= 0]
        for loop, slope, start in lines:
            if loop >= 0:
                fallback.setdefault(loop, (slope, start))
        varying = {k for k in range(len(iterations)) if np.ptp(iterations[k])}
        is_row = any(line[0] == -1 and longer for line, longer in zip(lines, is_longer, strict=True))
        is_whole = not is_row and all(slope or loop == -1 for loop, slope, _ in lines)
        if is_whole and len(set(loops)) == len(loops) and varying <= set(loops):
            rows = [slope * iterations[loop] + start if loop >= 0 else
                    np.full(iterations.shape[1], start) for loop, slope, start in lines]  # fmt: skip
            return np.stack(rows)
    rows = [row * fallback.get(k, (1, 0))[0] + fallback.get(k, (1, 0))[1] for k, row in enumerate(iterations)]
    return np.stack(rows)


def _line(iterations: Ints, index: Ints) -> tuple[int, int, int]:
    """An index as slope times one loop's iteration plus a start: loop, slope, start.

    The loop is -1 where the index is constant, -2 where it is neither.
    """
    if not np.ptp(index):
        return -1, 0, int(index[0])
    for loop, row in enumerate(iterations):
        if not np.ptp(row):
            continue
        low, high = int(row.argmin()), int(row.argmax())
        slope, rest = divmod(int(index[high] - index[low]), int(row[high] - row[low]))
        start = int(index[low]) - slope * int(row[low])
        if slope and not rest and np.array_equal(slope * row + start, index):
            return loop, slope, start
    return -2, 0, 0


def block_of(index: Ints, first: int, extent: int, num_nodes: int) -> Ints:
    """Node of each work item: contiguous blocks of an extent, sizes differing by at most one."""
    return (index - first) * num_nodes // extent


@dataclass(frozen=True, slots=True)
class FlowTable:
    """Flows between tasks: who reads which words of whom."""

    source: Ints  # position of the writing word, per read that has one
    sink: Ints  # position of the reading word
    bytes: Ints  # size of the word


def edge_bytes(flows: FlowTable, edge: Ints, num_edges: int) -> Ints:
    """Bytes of the values that flow along each edge, each counted once."""
    distinct = np.unique(np.stack((flows.source, edge)), axis=1, return_index=True)[1]
    return _summed(edge[distinct], flows.bytes[distinct], num_edges)


def moved_bytes(
    flows: FlowTable, edge: Ints, num_edges: int, node: Ints, num_nodes: int
) -> tuple[Ints, Ints]:
    """Bytes that each edge needs from other nodes, and those of them that no earlier task has brought.

    ``edge``: per flow; ``node``: of each word access, ``num_nodes`` for reads by all nodes.
    """
    everywhere = node[flows.sink] == num_nodes
    flow = np.concatenate((np.flatnonzero(~everywhere), np.repeat(np.flatnonzero(everywhere), num_nodes)))
    reader = node[flows.sink[flow]]
    reader[reader == num_nodes] = np.tile(np.arange(num_nodes), int(everywhere.sum()))
    is_sent = node[flows.source[flow]] != reader
    flow, reader = flow[is_sent], reader[is_sent]
    order = np.argsort(flow, kind="stable")
    flow, reader = flow[order], reader[order]
    needed = np.unique(np.stack((flows.source[flow], edge[flow], reader)), axis=1, return_index=True)[1]
    moved = np.unique(np.stack((flows.source[flow], reader)), axis=1, return_index=True)[1]
    return (
        _summed(edge[flow[needed]], flows.bytes[flow[needed]], num_edges),
        _summed(edge[flow[moved]], flows.bytes[flow[moved]], num_edges),
    )


def folded_bytes(task: Ints, word: Ints, node: Ints, sizes: Ints) -> dict[int, int]:
    """Bytes of partial results that nodes other than one send for the words of reductions, by task.

    Per contribution: task, word that is contributed to, node that contributes, bytes of the word.
    """
    contributed = np.unique(np.stack((task, word, node, sizes)), axis=1)
    words = np.unique(np.stack((task, word, sizes)), axis=1)
    result: dict[int, int] = {}
    for columns, sign in ((contributed, 1), (words, -1)):
        for number in np.unique(columns[0]).tolist():
            result[number] = result.get(number, 0) + sign * int(columns[-1][columns[0] == number].sum())
    return result


def _summed(group: Ints, values: Ints, size: int) -> Ints:
    result = np.zeros(size, np.int64)
    np.add.at(result, group, values)
    return result


_ORDER: dict[int, KernelOrder] = {Judgement.REDUCTION: "reduction", Judgement.ORDERED: "ordered"}


@dataclass(frozen=True, slots=True)
class _Buffer:
    """Name, extents and element of an object."""

    name: str
    shape: tuple[int, ...]
    element_bytes: int


@dataclass(frozen=True, slots=True)
class _Group:
    """Accesses of one instruction of a task to one buffer."""

    object: int  # index of the object
    is_write: bool  # they write
    at: Ints  # positions of the accesses in the log
    is_outside: bool  # the compiler moved it out of the loop
    linear: Linear | None  # addresses as a linear function of the iterations; ``None`` if they are none


def assembled(module: Module, analysis: Analysis, nodes: tuple[int, ...]) -> tuple[TaskGraph, Ints]:
    """The task graph, and the node of each access: int64[numbers of nodes, accesses].

    A read by all nodes, of what all work items need, has the number of nodes.

    Moved bytes are counted for each of the numbers of ``nodes``.
    """
    assembler = _Assembler(module, analysis, nodes)
    return assembler.graph(), assembler.node


class _Assembler:
    def __init__(self, module: Module, analysis: Analysis, nodes: tuple[int, ...]) -> None:
        self._module, self._a, self.nodes = module, analysis, nodes
        self._debug = DebugInfo(module)
        self._functions = {function.name: function for function in module.functions}
        log, task = analysis.log, analysis.execution.task
        count = len(analysis.execution.root)
        bounds = np.searchsorted(task, np.arange(count + 1))
        of_buffer = analysis.is_buffer[log.object] if len(log.objects) else np.empty(0, np.bool_)
        spans = [np.arange(bounds[t], bounds[t + 1]) for t in range(count)]
        self._accesses = [span[of_buffer[span]] for span in spans]
        self._tasks = [t for t in range(count) if len(self._accesses[t])]
        self._groups = {t: self._grouped(t) for t in self._tasks if analysis.execution.site[t] >= 0}
        self._buffers = self._described()
        self.node: Ints = np.zeros((len(nodes), len(log.address)), np.int64)

    def graph(self) -> TaskGraph:
        sites = self._a.execution.site
        kernels: dict[tuple[str, SourcePlace], int] = {}
        of_task: list[int] = []
        orders: list[KernelOrder] = []
        for t in self._tasks:
            site = int(sites[t])
            key = self._source(site) if site >= 0 else None
            if key is not None and key not in kernels:
                orders.append(_ORDER.get(int(self._a.judgement[site]), "any"))
            of_task.append(HOST if key is None else kernels.setdefault(key, len(kernels)))
        often = Counter(name for name, _ in kernels)
        names = [f"{name}:{place.line}" if often[name] > 1 else name for name, place in kernels]
        ranges, accesses = {}, {}
        for t in self._tasks:
            ranges[t], accesses[t] = self._mapped(t) if t in self._groups else ((), ())
        folded = self._folded()
        tasks = tuple(
            Task(
                kernel,
                "host" if kernel == HOST else names[kernel],
                ranges[t],
                *self._a.log.work.get(int(self._a.execution.instance[t]), (0, 0)),
                accesses[t],
                tuple(of_nodes.get(t, 0) for of_nodes in folded),
            )
            for t, kernel in zip(self._tasks, of_task, strict=True)
        )
        first = {kernel: tasks[i] for i, kernel in reversed(list(enumerate(of_task)))}
        executed = Counter(of_task)
        found = tuple(
            Kernel(
                names[k], place.file, place.line, orders[k], executed[k], first[k].range, first[k].accesses
            )
            for (_, place), k in kernels.items()
        )
        return TaskGraph(self.nodes, found, tasks, self._edges(accesses))

    def _source(self, site: int) -> tuple[str, SourcePlace]:
        """Function and place of a kernel in the source; inlined copies of a loop have the same."""
        at = self._a.log.sites[site]
        if at.function not in self._functions:  # a mark
            return source_name(at.function), SourcePlace()
        function = self._functions[at.function]
        if not at.is_loop:
            return source_name(at.function), self._debug.place(function.debug_subprogram)
        if at.name == BLOCK:
            call = next(i for b in function.blocks for i in b.instructions if i.first_line == at.line)
            place = user_place(self._debug, call.debug_location)
            return function_at(self._debug, call.debug_location) or source_name(at.function), place
        name = loop_function(self._module, self._debug, function, at.name) or source_name(at.function)
        return name, loop_place(self._module, self._debug, function, at.name)

    def _grouped(self, task: int) -> list[_Group]:
        a, log = self._a, self._a.log
        at = self._accesses[task]
        keys = np.stack((log.object[at], log.line[at], log.is_write[at].astype(np.int64)))
        distinct, firsts, inverse = np.unique(keys, axis=1, return_index=True, return_inverse=True)
        groups = []
        for g in np.argsort(firsts).tolist():
            here = at[inverse.reshape(-1) == g]
            iterations = loop_iterations(log, a.ancestors, here, int(a.execution.root[task]))
            found = None if iterations is None else linear(log.address[here], iterations)
            is_outside = bool(a.execution.is_outside[here].any())
            groups.append(_Group(int(distinct[0, g]), bool(distinct[2, g]), here, is_outside, found))
        return groups

    def _described(self) -> dict[int, _Buffer]:
        log = self._a.log
        groups = [group for of_task in self._groups.values() for group in of_task]
        result: dict[int, _Buffer] = {}
        for group in groups:
            if group.object in result:
                continue
            own = [g for g in groups if g.object == group.object]
            sites = [int(log.site[log.place[g.at[0]]]) for g in own]
            linears = [(site, g.linear) for site, g in zip(sites, own, strict=True) if g.linear]
            element = min(int(log.size[g.at].min()) for g in own)
            known = log.objects[group.object]
            name = self._a.names.of_object(known.name).name
            if name == "memory":
                name = self._a.names.accessed(int(log.line[group.at[0]]), known.name)
            shape = shape_of(known.size_bytes, element, pitches_of(linears, known.size_bytes))
            result[group.object] = _Buffer(name, shape, element)
        times, taken = Counter(buffer.name for buffer in result.values()), Counter[str]()
        for number, buffer in result.items():
            name, place = buffer.name, self._a.names.of_object(log.objects[number].name).place
            if times[name] > 1 and place.line:
                name = f"{name} ({Path(place.file).name}:{place.line})"
            taken[name] += 1
            result[number] = replace(buffer, name=f"{name}#{taken[name]}" if taken[name] > 1 else name)
        return result

    def _mapped(self, task: int) -> tuple[Box, tuple[RangeAccess, ...]]:
        """Range of the work items and accessors of a task; nodes of its accesses are filled in."""
        a, log = self._a, self._a.log
        at = self._accesses[task]
        is_inside = ~a.execution.is_outside[at]
        inside = at[is_inside]
        levels = a.levels[task]
        item = np.zeros((1, len(inside)), np.int64)
        if levels and len(inside):
            iterations = log.iteration[a.ancestors[list(levels)][:, log.place[inside]]]
            item = item_indices(iterations, self._placed_groups(task, inside))
        items = np.unique(item, axis=1) if len(inside) else np.zeros((1, 1), np.int64)
        extents = tuple((int(row.min()), int(row.max()) + 1) for row in items)
        self._place(task, inside, item, extents)
        return extents if levels else (), self._accessors(task, inside, item, items)

    def _placed_groups(self, task: int, inside: Ints) -> list[tuple[Ints, Ints, Bools]]:
        """Accesses that tell the indices of work items, for :func:`item_indices`: writes first."""
        groups = [g for g in self._groups[task] if not g.is_outside]
        groups.sort(key=lambda g: not g.is_write)
        indices = [coordinates(self._element(g), self._buffers[g.object].shape) for g in groups]
        spans: dict[tuple[int, bool], Ints] = {}
        for g, index in zip(groups, indices, strict=True):
            ends = np.stack((index.min(axis=1), index.max(axis=1)))
            known = spans.get((g.object, g.is_write), ends)
            spans[g.object, g.is_write] = np.stack(
                (np.minimum(known[0], ends[0]), np.maximum(known[1], ends[1]))
            )
        return [
            (np.searchsorted(inside, g.at), index, np.ptp(spans[g.object, g.is_write], axis=0) > 0)
            for g, index in zip(groups, indices, strict=True)
            if g.linear is not None
        ]

    def _place(self, task: int, inside: Ints, item: Ints, extents: Box) -> None:
        split = next((d for d, (first, end) in enumerate(extents) if end - first > 1), 0)
        first, end = extents[split]
        at = self._accesses[task]
        everywhere = at[self._a.execution.is_outside[at] & ~self._a.log.is_write[at]]
        for row, num_nodes in zip(self.node, self.nodes, strict=True):
            row[inside] = block_of(item[split], first, end - first, num_nodes)
            row[everywhere] = num_nodes

    def _accessors(self, task: int, inside: Ints, item: Ints, items: Ints) -> tuple[RangeAccess, ...]:
        parts: dict[tuple[int, bool], list[Accesses]] = {}
        for group in self._groups[task]:
            element = self._element(group)
            if group.is_outside:
                own = np.tile(items, len(element))
                element = np.repeat(element, items.shape[1])
            else:
                own = item[:, np.searchsorted(inside, group.at)]
            accesses = Accesses(own, element, group.is_outside or group.linear is not None)
            parts.setdefault((group.object, group.is_write), []).append(accesses)
        result = []
        for (index, is_write), some in sorted(parts.items(), key=lambda p: p[0][1]):
            buffer = self._buffers[index]
            shape, found = covers(some, buffer.shape)
            for cover in found:
                result.append(
                    RangeAccess(
                        buffer.name,
                        "write" if is_write else "read",
                        cover.mapper,
                        cover.index,
                        shape,
                        buffer.element_bytes,
                        cover.touched * buffer.element_bytes,
                        cover.granted * buffer.element_bytes,
                    )
                )
        return tuple(result)

    def _element(self, group: _Group) -> Ints:
        log, known = self._a.log, self._a.log.objects[group.object]
        return (log.address[group.at] - known.start) // self._buffers[group.object].element_bytes

    def _folded(self) -> list[dict[int, int]]:
        """Bytes of partial results by task, per number of nodes."""
        a, words = self._a, self._a.words
        is_update = words.is_write & np.isin(a.log.line[words.access], a.updates)
        chosen = np.flatnonzero(is_update & a.is_buffer[a.log.object[words.access]])
        access = words.access[chosen]
        return [
            folded_bytes(a.execution.task[access], words.word[chosen], row[access], words.bytes[chosen])
            for row in self.node
        ]

    def _edges(self, accesses: dict[int, tuple[RangeAccess, ...]]) -> tuple[TaskEdge, ...]:
        a, words = self._a, self._a.words
        task, objects = a.execution.task[words.access], a.log.object[words.access]
        source = np.where(words.source >= 0, words.source, 0)
        is_own = (task[source] == task) & a.is_update[words.access]
        is_own &= np.isin(a.log.line[words.access[source]], a.updates)
        is_kept = a.is_buffer[objects] & ~a.is_index[words.access] & ~is_own
        sink = np.flatnonzero((words.source >= 0) & is_kept)
        source = words.source[sink]
        flows = FlowTable(source, sink, words.bytes[sink])
        ends = np.stack((task[source], task[sink], objects[sink]))  # who writes, who reads, what
        edges, edge = np.unique(ends, axis=1, return_inverse=True)
        edge = edge.reshape(-1)
        count = edges.shape[1]
        whole = edge_bytes(flows, edge, count)
        moved = [
            moved_bytes(flows, edge, count, row[words.access], p)
            for row, p in zip(self.node, self.nodes, strict=True)
        ]
        number = {t: i for i, t in enumerate(self._tasks)}
        result = []
        for e, (writer, reader, index) in enumerate(edges.T.tolist()):
            needed = tuple(int(of_nodes[0][e]) for of_nodes in moved)
            if (writer == reader and not any(needed)) or index not in self._buffers:
                continue
            name = self._buffers[index].name
            result.append(
                TaskEdge(
                    number[writer],
                    number[reader],
                    name,
                    int(whole[e]),
                    _mapper(accesses[writer], name, "write"),
                    _mapper(accesses[reader], name, "read"),
                    needed,
                    tuple(int(of_nodes[1][e]) for of_nodes in moved),
                )
            )
        return tuple(sorted(result, key=lambda e: (e.sink, e.source, e.buffer)))


def _mapper(accesses: tuple[RangeAccess, ...], buffer: str, mode: str) -> RangeMapper | None:
    """The mapper of a buffer that grants most."""
    fitting = [a for a in accesses if a.buffer == buffer and a.mode == mode]
    return max(fitting, key=lambda a: a.granted_bytes).mapper if fitting else None


DEFAULT_NODES = (2, 4)


def find_tasks(
    module: Module,
    arguments: Sequence[str] = (),
    stdin: bytes = b"",
    *,
    nodes: Sequence[int] = DEFAULT_NODES,
    regions: Set[str] = frozenset(),
) -> TaskGraph:
    """The task graph of a program, with the range mappers of its kernels.

    Executions of ``regions``, functions and marks, are the tasks; by default outermost kernel loops are. The
    module must have been compiled with these regions, so that they are still there. Moved bytes are counted
    for each of the numbers of ``nodes``.

    Raises:
        ConfigError: If there is no kernel: no loop that could be one, or no such region was executed.
        UnsupportedIrError: If the program uses what the interpreter does not know.
        TargetRunError: If the program has undefined behaviour that is noticed, or exceeds a limit.
    """
    if not nodes or min(nodes) < 1:
        raise ConfigError(
            f"expected numbers of nodes from 1 on, found {', '.join(map(str, nodes)) or 'none'}"
        )
    run = observe(module, arguments, stdin, WorkItemObserver)
    return assembled(module, analyse(module, run, regions), tuple(nodes))[0]
