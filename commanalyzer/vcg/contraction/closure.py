"""Transitive sources of register values: value graph -> the memory values each register was computed from.

Registers reference only earlier registers and memory, so they are processed level by level; registers of a
loop that feed each other (possible once versions are collapsed) are treated as one.

Time O(levels + entries of the result); the result is the part of :mod:`.dissolve` that can
explode.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from commanalyzer.errors import ConfigError
from commanalyzer.foundation.compiled import frozen
from commanalyzer.vcg.contraction import register_kernels as kernels
from commanalyzer.vcg.graph import Bool, Float64, Int32, Int64, UInt8, ValueGraph
from commanalyzer.vcg.structure.segments import expand_ranges, order_by


@dataclass(frozen=True, slots=True)
class Closure:
    """Memory sources of the registers of a graph.

    Attributes:
        start: int64[V], where the sources of a register begin in ``source``.
        length: int64[V], their number; 0 for vertices that are no registers.
        source: int32[C], vertices that are no registers, distinct within a register.
        role: uint8[C], strongest role over all paths, a path being as strong as its weakest step.
        work_flops: float64[V], work after that of registers was passed on to their consumers; 0 for
            registers.
    """

    start: Int64
    length: Int64
    source: Int32
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
    level_ptr, order = _levels(steps)
    pool = _closed(steps, level_ptr, order, graph, limit)
    work = _pass_on_work(graph, gone, steps, order, pool)
    length = np.where(gone, pool.length[steps.node], 0)
    return Closure(pool.start[steps.node], length, pool.source, pool.role, work)


@dataclass(frozen=True, slots=True)
class _Steps:
    """Flows out of memory and registers into registers, between nodes (registers of a cycle are one node).

    Attributes:
        node: int64[V], node of each vertex; a memory value has a node of its own.
        vertex: int64[N], one vertex of each node.
        is_register: bool[N].
        pointer: int64[N + 1], entries of each node.
        source: int32[E], node that the node is computed from, each once.
        role: uint8[E].
    """

    node: Int64
    vertex: Int64
    is_register: Bool
    pointer: Int64
    source: Int32
    role: UInt8


@dataclass(frozen=True, slots=True)
class _Pool:
    """Memory sources of the nodes: ``length`` entries from ``start`` on, both int64[N]."""

    start: Int64
    length: Int64
    source: Int32
    role: UInt8


def flows_of(graph: ValueGraph, gone: Bool, *, by_sink: bool) -> tuple[Int64, Int64]:
    """Return row and index of the flows into (or out of) ``gone``, addresses left out."""
    columns = (graph.rows, frozen(gone, np.bool_), by_sink)
    count = kernels.count_flows(*columns)
    row, entry = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    kernels.choose_flows(*columns, row, entry)
    return row, entry


def _steps(graph: ValueGraph, gone: Bool) -> _Steps:
    from scipy.sparse import coo_array, csgraph

    v = graph.num_vertices
    row, entry = flows_of(graph, gone, by_sink=True)
    source, sink, role = graph.source[entry], graph.row_sink[row], graph.source_role[entry]
    inner = gone[source]
    ones = np.ones(int(inner.sum()), dtype=np.int8)
    links = coo_array((ones, (source[inner], sink[inner])), shape=(v, v))
    count, label = csgraph.connected_components(links, directed=True, connection="strong")
    vertex = np.zeros(count, dtype=np.int64)
    vertex[label] = np.arange(v)
    used = label[sink] != label[source]
    place, order = order_by(label[sink[used]], count)
    source, role = label[source[used]].astype(np.int32)[order], role[used][order]
    pointer = np.zeros(count + 1, dtype=np.int64)
    kernels.keep_distinct(place, source, role, pointer)
    end = pointer[-1]
    return _Steps(label.astype(np.int64), vertex, gone[vertex], pointer, source[:end], role[:end])


def _levels(steps: _Steps) -> tuple[Int64, Int64]:
    """Return the register nodes in levels, and where these begin.

    Every node comes after all registers it is computed from, within a level they are ascending.
    """
    count = len(steps.vertex)
    out_pointer, order = order_by(steps.source, count)
    consumer = np.repeat(np.arange(count, dtype=np.int32), np.diff(steps.pointer))[order]
    level = np.zeros(count, dtype=np.int32)
    kernels.find_levels(steps.pointer, steps.source, steps.is_register, out_pointer, consumer, level)
    registers = np.flatnonzero(steps.is_register)
    levels = int(level.max()) + 1 if len(registers) else 0
    level_ptr, order = order_by(level[registers], levels)
    return level_ptr, registers[order]


def _closed(steps: _Steps, level_ptr: Int64, order: Int64, graph: ValueGraph, limit: int) -> _Pool:
    """Return the memory sources of all register nodes, level by level."""
    count = len(steps.vertex)
    start, length = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    where = np.full(graph.num_vertices, -1, dtype=np.int64)
    source, role = np.zeros(1024, dtype=np.int32), np.zeros(1024, dtype=np.uint8)
    sources = (steps.pointer, steps.source, steps.is_register)
    level, used = 0, 0
    while True:
        level, used, needed = kernels.close_levels(
            level,
            level_ptr,
            order,
            *sources[:2],
            steps.role,
            steps.is_register,
            steps.vertex,
            start,
            length,
            source,
            role,
            used,
            limit,
            where,
        )
        if level == len(level_ptr) - 1:
            return _Pool(start, length, source[:used], role[:used])
        if needed > limit:
            nodes = order[level_ptr[level] : level_ptr[level + 1]]
            reach = [kernels.reach_of(node, *sources, length) for node in nodes.tolist()]
            raise too_large(graph, int(steps.vertex[nodes[int(np.argmax(reach))]]), needed, limit)
        more = max(needed, 2 * len(source)) - len(source)
        source = np.concatenate((source, np.zeros(more, dtype=np.int32)))
        role = np.concatenate((role, np.zeros(more, dtype=np.uint8)))


def _pass_on_work(graph: ValueGraph, gone: Bool, steps: _Steps, order: Int64, pool: _Pool) -> Float64:
    """Return float64[V], work with that of registers handed to their consumers, level by level.

    A register without a consumer hands its work to its sources, so that none is lost.
    """
    count = len(steps.vertex)
    work = np.bincount(steps.node, graph.work_flops, minlength=count).astype(np.float64)
    row, entry = flows_of(graph, gone, by_sink=False)
    source, sink = steps.node[graph.source[entry]], steps.node[graph.row_sink[row]]
    used = source != sink
    pointer, by_source = order_by(source[used], count)
    weight = graph.row_count[row[used]].astype(np.float64)
    kernels.pass_on_work(order, pointer, sink[used][by_source], weight[by_source], work)
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
