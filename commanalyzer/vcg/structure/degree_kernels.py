"""Compiled passes over the flows of a graph that list the neighbours of a range of vertices.

``root[v]`` is the vertex that stands for v. Of the two ends of a flow, each is noted for the other where
``marks`` says that neighbours of the one are counted and that the other is a neighbour that counts. Sources
with the role ``skipped_role`` are no flows.
"""

from __future__ import annotations

from typing import Any

from commanalyzer.foundation.compiled import compiled, compiled_in_place

SOURCES, SINKS = 1, 2  # what neighbours are to the vertex whose they are
OF, AMONG = 1, 2  # marks: neighbours of the vertex are counted; the vertex counts as a neighbour


@compiled_in_place
def note_ends(
    rows: Any, skipped_role: Any, root: Any, marks: Any, sides: Any, first: Any, last: Any, place: Any,
    found: Any, chunk_bits: Any, is_touched: Any,
) -> None:  # fmt: skip
    """Write the other ends of vertices ``first`` to ``last - 1`` to ``found``, move ``place`` behind them.

    If ``found`` is empty they are only counted, and the chunks of vertices that have any are marked.
    """
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
                if len(found):
                    found[place[v - first]] = u
                else:
                    is_touched[v >> chunk_bits] = True
                place[v - first] += 1
            if gives and first <= u < last and mark & OF:
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
