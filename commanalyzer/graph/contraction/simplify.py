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
from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from commanalyzer.foundation.flows import Fold
from commanalyzer.graph.contraction import kernels
from commanalyzer.graph.contraction.workspaces import made_again
from commanalyzer.graph.storage.slices import chosen_rows, joined_rows, row_slices, with_terms
from commanalyzer.graph.storage.store import AnyGraph, LargeGraph, OneGraph, recoded, stand_for
from commanalyzer.graph.value_graph import (
    Bool,
    Float64,
    Int32,
    Int64,
    Rows,
    UInt8,
    expand_ranges,
    order_by,
    pointer_from_counts,
    row_of_term,
    sink_of_source,
    sorted_unique,
)
from commanalyzer.program.frontend.decisions import USES

_MAX_DEPTH = 8
_SEVERAL = 2  # counters of definitions and readers stop there

# Of the work, what a number made of constants takes at most if all make it for themselves: 3 % on 32 nodes.
# Above, it is made once, or in parts, and sent: 2 (p - 1) words.
_REPEATED_SHARE = 0.001
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
        (row, value), is_kept = _copies(rows, is_copy), has_rows[target[rows.row_sink]]
        is_kept[row[target[value] != value]] = False
        kept.append(is_kept)
    return np.concatenate([np.zeros(0, np.bool_), *kept])


def _are_copies(graph: AnyGraph) -> Bool:
    return np.array([s.kind == "copy" for s in graph.sites] or [False])


def merge_stored_registers(graph: OneGraph) -> OneGraph:
    """Return ``graph`` with values that are stored unchanged merged into their homes.

    Only where it is certain: one row defines the value, one row stores it, and as often as it is made.
    """
    named, is_copy = graph.is_register | graph.is_temporary, _are_copies(graph)
    if not named.any() or not is_copy.any():
        return graph
    target = _stored(graph, named, is_copy)
    gone = np.flatnonzero(is_gone := target != np.arange(len(target))).astype(np.int32)
    if not len(gone):
        return graph
    work = _work_moved(graph.work_flops.copy(), [(gone, target[gone])])

    def renamed() -> Iterator[Rows]:
        for rows in row_slices(graph):
            row, value = _copies(rows, is_copy)
            kept = np.ones(rows.num_rows, np.bool_)
            kept[row[is_gone[value]]] = False
            yield _renamed(rows, target, kept) if _has(rows, is_gone) else rows

    return _rewritten(graph, renamed(), work, [])


def merge_replicated(graph: OneGraph) -> OneGraph:
    """Return ``graph`` without values that everyone computes (replicated computation): none is sent.

    Registers that are made of constants (loop counters), or again and again of a few values that never
    change, such as ``x + i * h`` in a loop over i, and words that are made again for those who read them
    (:func:`~commanalyzer.graph.contraction.workspaces.made_again`): what they are made of is read instead.
    Words that are made of many values stay, and never change. Their work goes to their readers, and with it
    that of what is made of them and never read (the last factor of an elimination).
    """
    again, unread = made_again(graph)
    is_gone, pointer, roots = _replicated(graph, again)
    moved = is_gone | again
    if not moved.any():
        return graph
    reads, work = np.zeros(graph.num_vertices, np.int64), graph.work_flops.copy()
    for value, sink, _ in _uses(graph, moved, unread) if unread.any() else ():
        first, where = np.unique(sink, return_index=True)
        np.add.at(work, value[where], work[first])
        work[first] = 0.0
    kept = ~(moved | unread)
    for value, _, count in _uses(graph, moved, kept):
        np.add.at(reads, value, count)
    share = np.where(moved, work / np.maximum(reads, 1), 0.0)
    work[moved & (reads > 0)] = 0.0
    for value, sink, count in _uses(graph, moved, kept):
        np.add.at(work, sink, share[value] * count)
    versions = np.where(again, ~is_gone, graph.versions)
    return _rewritten(graph, _made_by_readers(graph, is_gone, pointer, roots), work, [], versions)


def _uses(graph: AnyGraph, moved: Bool, users: Bool) -> Iterator[tuple[Int32, Int32, Int64]]:
    """Yield values that are ``moved`` (bool[V]), those of ``users`` that are made of them, and how often."""
    for rows in row_slices(graph):
        at = np.flatnonzero(moved[rows.source])
        row = np.searchsorted(rows.row_ptr, at, "right") - 1
        kept = users[rows.row_sink[row]]
        yield rows.source[at[kept]], rows.row_sink[row[kept]], rows.row_count[row[kept]]


def _has(rows: Rows, chosen: Bool) -> bool:
    """Whether ``chosen`` (bool[V]) values are among those of ``rows``: most slices of a graph have none."""
    return bool(chosen[rows.source].any() or chosen[rows.row_sink].any())


def _replicated(graph: AnyGraph, again: Bool) -> tuple[Bool, Int64, Int32]:
    """Return bool[V], values that everyone computes, int64[V + 1], and what each is made of, from there on.

    Registers, words that are made ``again``, and where compilers put arguments that are no variables. Values
    that are made of each other, round a loop, are counters: one after the other, they do no work. And scratch
    that is made twice or more per version of what it is made of, if all of a place is made of fewer words.
    """
    v, is_fixed, circles = graph.num_vertices, graph.versions <= 1, np.zeros(graph.num_vertices, np.bool_)
    is_scalar = np.array([o.is_temporary_scalar for o in graph.objects])[graph.home_object]
    is_scratch = graph.is_temporary & ~stand_for(graph, *USES)
    is_open = ((graph.is_register | is_scalar | is_scratch) & ~graph.is_input) | again
    often = graph.versions // 2 * is_scratch
    is_made = graph.work_flops <= _REPEATED_SHARE * graph.work_flops.sum()
    for rows in row_slices(graph):
        is_again = often[of := sink_of_source(rows)] >= (graph.versions - graph.is_input)[rows.source]
        is_open[of[~((is_fixed | is_open)[rows.source] | is_again)]] = False
        is_made[of] = True
        is_open[rows.row_sink[(rows.row_fold != 0) & (np.diff(rows.row_ptr) > 0)]] = False
        circles[rows.row_sink[rows.row_accumulates]] = True
    is_open[graph.is_register & is_fixed & ~is_made] = False
    key = np.zeros(0, np.int64)
    for rows in row_slices(graph) if is_open.any() else ():
        chosen = is_open[of := sink_of_source(rows)] & (rows.source != of)
        key = sorted_unique(np.append(key, of[chosen].astype(np.int64) * v + rows.source[chosen]))
    sink, source = np.divmod(key, max(v, 1))
    links = csr_array((np.ones(len(key)), (sink, source)), (v, v))
    label = connected_components(links, connection="strong")[1]
    is_open[(circles | (np.bincount(label)[label] > 1)) & (graph.work_flops > 0)] = False
    is_root, chosen = np.zeros(v, np.bool_), is_open[sink]
    is_root[source[chosen & ~is_open[source]]] = True
    number = np.cumsum(is_open | is_root) - 1
    roots = np.full((np.count_nonzero(is_open | is_root), _MOST_ROOTS + 1), kernels.NO_ROOT, np.int32)
    roots[number[is_root], 0] = np.flatnonzero(is_root)
    start, order = order_by(source[chosen], v)
    kernels.find_roots(start, sink[chosen][order], np.flatnonzero(is_root), number, roots)
    open_values = np.flatnonzero(is_open)
    known = (table := np.sort(roots[number[open_values]])) != kernels.NO_ROOT
    count, is_new = known.sum(axis=1), (known & ~is_fixed[np.where(known, table, 0)]).any(axis=1)
    is_made, is_several = (is_scratch & ~again)[open_values], (graph.versions > 1)[open_values]
    kept = (count <= _MOST_ROOTS) & np.where(is_made, is_new, ~is_new & ((count == 0) | is_several))
    anew = np.flatnonzero(kept & is_made)
    first, root = table[anew, 0], table[anew][known[anew]]
    links = csr_array((np.ones(len(root)), (np.repeat(first, count[anew]), root)), (v, v))
    place = connected_components(links, directed=False)[1]
    made, words = (np.bincount(place[each], minlength=v) for each in (first, np.unique(root)))
    kept[anew[(words > np.minimum(made, _MOST_ROOTS))[place[first]]]] = False
    pointer = np.zeros(v, np.int64)
    pointer[open_values[kept]] = count[kept]
    is_open[open_values[~kept]] = False
    return is_open, pointer_from_counts(pointer), table[kept][known[kept]]


def _made_by_readers(graph: AnyGraph, is_gone: Bool, pointer: Int64, roots: Int32) -> Iterator[Rows]:
    """Yield rows that read, instead of values that are gone, what these are made of; nothing makes them."""
    own = np.arange(len(is_gone), dtype=np.int32)
    first, many = np.where(is_gone, pointer[:-1], len(roots) + own), np.where(is_gone, np.diff(pointer), 1)
    made = np.concatenate([roots, own])
    for rows in row_slices(graph):
        if not _has(rows, is_gone):
            yield rows
            continue
        length = many[rows.source]
        changed = rows._replace(
            source_ptr=pointer_from_counts(length)[rows.source_ptr],
            source=made[expand_ranges(first[rows.source], length)],
            source_role=np.repeat(rows.source_role, length),
        )
        yield _renamed(changed, own, ~is_gone[rows.row_sink])


def _rewritten(
    graph: OneGraph, slices: Iterator[Rows], work: Float64, taken: list[tuple[Int32, Int32]],
    versions: Int64 | None = None,
) -> OneGraph:  # fmt: skip
    """Return ``graph`` with other rows, work and versions; the work of ``taken`` values goes to others."""
    versions = graph.versions if versions is None else versions
    if isinstance(graph, LargeGraph):
        return recoded(graph, slices, lambda: {"work_flops": _work_moved(work, taken), "versions": versions})
    rows = joined_rows(list(slices))
    return replace(graph, work_flops=_work_moved(work, taken), versions=versions, rows=rows)


def _work_moved(work: Float64, taken: list[tuple[Int32, Int32]]) -> Float64:
    value, sink = np.concatenate([np.zeros((2, 0), np.int32), *taken], axis=1)
    np.add.at(work, sink, work[value])
    work[value] = 0.0
    return work


def _note_definitions(rows: Rows, chosen: Bool, times: UInt8, count: Int64) -> Int64:
    """Note how many rows define ``chosen`` (bool[V]) vertices, the last one's count; return these rows."""
    row = np.flatnonzero(chosen[rows.row_sink])
    _count(rows.row_sink[row], times)
    count[rows.row_sink[row]] = rows.row_count[row]
    return row


def _count(vertex: Int32, times: UInt8) -> None:
    distinct, often = np.unique(vertex, return_counts=True)
    times[distinct] = np.minimum(times[distinct] + often, _SEVERAL)


def _copies(rows: Rows, is_copy: Bool) -> tuple[Int64, Int32]:
    """Return the rows that store a value unchanged, and these values."""
    row = np.flatnonzero(is_copy[rows.row_site] & (np.diff(rows.row_ptr) == 1) & ~rows.row_accumulates)
    return row, np.asarray(rows.source[rows.source_ptr[rows.term_ptr[row]]])


def _stored(graph: AnyGraph, named: Bool, is_copy: Bool) -> Int32:
    """Return int32[V], the home of each value that only serves to be stored there, others themselves."""
    v = graph.num_vertices
    (times, copies), (count, stored) = np.zeros((2, v), np.uint8), np.zeros((2, v), np.int64)
    home = np.full(v, -1, np.int32)
    for rows in row_slices(graph):
        _note_definitions(rows, named, times, count)
        row, value = _copies(rows, is_copy)
        row, value = row[named[value]], value[named[value]]
        _count(value, copies)
        home[value], stored[value] = rows.row_sink[row], rows.row_count[row]
    own, width = np.arange(v, dtype=np.int32), graph.width_bytes
    fits = (times == 1) & (copies == 1) & (count == stored)
    at = np.flatnonzero(fits)
    at = at[~named[home[at]] & (width[at] == width[home[at]])]
    own[at] = home[at]
    return own


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
        is_inner, carried = _nested(graph, register)
        if not is_inner.any():
            return graph
        work, taken = graph.work_flops.copy(), list[tuple[Int32, Int32]]()
        graph = _rewritten(graph, _inlined_slices(graph, is_inner, carried, taken), work, taken)
    return graph


def _nested(graph: AnyGraph, register: Bool) -> tuple[Bool, Rows | None]:
    """bool[V], registers that are one term each of another reduction; rows of those another slice reads."""
    v = graph.num_vertices
    (times, readers, fold), count = np.zeros((3, v), np.uint8), np.zeros(v, np.int64)
    place = np.full(v, -1, np.int32)
    for number, rows in enumerate(row_slices(graph)):
        _count(rows.source[register[rows.source]], readers)
        row = _note_definitions(rows, register, times, count)
        sink = rows.row_sink[row]
        usable = ~rows.row_accumulates[row] & (np.diff(rows.term_ptr)[row] > 0)
        fold[sink], place[sink] = np.where(usable, rows.row_fold[row], int(Fold.NONE)), number
    simple = register & (readers == 1) & (times == 1) & (fold != int(Fold.NONE))
    is_inner, receives, elsewhere = (np.zeros(v, np.bool_) for _ in range(3))
    for number, rows in enumerate(row_slices(graph) if simple.any() else ()):
        value, row, _ = _lone_terms(rows, simple)
        fits = (rows.row_fold[row] == fold[value]) & (rows.row_count[row] == count[value])
        is_inner[value[fits]] = True
        receives[rows.row_sink[row[fits]]] = True
        elsewhere[value[fits & (place[value] != number)]] = True
    # one level at a time: a register that takes in others now is taken in itself in the next round
    is_inner &= ~receives
    elsewhere &= is_inner
    if not elsewhere.any():
        return is_inner, None
    return is_inner, joined_rows([chosen_rows(rows, elsewhere[rows.row_sink]) for rows in row_slices(graph)])


def _lone_terms(rows: Rows, chosen: Bool) -> tuple[Int32, Int64, Int64]:
    """Return the ``chosen`` (bool[V]) values that are terms alone, as data; their rows; their terms."""
    alone = np.flatnonzero(np.diff(rows.source_ptr) == 1)
    entry = rows.source_ptr[alone]
    fits = chosen[rows.source[entry]] & (rows.source_role[entry] == 0)
    return rows.source[entry[fits]], row_of_term(rows)[alone[fits]], alone[fits]


def _inlined_slices(
    graph: AnyGraph, is_inner: Bool, carried: Rows | None, taken: list[tuple[Int32, Int32]]
) -> Iterator[Rows]:
    """Yield rows with the terms of inner rows in the place of these; note (value, sink) in ``taken``."""
    same = np.arange(graph.num_vertices, dtype=np.int32)
    row_of = np.full(graph.num_vertices, -1, np.int32)
    for rows in row_slices(graph):
        if not _has(rows, is_inner):
            yield rows
            continue
        value, row, term = _lone_terms(rows, is_inner)
        taken.append((value, rows.row_sink[row]))
        every = rows if carried is None else joined_rows((rows, carried))
        row_of[every.row_sink] = np.arange(every.num_rows, dtype=np.int32)
        kept = np.zeros(every.num_rows, np.bool_)
        kept[: rows.num_rows] = ~is_inner[rows.row_sink]
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
    return with_terms(rows, np.flatnonzero(kept), per_row, expand_ranges(first[of_kept], length[of_kept]))
