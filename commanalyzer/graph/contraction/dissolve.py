"""Dissolving of register values: value graph -> graph of memory values only, as the paper has it.

The paper names no register values: the sources of a stored value are the memory values at the end of its
slice. Every register vertex is replaced in every row by its own sources, transitively, terms are dropped, and
equal chains are merged. The program's returned values (object ``return``) stay.

Registers are computed from earlier registers and memory, so the lists of their sources are made in that
order; registers of a loop that feed each other (possible once versions are collapsed) are one *node*.
These lists are what can explode.

Reference: paper Section 4.1, Algorithm 2 ("there is no need to track the values in the registers").
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from commanalyzer.foundation.compiled import frozen
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.foundation.flows import Fold, SourceRole
from commanalyzer.graph.contraction import kernels
from commanalyzer.graph.storage.store import AnyGraph, stand_for
from commanalyzer.graph.value_graph import (
    OF_VERTICES,
    Bool,
    Float64,
    Int32,
    Int64,
    Rows,
    UInt8,
    ValueGraph,
    expand_ranges,
    group_starts,
    order_by,
    pointer_from_counts,
    sink_of_source,
    sorted_unique,
)
from commanalyzer.program.frontend.decisions import USES

DEFAULT_LIMIT = 200_000_000
EXIT_OBJECT = "return"


def dissolve_registers(graph: ValueGraph, limit: int = DEFAULT_LIMIT) -> ValueGraph:
    """Return ``graph`` without register vertices.

    Sources reached through several paths keep the strongest role; a path is as strong as its weakest step;
    ``ADDRESS`` sources are no flows in the paper and are dropped. A sink among its own sources becomes
    ``row_accumulates``. Rows with the same sink and the same sources are merged, their counts added. Work
    spent on a register goes to its consumers in proportion to their counts.

    Raises:
        ConfigError: If more than ``limit`` source entries would arise.
    """
    gone = dissolving(graph)
    closure, work = _closed(graph, gone, limit)
    rows, kept = _dissolved_rows(graph, gone, closure, limit), np.flatnonzero(~gone)
    columns = {name: getattr(graph, name)[kept] for name in OF_VERTICES}
    return replace(graph, **columns | {"work_flops": work[kept]}, rows=rows)


def dissolving(graph: AnyGraph) -> Bool:
    """bool[V], the vertices that :func:`dissolve_registers` dissolves, and what only stands for uses."""
    named = np.array([o.name == EXIT_OBJECT for o in graph.objects] or [False], dtype=np.bool_)
    return np.asarray(graph.is_register & ~named[graph.home_object]) | stand_for(graph, *USES)


class _Closure(NamedTuple):
    """Transitive sources of nodes, or vertices: of what stays, that itself; N of them."""

    start: Int64  # [N], where the sources of each begin in ``source``
    length: Int64  # [N], their number
    source: Int32  # [C], vertices that stay, distinct within a node
    role: UInt8  # [C], strongest role over all paths, a path being as strong as its weakest step


def _flows(graph: ValueGraph, chosen: Bool) -> Int64:
    """Return the ``chosen`` (bool[S]) source entries that are no addresses."""
    return np.flatnonzero(chosen & (graph.rows.source_role != int(SourceRole.ADDRESS)))


class _Steps(NamedTuple):
    """Flows into registers, between nodes, each once with its strongest role."""

    node: Int64  # [V], node of each vertex; what stays has a node of its own
    pointer: Int64  # [N + 1], where the flows into each node begin
    by: Int64  # [E], node that the node is computed from: a lower one, or one that stays
    role: UInt8  # [E]


def _steps(graph: ValueGraph, gone: Bool) -> _Steps:
    from scipy.sparse import coo_array, csgraph

    v, sinks = graph.num_vertices, sink_of_source(graph.rows)
    entry = _flows(graph, gone[sinks])
    sink, source, role = sinks[entry], graph.rows.source[entry], graph.rows.source_role[entry]
    inner = gone[source]
    ones = np.ones(int(inner.sum()), dtype=np.int8)
    links = coo_array((ones, (sink[inner], source[inner])), shape=(v, v))
    # components are numbered as they are completed: after all that they are computed from
    count, label = csgraph.connected_components(links, directed=True, connection="strong")
    node = label.astype(np.int64)
    used = node[sink] != node[source]
    pair = node[sink[used]] * count + node[source[used]]
    keys = sorted_unique(pair * kernels.ROLES + role[used])  # of equal pairs, the strongest role is first
    pair, role = keys // kernels.ROLES, (keys % kernels.ROLES).astype(np.uint8)
    first = group_starts(pair)
    to, by = np.divmod(pair[first], max(count, 1))
    is_gone = np.zeros(count, np.bool_)
    is_gone[node] = gone
    assert np.all(is_gone[by] <= (by < to)), "nodes are not in the order of their computation"
    return _Steps(node, pointer_from_counts(np.bincount(to, minlength=count)), by, role[first])


def _closed(graph: ValueGraph, gone: Bool, limit: int) -> tuple[_Closure, Float64]:
    """Return the sources of vertices, and float64[V], work after that of registers was passed on."""
    steps, v = _steps(graph, gone), graph.num_vertices
    node, count = steps.node, len(steps.pointer) - 1
    vertex = np.zeros(count, dtype=np.int64)
    vertex[node] = np.arange(v)
    stay = np.flatnonzero(~gone[vertex])
    start, length = np.full(count, -1, np.int64), np.zeros(count, np.int64)
    start[stay], length[stay] = np.arange(len(stay)), 1
    closure = _Closure(start, length, vertex[stay].astype(np.int32), np.zeros(len(stay), np.uint8))
    where, at, used, needed = np.full(v, -1, np.int64), 0, len(stay), len(stay)
    while True:
        more = np.zeros(max(needed - len(closure.source), len(closure.source) // 2, 1024), np.uint8)
        source, role = (np.concatenate((old, more.astype(old.dtype))) for old in closure[2:])
        closure = _Closure(start, length, source, role)
        at, used, needed = kernels.close(at, steps, closure, used, limit + len(stay), where)
        if at == count:
            work = _pass_on_work(graph, gone, node, closure)
            return closure._replace(start=start[node], length=length[node]), work
        if needed > limit + len(stay):
            length[at] = needed - used
            raise _too_large(graph, int(vertex[np.argmax(length)]), needed - len(stay), limit)


def _pass_on_work(graph: ValueGraph, gone: Bool, node: Int64, closure: _Closure) -> Float64:
    """Return float64[V], work with that of registers handed to their consumers, node by node.

    A register without a consumer hands its work to its sources, so that none is lost.
    """
    count = len(closure.start)
    work = np.bincount(node, graph.work_flops, minlength=count).astype(np.float64)
    entry = _flows(graph, gone[graph.rows.source])
    row = graph.rows.row_of_source()[entry]
    source, sink = node[graph.rows.source[entry]], node[graph.rows.row_sink[row]]
    used = source != sink
    pointer, by_source = order_by(source[used], count)
    weight = graph.rows.row_count[row[used]].astype(np.float64)
    kernels.pass_on_work(pointer, sink[used][by_source], weight[by_source], work)
    result = np.where(gone, 0.0, work[node])
    work[node[~gone]] = 0.0
    idle = np.flatnonzero((work > 0) & (closure.length > 0))
    length = closure.length[idle]
    inner = expand_ranges(closure.start[idle], length)
    np.add.at(result, closure.source[inner], np.repeat(work[idle] / length, length))
    return result


def _dissolved_rows(graph: ValueGraph, gone: Bool, closure: _Closure, limit: int) -> Rows:
    """Return the rows of the vertices that stay, renumbered, with registers replaced and equal rows merged.

    Of equal rows (same sink, same sources and roles, same self-source) the first stays in its place.
    """
    source = graph.rows.source[_flows(graph, ~gone[sink_of_source(graph.rows)])]
    reach = closure.length[source]
    total = int(reach.sum())
    if total > limit:
        worst = int(np.argmax(np.bincount(source, reach * gone[source])))
        raise _too_large(graph, worst, total, limit)
    del source, reach
    rows = int(np.count_nonzero(~gone[graph.rows.row_sink]))
    origin, accumulates = np.empty(rows, dtype=np.int64), np.empty(rows, dtype=np.bool_)
    pointer, word = np.zeros(rows + 1, dtype=np.int64), np.empty(total, dtype=np.int64)
    hash_ = np.empty(rows, np.int64)
    found = kernels.Dissolved(origin, accumulates, pointer, word, hash_)
    kernels.dissolve_rows(graph.rows, frozen(gone, np.bool_), closure, found)
    _, first, same = np.unique(hash_, return_index=True, return_inverse=True)
    count = np.zeros(rows, np.int64)
    np.add.at(count, first[same], graph.rows.row_count[origin])
    kept = np.flatnonzero(count)
    length = np.diff(pointer)[kept]
    word, origin = word[expand_ranges(pointer[kept], length)], origin[kept]
    number = (np.cumsum(~gone) - 1).astype(np.int32)
    return Rows(
        row_sink=number[graph.rows.row_sink[origin]],
        row_count=count[kept],
        row_site=graph.rows.row_site[origin],
        row_fold=np.full(len(kept), int(Fold.NONE), dtype=np.uint8),
        row_accumulates=accumulates[kept],
        term_ptr=pointer_from_counts(length > 0),
        source_ptr=pointer_from_counts(length[length > 0]),
        source=number[word // kernels.ROLES],
        source_role=(word % kernels.ROLES).astype(np.uint8),
    )


def _too_large(graph: ValueGraph, vertex: int, entries: int, limit: int) -> ConfigError:
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
