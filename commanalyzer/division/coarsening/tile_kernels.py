"""Compiled passes over the flows of a large graph: what follows what.

Each pass takes the rows of one slice; what it adds up is kept in arrays over the vertices. Nothing here is as
large as the flows.
"""

from __future__ import annotations

from typing import Any

from commanalyzer.foundation.compiled import compiled, compiled_in_place
from commanalyzer.graph.contraction.contract_kernels import root

EMPTY = -1
_ON_PATH = -2
TO_ARRAY, TO_PRIVATE, TO_SUM = 3, 2, 1  # reasons to follow a reader, the best is the largest
NO_KIND = 2  # of hubs: neither a task nor a place of one


@compiled_in_place
def note_readers(
    rows: Any, private: Any, removed: Any, follow: Any, rank: Any, several: Any, computed: Any, readers: Any,
    most: Any, most_folded: Any,
) -> None:  # fmt: skip
    """Note for every vertex the best reader to follow, the number of readers, and how often rows use it.

    Of readers for the same reason the first vertex is best, so that the order of rows does not matter.
    """
    for r in range(len(rows.row_sink)):
        sink = rows.row_sink[r]
        folds = rows.row_fold[r] != 0
        first, last = rows.source_ptr[rows.term_ptr[r]], rows.source_ptr[rows.term_ptr[r + 1]]
        if last > first:
            computed[sink] = 1
        count = min(rows.row_count[r], 2147483647)
        if folds:
            most_folded[sink] = max(most_folded[sink], count)
        reason = TO_SUM if folds else (TO_PRIVATE if private[sink] else TO_ARRAY)
        for i in range(first, last):
            s = rows.source[i]
            readers[s] += 1
            most[s] = max(most[s], count)
            if removed[s] or removed[sink] or s == sink:
                continue
            if follow[s] >= 0 and follow[s] != sink:
                several[s] = 1
            if reason > rank[s] or (reason == rank[s] and sink < follow[s]):
                rank[s] = reason
                follow[s] = sink


@compiled_in_place
def unite(rows: Any, private: Any, parent: Any, size: Any, most: Any) -> None:
    """Join private values that feed each other into tasks of at most ``most`` values, first value as root."""
    for r in range(len(rows.row_sink)):
        if not private[rows.row_sink[r]]:
            continue
        for i in range(rows.source_ptr[rows.term_ptr[r]], rows.source_ptr[rows.term_ptr[r + 1]]):
            if not private[rows.source[i]]:
                continue
            one, other = root(parent, rows.row_sink[r]), root(parent, rows.source[i])
            if one != other and size[one] + size[other] <= most:
                first = min(one, other)
                size[first] = size[one] + size[other]
                parent[max(one, other)] = first


@compiled
def find_anchors(parent: Any, anchor: Any) -> None:
    """Fill ``anchor`` with the end of the chain of parents of each vertex; a cycle ends where it is entered.

    A vertex that is its own parent ends a chain.
    """
    anchor[:] = EMPTY
    for v in range(len(parent)):
        u = v
        while anchor[u] == EMPTY and parent[u] != u:
            anchor[u] = _ON_PATH
            u = parent[u]
        if anchor[u] == EMPTY:
            anchor[u] = u
        root = u if anchor[u] == _ON_PATH else anchor[u]
        u = v
        while anchor[u] == _ON_PATH:
            anchor[u] = root
            u = parent[u]
