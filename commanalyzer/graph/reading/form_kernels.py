"""Compiled loops that bring rows into final form: labels to vertices, terms, sums per vertex, in one pass.

Tables and places are those of :mod:`.trace_kernels`. Also a loop over the order of events. *Events* are rows
of the trace (not negative) and marks: ``INSIDE`` and ``OUTSIDE`` of the analysed region, and ``EARLIER -
vertex``: the next row reads an earlier version of this vertex, which the next entry says.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from commanalyzer.foundation.compiled import compiled, compiled_in_place, compiled_inline
from commanalyzer.graph.reading.trace_kernels import CACHED, COUNT, FLAGS, LOW, NONE, find_range
from commanalyzer.graph.value_graph import Int32, Int64
from commanalyzer.recording.abi import (
    ADDRESS,
    CONTROL,
    NOTHING,
    ORDER_EARLIER,
    ORDER_INSIDE,
    ORDER_OUTSIDE,
    REGISTER,
    ROW_FILL,
    ROW_REGISTER,
    ROW_UPDATE,
    WORD_MASK,
)

STORED = 1  # states of vertices
FIRST_READ = 2
READ = 4

_ADDRESS_BIT, _CONTROL_BIT = ADDRESS.bit_length() - 1, CONTROL.bit_length() - 1
_INSERTED = 24  # keys that are sorted by insertion


@compiled_inline
def role_of(named: Any) -> Any:
    """Role of a label."""
    is_address = (named >> _ADDRESS_BIT) & 1
    return 2 * is_address | (~is_address & (named >> _CONTROL_BIT) & 1)


@compiled_inline
def vertex_at(dense: Any, vertex: Any) -> Any:
    """Vertex of a dense word, that of its home where it is part of one."""
    v = np.int64(vertex[dense])
    return np.int64(vertex[dense + v + 1]) if v < NONE else v


@compiled_inline
def note_read(v: Any, state: Any) -> None:
    """Note that a vertex is read."""
    known = state[v]
    state[v] = known | READ if known & STORED else known | READ | FIRST_READ


@compiled_in_place
def _note_filled(first: Any, count: Any, places: Any, state: Any) -> None:
    """Note that ``count`` words from ``first`` on are stored to."""
    starts, length, base, vertex = places
    c = find_range(first, starts)
    while c < len(base) and starts[c] < first + count:
        low, high = max(first, starts[c]), min(first + count, starts[c] + length[c])
        for d in range(base[c] + low - starts[c], base[c] + high - starts[c]):
            if vertex[d] >= 0:
                state[vertex[d]] |= STORED
        c += 1


@compiled_in_place
def find_sources(label: Any, end: Any, places: Any, cache: Any) -> None:
    """Replace each label (int64) by ``vertex << 2 | role`` of what it names, -1 for nothing.

    Before anything is done with them: looking up one after the other would wait for memory every time.
    ``end`` has the end of each row's labels; ``places`` are starts and base of ranges, vertices of words and
    of rows; ``cache`` int64[CACHED], the range of words that was found last, by position in a row.
    """
    starts, base, vertex, vertex_of_row = places
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
                v = vertex_at(base[c] + word - starts[c], vertex)
            label[at] = v << 2 | role_of(named) if v >= 0 else NONE
            at += 1


@compiled_in_place
def find_sinks(heads: Any, name: Any, places: Any, sink: Any) -> None:
    """Fill ``sink`` with the sink of each row, -1 for fills; arguments as :func:`find_sources`.

    ``name`` is what labels call each row.
    """
    starts, base, vertex, vertex_of_row = places
    c = np.int64(0)
    for row in range(len(heads)):
        word, flags = heads[row, 0], heads[row, 1] >> FLAGS
        v = np.int64(NONE)
        if flags & ROW_UPDATE:
            v = np.int64(vertex_of_row[word])
        elif not flags & ROW_FILL:
            v = np.int64(vertex_of_row[name[row]])
            if v < 0:
                if word < starts[c] or word >= starts[c + 1]:
                    c = find_range(word, starts)
                v = np.int64(vertex[base[c] + word - starts[c]])  # what is stored to is no part of a home
        sink[row] = v


@compiled_inline
def _note_sources(
    key: Any, begin: Any, stop: Any, sink: Any, self_at: Any, state: Any, has_happened: Any
) -> Any:
    """Note that the sources of a row are read if it has happened; keys of the sink itself become -1.

    Return 0 if there are none, 3 if the one at ``self_at`` is, else 1.
    """
    own = 0
    for at in range(begin, stop):
        v = key[at] >> 2
        if v >= 0:
            if has_happened:
                note_read(v, state)
            if v == sink:
                own |= 3 if at - begin == self_at else 1
                key[at] = NONE
    return own


@compiled
def _sort(key: Any, begin: Any, end: Any) -> None:
    """Sort a part of ``key``."""
    key[begin:end].sort()


@compiled_in_place
def _write_term(key: Any, begin: Any, stop: Any, source: Any, role: Any, sources: Any) -> Any:
    """Write the distinct sources of a term in order, each with its strongest role; return their end."""
    end = begin
    for i in range(begin, stop):
        moved = key[i]
        if moved < 0:
            continue
        j = end
        if end - begin < _INSERTED:
            while j > begin and key[j - 1] > moved:
                key[j] = key[j - 1]
                j -= 1
        key[j] = moved
        end += 1
    if end - begin > _INSERTED:
        _sort(key, begin, end)
    last = np.int64(NONE)
    for i in range(begin, end):
        if key[i] >> 2 != last:
            last = key[i] >> 2
            source[sources], role[sources] = last, key[i] & 3
            sources += 1
    return sources


@compiled_in_place
def count_stores(row_sink: Any, row_count: Any, row_site: Any, versions: Any, producer: Any) -> None:
    """Add up ``versions`` and find producers, the first sites that make one, in the order of rows.

    Apart from :func:`form_rows`, whose other work would wait for memory with every sink.
    """
    for r in range(len(row_sink)):
        v = row_sink[r]
        versions[v] += row_count[r]
        if producer[v] < 0:
            producer[v] = row_site[r]


class Read(NamedTuple):
    """R rows of a chunk whose labels were looked up."""

    heads: Int64  # [R, 2]
    cells: Int64  # [R, 2]
    origin: Int64  # [R], row of the trace
    key: Int64  # sources from :func:`find_sources`, lost by the way
    end: Int64  # [R], where the sources of each row end
    filled: Int64  # [R], words that each fill covers
    sinks: Int32  # [R], from :func:`find_sinks`
    groups: Int64  # of the whole trace


@compiled_inline
def _write_row(row: Any, own: Any, group: Any, read: Any, fold: Any, out: Any, ends: Any) -> Any:
    """Write a row whose keys are known; return the group behind it, and ends of rows, terms and sources."""
    heads, cells, origin, key, end, _, sinks, groups = read
    row_sink, row_count, row_site, row_fold, row_accumulates, row_terms, term_sources, source, role = out
    rows, terms, sources = ends
    begin, stop = end[row - 1] if row else 0, end[row]
    at = begin + ((heads[row, 1] >> 32) & COUNT) if fold else stop
    opened, before = terms, sources
    sources = _write_term(key, begin, at, source, role, sources)
    if sources > before:
        term_sources[terms] = sources - before
        terms += 1
    if at < stop:
        while groups[group, 0] < origin[row]:
            group += 1
    while at < stop:
        width = groups[group, 3] & LOW
        for _ in range(groups[group, 2]):
            before = sources
            sources = _write_term(key, at, at + width, source, role, sources)
            if sources > before:
                term_sources[terms] = sources - before
                terms += 1
            at += width
        group += 1
    row_sink[rows], row_count[rows], row_site[rows] = sinks[row], cells[row, 1], heads[row, 1] & LOW
    row_fold[rows], row_accumulates[rows], row_terms[rows] = fold, own != 0, terms - opened
    return group, (rows + 1, terms, sources)


@compiled_in_place
def form_rows(read: Any, group: Any, places: Any, sites: Any, state: Any, out: Any) -> Any:
    """Write the rows of a chunk that happened, and note what is read and stored to.

    The plain labels of a row are one term, those of its groups several; all are one where nothing folds.
    ``group`` is the first group of these rows or later ones. ``sites`` are, per site, the label that is the
    sink's own version in its operation, and the fold. ``state`` (uint8, per vertex) and ``out`` are results:
    sink, count, site, fold, accumulates and terms of rows; sources of terms; source, role. Returns numbers
    of rows, terms and sources.
    """
    heads, cells, _, key, end, filled, sinks, _ = read
    self_at, site_fold = sites
    ends = (0, 0, 0)
    begin = 0
    for row in range(len(heads)):
        if (heads[row, 1] >> FLAGS) & ROW_FILL:
            if cells[row, 1] != 0:
                _note_filled(heads[row, 0], filled[row], places, state)
            continue
        sink, site = np.int64(sinks[row]), heads[row, 1] & LOW
        own = _note_sources(key, begin, end[row], sink, self_at[site], state, cells[row, 1] != 0)
        if cells[row, 1] != 0:
            state[sink] |= STORED
            fold = site_fold[site] if own == 3 or (heads[row, 1] >> FLAGS) & ROW_REGISTER else 0
            group, ends = _write_row(row, own, group, read, fold, out, ends)
        begin = end[row]
    return ends


INSIDE, OUTSIDE, EARLIER = -1, -2, -3


@compiled_in_place
def read_order(order: Any, starts: Any, base: Any, vertex: Any, event: Any) -> Any:
    """Write the section ``order`` (uint32) of a trace as events; return how many entries there are."""
    at, entries = 0, 0
    while at < len(order):
        unit = np.int64(order[at])
        at += 1
        if unit in (ORDER_INSIDE, ORDER_OUTSIDE):
            event[entries] = INSIDE if unit == ORDER_INSIDE else OUTSIDE
        elif unit == ORDER_EARLIER:
            version, word = np.int64(order[at]), np.int64(order[at + 1]) | np.int64(order[at + 2]) << 32
            c = find_range(word, starts)
            v = vertex_at(base[c] + word - starts[c], vertex)
            at += 3
            if v < 0:
                continue
            event[entries] = EARLIER - v
            entries += 1
            event[entries] = version
        else:
            event[entries] = unit
        entries += 1
    return entries
