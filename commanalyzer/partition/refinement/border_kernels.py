"""Compiled loops over the values of a large graph beside borders.

vertex[v]   coarse vertex of value v, -1 for hubs
anchor[v]   the value whose owner v gets
number[v]   vertex of the hypergraph: parts first, then groups that move together, then hubs
"""

from __future__ import annotations

from typing import Any

from commanalyzer.foundation.compiled import compiled, compiled_in_place


@compiled
def mark_mixed(vertex: Any, part: Any, coarse: Any, mixed: Any) -> None:
    """Note the last part of each coarse vertex in ``coarse`` (-1 before), mark those with several."""
    for v in range(len(vertex)):
        k = vertex[v]
        if k < 0:
            continue
        if coarse[k] >= 0 and coarse[k] != part[v]:
            mixed[k] = True
        coarse[k] = part[v]


@compiled
def list_movable(vertex: Any, anchor: Any, beside: Any, chosen: Any) -> Any:
    """Write the anchors in the marked coarse vertices to ``chosen``; return how many."""
    n = 0
    for v in range(len(vertex)):
        if vertex[v] >= 0 and beside[vertex[v]] and anchor[v] == v:
            chosen[n] = v
            n += 1
    return n


@compiled_in_place
def mark_ends(rows: Any, vertex: Any, anchor: Any, part: Any, marked: Any) -> None:
    """Mark the anchors at both ends of the flows between parts, of a slice of rows."""
    for r in range(len(rows.row_sink)):
        sink = rows.row_sink[r]
        if vertex[sink] < 0:
            continue
        for i in range(rows.source_ptr[rows.term_ptr[r]], rows.source_ptr[rows.term_ptr[r + 1]]):
            s = rows.source[i]
            if vertex[s] >= 0 and part[s] != part[sink]:
                marked[anchor[s]] = True
                marked[anchor[sink]] = True


@compiled
def number_values(vertex: Any, anchor: Any, single: Any, part: Any, num_parts: Any, number: Any) -> None:
    """Number values like their anchors (``single``) if these may move, like their parts if not, hubs -1."""
    for v in range(len(vertex)):
        if vertex[v] < 0:
            number[v] = -1
        elif single[anchor[v]] < num_parts:
            number[v] = part[v]
        else:
            number[v] = single[anchor[v]]


@compiled
def add_work(number: Any, work_flops: Any, work: Any) -> None:
    """Add the work of each value that is no hub to that of its number."""
    for v in range(len(number)):
        if number[v] < len(work):
            work[number[v]] += work_flops[v]
