"""One value, one vertex, or none; nested reductions made one: value graph -> graph with the same vertices.

A register value that is stored unchanged (``u[k] = d[k] + c * u[k + 1]``, the recurrence runs in a register)
would be a vertex beside its home, and be sent twice: the home takes its place. ``f[n] += sx`` where ``sx`` is
a sum kept in a register reduces the terms of ``sx`` into ``f[n]``: a node sends one number for all its terms,
those of other stores to ``f[n]`` included. A register that only serves as a term of a reduction of the same
kind is replaced by its own terms. What everyone can make is read nowhere. Vertices that lose their rows and
readers keep their numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from commanalyzer.vcg.graph import OF_ROWS, Bool, Float64, Fold, Int32, Int64, Rows, UInt8
from commanalyzer.vcg.storage.large import AnyGraph, LargeGraph, OneGraph, recoded
from commanalyzer.vcg.storage.rows import chosen_rows, joined_rows
from commanalyzer.vcg.storage.slices import row_slices
from commanalyzer.vcg.structure.segments import (
    count_of_source,
    expand_ranges,
    pointer_from_counts,
    row_of_term,
    sink_of_source,
    sorted_unique,
)

_MAX_DEPTH = 8
_SEVERAL = 2  # counters of definitions and readers stop there
_MOST_ROOTS = 4  # of a value that all compute: more to know than it is worth; 2 and 8 give the same bytes


def simplified(graph: OneGraph) -> OneGraph:
    """Return the graph that the ``volume`` model divides and counts: the rules of this module applied."""
    return flatten_reductions(merge_replicated(merge_stored_registers(graph)))


def rows_kept(graph: AnyGraph, simple: AnyGraph) -> Bool:
    """bool[R], the rows of ``graph`` that became, in order, those of ``simple``, its simplified form."""
    named, is_copy = graph.is_register | graph.is_temporary, _are_copies(graph)
    target = _stored(graph, named, is_copy)
    has_rows, kept = np.zeros(graph.num_vertices, np.bool_), []
    for rows in row_slices(simple):
        has_rows[rows.row_sink] = True
    for rows in row_slices(graph):
        row, is_kept = _copies(rows, is_copy), has_rows[target[rows.row_sink]]
        value = _copied(rows, row)
        is_kept[row[target[value] != value]] = False
        kept.append(is_kept)
    return np.concatenate([np.zeros(0, np.bool_), *kept])


def _are_copies(graph: AnyGraph) -> Bool:
    return np.array([s.kind == "copy" for s in graph.sites] or [False])


def merge_stored_registers(graph: OneGraph) -> OneGraph:
    """Return ``graph`` with values that are stored unchanged merged into their homes.

    Only where it is certain: one row defines the value, one row stores it, and as often as it is made.
    """
    named = graph.is_register | graph.is_temporary
    is_copy = _are_copies(graph)
    if not named.any() or not is_copy.any():
        return graph
    target = _stored(graph, named, is_copy)
    is_gone = target != np.arange(len(target))
    if not is_gone.any():
        return graph
    work = graph.work_flops.copy()
    np.add.at(work, target[is_gone], work[is_gone])
    work[is_gone] = 0.0
    return _rewritten(graph, _renamed_slices(graph, target, is_gone, is_copy), work, [])


def merge_replicated(graph: OneGraph) -> OneGraph:
    """Return ``graph`` without register values that everyone computes (replicated computation): none is sent.

    They are made of constants (loop counters), or again and again of a few values that never change, such as
    ``x + i * h`` in a loop over i: these are read instead. Their work goes to their readers.
    """
    is_open, roots = _replicated(graph)
    length = np.diff(roots.indptr)
    is_gone = is_open & (length <= _MOST_ROOTS) & ((length == 0) | (graph.versions > 1))
    if not is_gone.any():
        return graph
    reads, work = np.zeros(graph.num_vertices), graph.work_flops.copy()
    for rows in row_slices(graph):
        np.add.at(reads, rows.source, count_of_source(rows) * ~is_gone[sink_of_source(rows)])
    share = np.where(is_gone, work / np.maximum(reads, 1), 0.0)
    work[is_gone & (reads > 0)] = 0.0
    for rows in row_slices(graph):
        np.add.at(work, of := sink_of_source(rows), share[rows.source] * count_of_source(rows) * ~is_gone[of])
    return _rewritten(graph, (_made_by_readers(rows, is_gone, roots) for rows in row_slices(graph)), work, [])


def _replicated(graph: AnyGraph) -> tuple[Bool, csr_array]:
    """Return bool[V], values in registers that are made of what never changes; bool[V, V], of what each.

    Values that are made of each other, round a loop, are counters: one after the other, they do no work.
    """
    v, is_fixed, circles = graph.num_vertices, graph.versions <= 1, np.zeros(graph.num_vertices, np.bool_)
    is_open = graph.is_register & ~graph.is_input
    for rows in row_slices(graph):
        is_open[sink_of_source(rows)[~(is_fixed | is_open)[rows.source]]] = False
        is_open[rows.row_sink[rows.row_fold != 0]] = False
        circles[rows.row_sink[rows.row_accumulates]] = True
    key = np.zeros(0, np.int64)
    for rows in row_slices(graph) if is_open.any() else ():
        chosen = is_open[of := sink_of_source(rows)] & (rows.source != of)
        key = sorted_unique(np.append(key, of[chosen].astype(np.int64) * v + rows.source[chosen]))
    sink, source = np.divmod(key, max(v, 1))
    _, label = connected_components(
        csr_array((np.ones(len(key)), (sink, source)), (v, v)), connection="strong"
    )
    is_open[(circles | (np.bincount(label)[label] > 1)) & (graph.work_flops > 0)] = False
    while (lost := is_open[sink] & ~(is_fixed | is_open)[source]).any():
        is_open[sink[lost]] = False
    inner, outer = (
        csr_array((np.ones(np.count_nonzero(c), np.bool_), (sink[c], source[c])), (v, v))
        for c in (is_open[sink] & is_open[source], is_open[sink] & ~is_open[source])
    )
    while (more := outer + inner @ outer).nnz > outer.nnz:
        outer = more
    return is_open, outer


def _made_by_readers(rows: Rows, is_gone: Bool, roots: csr_array) -> Rows:
    """``rows`` that read, instead of values that are gone, what these are made of; nothing makes them."""
    own = np.arange(len(is_gone), dtype=np.int32)
    first = np.where(is_gone, roots.indptr[:-1], len(roots.indices) + own)
    length = np.where(is_gone, np.diff(roots.indptr), 1)[rows.source]
    made = np.concatenate([roots.indices, own])[expand_ranges(first[rows.source].astype(np.int64), length)]
    changed = rows._replace(
        source_ptr=pointer_from_counts(length)[rows.source_ptr],
        source=made.astype(np.int32),
        source_role=np.repeat(rows.source_role, length),
    )
    return _renamed(changed, own, ~is_gone[rows.row_sink])


def _rewritten(
    graph: OneGraph, slices: Iterator[Rows], work: Float64, taken: list[tuple[Int32, Int32]]
) -> OneGraph:
    """Return ``graph`` with other rows and work; ``taken``: values whose work goes to others, known then."""
    if isinstance(graph, LargeGraph):
        return recoded(graph, slices, lambda: _work_moved(work, taken))
    rows = joined_rows(list(slices))
    return replace(graph, work_flops=_work_moved(work, taken), rows=rows)


def _work_moved(work: Float64, taken: list[tuple[Int32, Int32]]) -> Float64:
    before = work.copy() if taken else work
    for value, sink in taken:  # one step per slice
        np.add.at(work, sink, before[value])
    for value, _ in taken:  # one step per slice
        work[value] = 0.0
    return work


@dataclass(frozen=True, slots=True)
class _Defined:
    """How vertices are defined.

    Attributes:
        times: uint8[V], rows that define the vertex, 2 for more.
        count: int64[V], count of the last of them.
    """

    times: UInt8
    count: Int64


def _note_definitions(rows: Rows, chosen: Bool, found: _Defined) -> Int64:
    """Note the definitions of ``chosen`` (bool[V]) vertices; return the rows, which are theirs."""
    row = np.flatnonzero(chosen[rows.row_sink])
    _count(rows.row_sink[row], found.times)
    found.count[rows.row_sink[row]] = rows.row_count[row]
    return row


def _count(vertex: Int32, times: UInt8) -> None:
    distinct, often = np.unique(vertex, return_counts=True)
    times[distinct] = np.minimum(times[distinct] + often, _SEVERAL)


def _copies(rows: Rows, is_copy: Bool) -> Int64:
    """Return the rows that store a value unchanged."""
    return np.flatnonzero(is_copy[rows.row_site] & (np.diff(rows.row_ptr) == 1) & ~rows.row_accumulates)


def _copied(rows: Rows, row: Int64) -> Int32:
    """Return the only sources of some rows."""
    return np.asarray(rows.source[rows.source_ptr[rows.term_ptr[row]]])


def _stored(graph: AnyGraph, named: Bool, is_copy: Bool) -> Int32:
    """Return int32[V], the home of each value that only serves to be stored there, others themselves."""
    v = graph.num_vertices
    defined = _Defined(np.zeros(v, np.uint8), np.zeros(v, np.int64))
    copies, stored = np.zeros(v, np.uint8), np.zeros(v, np.int64)
    home = np.full(v, -1, np.int32)
    for rows in row_slices(graph):
        _note_definitions(rows, named, defined)
        row = _copies(rows, is_copy)
        value = _copied(rows, row)
        row, value = row[named[value]], value[named[value]]
        _count(value, copies)
        home[value], stored[value] = rows.row_sink[row], rows.row_count[row]
    own, width = np.arange(v, dtype=np.int32), graph.width_bytes
    fits = (defined.times == 1) & (copies == 1) & (defined.count == stored)
    at = np.flatnonzero(fits)
    at = at[~named[home[at]] & (width[at] == width[home[at]])]
    own[at] = home[at]
    return own


def _renamed_slices(graph: AnyGraph, target: Int32, is_gone: Bool, is_copy: Bool) -> Iterator[Rows]:
    for rows in row_slices(graph):
        row = _copies(rows, is_copy)
        kept = np.ones(rows.num_rows, np.bool_)
        kept[row[is_gone[_copied(rows, row)]]] = False
        yield _renamed(rows, target, kept)


def _renamed(rows: Rows, target: Int32, kept_row: Bool) -> Rows:
    """Vertices replaced by ``target``, rows ``kept_row`` (bool[R]) only; self-sources become flags."""
    rows = chosen_rows(rows, kept_row)
    sink, source = target[rows.row_sink], target[rows.source]
    row = rows.row_of_source()
    own, accumulates = source == sink[row], rows.row_accumulates.copy()
    accumulates[row[own]] = True
    kept = ~own
    sources = np.diff(pointer_from_counts(kept)[rows.source_ptr])
    terms = np.diff(pointer_from_counts(sources > 0)[rows.term_ptr])
    return rows._replace(
        row_sink=sink,
        row_accumulates=accumulates,
        term_ptr=pointer_from_counts(terms),
        source_ptr=pointer_from_counts(sources[sources > 0]),
        source=source[kept],
        source_role=rows.source_role[kept],
    ).closed()


def flatten_reductions(graph: OneGraph) -> OneGraph:
    """Return ``graph`` with the terms of nested reductions in the outermost one (to a depth of 8)."""
    register = graph.is_register
    for _ in range(_MAX_DEPTH if register.any() else 0):
        nested = _nested(graph, register)
        if not nested.is_inner.any():
            return graph
        work, taken = graph.work_flops.copy(), list[tuple[Int32, Int32]]()
        graph = _rewritten(graph, _inlined_slices(graph, nested, taken), work, taken)
    return graph


@dataclass(frozen=True, slots=True)
class _Nested:
    """Registers that are one term each of another reduction.

    Attributes:
        is_inner: bool[V].
        carried: The rows of those that are defined in another slice than the one that reads them.
    """

    is_inner: Bool
    carried: Rows | None


def _nested(graph: AnyGraph, register: Bool) -> _Nested:
    v = graph.num_vertices
    defined = _Defined(np.zeros(v, np.uint8), np.zeros(v, np.int64))
    readers, fold, place = np.zeros(v, np.uint8), np.zeros(v, np.uint8), np.full(v, -1, np.int32)
    for number, rows in enumerate(row_slices(graph)):
        _count(rows.source[register[rows.source]], readers)
        row = _note_definitions(rows, register, defined)
        sink = rows.row_sink[row]
        usable = ~rows.row_accumulates[row] & (np.diff(rows.term_ptr)[row] > 0)
        fold[sink], place[sink] = np.where(usable, rows.row_fold[row], int(Fold.NONE)), number
    simple = register & (readers == 1) & (defined.times == 1) & (fold != int(Fold.NONE))
    is_inner, receives, elsewhere = (np.zeros(v, np.bool_) for _ in range(3))
    for number, rows in enumerate(row_slices(graph) if simple.any() else ()):
        value, row, _ = _lone_terms(rows, simple)
        fits = (rows.row_fold[row] == fold[value]) & (rows.row_count[row] == defined.count[value])
        is_inner[value[fits]] = True
        receives[rows.row_sink[row[fits]]] = True
        elsewhere[value[fits & (place[value] != number)]] = True
    # one level at a time: a register that takes in others now is taken in itself in the next round
    is_inner &= ~receives
    elsewhere &= is_inner
    if not elsewhere.any():
        return _Nested(is_inner, None)
    found = [chosen_rows(rows, elsewhere[rows.row_sink]) for rows in row_slices(graph)]
    return _Nested(is_inner, joined_rows(found))


def _lone_terms(rows: Rows, chosen: Bool) -> tuple[Int32, Int64, Int64]:
    """Return the ``chosen`` (bool[V]) values that are terms alone, as data; their rows; their terms."""
    alone = np.flatnonzero(np.diff(rows.source_ptr) == 1)
    entry = rows.source_ptr[alone]
    fits = chosen[rows.source[entry]] & (rows.source_role[entry] == 0)
    return rows.source[entry[fits]], row_of_term(rows)[alone[fits]], alone[fits]


def _inlined_slices(graph: AnyGraph, nested: _Nested, taken: list[tuple[Int32, Int32]]) -> Iterator[Rows]:
    """Yield rows with the terms of inner rows in the place of these; note (value, sink) in ``taken``."""
    same = np.arange(graph.num_vertices, dtype=np.int32)
    row_of = np.full(graph.num_vertices, -1, np.int32)
    for rows in row_slices(graph):
        value, row, term = _lone_terms(rows, nested.is_inner)
        taken.append((value, rows.row_sink[row]))
        every = rows if nested.carried is None else joined_rows((rows, nested.carried))
        row_of[every.row_sink] = np.arange(every.num_rows, dtype=np.int32)
        kept = np.zeros(every.num_rows, np.bool_)
        kept[: rows.num_rows] = ~nested.is_inner[rows.row_sink]
        found = _inlined(every, row_of[value], term, kept)
        # a register that took in the sink's own value: s = min(m, a); m = min(s, b)
        yield _renamed(found, same, np.ones(found.num_rows, np.bool_)) if len(term) else found


def _inlined(rows: Rows, inner_row: Int32, term: Int64, kept: Bool) -> Rows:
    """Put the terms of ``inner_row[i]`` in the place of ``term[i]``; ``kept`` rows (bool[R]) only."""
    num_terms = len(rows.source_ptr) - 1
    first, length = np.arange(num_terms), np.ones(num_terms, dtype=np.int64)
    first[term] = rows.term_ptr[inner_row]
    length[term] = np.diff(rows.term_ptr)[inner_row]
    of_kept = kept[row_of_term(rows)]
    per_row = np.bincount(row_of_term(rows), length, rows.num_rows).astype(np.int64)[kept]
    chosen = expand_ranges(first[of_kept], length[of_kept])
    sources = np.diff(rows.source_ptr)[chosen]
    entry = expand_ranges(rows.source_ptr[chosen], sources)
    return rows._replace(
        **{name: getattr(rows, name)[kept] for name in OF_ROWS},
        term_ptr=pointer_from_counts(per_row),
        source_ptr=pointer_from_counts(sources),
        source=rows.source[entry],
        source_role=rows.source_role[entry],
    ).closed()
