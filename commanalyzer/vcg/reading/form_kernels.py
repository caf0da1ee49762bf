"""Compiled loops that bring rows into final form: labels to vertices, terms, sums per vertex, in one pass.

Tables and places are those of :mod:`.trace_kernels`; *pieces* are consecutive rounds of a
range that stay coded (:mod:`commanalyzer.vcg.reading.coded_ranges`)::

    pieces  [k, 0] rows of the chunk before it    [k, 1] segment    [k, 2] first round    [k, 3] behind it
            [k, 4] rows written before it         [k, 5] terms      [k, 6] sources
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.abi.hooks import ADDRESS, CONTROL, NOTHING, REGISTER, WORD_MASK
from commanalyzer.abi.trace_layout import ROW_FILL, ROW_REGISTER, ROW_UPDATE
from commanalyzer.foundation.compiled import compiled, compiled_in_place, compiled_inline
from commanalyzer.vcg.reading.trace_kernels import CACHED, COUNT, FLAGS, LOW, NONE, find_range

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
def _note_filled(
    first: Any, count: Any, starts: Any, length: Any, base: Any, vertex: Any, state: Any
) -> None:
    """Note that ``count`` words from ``first`` on are stored to."""
    c = find_range(first, starts)
    while c < len(base) and starts[c] < first + count:
        low, high = max(first, starts[c]), min(first + count, starts[c] + length[c])
        for d in range(base[c] + low - starts[c], base[c] + high - starts[c]):
            if vertex[d] >= 0:
                state[vertex[d]] |= STORED
        c += 1


@compiled_in_place
def find_sources(label: Any, end: Any, places: Any, cache: Any) -> None:
    """Replace each label by ``vertex << 2 | role`` of what it names, -1 for nothing.

    Before anything is done with them: looking up one after the other would wait for memory every time.

    Args:
        label: int64, labels of some rows, and result.
        end: int64, end of each row's labels.
        places: Starts and base of ranges; vertices of words and of rows.
        cache: int64[CACHED], range of words that was found last, by position in a row.
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


@compiled_inline
def _write_pair(key: Any, begin: Any, stop: Any, source: Any, role: Any, sources: Any) -> Any:
    """As :func:`_write_term`, for at most two sources."""
    low = key[begin] if begin < stop else NONE
    high = key[begin + 1] if begin + 1 < stop else NONE
    if high < low:
        low, high = high, low
    if low >= 0:
        source[sources], role[sources] = low >> 2, low & 3
        sources += 1
    if high >= 0 and high >> 2 != low >> 2:
        source[sources], role[sources] = high >> 2, high & 3
        sources += 1
    return sources


@compiled_in_place
def _note_piece(piece: Any, kept: Any, state: Any) -> None:
    """Note what a piece of a range reads and stores, in the order of its rows."""
    _, first_store, sink, own, _, first_source, source = kept
    n = piece[1]
    for i in range(piece[2], piece[3]):
        for s in range(first_store[n], first_store[n + 1]):
            v = sink[s, 0] + i * sink[s, 1]
            for k in range(first_source[s], first_source[s + 1]):
                note_read(source[k, 0] + i * source[k, 1], state)
            if own[s]:
                note_read(v, state)
            state[v] |= STORED


@compiled_inline
def _count_stored(v: Any, count: Any, site: Any, versions: Any, producer: Any) -> None:
    """Count versions of a vertex; the first site that makes one is its producer."""
    versions[v] += count
    if producer[v] < 0:
        producer[v] = site


@compiled_in_place
def count_stores(
    row_sink: Any,
    row_count: Any,
    row_site: Any,
    pieces: Any,
    cells: Any,
    kept: Any,
    versions: Any,
    producer: Any,
) -> None:
    """Add up versions and find producers, in the order of rows.

    Apart from :func:`form_rows`, whose other work would wait for memory with every sink.

    Args:
        row_sink: int32, rows of a chunk.
        row_count: int64.
        row_site: int32.
        pieces: Rounds of ranges between them, as :func:`form_rows` has left them.
        cells: Cells of the whole trace.
        kept: Columns of a :class:`~commanalyzer.vcg.reading.coded_ranges.CodedRanges`.
        versions: int64, result, per vertex.
        producer: int32, result.
    """
    row_of, first_store, sink, _, site, _, _ = kept
    row = 0
    for k in range(len(pieces) + 1):
        for r in range(row, pieces[k, 4] if k < len(pieces) else len(row_sink)):
            _count_stored(row_sink[r], row_count[r], row_site[r], versions, producer)
        if k == len(pieces):
            break
        row, n = pieces[k, 4], pieces[k, 1]
        count = cells[row_of[n], 1]
        for i in range(pieces[k, 2], pieces[k, 3] if count else 0):
            for s in range(first_store[n], first_store[n + 1]):
                _count_stored(sink[s, 0] + i * sink[s, 1], count, site[s], versions, producer)


@compiled_inline
def _write_row(
    row: Any,
    begin: Any,
    sink: Any,
    own: Any,
    group: Any,
    chunk: Any,
    groups: Any,
    site_fold: Any,
    out: Any,
    ends: Any,
) -> Any:
    """Write a row whose keys are known; return the group behind it, and ends of rows, terms and sources."""
    heads, cells, origin, key, end, _ = chunk
    row_sink, row_count, row_site, row_fold, row_accumulates, row_terms, term_sources, source, role = out
    rows, terms, sources = ends
    site, count, stop = heads[row, 1] & LOW, cells[row, 1], end[row]
    fold = site_fold[site] if own == 3 or (heads[row, 1] >> FLAGS) & ROW_REGISTER else 0
    at = begin + ((heads[row, 1] >> 32) & COUNT) if fold else stop
    opened, before = terms, sources
    if at - begin <= 2:
        sources = _write_pair(key, begin, at, source, role, sources)
    else:
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
            if width <= 2:
                sources = _write_pair(key, at, at + width, source, role, sources)
            else:
                sources = _write_term(key, at, at + width, source, role, sources)
            if sources > before:
                term_sources[terms] = sources - before
                terms += 1
            at += width
        group += 1
    row_sink[rows], row_count[rows], row_site[rows] = sink, count, site
    row_fold[rows], row_accumulates[rows], row_terms[rows] = fold, own != 0, terms - opened
    return group, (rows + 1, terms, sources)


@compiled_in_place
def form_rows(
    chunk: Any,
    group: Any,
    pieces: Any,
    sinks: Any,
    groups: Any,
    places: Any,
    sites: Any,
    kept: Any,
    state: Any,
    out: Any,
) -> Any:
    """Write the rows of a chunk that happened, and note what is read and stored to.

    The plain labels of a row are one term, those of its groups several; all are one where nothing folds.

    Args:
        chunk: Heads, cells and origin of rows; sources from :func:`find_sources`, lost by the way; end and
            filled.
        group: First group of these rows or later ones.
        pieces: Rounds of ranges that stay coded; columns 4 to 6 are results.
        sinks: int32, from :func:`find_sinks`.
        groups: Groups of the whole trace.
        places: Starts, length and base of ranges; vertices of words.
        sites: Per site, label that is the sink's own version in its operation; fold.
        kept: Columns of a :class:`~commanalyzer.vcg.reading.coded_ranges.CodedRanges`.
        state: uint8, result, per vertex.
        out: Results: sink, count, site, fold, accumulates and terms of rows; sources of terms; source, role.

    Returns:
        Numbers of rows, terms and sources.
    """
    heads, cells, _, key, end, filled = chunk
    starts, length, base, vertex = places
    self_at, fold = sites
    ends = (0, 0, 0)
    begin, piece = 0, 0
    for row in range(len(heads) + 1):
        while piece < len(pieces) and pieces[piece, 0] == row:
            _note_piece(pieces[piece], kept, state)
            pieces[piece, 4], pieces[piece, 5], pieces[piece, 6] = ends
            piece += 1
        if row == len(heads):
            break
        if (heads[row, 1] >> FLAGS) & ROW_FILL:
            if cells[row, 1] != 0:
                _note_filled(heads[row, 0], filled[row], starts, length, base, vertex, state)
            continue
        sink = np.int64(sinks[row])
        own = _note_sources(
            key, begin, end[row], sink, self_at[heads[row, 1] & LOW], state, cells[row, 1] != 0
        )
        if cells[row, 1] != 0:
            state[sink] |= STORED
            group, ends = _write_row(row, begin, sink, own, group, chunk, groups, fold, out, ends)
        begin = end[row]
    return ends
