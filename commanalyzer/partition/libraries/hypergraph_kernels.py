"""Compiled loops that make hypergraphs; see :mod:`commanalyzer.partition.libraries.hypergraph`.

Net v is the expand net of value v, net V + v the fold net of sink v. Pins are distributed to their vertices
and then, vertex by vertex, to their nets, which leaves the pins of each net ascending without sorting.
``terms`` int64[V] are those of all rows of a sink that fold.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.foundation.compiled import compiled
from commanalyzer.partition.libraries.flow_bytes import flow_bytes

_AT_SINK, _AT_OPERAND, _APART = 0, 1, 2
_MANY = 2  # times the readers of an operand: as many terms of a sink make it worth combining them beside it


@compiled
def count_sink_terms(row_sink: Any, row_fold: Any, term_ptr: Any, terms: Any) -> None:
    """Add the terms of rows that fold to those of their sinks."""
    for r in range(len(row_sink)):
        if row_fold[r] > 0:
            terms[row_sink[r]] += term_ptr[r + 1] - term_ptr[r]


@compiled
def _term_place(
    term: Any, terms: Any, sink: Any, source_ptr: Any, source: Any, vertex: Any, readers: Any
) -> Any:
    """Return how a term is computed, and for one operand that has no other reader its vertex (or -1).

    At the sink, also where all of several operands have about as many readers as the sink has terms (factors
    of a matrix product): they rarely meet elsewhere, and sending them serves many sinks. At the operand, or
    as a vertex of its own. ``terms`` is the number of terms of the sink, 0 if they are not folded.
    """
    operands, shared, alone = 0, 0, np.int64(-1)
    fewest = np.int64(terms)
    for i in range(source_ptr[term], source_ptr[term + 1]):
        if vertex[source[i]] >= 0:
            operands += 1
            shared += readers[source[i]] > 1
            fewest = min(fewest, _MANY * readers[source[i]])
            alone = vertex[source[i]]
    if terms == 0 or (operands > 1 and shared == operands and sink >= 0 and fewest >= terms):
        return _AT_SINK, np.int64(-1)
    if operands > 1 or shared > 0:
        return _APART, np.int64(-1)
    return _AT_OPERAND, alone


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
def _pin(net: Any, vertex: Any, is_counting: Any, place: Any, nets: Any) -> None:
    """Count a pin at its vertex, or put its net there."""
    if not is_counting:
        nets[place[vertex]] = net
    place[vertex] += 1


@compiled
def collect_pins(
    row_sink: Any,
    row_count: Any,
    row_fold: Any,
    terms: Any,
    term_ptr: Any,
    source_ptr: Any,
    source: Any,
    versions: Any,
    width_bytes: Any,
    vertex: Any,
    readers: Any,
    base: Any,
    is_counting: Any,
    net_bytes: Any,
    place: Any,
    nets: Any,
) -> None:
    """Count pins that flows cause at their vertices, or put the nets to ``place``, which moves on.

    The columns of the graph are followed by ``vertex`` int64[V] (vertex of each value, -1 for hubs),
    ``readers`` int64[V] (flows out of each value) and ``base`` (the first term that is a vertex).
    ``net_bytes`` int64[2 V] is raised to the bytes that one more part costs, ``nets`` int32[P] is the output.
    """
    v = len(vertex)
    for r in range(len(row_sink)):
        fold_net = v + np.int64(row_sink[r])
        sink = vertex[row_sink[r]]
        for t in range(term_ptr[r], term_ptr[r + 1]):
            kind, where = _term_place(
                t, (row_fold[r] > 0) * terms[row_sink[r]], sink, source_ptr, source, vertex, readers
            )
            if kind == _APART:
                where = np.int64(base)
                base += 1
            for i in range(source_ptr[t], source_ptr[t + 1]):
                s = np.int64(source[i])
                if vertex[s] < 0:
                    continue
                if kind == _APART or (kind == _AT_SINK and sink >= 0):
                    volume = flow_bytes(row_count[r], versions[s], width_bytes[s])
                    net_bytes[s] = max(net_bytes[s], volume)
                    _pin(s, where if kind == _APART else sink, is_counting, place, nets)
                if kind != _AT_SINK and sink >= 0:
                    volume = row_count[r] * np.int64(width_bytes[row_sink[r]])
                    net_bytes[fold_net] = max(net_bytes[fold_net], volume)
                    _pin(fold_net, where, is_counting, place, nets)


@compiled
def pin_owners(vertex: Any, net_bytes: Any, is_counting: Any, place: Any, nets: Any) -> None:
    """Add each value to its expand net, and to its fold net if there is one, after :func:`collect_pins`."""
    v = len(vertex)
    for s in range(v):
        if vertex[s] >= 0:
            _pin(s, vertex[s], is_counting, place, nets)
            if net_bytes[v + s] > 0:
                _pin(v + s, vertex[s], is_counting, place, nets)


@compiled
def count_terms(
    row_sink: Any,
    row_fold: Any,
    terms: Any,
    term_ptr: Any,
    source_ptr: Any,
    source: Any,
    vertex: Any,
    readers: Any,
) -> Any:
    """Return the number of terms that are vertices."""
    count = 0
    for r in range(len(row_sink)):
        for t in range(term_ptr[r], term_ptr[r + 1]):
            kind, _ = _term_place(
                t,
                (row_fold[r] > 0) * terms[row_sink[r]],
                vertex[row_sink[r]],
                source_ptr,
                source,
                vertex,
                readers,
            )
            count += kind == _APART
    return count


@compiled
def list_operands(
    row_sink: Any,
    row_fold: Any,
    terms: Any,
    term_ptr: Any,
    source_ptr: Any,
    source: Any,
    vertex: Any,
    readers: Any,
    operand: Any,
) -> None:
    """Write of each term that is a vertex the operand with the fewest readers, the first of equal ones."""
    at = 0
    for r in range(len(row_sink)):
        for t in range(term_ptr[r], term_ptr[r + 1]):
            kind, _ = _term_place(
                t,
                (row_fold[r] > 0) * terms[row_sink[r]],
                vertex[row_sink[r]],
                source_ptr,
                source,
                vertex,
                readers,
            )
            if kind == _APART:
                fewest = np.int64(-1)
                for i in range(source_ptr[t], source_ptr[t + 1]):
                    s = np.int64(source[i])
                    if vertex[s] >= 0 and (fewest < 0 or readers[s] < readers[fewest]):
                        fewest = s
                operand[at] = fewest
                at += 1


@compiled
def move_work(
    row_sink: Any,
    row_count: Any,
    row_fold: Any,
    terms: Any,
    term_ptr: Any,
    source_ptr: Any,
    source: Any,
    work_flops: Any,
    vertex: Any,
    readers: Any,
    base: Any,
    total: Any,
    taken: Any,
    given: Any,
) -> None:
    """Write the work of terms that are not computed at their sinks to where they are.

    The work of hubs was spread over their operands before. ``total`` float64[V] is an output as well: the
    terms of all rows of a sink.
    """
    for r in range(len(row_sink)):
        total[row_sink[r]] += np.float64(row_count[r]) * max(term_ptr[r + 1] - term_ptr[r], 1)
    for r in range(len(row_sink)):
        v = row_sink[r]
        sink = vertex[v]
        share = np.float64(row_count[r]) / max(total[v], 1.0) * work_flops[v]
        for t in range(term_ptr[r], term_ptr[r + 1]):
            kind, where = _term_place(
                t, (row_fold[r] > 0) * terms[row_sink[r]], sink, source_ptr, source, vertex, readers
            )
            if kind == _APART:
                where = np.int64(base)
                base += 1
            if where >= 0 and sink >= 0:
                given[where] += share
                taken[sink] += share


@compiled
def count_distinct_pins(place: Any, nets: Any, count: Any) -> None:
    """Write the number of distinct pins of each net."""
    latest = np.full(len(count), -1, np.int64)
    for v in range(len(place) - 1):
        for i in range(place[v], place[v + 1]):
            if latest[nets[i]] != v:
                latest[nets[i]] = v
                count[nets[i]] += 1


@compiled
def place_pins(place: Any, nets: Any, number: Any, filled: Any, pin: Any) -> None:
    """Write the distinct pins of the nets that have a ``number``; ``filled`` int64[M + 1] moves on."""
    latest = np.full(len(number), -1, np.int64)
    for v in range(len(place) - 1):
        for i in range(place[v], place[v + 1]):
            e = nets[i]
            if number[e] >= 0 and latest[e] != v:
                latest[e] = v
                pin[filled[number[e]]] = v
                filled[number[e]] += 1
