"""Compiled loops over rows: labels to vertices, terms in final form, sums per vertex.

Tables and ranges are those of :mod:`commanalyzer.vcg.trace_kernels`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.abi.hooks import ADDRESS, CONTROL, NOTHING, REGISTER, WORD_MASK
from commanalyzer.abi.trace_layout import ROW_FILL, ROW_REGISTER, ROW_TEMPORARY, ROW_UPDATE
from commanalyzer.compiled import compiled
from commanalyzer.vcg.trace_kernels import CACHED, COUNT, FLAGS, LOW, NONE, find_range

_INSERTED = 24  # keys that are sorted by insertion

STORED = 1  # states of vertices
FIRST_READ = 2
READ = 4


@compiled
def number_defined(heads: Any, first_vertex: Any, vertex_of_row: Any) -> Any:
    """Number the vertices that rows define: register values, lifetimes in workspaces. Return the next one."""
    for row in range(len(heads)):
        flags = heads[row, 1] >> FLAGS
        vertex_of_row[row] = NONE
        if flags & (ROW_REGISTER | ROW_TEMPORARY) and not flags & ROW_UPDATE:
            vertex_of_row[row] = first_vertex
            first_vertex += 1
    return first_vertex


@compiled
def _home(word: Any, starts: Any, base: Any, vertex: Any, cache: Any, slot: Any) -> Any:
    """Vertex of a word."""
    c = find_range(word, starts, cache, slot)
    d = base[c] + word - starts[c]
    v = vertex[d]
    return vertex[d + v + 1] if v < NONE else v


@compiled
def _source(
    label: Any, slot: Any, starts: Any, base: Any, vertex: Any, vertex_of_row: Any, cache: Any
) -> Any:
    """Vertex that a label names, -1 for none."""
    if label == 0 or (label & NOTHING) == NOTHING:
        return np.int64(NONE)
    if label & REGISTER:
        return np.int64(vertex_of_row[label & WORD_MASK])
    return np.int64(_home(label & WORD_MASK, starts, base, vertex, cache, slot))


@compiled
def _sort(key: Any, count: Any) -> None:
    """Sort the first ``count`` keys."""
    if count > _INSERTED:
        for i in range(1, count):
            if key[i] < key[i - 1]:
                key[:count] = np.sort(key[:count])
                return
        return
    for i in range(1, count):
        moved = key[i]
        j = i - 1
        while j >= 0 and key[j] > moved:
            key[j + 1] = key[j]
            j -= 1
        key[j + 1] = moved


@compiled
def _close_term(
    key: Any, begin: Any, end: Any, source: Any, role: Any, term_sources: Any, terms: Any, sources: Any
) -> Any:
    """Write the distinct sources of a term, each with its strongest role.

    Return the numbers of terms and sources. A term without sources is none. The keys are changed.
    """
    count = 0
    for i in range(begin, end):
        if key[i] >= 0:
            key[begin + count] = key[i]
            count += 1
    if count == 0:
        return terms, sources
    term = key[begin : begin + count]
    _sort(term, count)
    at = sources
    for i in range(count):
        if i and term[i] >> 2 == term[i - 1] >> 2:
            continue
        source[at] = term[i] >> 2
        role[at] = term[i] & 3
        at += 1
    term_sources[terms] = at - sources
    return terms + 1, at


@compiled
def _note_sources(key: Any, first: Any, last: Any, sink: Any, self_at: Any, state: Any) -> Any:
    """Note that the sources of a row are read; mark self-sources; return 1 if any, 3 if by the operation."""
    found = 0
    for i in range(first, last):
        if key[i] < 0:
            continue
        v = key[i] >> 2
        if not state[v] & STORED:
            state[v] |= FIRST_READ
        state[v] |= READ
        if v == sink:
            found |= 3 if i - first == self_at else 1
            key[i] = NONE
    return found


@compiled
def sources_of(
    label: Any, end: Any, starts: Any, base: Any, vertex: Any, vertex_of_row: Any, key: Any
) -> None:
    """Fill ``key`` with ``vertex << 2 | role`` of every label, -1 where it names none."""
    cache = np.zeros(CACHED, np.int64)
    at = 0
    for row in range(len(end)):
        begin = at
        while at < end[row]:
            v = _source(label[at], at - begin, starts, base, vertex, vertex_of_row, cache)
            role = 2 if label[at] & ADDRESS else 1 if label[at] & CONTROL else 0
            key[at] = (v << 2) | role if v >= 0 else NONE
            at += 1


@compiled
def sinks_of(
    heads: Any,
    first: Any,
    last: Any,
    starts: Any,
    base: Any,
    vertex: Any,
    vertex_of_row: Any,
    sink: Any,
) -> None:
    """Fill ``sink`` with the sink vertex of each row, -1 for fills."""
    cache = np.zeros(CACHED, np.int64)
    for row in range(first, last):
        flags = heads[row, 1] >> FLAGS
        v = np.int64(vertex_of_row[row])
        if flags & ROW_UPDATE:
            v = np.int64(vertex_of_row[heads[row, 0]])
        elif v < 0 and not flags & ROW_FILL:
            v = np.int64(_home(heads[row, 0], starts, base, vertex, cache, flags))
        sink[row - first] = v


@compiled
def _note_filled(
    first: Any, count: Any, starts: Any, length: Any, base: Any, vertex: Any, state: Any
) -> None:
    """Note that ``count`` words from ``first`` on are stored to."""
    c = np.searchsorted(starts, first, side="right") - 1
    while c < len(base) and starts[c] < first + count:
        low, high = max(first, starts[c]), min(first + count, starts[c] + length[c])
        for d in range(base[c] + low - starts[c], base[c] + high - starts[c]):
            if vertex[d] >= 0:
                state[vertex[d]] |= STORED
        c += 1


@compiled
def note_rows(
    heads: Any,
    first: Any,
    last: Any,
    end: Any,
    filled: Any,
    key: Any,
    sink: Any,
    starts: Any,
    length: Any,
    base: Any,
    vertex: Any,
    site_self: Any,
    state: Any,
    own: Any,
) -> None:
    """Note what is read and stored to, in the order of the rows; take self-sources out of ``key``.

    ``own`` becomes 0 for rows that do not read their sink, 3 for those that do by their operation
    (``site_self`` says at which label), 1 for others.
    """
    begin = 0
    for row in range(first, last):
        i = row - first
        own[i] = 0
        if (heads[row, 1] >> FLAGS) & ROW_FILL:
            _note_filled(heads[row, 0], filled[i], starts, length, base, vertex, state)
        else:
            own[i] = _note_sources(key, begin, end[i], sink[i], site_self[heads[row, 1] & LOW], state)
            state[sink[i]] |= STORED
        begin = end[i]


@compiled
def _form_row(
    plain: Any,
    groups: Any,
    group: Any,
    key: Any,
    begin: Any,
    end: Any,
    source: Any,
    role: Any,
    term_sources: Any,
    terms: Any,
    sources: Any,
) -> Any:
    """Write the terms of a row: ``plain`` labels, then those of groups from ``group`` on; as _close_term."""
    stop = begin + plain
    terms, sources = _close_term(key, begin, stop, source, role, term_sources, terms, sources)
    while stop < end:
        width = groups[group, 3] & LOW
        for _ in range(groups[group, 2]):
            begin, stop = stop, stop + width
            terms, sources = _close_term(key, begin, stop, source, role, term_sources, terms, sources)
        group += 1
    return terms, sources


@compiled
def form_rows(
    heads: Any,
    cells: Any,
    first: Any,
    last: Any,
    end: Any,
    key: Any,
    own: Any,
    groups: Any,
    group: Any,
    site_fold: Any,
    row_fold: Any,
    row_accumulates: Any,
    row_terms: Any,
    term_sources: Any,
    source: Any,
    role: Any,
) -> Any:
    """Write the rows that happened in final form; return numbers of rows, terms and sources.

    Terms are joined where nothing folds, and no term has a source twice. ``group`` is the first group of
    these rows or later ones; what is from ``row_fold`` on is the result.
    """
    rows, terms, sources, begin = 0, 0, 0, 0
    for row in range(first, last):
        flags, stop = heads[row, 1] >> FLAGS, end[row - first]
        if not flags & ROW_FILL and cells[row, 1] != 0:
            while group < len(groups) and groups[group, 0] < row:
                group += 1
            fold = np.int64(0)
            if own[row - first] == 3 or flags & ROW_REGISTER:
                fold = site_fold[heads[row, 1] & LOW]
            plain = stop - begin if fold == 0 else (heads[row, 1] >> 32) & COUNT
            opened = terms
            terms, sources = _form_row(
                plain, groups, group, key, begin, stop, source, role, term_sources, terms, sources
            )
            row_fold[rows], row_accumulates[rows] = fold, own[row - first] != 0
            row_terms[rows] = terms - opened
            rows += 1
        begin = stop
    return rows, terms, sources


@compiled
def count_rows(
    heads: Any,
    cells: Any,
    first: Any,
    last: Any,
    sink: Any,
    row_sink: Any,
    row_count: Any,
    row_site: Any,
    versions: Any,
    producer: Any,
) -> Any:
    """Fill sinks, counts and sites of the rows that happened, and add them up; return how many there are."""
    rows = 0
    for row in range(first, last):
        if cells[row, 1] == 0 or (heads[row, 1] >> FLAGS) & ROW_FILL:
            continue
        v, site = sink[row - first], heads[row, 1] & LOW
        row_sink[rows], row_count[rows], row_site[rows] = v, cells[row, 1], site
        versions[v] += cells[row, 1]
        if producer[v] < 0:
            producer[v] = site
        rows += 1
    return rows


@compiled
def next_filled(
    fills: Any,
    fill: Any,
    dense: Any,
    starts: Any,
    length: Any,
    base: Any,
    vertex: Any,
    home: Any,
    count: Any,
    site: Any,
) -> Any:
    """Fill vertices, counts and sites of the homes that fills cover.

    Args:
        fills: int64[n, 4]: first word, words, count, site.
        fill: Fill to begin with.
        dense: 0, or the dense word at which to go on.
        starts: Ranges, as the next two.
        length: int64.
        base: int64.
        vertex: int32, per dense word.
        home: int32, result.
        count: int64, result.
        site: int32, result.

    Returns:
        How many, and the fill and the dense word to go on with when the results are full.
    """
    found = 0
    while fill < len(fills):
        first = fills[fill, 0]
        last = first + fills[fill, 1]
        c = np.searchsorted(starts, first, side="right") - 1
        while c < len(base) and starts[c] < last:
            low, high = max(first, starts[c]), min(last, starts[c] + length[c])
            for d in range(max(dense, base[c] + low - starts[c]), base[c] + high - starts[c]):
                if vertex[d] < 0:
                    continue
                if found == len(home):
                    return found, fill, d
                home[found], count[found], site[found] = vertex[d], fills[fill, 2], fills[fill, 3]
                found += 1
            c += 1
        fill += 1
        dense = 0
    return found, fill, dense


@compiled
def add_share(row_site: Any, row_count: Any, row_terms: Any, per_site: Any) -> None:
    """Add the terms that were computed to the sum of each site."""
    for row in range(len(row_site)):
        per_site[row_site[row]] += row_count[row] * max(row_terms[row], 1)


@compiled
def add_work(row_sink: Any, row_site: Any, row_count: Any, row_terms: Any, rate: Any, work: Any) -> None:
    """Add the operations of each row to its sink: the rate of its site for each term that was computed."""
    for row in range(len(row_sink)):
        work[row_sink[row]] += row_count[row] * max(row_terms[row], 1) * rate[row_site[row]]
