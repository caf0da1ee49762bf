"""Compiled loops that make hypergraphs; see :mod:`commanalyzer.partition.libraries.hypergraph`.

Net v is the expand net of value v, net V + v the fold net of sink v. What a flow weighs between two vertices
is the same in every graph that is made for a partitioner.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.foundation.compiled import compiled, compiled_in_place

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


@compiled_in_place
def count_sink_terms(rows: Any, terms: Any) -> None:
    """Add the terms of rows that fold to those of their sinks."""
    for r in range(len(rows.row_sink)):
        if rows.row_fold[r] > 0:
            terms[rows.row_sink[r]] += rows.term_ptr[r + 1] - rows.term_ptr[r]


@compiled_in_place
def place_terms(rows: Any, terms: Any, vertex: Any, readers: Any, base: Any, place: Any) -> Any:
    """Write to ``place`` int64[T] where each term is computed; return the number of vertices with them.

    At the sink (-1), also where all of several operands have about as many readers as the sink has terms
    (factors of a matrix product): they rarely meet elsewhere, and sending them serves many sinks. At the
    vertex of the only operand if nobody else reads it. Or as a vertex of its own, from ``base`` on.

    ``terms`` int64[V] are those of all rows of a sink that fold, ``vertex`` int64[V] the vertices of values,
    -1 for hubs, ``readers`` int64[V] flows out of values.
    """
    for r in range(len(rows.row_sink)):
        sink, together = vertex[rows.row_sink[r]], (rows.row_fold[r] > 0) * terms[rows.row_sink[r]]
        for t in range(rows.term_ptr[r], rows.term_ptr[r + 1]):
            operands, shared, alone = 0, 0, np.int64(-1)
            fewest = np.int64(together)
            for i in range(rows.source_ptr[t], rows.source_ptr[t + 1]):
                if vertex[rows.source[i]] >= 0:
                    operands += 1
                    shared += readers[rows.source[i]] > 1
                    fewest = min(fewest, _MANY * readers[rows.source[i]])
                    alone = vertex[rows.source[i]]
            if together == 0 or (operands > 1 and shared == operands and sink >= 0 and fewest >= together):
                place[t] = -1
            elif operands > 1 or shared > 0:
                place[t] = base
                base += 1
            else:
                place[t] = alone
    return base


@compiled_in_place
def mark_sums(rows: Any, terms: Any, is_factor: Any, is_sum: Any) -> None:
    """Mark sinks of several terms with several operands each, and these operands."""
    for r in range(len(rows.row_sink)):
        if rows.row_fold[r] > 0 and terms[rows.row_sink[r]] > 1:
            for t in range(rows.term_ptr[r], rows.term_ptr[r + 1]):
                if rows.source_ptr[t + 1] - rows.source_ptr[t] > 1:
                    is_sum[rows.row_sink[r]] = True
                    for i in range(rows.source_ptr[t], rows.source_ptr[t + 1]):
                        is_factor[rows.source[i]] = True


@compiled_in_place
def list_pins(
    rows: Any, versions: Any, width_bytes: Any, vertex: Any, place: Any, base: Any, size: Any,
    net_bytes: Any, keys: Any,
) -> Any:  # fmt: skip
    """Write net times ``size`` plus vertex of the pins that flows cause; return how many.

    ``vertex``, ``place`` and ``base`` as of :func:`place_terms`. ``net_bytes`` int64[2 V] is raised to the
    bytes that one more part costs.
    """
    at, v = 0, len(vertex)
    for r in range(len(rows.row_sink)):
        fold_net, sink = v + np.int64(rows.row_sink[r]), vertex[rows.row_sink[r]]
        folded_bytes = rows.row_count[r] * np.int64(width_bytes[rows.row_sink[r]])
        for t in range(rows.term_ptr[r], rows.term_ptr[r + 1]):
            where = place[t]
            reader = where if where >= base else sink
            for i in range(rows.source_ptr[t], rows.source_ptr[t + 1]):
                s = np.int64(rows.source[i])
                if vertex[s] < 0:
                    continue
                if reader >= 0 and not 0 <= where < base:
                    volume = flow_bytes(rows.row_count[r], versions[s], width_bytes[s])
                    net_bytes[s] = max(net_bytes[s], volume)
                    keys[at] = s * size + reader
                    at += 1
                if where >= 0 and sink >= 0:
                    net_bytes[fold_net] = max(net_bytes[fold_net], folded_bytes)
                    keys[at] = fold_net * size + where
                    at += 1
    return at


@compiled_in_place
def list_operands(rows: Any, place: Any, base: Any, vertex: Any, readers: Any, operand: Any) -> None:
    """Write of each term that is a vertex the operand with the fewest readers, the first of equal ones."""
    for t in range(len(place)):
        if place[t] >= base:
            fewest = np.int64(-1)
            for i in range(rows.source_ptr[t], rows.source_ptr[t + 1]):
                s = np.int64(rows.source[i])
                if vertex[s] >= 0 and (fewest < 0 or readers[s] < readers[fewest]):
                    fewest = s
            operand[place[t] - base] = fewest


@compiled_in_place
def move_work(
    rows: Any, work_flops: Any, vertex: Any, place: Any, total: Any, taken: Any, given: Any
) -> None:
    """Write the work of terms that are not computed at their sinks to where they are.

    The work of hubs was spread over their operands before. ``total`` float64[V] is an output as well: the
    terms of all rows of a sink.
    """
    for r in range(len(rows.row_sink)):
        count = max(rows.term_ptr[r + 1] - rows.term_ptr[r], 1)
        total[rows.row_sink[r]] += np.float64(rows.row_count[r]) * count
    for r in range(len(rows.row_sink)):
        v = rows.row_sink[r]
        share = np.float64(rows.row_count[r]) / max(total[v], 1.0) * work_flops[v]
        for t in range(rows.term_ptr[r], rows.term_ptr[r + 1]):
            if place[t] >= 0 and vertex[v] >= 0:
                given[place[t]] += share
                taken[vertex[v]] += share
