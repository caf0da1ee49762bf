"""Numbers of distinct neighbours: value graph -> degrees, without a list of all edges.

The neighbours of a block of vertices are listed at a time. Which slices of rows a block needs is noted while
ends are counted: where vertices are numbered as the program passes over them, few slices are looked at twice.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.foundation.compiled import compiled, compiled_in_place, frozen
from commanalyzer.graph.storage.large import AnyGraph
from commanalyzer.graph.storage.slices import row_slices
from commanalyzer.graph.value_graph import Bool, Int32

SOURCES, SINKS = 1, 2  # what neighbours are to the vertex whose they are
_OF, _AMONG = 1, 2  # marks: neighbours of the vertex are counted; the vertex counts as a neighbour
BLOCK_ENDS = 1 << 24
"""Ends of flows that are listed at once, at least."""

_MOST_BLOCKS = 8  # where all vertices are in all slices, each block costs a pass
_CHUNKS = 1024  # of vertices: what is noted of a slice
_NO_ROLE = 255


def count_neighbours(
    graph: AnyGraph,
    root: Int32 | None = None,
    *,
    of: Bool | None = None,
    among: Bool | None = None,
    sides: int = SOURCES | SINKS,
    skipped_role: int = _NO_ROLE,
) -> Int32:
    """Return int32[V], distinct neighbours of each vertex.

    Args:
        graph: Value graph.
        root: int32[V], vertex that each one is merged into; None for itself.
        of: bool[V], vertices whose neighbours are counted, 0 for others; None for all.
        among: bool[V], neighbours that count; None for all.
        sides: Whether sources, sinks or both are neighbours.
        skipped_role: Role of sources that are no flows.

    Time O(S) for S flows and up to 8 passes more over them; memory 21 bytes per vertex beside a block.
    """
    v = graph.num_vertices
    stands = np.arange(v, dtype=np.int32) if root is None else root
    every = np.ones(v, np.bool_)
    marks = (every if of is None else of) * np.uint8(_OF)
    marks |= (every if among is None else among) * np.uint8(_AMONG)
    rule = (skipped_role, frozen(stands, np.int32), frozen(marks, np.uint8), sides)
    ends, bits, touched = np.zeros(v, np.uint32), max(v // _CHUNKS, 1).bit_length(), list[Bool]()
    for rows in row_slices(graph):
        touched.append(np.zeros(_CHUNKS, np.bool_))
        note_ends(rows, *rule, 0, v, ends, np.empty(0, np.int32), bits, touched[-1])
    count, seen = np.zeros(v, np.int32), np.full(v, -1, np.int32)
    total, first = np.cumsum(ends, dtype=np.int64), 0
    most = max(BLOCK_ENDS, int(total[-1:].sum()) // _MOST_BLOCKS)
    while first < v:
        before = int(total[first] - ends[first])
        last = max(int(np.searchsorted(total, before + most, side="right")), first + 1)
        block, found = ends[first:last], np.empty(int(total[last - 1]) - before, np.int32)
        place = np.cumsum(block, dtype=np.uint32) - block
        wanted = np.array([t[first >> bits : ((last - 1) >> bits) + 1].any() for t in touched])
        for rows in row_slices(graph, wanted=wanted if len(found) else np.zeros_like(wanted)):
            note_ends(rows, *rule, first, last, place, found, bits, touched[0])
        count_distinct(place, found, first, seen, count)
        first = last
    return count


@compiled_in_place
def note_ends(
    rows: Any, skipped_role: Any, root: Any, marks: Any, sides: Any, first: Any, last: Any, place: Any,
    found: Any, chunk_bits: Any, is_touched: Any,
) -> None:  # fmt: skip
    """Write the other ends of vertices ``first`` to ``last - 1`` to ``found``, move ``place`` behind them.

    If ``found`` is empty they are only counted, and the chunks of vertices that have any are marked. Each end
    of a flow is noted for the other where ``marks`` say that neighbours of the one are counted and that the
    other counts; ``root[v]`` stands for v.
    """
    for r in range(len(rows.row_sink)):
        v = root[rows.row_sink[r]]
        takes = (sides & SOURCES) != 0 and (marks[v] & _OF) != 0 and first <= v < last
        gives = (sides & SINKS) != 0 and (marks[v] & _AMONG) != 0
        if not (takes or gives):
            continue
        for i in range(rows.source_ptr[rows.term_ptr[r]], rows.source_ptr[rows.term_ptr[r + 1]]):
            u = root[rows.source[i]]
            if u == v or rows.source_role[i] == skipped_role:
                continue
            mark = marks[u]
            if takes and mark & _AMONG:
                if len(found):
                    found[place[v - first]] = u
                else:
                    is_touched[v >> chunk_bits] = True
                place[v - first] += 1
            if gives and first <= u < last and mark & _OF:
                if len(found):
                    found[place[u - first]] = v
                else:
                    is_touched[u >> chunk_bits] = True
                place[u - first] += 1


@compiled
def count_distinct(place: Any, found: Any, first: Any, seen: Any, count: Any) -> None:
    """Write how many different ends the vertices from ``first`` on have, whose lists end at ``place``.

    ``seen``: for each vertex the last one whose list it was seen in, -1 before.
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
