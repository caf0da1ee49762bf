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

from commanalyzer.foundation.compiled import compiled, compiled_in_place, compiled_inline

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


@compiled_inline
def _is_alike(rows: Any, q: Any, r: Any) -> Any:
    """Two rows have as many terms and sources."""
    if rows.term_ptr[q + 1] - rows.term_ptr[q] != rows.term_ptr[r + 1] - rows.term_ptr[r]:
        return False
    flows = rows.source_ptr[rows.term_ptr[q + 1]] - rows.source_ptr[rows.term_ptr[q]]
    return flows == rows.source_ptr[rows.term_ptr[r + 1]] - rows.source_ptr[rows.term_ptr[r]]


@compiled_inline
def _goes_on(rows: Any, q: Any, height: Any) -> Any:
    """The vertices of row ``q`` are as far from those a round before as these from those before them."""
    if (
        rows.row_sink[q] - rows.row_sink[q - height]
        != rows.row_sink[q - height] - rows.row_sink[q - 2 * height]
    ):
        return False
    now, then = rows.source_ptr[rows.term_ptr[q]], rows.source_ptr[rows.term_ptr[q - height]]
    first = rows.source_ptr[rows.term_ptr[q - 2 * height]]
    for i in range(rows.source_ptr[rows.term_ptr[q + 1]] - now):
        if rows.source[now + i] - rows.source[then + i] != rows.source[then + i] - rows.source[first + i]:
            return False
    return True


@compiled_in_place
def _rounds(rows: Any, r: Any, height: Any) -> Any:
    """Return how many rounds of ``height`` rows a line at row ``r`` has."""
    q = r + height
    while q < len(rows.row_sink) and _is_alike(rows, q, q - height):
        if q >= r + 2 * height and not _goes_on(rows, q, height):
            break
        q += 1
    return (q - r) // height


@compiled_inline
def _next_of_site(rows: Any, r: Any) -> Any:
    """Return how many rows later the site of row ``r`` comes again, 0 if it does not soon."""
    for q in range(r + 1, min(r + _MOST_ROWS + 1, len(rows.row_site))):
        if rows.row_site[q] == rows.row_site[r]:
            return q - r
    return 0


@compiled_in_place
def _best_line(rows: Any, r: Any) -> Any:
    """Return rounds and rows per round of the line at row ``r``, and rows looked at in vain.

    There are no rounds if they would be too few.
    """
    rounds = _rounds(rows, r, 1)
    if rounds >= LEAST_ROUNDS:
        return rounds, 1, 0
    height = _next_of_site(rows, r)
    if height < 2:
        return 0, 1, rounds
    rounds = _rounds(rows, r, height)
    if rounds >= LEAST_ROUNDS:
        return rounds, height, 0
    return 0, height, height * rounds


@compiled_in_place
def _write_lanes(rows: Any, r: Any, height: Any, lane: Any, at: Any) -> Any:
    """Write the lanes of ``height`` rows from row ``r`` on; return the place behind them."""
    for q in range(r, r + height):
        lane[at, 0], lane[at, 1] = rows.row_sink[q], rows.row_sink[q + height] - rows.row_sink[q]
        at += 1
        first, then = rows.source_ptr[rows.term_ptr[q]], rows.source_ptr[rows.term_ptr[q + height]]
        for i in range(rows.source_ptr[rows.term_ptr[q + 1]] - first):
            lane[at, 0], lane[at, 1] = rows.source[first + i], rows.source[then + i] - rows.source[first + i]
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


@compiled_inline
def _list_tiles(rows: Any, r: Any, vertex: Any, hubs: Any, tile: Any, first: Any, at: Any) -> Any:
    """List the coarse vertices of a loose row; return the end of the list."""
    k = vertex[rows.row_sink[r]]
    at = _list_tile(k if k >= 0 else hubs, tile, first, at)
    for i in range(rows.source_ptr[rows.term_ptr[r]], rows.source_ptr[rows.term_ptr[r + 1]]):
        if vertex[rows.source[i]] < 0:
            return _list_tile(hubs, tile, first, at)
    return at


@compiled_in_place
def find_stretches(rows: Any, vertex: Any, hubs: Any, table: Any, lane: Any, tile: Any) -> Any:
    """Write the stretches of a slice; return how many there are, lanes, and coarse vertices.

    Args:
        rows: Rows of the slice.
        vertex: Coarse vertex of each vertex, negative for hubs.
        hubs: What stands for hubs among coarse vertices.
        table: int64[R, 6], result; positions within the slice.
        lane: int32[., 2], result: vertex in the first round, and step.
        tile: int32, result.
    """
    n, lanes, tiles, r = 0, 0, 0, 0
    size = _BLOCK  # of the loose rows before; none
    retry = 0  # rows before it are not tried: few that were looked at in vain are looked at again
    while r < len(rows.row_sink):
        rounds, height = 0, 1
        if r >= retry:
            rounds, height, vain = _best_line(rows, r)
            retry = r + 1 + vain // _PATIENCE
        flow = rows.source_ptr[rows.term_ptr[r]]
        if rounds > 0 or size >= _BLOCK:
            table[n, ROW], table[n, TERM], table[n, FLOW] = r, rows.term_ptr[r], flow
            table[n, ROUNDS], table[n, LANE], table[n, TILE] = rounds, lanes, tiles
            n += 1
            size = 0
        if rounds > 0:
            lanes = _write_lanes(rows, r, height, lane, lanes)
            r += rounds * height
            size = _BLOCK
            continue
        first = table[n - 1, TILE]
        tiles = _list_tiles(rows, r, vertex, hubs, tile, first, tiles)
        size += 1 + rows.source_ptr[rows.term_ptr[r + 1]] - flow
        r += 1
    return n, lanes, tiles


@compiled
def note_ends(owner: Any, before: Any, behind: Any) -> None:
    """Fill where the run of equal owners around a vertex ends: the last vertex before it, the first behind.

    Both are int32[V // SPACING + 1], for every SPACING-th vertex; ``before`` may be empty.
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
    table: Any, lane: Any, tile: Any, owner: Any, limit: Any, before: Any, behind: Any, is_wanted: Any,
    begin: Any, begin_round: Any, found: Any, out: Any,
) -> Any:  # fmt: skip
    """Write the ranges of rows that several owners share; return how many, and where it stopped.

    That is a stretch and a round of it: where ``out`` was full, or behind the last stretch. It begins with
    round ``begin_round`` of stretch ``begin``, and ``found`` ranges from before. Values with an owner from
    ``limit`` on, or with a negative one, share nothing with anybody. ``before`` is only used where steps are
    negative. ``is_wanted``: bool, coarse vertices of which loose rows are wanted; the last stands for hubs.
    ``out``: int64[6, .], row, term and flow before each range and at its end.
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
