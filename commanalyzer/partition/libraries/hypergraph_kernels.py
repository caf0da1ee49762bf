"""Compiled loops that make hypergraphs; see :mod:`commanalyzer.partition.libraries.hypergraph`.

Net v is the expand net of value v, net V + v the fold net of sink v. What a flow weighs between two vertices
is the same in every graph that is made for a partitioner.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.foundation.compiled import compiled

_MANY = 2  # times the readers of an operand: as many terms of a sink make it worth combining them beside it
_SHARES = 64  # a shared link weighs 64 times its bytes over the readers: integers keep the difference


@compiled
def flow_bytes(count: Any, versions: Any, width_bytes: Any) -> Any:
    """Return the bytes of a flow that happens ``count`` times; a row cannot use more versions than exist."""
    return min(count, max(versions, 1)) * np.int64(width_bytes)


@compiled
def shared_bytes(volume: Any, readers: Any) -> Any:
    """Return ``volume`` divided among the readers of the value, in 64ths of a byte, at least one."""
    return max(_SHARES * volume // max(readers, 1), 1)


@compiled
def count_sink_terms(row_sink: Any, row_fold: Any, term_ptr: Any, terms: Any) -> None:
    """Add the terms of rows that fold to those of their sinks."""
    for r in range(len(row_sink)):
        if row_fold[r] > 0:
            terms[row_sink[r]] += term_ptr[r + 1] - term_ptr[r]


@compiled
def place_terms(
    row_sink: Any, row_fold: Any, terms: Any, term_ptr: Any, source_ptr: Any, source: Any, vertex: Any,
    readers: Any, base: Any, place: Any,
) -> Any:  # fmt: skip
    """Write to ``place`` int64[T] where each term is computed; return the number of vertices with them.

    At the sink (-1), also where all of several operands have about as many readers as the sink has terms
    (factors of a matrix product): they rarely meet elsewhere, and sending them serves many sinks. At the
    vertex of the only operand if nobody else reads it. Or as a vertex of its own, from ``base`` on.

    ``terms`` int64[V] are those of all rows of a sink that fold, ``vertex`` int64[V] the vertices of values,
    -1 for hubs, ``readers`` int64[V] flows out of values.
    """
    for r in range(len(row_sink)):
        sink, together = vertex[row_sink[r]], (row_fold[r] > 0) * terms[row_sink[r]]
        for t in range(term_ptr[r], term_ptr[r + 1]):
            operands, shared, alone = 0, 0, np.int64(-1)
            fewest = np.int64(together)
            for i in range(source_ptr[t], source_ptr[t + 1]):
                if vertex[source[i]] >= 0:
                    operands += 1
                    shared += readers[source[i]] > 1
                    fewest = min(fewest, _MANY * readers[source[i]])
                    alone = vertex[source[i]]
            if together == 0 or (operands > 1 and shared == operands and sink >= 0 and fewest >= together):
                place[t] = -1
            elif operands > 1 or shared > 0:
                place[t] = base
                base += 1
            else:
                place[t] = alone
    return base


@compiled
def mark_sums(
    row_sink: Any, row_fold: Any, terms: Any, term_ptr: Any, source_ptr: Any, source: Any, is_factor: Any,
    is_sum: Any,
) -> None:  # fmt: skip
    """Mark sinks of several terms with several operands each, and these operands."""
    for r in range(len(row_sink)):
        if row_fold[r] > 0 and terms[row_sink[r]] > 1:
            for t in range(term_ptr[r], term_ptr[r + 1]):
                if source_ptr[t + 1] - source_ptr[t] > 1:
                    is_sum[row_sink[r]] = True
                    for i in range(source_ptr[t], source_ptr[t + 1]):
                        is_factor[source[i]] = True


@compiled
def list_pins(
    row_sink: Any, row_count: Any, term_ptr: Any, source_ptr: Any, source: Any, versions: Any,
    width_bytes: Any, vertex: Any, place: Any, base: Any, size: Any, net_bytes: Any, keys: Any,
) -> Any:  # fmt: skip
    """Write net times ``size`` plus vertex of the pins that flows cause; return how many.

    ``vertex``, ``place`` and ``base`` as of :func:`place_terms`. ``net_bytes`` int64[2 V] is raised to the
    bytes that one more part costs.
    """
    at, v = 0, len(vertex)
    for r in range(len(row_sink)):
        fold_net, sink = v + np.int64(row_sink[r]), vertex[row_sink[r]]
        folded_bytes = row_count[r] * np.int64(width_bytes[row_sink[r]])
        for t in range(term_ptr[r], term_ptr[r + 1]):
            where = place[t]
            reader = where if where >= base else sink
            for i in range(source_ptr[t], source_ptr[t + 1]):
                s = np.int64(source[i])
                if vertex[s] < 0:
                    continue
                if reader >= 0 and not 0 <= where < base:
                    net_bytes[s] = max(net_bytes[s], flow_bytes(row_count[r], versions[s], width_bytes[s]))
                    keys[at] = s * size + reader
                    at += 1
                if where >= 0 and sink >= 0:
                    net_bytes[fold_net] = max(net_bytes[fold_net], folded_bytes)
                    keys[at] = fold_net * size + where
                    at += 1
    return at


@compiled
def list_operands(
    place: Any, base: Any, source_ptr: Any, source: Any, vertex: Any, readers: Any, operand: Any
) -> None:
    """Write of each term that is a vertex the operand with the fewest readers, the first of equal ones."""
    for t in range(len(place)):
        if place[t] >= base:
            fewest = np.int64(-1)
            for i in range(source_ptr[t], source_ptr[t + 1]):
                s = np.int64(source[i])
                if vertex[s] >= 0 and (fewest < 0 or readers[s] < readers[fewest]):
                    fewest = s
            operand[place[t] - base] = fewest


@compiled
def move_work(
    row_sink: Any, row_count: Any, term_ptr: Any, work_flops: Any, vertex: Any, place: Any, total: Any,
    taken: Any, given: Any,
) -> None:  # fmt: skip
    """Write the work of terms that are not computed at their sinks to where they are.

    The work of hubs was spread over their operands before. ``total`` float64[V] is an output as well: the
    terms of all rows of a sink.
    """
    for r in range(len(row_sink)):
        total[row_sink[r]] += np.float64(row_count[r]) * max(term_ptr[r + 1] - term_ptr[r], 1)
    for r in range(len(row_sink)):
        v = row_sink[r]
        share = np.float64(row_count[r]) / max(total[v], 1.0) * work_flops[v]
        for t in range(term_ptr[r], term_ptr[r + 1]):
            if place[t] >= 0 and vertex[v] >= 0:
                given[place[t]] += share
                taken[vertex[v]] += share
