"""Nested reductions made one: value graph -> value graph with the same vertices.

``f[n] += sx`` where ``sx`` is a sum kept in a register reduces the terms of ``sx`` into ``f[n]``: a node
sends one number for all its terms, those of other stores to ``f[n]`` included. A register that only serves as
a term of a reduction of the same kind is replaced by its own terms; it keeps its number, without rows and
readers.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from commanalyzer.vcg.graph import Float64, Fold, Int64, ValueGraph
from commanalyzer.vcg.segments import expand_ranges, pointer_from_counts, row_of_term

_MAX_DEPTH = 8


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
