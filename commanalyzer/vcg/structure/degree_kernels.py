"""Compiled passes over the flows of a graph that list the neighbours of a range of vertices.

``root[v]`` is the vertex that stands for v. Of the two ends of a flow, each is noted for the other where
``marks`` says that neighbours of the one are counted and that the other is a neighbour that counts. Sources
with the role ``skipped_role`` are no flows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.foundation.compiled import compiled, compiled_in_place

SOURCES, SINKS = 1, 2  # what neighbours are to the vertex whose they are
BOUNDS = 7  # what bounds need of each vertex
ENDS, OF_A_ROW, SINKS_IN_ORDER, SOURCES_IN_ORDER, LATEST_SINK, LATEST_SOURCE, LATEST_ROW = range(BOUNDS)
OF, AMONG = 1, 2  # marks: neighbours of the vertex are counted; the vertex counts as a neighbour


@compiled_in_place
def count_ends(
    rows: Any, skipped_role: Any, root: Any, marks: Any, sides: Any, chunk_bits: Any, ends: Any,
    is_touched: Any,
) -> None:  # fmt: skip
    """Add the noted ends of each vertex to ``ends``; mark the chunks of vertices that have any."""
    for r in range(len(rows.row_sink)):
        v = root[rows.row_sink[r]]
        takes = (sides & SOURCES) != 0 and (marks[v] & OF) != 0
        gives = (sides & SINKS) != 0 and (marks[v] & AMONG) != 0
        if not (takes or gives):
            continue
        taken = 0
        for i in range(rows.source_ptr[rows.term_ptr[r]], rows.source_ptr[rows.term_ptr[r + 1]]):
            u = root[rows.source[i]]
            if u == v or rows.source_role[i] == skipped_role:
                continue
            mark = marks[u]
            if mark & AMONG:
                taken += 1
            if gives and mark & OF:
                ends[u] += 1
                is_touched[u >> chunk_bits] = True
        if takes and taken:
            ends[v] += taken
            is_touched[v >> chunk_bits] = True


@compiled
def block_end(ends: Any, first: Any, most: Any) -> Any:
    """Return behind which vertex there would be more than ``most`` ends from ``first`` on, and how many."""
    v, total = first, 0
    while v < len(ends) and (v == first or total + ends[v] <= most):
        total += ends[v]
        v += 1
    return v, total


@compiled
def first_places(ends: Any, first: Any, last: Any, place: Any) -> None:
    """Fill ``place`` with where the ends of each vertex of a block begin."""
    at = 0
    for v in range(first, last):
        place[v - first] = at
        at += ends[v]


@compiled_in_place
def place_ends(
    rows: Any, skipped_role: Any, root: Any, marks: Any, sides: Any, first: Any, last: Any, place: Any,
    found: Any,
) -> None:  # fmt: skip
    """Write the other ends of vertices ``first`` to ``last - 1`` to ``found``, move ``place`` behind them."""
    for r in range(len(rows.row_sink)):
        v = root[rows.row_sink[r]]
        takes = (sides & SOURCES) != 0 and (marks[v] & OF) != 0 and first <= v < last
        gives = (sides & SINKS) != 0 and (marks[v] & AMONG) != 0
        if not (takes or gives):
            continue
        for i in range(rows.source_ptr[rows.term_ptr[r]], rows.source_ptr[rows.term_ptr[r + 1]]):
            u = root[rows.source[i]]
            if u == v or rows.source_role[i] == skipped_role:
                continue
            mark = marks[u]
            if takes and mark & AMONG:
                found[place[v - first]] = u
                place[v - first] += 1
            if gives and first <= u < last and mark & OF:
                found[place[u - first]] = v
                place[u - first] += 1


@compiled
def count_distinct(place: Any, found: Any, first: Any, seen: Any, count: Any) -> None:
    """Write how many different ends each vertex of a block has to ``count``.

    Args:
        place: End of the list of each vertex.
        found: Lists.
        first: First vertex of the block.
        seen: For each vertex the last one whose list it was seen in, -1 before.
        count: Output for all vertices.
    """
    begin = 0
    for k in range(len(place)):
        v, distinct = first + k, 0
        for i in range(begin, place[k]):
            if seen[found[i]] != v:
                seen[found[i]] = v
                distinct += 1
        count[v] = distinct
        begin = place[k]


@compiled_in_place
def note_bounds(rows: Any, root: Any, row: Any, note: Any) -> Any:
    """Note what the number of distinct neighbours of each vertex lies between; return the rows so far.

    At least as many are in one row, and at least as many sinks or sources as are above all before. If the
    numbers of rows wrap around, a neighbour may be left out, which no lower bound minds.

    Args:
        rows: Rows of the slice.
        root: The vertex that stands for each vertex, negative for those that do not count.
        row: Rows before the slice.
        note: uint32[V, BOUNDS], zeros before the first slice.
    """
    for r in range(len(rows.row_sink)):
        row += 1
        v = np.int64(root[rows.row_sink[r]])
        if v < 0:
            continue
        stamp, ends, distinct = np.uint32(row & 0xFFFFFFFF), 0, 0
        for i in range(rows.source_ptr[rows.term_ptr[r]], rows.source_ptr[rows.term_ptr[r + 1]]):
            u = root[rows.source[i]]
            if u == v or u < 0:
                continue
            ends += 1
            note[u, ENDS] += 1
            if note[u, LATEST_ROW] != stamp:
                note[u, LATEST_ROW] = stamp
                distinct += 1
                if v + 1 > note[u, LATEST_SINK]:
                    note[u, LATEST_SINK] = v + 1
                    note[u, SINKS_IN_ORDER] += 1
                if u + 1 > note[v, LATEST_SOURCE]:
                    note[v, LATEST_SOURCE] = u + 1
                    note[v, SOURCES_IN_ORDER] += 1
        note[v, ENDS] += ends
        note[v, OF_A_ROW] = max(note[v, OF_A_ROW], distinct)
    return row
