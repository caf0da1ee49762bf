"""Transitive sources of register values: value graph -> the memory values each register was computed from.

Registers reference only earlier registers and memory, so they are processed level by level; registers of a
loop that feed each other (possible once versions are collapsed) are treated as one.

Time O(levels + entries of the result); the result is the part of :mod:`commanalyzer.vcg.dissolve` that can
explode.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from commanalyzer.errors import ConfigError
from commanalyzer.vcg.graph import Bool, Float64, Int64, SourceRole, UInt8, ValueGraph
from commanalyzer.vcg.segments import (
    count_of_source,
    expand_ranges,
    group_starts,
    pointer_from_counts,
    sink_of_source,
)


@dataclass(frozen=True, slots=True)
class Closure:
    """Memory sources of the registers of a graph.

    Attributes:
        start: int64[V], where the sources of a register begin in ``source``.
        length: int64[V], their number; 0 for vertices that are no registers.
        source: int64[C], vertices that are no registers, distinct within a register.
        role: uint8[C], strongest role over all paths, a path being as strong as its weakest step.
        work_flops: float64[V], work after that of registers was passed on to their consumers; 0 for
            registers.
    """

    start: Int64
    length: Int64
    source: Int64
    role: UInt8
    work_flops: Float64


def close_registers(graph: ValueGraph, gone: Bool, limit: int) -> Closure:
    """Return the transitive sources of the vertices in ``gone``.

    Args:
        graph: Value graph.
        gone: bool[V], registers to look through.
        limit: Largest number of source entries that may arise.

    Raises:
        ConfigError: If more than ``limit`` entries would arise.
    """
    steps = _steps(graph, gone)
    pool = _Pool(steps, graph, limit)
    levels = _levels(steps)
    for nodes in levels:
        pool.close(nodes)
    work = _pass_on_work(graph, gone, steps, levels, pool)
    start, length = pool.start[steps.node], pool.length[steps.node]
    return Closure(start, np.where(gone, length, 0), pool.source[: pool.used], pool.role[: pool.used], work)


@dataclass(frozen=True, slots=True)
class _Steps:
    """Flows out of memory and registers into registers, between nodes (registers of a cycle are one node).

    Attributes:
        node: int64[V], node of each vertex; a memory value has a node of its own.
        vertex: int64[N], one vertex of each node.
        is_register: bool[N].
        pointer: int64[N + 1], entries of each node.
        source: int64[E], node that the node is computed from.
        role: uint8[E].
    """

    node: Int64
    vertex: Int64
    is_register: Bool
    pointer: Int64
    source: Int64
    role: UInt8


def _steps(graph: ValueGraph, gone: Bool) -> _Steps:
    v = graph.num_vertices
    sink = sink_of_source(graph)
    flow = graph.source_role != int(SourceRole.ADDRESS)
    inner = flow & gone[sink] & gone[graph.source]
    links = coo_array(
        (np.ones(int(inner.sum()), dtype=np.int8), (graph.source[inner], sink[inner])), shape=(v, v)
    )
    count, label = connected_components(links, directed=True, connection="strong")
    node = label.astype(np.int64)
    vertex = np.zeros(count, dtype=np.int64)
    vertex[node] = np.arange(v)
    used = flow & gone[sink] & (node[sink] != node[graph.source])
    into, source, role = node[sink[used]], node[graph.source[used]], graph.source_role[used]
    order = np.lexsort((role, source, into))
    into, source, role = into[order], source[order], role[order]
    first = group_starts(into * max(count, 1) + source)
    pointer = pointer_from_counts(np.bincount(into[first], minlength=count).astype(np.int64))
    return _Steps(node, vertex, gone[vertex], pointer, source[first], role[first])


def _levels(steps: _Steps) -> list[Int64]:
    """Return the register nodes in levels; every node comes after all registers it is computed from."""
    count = len(steps.vertex)
    into = np.repeat(np.arange(count, dtype=np.int64), np.diff(steps.pointer))
    inner = steps.is_register[steps.source]
    waiting = np.bincount(into[inner], minlength=count)
    order = np.argsort(steps.source[inner], kind="stable")
    consumer = into[inner][order]
    pointer = pointer_from_counts(np.bincount(steps.source[inner], minlength=count).astype(np.int64))
    levels = []
    ready = np.flatnonzero(steps.is_register & (waiting == 0)).astype(np.int64)
    while len(ready):
        levels.append(ready)
        reached = consumer[expand_ranges(pointer[ready], pointer[ready + 1] - pointer[ready])]
        np.subtract.at(waiting, reached, 1)
        reached = np.unique(reached)
        ready = reached[waiting[reached] == 0]
    return levels


class _Pool:
    """Growing list of the memory sources of the nodes closed so far."""

    def __init__(self, steps: _Steps, graph: ValueGraph, limit: int) -> None:
        count = len(steps.vertex)
        self.start = np.zeros(count, dtype=np.int64)
        self.length = np.zeros(count, dtype=np.int64)
        self.source = np.zeros(1024, dtype=np.int64)
        self.role = np.zeros(1024, dtype=np.uint8)
        self.used = 0
        self._steps, self._graph, self._limit = steps, graph, limit

    def close(self, nodes: Int64) -> None:
        """Add the sources of ``nodes``, whose register sources were closed before."""
        s = self._steps
        length = s.pointer[nodes + 1] - s.pointer[nodes]
        entry = expand_ranges(s.pointer[nodes], length)
        owner = np.repeat(np.arange(len(nodes), dtype=np.int64), length)
        source, role = s.source[entry], s.role[entry]
        through = s.is_register[source]
        self._guard(nodes, owner, np.where(through, self.length[source], 1))
        reach = self.length[source[through]]
        inner = expand_ranges(self.start[source[through]], reach)
        value = np.concatenate((s.vertex[source[~through]], self.source[inner]))
        roles = np.concatenate(
            (role[~through], np.maximum(self.role[inner], np.repeat(role[through], reach)))
        )
        owners = np.concatenate((owner[~through], np.repeat(owner[through], reach)))
        order = np.lexsort((roles, value, owners))
        first = order[group_starts(owners[order] * max(len(s.node), 1) + value[order])]
        self._append(nodes, owners[first], value[first], roles[first])

    def _guard(self, nodes: Int64, owner: Int64, amount: Int64) -> None:
        total = self.used + int(amount.sum())
        if total > self._limit:
            worst = nodes[int(np.argmax(np.bincount(owner, amount)))]
            raise too_large(self._graph, int(self._steps.vertex[worst]), total, self._limit)

    def _append(self, nodes: Int64, owner: Int64, value: Int64, role: UInt8) -> None:
        counts = np.bincount(owner, minlength=len(nodes)).astype(np.int64)
        end = self.used + len(value)
        if end > len(self.source):
            room = max(end, 2 * len(self.source))
            self.source = np.concatenate((self.source, np.zeros(room - len(self.source), dtype=np.int64)))
            self.role = np.concatenate((self.role, np.zeros(room - len(self.role), dtype=np.uint8)))
        self.source[self.used : end] = value
        self.role[self.used : end] = role
        self.start[nodes] = self.used + pointer_from_counts(counts)[:-1]
        self.length[nodes] = counts
        self.used = end


def _pass_on_work(graph: ValueGraph, gone: Bool, steps: _Steps, levels: list[Int64], pool: _Pool) -> Float64:
    """Return float64[V], work with that of registers handed to their consumers, level by level.

    A register without a consumer hands its work to its sources, so that none is lost.
    """
    count = len(steps.vertex)
    work = np.bincount(steps.node, graph.work_flops, minlength=count).astype(np.float64)
    source, sink = steps.node[graph.source], steps.node[sink_of_source(graph)]
    used = (graph.source_role != int(SourceRole.ADDRESS)) & gone[graph.source] & (source != sink)
    source, sink, weight = source[used], sink[used], count_of_source(graph)[used].astype(np.float64)
    total = np.bincount(source, weight, minlength=count)
    order = np.argsort(source, kind="stable")
    sink, weight = sink[order], weight[order]
    pointer = pointer_from_counts(np.bincount(source, minlength=count).astype(np.int64))
    for nodes in levels:
        length = pointer[nodes + 1] - pointer[nodes]
        entry = expand_ranges(pointer[nodes], length)
        share = np.repeat(work[nodes] / np.maximum(total[nodes], 1.0), length) * weight[entry]
        work[nodes[length > 0]] = 0.0
        np.add.at(work, sink[entry], share)
    idle = np.flatnonzero(steps.is_register & (work > 0) & (pool.length > 0))
    inner = expand_ranges(pool.start[idle], pool.length[idle])
    share = np.repeat(work[idle] / pool.length[idle], pool.length[idle])
    result = np.where(gone, 0.0, work[steps.node])
    np.add.at(result, pool.source[inner], share)
    return result


def too_large(graph: ValueGraph, vertex: int, entries: int, limit: int) -> ConfigError:
    """Return the error for an expansion that a register makes too large."""
    index = int(graph.producer_site[vertex])
    where = ""
    if 0 <= index < len(graph.sites):
        site = graph.sites[index]
        where = f"{site.file}:{site.line} ({site.function})" if site.file else site.function
    return ConfigError(
        f"replacing register values by their sources makes {entries:,} flows, expected at most {limit:,}; "
        "most of them come from the value computed here",
        where=where,
        hint="use `--model volume`, which keeps such values as vertices, or a smaller problem size",
    )
