"""Compiled passes over the flows of a large graph: what follows what, and bytes between places.

Each pass takes the rows of one slice; what it adds up is kept in arrays over the vertices. Nothing here is as
large as the flows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.compiled import compiled, compiled_in_place
from commanalyzer.graph.contraction.kernels import root
from commanalyzer.graph.value_graph import Bool, Int32

_UNKNOWN, _ON_PATH = -1, -2
TO_ARRAY, TO_PRIVATE, TO_SUM = 3, 2, 1  # reasons to follow a reader, the best is the largest


class ReaderNotes(NamedTuple):
    """What passes note of the V values."""

    follow: Int32  # [V], the best reader to follow, -1 for none
    rank: NDArray[np.int8]  # [V], the reason for it
    several: Bool  # [V], whether another may be followed, too
    computed: Bool  # [V], whether it is computed from others
    readers: Int32  # [V], source entries that read it
    most: Int32  # [V], largest count of a row that reads it
    most_folded: Int32  # [V], largest count of a reduction into it


@compiled_in_place
def note_readers(rows: Any, private: Any, removed: Any, uses: Any) -> None:
    """Note for every vertex the best reader to follow, the number of readers, and how often rows use it.

    Of readers for the same reason the first vertex is best, so that the order of rows does not matter.
    """
    follow, rank, several, computed, readers, most, most_folded = uses
    for r in range(len(rows.row_sink)):
        sink = rows.row_sink[r]
        folds = rows.row_fold[r] != 0
        first, last = rows.source_ptr[rows.term_ptr[r]], rows.source_ptr[rows.term_ptr[r + 1]]
        if last > first:
            computed[sink] = True
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
                several[s] = True
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


@compiled_in_place
def note_exits(rows: Any, anchor: Any, private: Any, leads_to: Any) -> None:
    """Note for each private anchor the first anchor that something which follows it is read for; -1 for none.

    Anchors that are not private come before those that are.
    """
    for r in range(len(rows.row_sink)):
        reader = anchor[rows.row_sink[r]]
        for i in range(rows.source_ptr[rows.term_ptr[r]], rows.source_ptr[rows.term_ptr[r + 1]]):
            a = anchor[rows.source[i]]
            if a == reader or not private[a]:
                continue
            best = leads_to[a]
            if best < 0 or (private[reader], reader) < (private[best], best):
                leads_to[a] = reader


@compiled
def find_anchors(parent: Any, anchor: Any) -> None:
    """Fill ``anchor`` with the end of the chain of parents of each vertex; a cycle ends where it is entered.

    A vertex that is its own parent ends a chain.
    """
    anchor[:] = _UNKNOWN
    for v in range(len(parent)):
        u = v
        while anchor[u] == _UNKNOWN and parent[u] != u:
            anchor[u] = _ON_PATH
            u = parent[u]
        if anchor[u] == _UNKNOWN:
            anchor[u] = u
        root = u if anchor[u] == _ON_PATH else anchor[u]
        u = v
        while anchor[u] == _ON_PATH:
            anchor[u] = root
            u = parent[u]


@compiled
def flow_bytes(count: Any, versions: Any, width_bytes: Any) -> Any:
    """Return the bytes of a flow that happens ``count`` times; a row cannot use more versions than exist."""
    return min(count, max(versions, 1)) * np.int64(width_bytes)


@compiled
def add_across(rows: Any, versions: Any, width: Any, places: Any, latest: Any, across: Any) -> None:
    """Add the bytes of a slice between different places to ``across`` (int64[P]); once to each, nearly.

    ``places`` (int32[P, V]) are in several ways; values with a place below 0 in the last are not counted.
    ``latest`` (int32[P, V]) is where each value was sent to last, -1 before: it is not sent there again.
    """
    for r in range(len(rows.row_sink)):
        k = rows.row_sink[r]
        first, end = rows.source_ptr[rows.term_ptr[r]], rows.source_ptr[rows.term_ptr[r + 1]]
        for i in range(first, end if places[-1, k] >= 0 else first):
            s = rows.source[i]
            if places[-1, s] >= 0:
                volume = flow_bytes(rows.row_count[r], versions[s], width[s])
                for p in range(len(across)):
                    if places[p, s] != places[p, k] and latest[p, s] != places[p, k]:
                        latest[p, s] = places[p, k]
                        across[p] += volume
