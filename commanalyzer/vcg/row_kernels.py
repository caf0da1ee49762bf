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

_ADDRESS_BIT, _CONTROL_BIT = ADDRESS.bit_length() - 1, CONTROL.bit_length() - 1
_INSERTED = 24  # keys that are sorted by insertion

STORED = 1  # states of vertices
FIRST_READ = 2
READ = 4


@compiled
def number_defined(heads: Any, names: Any, first_vertex: Any, vertex_of_row: Any) -> Any:
    """Number the vertices that rows define: register values, lifetimes in workspaces. Return the next one."""
    for row in range(len(heads)):
        flags = heads[row, 1] >> FLAGS
        name = names[row] if len(names) > 0 else row
        vertex_of_row[name] = NONE
        if flags & (ROW_REGISTER | ROW_TEMPORARY) and not flags & ROW_UPDATE:
            vertex_of_row[name] = first_vertex
            first_vertex += 1
    return first_vertex


@compiled
def defined_vertices(heads: Any, names: Any, vertex_of_row: Any, site: Any, slot: Any) -> None:
    """Fill the site of each vertex that a row defines, and the word it is a lifetime of, -1 for registers."""
    found = 0
    for row in range(len(heads)):
        if vertex_of_row[names[row] if len(names) > 0 else row] >= 0:
            site[found] = heads[row, 1] & LOW
            slot[found] = NONE if (heads[row, 1] >> FLAGS) & ROW_REGISTER else heads[row, 0]
            found += 1


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
    for stop in end:
        begin = at
        while at < stop:
            named = label[at]
            word = named & WORD_MASK
            v = np.int64(NONE)
            if named & REGISTER:
                if named & NOTHING != NOTHING:
                    v = np.int64(vertex_of_row[word])
            elif named != 0:
                slot = (at - begin) & (CACHED - 1)
                c = cache[slot]
                if word < starts[c] or word >= starts[c + 1]:
                    c = find_range(word, starts)
                    cache[slot] = c
                d = base[c] + word - starts[c]
                v = np.int64(vertex[d])
                if v < NONE:
                    v = np.int64(vertex[d + v + 1])
            is_address = (named >> _ADDRESS_BIT) & 1
            role = 2 * is_address | (~is_address & (named >> _CONTROL_BIT) & 1)
            key[at] = (v << 2) | role if v >= 0 else NONE
            at += 1


@compiled
def sinks_of(
    heads: Any,
    name: Any,
    starts: Any,
    base: Any,
    vertex: Any,
    vertex_of_row: Any,
    sink: Any,
) -> None:
    """Fill ``sink`` with the sink vertex of each row, -1 for fills; ``name`` is what labels call it."""
    c = 0
    for row in range(len(heads)):
        flags, word = heads[row, 1] >> FLAGS, heads[row, 0]
        v = np.int64(vertex_of_row[name[row]])
        if flags & ROW_UPDATE:
            v = np.int64(vertex_of_row[word])
        elif v < 0 and not flags & ROW_FILL:
            if word < starts[c] or word >= starts[c + 1]:
                c = find_range(word, starts)
            v = np.int64(vertex[base[c] + word - starts[c]])  # what is stored to is no part of a home
        sink[row] = v


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
    for i in range(len(heads)):
        own[i] = 0
        if (heads[i, 1] >> FLAGS) & ROW_FILL:
            _note_filled(heads[i, 0], filled[i], starts, length, base, vertex, state)
        else:
            own[i] = _note_sources(key, begin, end[i], sink[i], site_self[heads[i, 1] & LOW], state)
            state[sink[i]] |= STORED
        begin = end[i]


@compiled
def split_rows(
    heads: Any,
    cells: Any,
    origin: Any,
    end: Any,
    own: Any,
    groups: Any,
    group: Any,
    site_fold: Any,
    row_fold: Any,
    row_accumulates: Any,
    row_terms: Any,
    term_begin: Any,
    term_end: Any,
) -> Any:
    """Cut the rows that happened into terms; return numbers of rows and terms.

    The plain labels of a row are one term, those of its groups several; all are one where nothing folds.
    ``origin`` are the rows of the trace, ``group`` is the first group of these or later ones; what is from
    ``row_fold`` on is the result, with terms that may turn out to be empty.
    """
    rows, terms, begin = 0, 0, 0
    for row in range(len(heads)):
        flags, stop = heads[row, 1] >> FLAGS, end[row]
        if not flags & ROW_FILL and cells[row, 1] != 0:
            fold = np.int64(0)
            if own[row] == 3 or flags & ROW_REGISTER:
                fold = site_fold[heads[row, 1] & LOW]
            opened = terms
            at = begin + ((heads[row, 1] >> 32) & COUNT) if fold != 0 else stop
            term_begin[terms], term_end[terms] = begin, at
            terms += 1
            while at < stop:
                while groups[group, 0] < origin[row]:
                    group += 1
                width = groups[group, 3] & LOW
                for _ in range(groups[group, 2]):
                    term_begin[terms], term_end[terms] = at, at + width
                    at += width
                    terms += 1
                group += 1
            row_fold[rows], row_accumulates[rows] = fold, own[row] != 0
            row_terms[rows] = terms - opened
            rows += 1
        begin = stop
    return rows, terms


@compiled
def sort_terms(term_begin: Any, term_end: Any, key: Any) -> None:
    """Sort the keys of each term, with labels that name nothing out; ``term_end`` is changed."""
    for term in range(len(term_begin)):
        begin = term_begin[term]
        stop = begin
        for i in range(begin, term_end[term]):
            moved = key[i]
            if moved < 0:
                continue
            j = stop
            if stop - begin < _INSERTED:
                while j > begin and key[j - 1] > moved:
                    key[j] = key[j - 1]
                    j -= 1
            key[j] = moved
            stop += 1
        term_end[term] = stop
        if stop - begin > _INSERTED:
            key[begin:stop] = np.sort(key[begin:stop])


@compiled
def write_terms(
    term_begin: Any, term_end: Any, key: Any, row_terms: Any, term_sources: Any, source: Any, role: Any
) -> Any:
    """Write the distinct sources of terms, each with its strongest role; return numbers of terms and sources.

    ``row_terms`` becomes the number of terms that have any.
    """
    term, terms, sources = 0, 0, 0
    for row in range(len(row_terms)):
        opened = terms
        for _ in range(row_terms[row]):
            first, last = sources, np.int64(NONE)
            for i in range(term_begin[term], term_end[term]):
                if key[i] >> 2 != last:
                    last = key[i] >> 2
                    source[sources], role[sources] = last, key[i] & 3
                    sources += 1
            term += 1
            if sources > first:
                term_sources[terms] = sources - first
                terms += 1
        row_terms[row] = terms - opened
    return terms, sources


@compiled
def count_rows(
    heads: Any,
    cells: Any,
    sink: Any,
    row_sink: Any,
    row_count: Any,
    row_site: Any,
    versions: Any,
    producer: Any,
) -> Any:
    """Fill sinks, counts and sites of the rows that happened, and add them up; return how many there are."""
    rows = 0
    for row in range(len(heads)):
        if cells[row, 1] == 0 or (heads[row, 1] >> FLAGS) & ROW_FILL:
            continue
        v, site = sink[row], heads[row, 1] & LOW
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
