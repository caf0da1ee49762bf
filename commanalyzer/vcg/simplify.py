"""One value, one vertex; nested reductions made one: value graph -> value graph with the same vertices.

A register value that is stored unchanged (``u[k] = d[k] + c * u[k + 1]``, the recurrence runs in a register)
would be a vertex beside its home, and be sent twice: the home takes its place. ``f[n] += sx`` where ``sx`` is
a sum kept in a register reduces the terms of ``sx`` into ``f[n]``: a node sends one number for all its terms,
those of other stores to ``f[n]`` included. A register that only serves as a term of a reduction of the same
kind is replaced by its own terms. Vertices that lose their rows and readers keep their numbers.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from commanalyzer.vcg.graph import Float64, Fold, Int32, Int64, ValueGraph
from commanalyzer.vcg.large import LargeGraph
from commanalyzer.vcg.segments import expand_ranges, pointer_from_counts, row_of_term
from commanalyzer.vcg.store import GraphStore

_MAX_DEPTH = 8


def simplified(graph: ValueGraph) -> ValueGraph:
    """Return the graph that the ``volume`` model divides and counts: both rules of this module applied."""
    return flatten_reductions(merge_stored_registers(graph))


def simplified_large(graph: LargeGraph) -> LargeGraph:
    """As :func:`simplified`; where there is something to merge, the graph is expanded once."""
    if not (graph.is_register | graph.is_temporary).any():
        return graph
    whole = graph.store.graph()
    found = simplified(whole)
    return graph if found is whole else LargeGraph(GraphStore.of(found), graph.slice_flows)


def merge_stored_registers(graph: ValueGraph) -> ValueGraph:
    """Return ``graph`` with values that are stored unchanged merged into their homes.

    Only where it is certain: one row defines the value, one row stores it, and as often as it is made.
    """
    v = graph.num_vertices
    is_copy = np.array([s.kind == "copy" for s in graph.sites] or [False])[graph.row_site]
    start = graph.source_ptr[graph.term_ptr]
    rows = np.flatnonzero(is_copy & (np.diff(start) == 1) & ~graph.row_accumulates)
    value, home = graph.source[start[rows]].astype(np.int64), graph.row_sink[rows].astype(np.int64)
    copies = np.bincount(value, minlength=v)
    definition = np.full(v, -1, dtype=np.int64)
    definition[graph.row_sink] = np.arange(graph.num_rows)
    named = (graph.is_register | graph.is_temporary) & (np.bincount(graph.row_sink, minlength=v) == 1)
    fits = named[value] & (copies[value] == 1) & ~(graph.is_register | graph.is_temporary)[home]
    fits &= graph.row_count[definition[value]] == graph.row_count[rows]
    fits &= graph.width_bytes[value] == graph.width_bytes[home]
    if not fits.any():
        return graph
    target = np.arange(v, dtype=np.int32)
    target[value[fits]] = home[fits]
    return _renamed(graph, target, rows[fits])


def _renamed(graph: ValueGraph, target: Int32, dropped: Int64) -> ValueGraph:
    """Vertices replaced by ``target``, without the rows ``dropped``; self-sources become flags."""
    sink = target[graph.row_sink]
    kept_row = np.ones(graph.num_rows, dtype=np.bool_)
    kept_row[dropped] = False
    row_of_term_ = row_of_term(graph)
    term_of_source = np.repeat(np.arange(len(graph.source_ptr) - 1), np.diff(graph.source_ptr))
    source = target[graph.source]
    row = row_of_term_[term_of_source]
    own = source == sink[row]
    kept = kept_row[row] & ~own
    accumulates = graph.row_accumulates.copy()
    accumulates[row[own & kept_row[row]]] = True
    per_term = np.bincount(term_of_source[kept], minlength=len(graph.source_ptr) - 1)
    filled = per_term > 0
    per_row = np.bincount(row_of_term_[filled], minlength=graph.num_rows)[kept_row]
    moved = target[graph.row_sink] != graph.row_sink
    work = graph.work_flops.copy()
    gone = np.unique(graph.row_sink[moved])
    np.add.at(work, target[gone], graph.work_flops[gone])
    work[gone] = 0.0
    return replace(
        graph,
        work_flops=work,
        row_sink=sink[kept_row],
        row_count=graph.row_count[kept_row],
        row_site=graph.row_site[kept_row],
        row_fold=graph.row_fold[kept_row],
        row_accumulates=accumulates[kept_row],
        term_ptr=pointer_from_counts(per_row.astype(np.int64)),
        source_ptr=pointer_from_counts(per_term[filled].astype(np.int64)),
        source=source[kept],
        source_role=graph.source_role[kept],
    )


def flatten_reductions(graph: ValueGraph) -> ValueGraph:
    """Return ``graph`` with the terms of nested reductions in the outermost one (to a depth of 8)."""
    for _ in range(_MAX_DEPTH):
        inner_row, term = _nested(graph)
        if not len(term):
            return graph
        graph = _inlined(graph, inner_row, term)
    return graph


def _nested(graph: ValueGraph) -> tuple[Int64, Int64]:
    """Return rows of registers that are one term each of another reduction, and those terms."""
    v = graph.num_vertices
    readers = np.bincount(graph.source, minlength=v)
    definitions = np.bincount(graph.row_sink, minlength=v)
    simple = graph.is_register & (readers == 1) & (definitions == 1)
    row_of = np.full(v, -1, dtype=np.int64)
    row_of[graph.row_sink] = np.arange(graph.num_rows)
    alone = np.flatnonzero(np.diff(graph.source_ptr) == 1)
    value = graph.source[graph.source_ptr[alone]]
    outer = row_of_term(graph)[alone]
    inner = row_of[value]
    fits = simple[value] & (graph.source_role[graph.source_ptr[alone]] == 0)
    fits &= (graph.row_fold[outer] != int(Fold.NONE)) & (graph.row_fold[inner] == graph.row_fold[outer])
    fits &= (graph.row_count[inner] == graph.row_count[outer]) & ~graph.row_accumulates[inner]
    fits &= np.diff(graph.term_ptr)[inner] > 0
    # one level at a time: a register that takes in others now is taken in itself in the next round
    receives = np.zeros(graph.num_rows, dtype=np.bool_)
    receives[outer[fits]] = True
    fits &= ~receives[inner]
    return inner[fits], alone[fits]


def _inlined(graph: ValueGraph, inner_row: Int64, term: Int64) -> ValueGraph:
    """Put the terms of ``inner_row[i]`` in the place of ``term[i]`` and drop those rows."""
    num_terms = len(graph.source_ptr) - 1
    first, length = np.arange(num_terms), np.ones(num_terms, dtype=np.int64)
    first[term] = graph.term_ptr[inner_row]
    length[term] = np.diff(graph.term_ptr)[inner_row]
    kept = np.ones(graph.num_rows, dtype=np.bool_)
    kept[inner_row] = False
    of_kept = kept[row_of_term(graph)]
    per_row = np.bincount(row_of_term(graph), length, graph.num_rows).astype(np.int64)[kept]
    chosen = expand_ranges(first[of_kept], length[of_kept])
    sources = np.diff(graph.source_ptr)[chosen]
    entry = expand_ranges(graph.source_ptr[chosen], sources)
    work = _work_moved(graph, inner_row, term)
    return replace(
        graph,
        work_flops=work,
        row_sink=graph.row_sink[kept],
        row_count=graph.row_count[kept],
        row_site=graph.row_site[kept],
        row_fold=graph.row_fold[kept],
        row_accumulates=graph.row_accumulates[kept],
        term_ptr=pointer_from_counts(per_row),
        source_ptr=pointer_from_counts(sources),
        source=graph.source[entry],
        source_role=graph.source_role[entry],
    )


def _work_moved(graph: ValueGraph, inner_row: Int64, term: Int64) -> Float64:
    work = graph.work_flops.copy()
    inner, outer = graph.row_sink[inner_row], graph.row_sink[row_of_term(graph)[term]]
    np.add.at(work, outer, graph.work_flops[inner])
    work[inner] = 0.0
    return work
