"""Compiled loops over stretches of rows: finding lines, and the parts of them that several owners share.

A table of stretches has a line of six numbers for each, and one behind the last::

    ROW, TERM, FLOW   before the stretch
    ROUNDS            of a line; 0: the rows are loose
    LANE              first of its lanes
    TILE              first of its coarse vertices

In a *line* every round has as many rows, and each row as many terms and sources, as in the round before,
and every sink and source is a fixed step away from what it was there: its *lanes* are the vertices of the
first round and the steps. Of loose rows the coarse vertices of their sinks are listed, and that of hubs where
a sink or a source is one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.foundation.compiled import compiled, compiled_in_place

COLUMNS = 6
ROW, TERM, FLOW, ROUNDS, LANE, TILE = range(COLUMNS)
LEAST_ROUNDS = 8  # fewer are loose
_MOST_ROWS = 256  # of a round
_BLOCK = 256  # rows and flows of loose rows that are looked at together
_PATIENCE = 16  # rows looked at in vain per row
_RECENT = 8  # coarse vertices among which one is looked for before it is listed again
SPACING = 64  # of vertices of which it is kept where their owners end
_GAP = 64  # rows and flows between two ranges that are better expanded, too
MOST_JOINED = 1 << 18  # rows and flows of ranges that are made one: a range is expanded as a whole


@compiled_in_place
def _is_alike(q: Any, r: Any, term_ptr: Any, source_ptr: Any) -> Any:
    """Two rows have as many terms and sources."""
    if term_ptr[q + 1] - term_ptr[q] != term_ptr[r + 1] - term_ptr[r]:
        return False
    flows = source_ptr[term_ptr[q + 1]] - source_ptr[term_ptr[q]]
    return flows == source_ptr[term_ptr[r + 1]] - source_ptr[term_ptr[r]]


@compiled_in_place
def _goes_on(q: Any, rows: Any, row_sink: Any, term_ptr: Any, source_ptr: Any, source: Any) -> Any:
    """The vertices of row ``q`` are as far from those a round before as these from those before them."""
    if row_sink[q] - row_sink[q - rows] != row_sink[q - rows] - row_sink[q - 2 * rows]:
        return False
    now, then = source_ptr[term_ptr[q]], source_ptr[term_ptr[q - rows]]
    first = source_ptr[term_ptr[q - 2 * rows]]
    for i in range(source_ptr[term_ptr[q + 1]] - now):
        if source[now + i] - source[then + i] != source[then + i] - source[first + i]:
            return False
    return True


@compiled_in_place
def _rounds(r: Any, rows: Any, row_sink: Any, term_ptr: Any, source_ptr: Any, source: Any) -> Any:
    """Return how many rounds of ``rows`` rows a line at row ``r`` has."""
    q = r + rows
    while q < len(row_sink) and _is_alike(q, q - rows, term_ptr, source_ptr):
        if q >= r + 2 * rows and not _goes_on(q, rows, row_sink, term_ptr, source_ptr, source):
            break
        q += 1
    return (q - r) // rows


@compiled_in_place
def _next_of_site(r: Any, row_site: Any) -> Any:
    """Return how many rows later the site of row ``r`` comes again, 0 if it does not soon."""
    for q in range(r + 1, min(r + _MOST_ROWS + 1, len(row_site))):
        if row_site[q] == row_site[r]:
            return q - r
    return 0


@compiled_in_place
def _best_line(r: Any, row_sink: Any, row_site: Any, term_ptr: Any, source_ptr: Any, source: Any) -> Any:
    """Return rounds and rows per round of the line at row ``r``, and rows looked at in vain.

    There are no rounds if they would be too few.
    """
    rounds = _rounds(r, 1, row_sink, term_ptr, source_ptr, source)
    if rounds >= LEAST_ROUNDS:
        return rounds, 1, 0
    rows = _next_of_site(r, row_site)
    if rows < 2:
        return 0, 1, rounds
    rounds = _rounds(r, rows, row_sink, term_ptr, source_ptr, source)
    if rounds >= LEAST_ROUNDS:
        return rounds, rows, 0
    return 0, rows, rows * rounds


@compiled_in_place
def _write_lanes(r: Any, rows: Any, row_sink: Any, term_ptr: Any, source_ptr: Any, source: Any, lane: Any,
                 at: Any) -> Any:  # fmt: skip
    """Write the lanes of ``rows`` rows from row ``r`` on; return the place behind them."""
    for q in range(r, r + rows):
        lane[at, 0], lane[at, 1] = row_sink[q], row_sink[q + rows] - row_sink[q]
        at += 1
        first, then = source_ptr[term_ptr[q]], source_ptr[term_ptr[q + rows]]
        for i in range(source_ptr[term_ptr[q + 1]] - first):
            lane[at, 0], lane[at, 1] = source[first + i], source[then + i] - source[first + i]
            at += 1
    return at


@compiled_in_place
def _list_tile(k: Any, tile: Any, first: Any, at: Any) -> Any:
    """List a coarse vertex unless it was listed lately; return the end of the list."""
    for i in range(max(first, at - _RECENT), at):
        if tile[i] == k:
            return at
    tile[at] = k
    return at + 1


@compiled_in_place
def _list_tiles(r: Any, row_sink: Any, term_ptr: Any, source_ptr: Any, source: Any, vertex: Any, hubs: Any,
                tile: Any, first: Any, at: Any) -> Any:  # fmt: skip
    """List the coarse vertices of a loose row; return the end of the list."""
    k = vertex[row_sink[r]]
    at = _list_tile(k if k >= 0 else hubs, tile, first, at)
    for i in range(source_ptr[term_ptr[r]], source_ptr[term_ptr[r + 1]]):
        if vertex[source[i]] < 0:
            return _list_tile(hubs, tile, first, at)
    return at


@compiled_in_place
def find_stretches(
    row_sink: Any,
    row_site: Any,
    term_ptr: Any,
    source_ptr: Any,
    source: Any,
    vertex: Any,
    hubs: Any,
    table: Any,
    lane: Any,
    tile: Any,
) -> Any:
    """Write the stretches of a slice; return how many there are, lanes, and coarse vertices.

    Args:
        row_sink: Columns of the slice.
        row_site: As above.
        term_ptr: As above.
        source_ptr: As above.
        source: As above.
        vertex: Coarse vertex of each vertex, negative for hubs.
        hubs: What stands for hubs among coarse vertices.
        table: int64[R, 6], result; positions within the slice.
        lane: int32[., 2], result: vertex in the first round, and step.
        tile: int32, result.
    """
    n, lanes, tiles, r = 0, 0, 0, 0
    size = _BLOCK  # of the loose rows before; none
    retry = 0  # rows before it are not tried: few that were looked at in vain are looked at again
    while r < len(row_sink):
        rounds, rows = 0, 1
        if r >= retry:
            rounds, rows, vain = _best_line(r, row_sink, row_site, term_ptr, source_ptr, source)
            retry = r + 1 + vain // _PATIENCE
        flow = source_ptr[term_ptr[r]]
        if rounds > 0 or size >= _BLOCK:
            table[n, ROW], table[n, TERM], table[n, FLOW] = r, term_ptr[r], flow
            table[n, ROUNDS], table[n, LANE], table[n, TILE] = rounds, lanes, tiles
            n += 1
            size = 0
        if rounds > 0:
            lanes = _write_lanes(r, rows, row_sink, term_ptr, source_ptr, source, lane, lanes)
            r += rounds * rows
            size = _BLOCK
            continue
        first = table[n - 1, TILE]
        tiles = _list_tiles(r, row_sink, term_ptr, source_ptr, source, vertex, hubs, tile, first, tiles)
        size += 1 + source_ptr[term_ptr[r + 1]] - flow
        r += 1
    return n, lanes, tiles


@compiled
def note_ends(owner: Any, before: Any, behind: Any) -> None:
    """Fill where the run of equal owners around a vertex ends: the last vertex before it, the first behind.

    Args:
        owner: int32[V].
        before: int32[V // SPACING + 1], result, for every SPACING-th vertex; not filled if empty.
        behind: int32[V // SPACING + 1], result, likewise.
    """
    end = len(owner)
    for v in range(len(owner) - 1, -1, -1):
        if v + 1 < end and owner[v + 1] != owner[v]:
            end = v + 1
        if v % SPACING == 0:
            behind[v // SPACING] = end
    end = -1
    for v in range(len(owner) if len(before) > 0 else 0):
        if v > 0 and owner[v - 1] != owner[v]:
            end = v - 1
        if v % SPACING == 0:
            before[v // SPACING] = end


@compiled_in_place
def _end_behind(v: Any, owner: Any, behind: Any) -> Any:
    """Return the first vertex behind ``v`` with another owner, or the number of vertices."""
    w = v
    while w < len(owner) and w % SPACING != 0:
        w += 1
        if w < len(owner) and owner[w] != owner[v]:
            return w
    return w if w == len(owner) else np.int64(behind[w // SPACING])


@compiled_in_place
def _end_before(v: Any, owner: Any, before: Any) -> Any:
    """Return the last vertex before ``v`` with another owner, or -1."""
    w = v
    while w % SPACING != 0:
        w -= 1
        if owner[w] != owner[v]:
            return w
    return np.int64(before[w // SPACING])


@compiled_in_place
def _segment(lane: Any, first: Any, last: Any, i: Any, n: Any, owner: Any, limit: Any, before: Any,
             behind: Any) -> Any:  # fmt: skip
    """Return for how many rounds from ``i`` on, at most ``n``, owners stay, and whether there are several."""
    home, is_shared = -1, False
    for k in range(first, last):
        step = np.int64(lane[k, 1])
        v = lane[k, 0] + i * step
        if step > 0:
            n = min(n, (_end_behind(v, owner, behind) - v + step - 1) // step)
        elif step < 0:
            n = min(n, (v - _end_before(v, owner, before) - step - 1) // -step)
        q = owner[v]
        if 0 <= q < limit:
            is_shared = is_shared or (home >= 0 and home != q)
            home = q
    return n, is_shared


@compiled_in_place
def _put(table: Any, e: Any, i: Any, j: Any, out: Any, found: Any) -> Any:
    """Add rounds ``i`` to ``j - 1`` of stretch ``e`` to the ranges; return how many there are."""
    rounds = max(table[e, ROUNDS], 1)
    gap, size = 0, 0
    for axis in range(FLOW + 1):
        per_round = (table[e + 1, axis] - table[e, axis]) // rounds
        out[axis, found] = table[e, axis] + i * per_round
        out[FLOW + 1 + axis, found] = table[e, axis] + j * per_round
        if found > 0 and axis != TERM:
            gap += out[axis, found] - out[FLOW + 1 + axis, found - 1]
            size += out[FLOW + 1 + axis, found] - out[axis, found - 1]
    if found > 0 and gap <= _GAP and size <= MOST_JOINED:
        for axis in range(FLOW + 1):
            out[FLOW + 1 + axis, found - 1] = out[FLOW + 1 + axis, found]
        return found
    return found + 1


@compiled_in_place
def shared_ranges(
    table: Any,
    lane: Any,
    tile: Any,
    owner: Any,
    limit: Any,
    before: Any,
    behind: Any,
    is_wanted: Any,
    begin: Any,
    begin_round: Any,
    found: Any,
    out: Any,
) -> Any:
    """Write the ranges of rows that several owners share; return how many, and where it stopped.

    That is a stretch and a round of it: where ``out`` was full, or behind the last stretch.

    Args:
        table: int64[n + 1, 6].
        lane: int32[., 2].
        tile: int32.
        owner: int32[V].
        limit: Values with an owner from it on, or with a negative one, share nothing with anybody.
        before: Result of :func:`note_ends`; only used where steps are negative.
        behind: As above.
        is_wanted: bool, coarse vertices of which loose rows are wanted; the last stands for hubs.
        begin: Stretch to begin with.
        begin_round: Its round to begin with.
        found: Ranges that were found before.
        out: int64[6, .], result: row, term and flow before each range and at its end.
    """
    for e in range(begin, len(table) - 1):
        rounds, i = table[e, ROUNDS], begin_round if e == begin else 0
        if found == out.shape[1]:
            return found, e, i
        if rounds == 0:
            for k in range(table[e, TILE], table[e + 1, TILE]):
                if is_wanted[tile[k]]:
                    found = _put(table, e, 0, 1, out, found)
                    break
        while i < rounds:
            if found == out.shape[1]:
                return found, e, i
            n, is_shared = _segment(
                lane, table[e, LANE], table[e + 1, LANE], i, rounds - i, owner, limit, before, behind
            )
            if is_shared:
                found = _put(table, e, i, i + n, out, found)
            i += n
    return found, len(table) - 1, 0
