"""Compiled passes over the flows of a large graph: what follows what, links between coarse vertices.

Each pass takes the rows of one slice; what it adds up is kept in arrays over the vertices and in a hash table
that maps a pair of coarse vertices to sums. Nothing here is as large as the flows.

    table   slot h: keys[h] (-1 for an empty slot), sums[h, :]; a power of two slots, linear probing
    key     (smaller number << 32) | larger number
    number  coarse vertices 0 .. N - 1, then hubs, one number for each
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.compiled import compiled
from commanalyzer.partition.flow_bytes import flow_bytes, shared_bytes

EMPTY = -1
_ON_PATH = -2
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
TO_ARRAY, TO_PRIVATE, TO_SUM = 3, 2, 1  # reasons to follow a reader, the best is the largest


@compiled
def note_readers(
    row_sink: Any,
    row_count: Any,
    row_fold: Any,
    term_ptr: Any,
    source_ptr: Any,
    source: Any,
    private: Any,
    removed: Any,
    follow: Any,
    rank: Any,
    several: Any,
    computed: Any,
    readers: Any,
    most: Any,
    most_folded: Any,
) -> None:
    """Note for every vertex the best reader to follow, the number of readers, and how often rows use it.

    Of readers for the same reason the first vertex is best, so that the order of rows does not matter.
    """
    for r in range(len(row_sink)):
        sink = row_sink[r]
        folds = row_fold[r] != 0
        first, last = source_ptr[term_ptr[r]], source_ptr[term_ptr[r + 1]]
        if last > first:
            computed[sink] = 1
        count = min(row_count[r], 2147483647)
        if folds:
            most_folded[sink] = max(most_folded[sink], count)
        reason = TO_SUM if folds else (TO_PRIVATE if private[sink] else TO_ARRAY)
        for i in range(first, last):
            s = source[i]
            readers[s] += 1
            most[s] = max(most[s], count)
            if removed[s] or removed[sink] or s == sink:
                continue
            if follow[s] >= 0 and follow[s] != sink:
                several[s] = 1
            if reason > rank[s] or (reason == rank[s] and sink < follow[s]):
                rank[s] = reason
                follow[s] = sink


@compiled
def note_places(
    row_sink: Any,
    term_ptr: Any,
    source_ptr: Any,
    source: Any,
    removed: Any,
    leaf: Any,
    anchor: Any,
    place: Any,
    elsewhere: Any,
) -> None:
    """Note for every leaf where its first reader is anchored, and whether another reader is elsewhere."""
    for r in range(len(row_sink)):
        if removed[row_sink[r]]:
            continue
        at = anchor[row_sink[r]]
        for i in range(source_ptr[term_ptr[r]], source_ptr[term_ptr[r + 1]]):
            s = source[i]
            if leaf[s]:
                if place[s] < 0:
                    place[s] = at
                elif place[s] != at:
                    elsewhere[s] = True


@compiled
def note_producers(
    row_sink: Any,
    term_ptr: Any,
    source_ptr: Any,
    source: Any,
    removed: Any,
    readers: Any,
    anchor: Any,
    is_open: Any,
    producer: Any,
    fewest: Any,
) -> None:
    """Note for every open anchor the settled anchor that it is computed from and that has the fewest readers.

    What few others read is what belongs to it: the data of an element rather than those of its nodes.
    """
    for r in range(len(row_sink)):
        root = anchor[row_sink[r]]
        if not is_open[root]:
            continue
        for i in range(source_ptr[term_ptr[r]], source_ptr[term_ptr[r + 1]]):
            s = source[i]
            a = anchor[s]
            if removed[s] or is_open[a]:
                continue
            fewer = producer[root] < 0 or readers[s] < fewest[root]
            if fewer or (readers[s] == fewest[root] and a < producer[root]):
                producer[root] = a
                fewest[root] = readers[s]


@compiled
def _root(parent: Any, v: Any) -> Any:
    while parent[v] != v:
        parent[v] = parent[parent[v]]
        v = parent[v]
    return v


@compiled
def unite(
    row_sink: Any,
    term_ptr: Any,
    source_ptr: Any,
    source: Any,
    private: Any,
    parent: Any,
    size: Any,
    most: Any,
) -> None:
    """Join private values that feed each other into tasks of at most ``most`` values, first value as root."""
    for r in range(len(row_sink)):
        if not private[row_sink[r]]:
            continue
        for i in range(source_ptr[term_ptr[r]], source_ptr[term_ptr[r + 1]]):
            if not private[source[i]]:
                continue
            one, other = _root(parent, row_sink[r]), _root(parent, source[i])
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


@compiled
def note_parts(vertex: Any, anchor: Any, part: Any, leads: Any, coarse: Any) -> None:
    """Note a part of each coarse vertex: that of its last value with one.

    Args:
        vertex: Coarse vertex of each vertex, -1 for hubs.
        anchor: The vertex whose owner each vertex gets.
        part: Part of each vertex, -1 where it is not given.
        leads: Whether a vertex goes with its anchor if that has a part.
        coarse: Output, -1 before.
    """
    for v in range(len(vertex)):
        if vertex[v] < 0:
            continue
        found = part[anchor[v]] if leads else part[v]
        if found < 0:
            found = part[v]
        if found >= 0:
            coarse[vertex[v]] = found


@compiled
def crossing_bytes(
    row_sink: Any,
    row_count: Any,
    term_ptr: Any,
    source_ptr: Any,
    source: Any,
    versions: Any,
    width: Any,
    anchor: Any,
    tile: Any,
    removed: Any,
) -> Any:
    """Return the bytes that flow between different anchors, and those of them between different tiles."""
    between, across = 0, 0
    for r in range(len(row_sink)):
        sink = row_sink[r]
        if removed[sink]:
            continue
        k = anchor[sink]
        for i in range(source_ptr[term_ptr[r]], source_ptr[term_ptr[r + 1]]):
            s = source[i]
            a = anchor[s]
            if removed[s] or a == k:
                continue
            volume = flow_bytes(row_count[r], versions[s], width[s])
            between += volume
            if tile[a] != tile[k]:
                across += volume
    return between, across


@compiled
def slot(keys: Any, key: Any) -> Any:
    """Return the slot of ``key``, or the empty one where it belongs."""
    mask = len(keys) - 1
    mixed = np.uint64(key) * MULTIPLIER
    h = np.int64(mixed ^ (mixed >> np.uint64(32))) & mask  # both halves of the key reach the lowest bits
    while keys[h] != key and keys[h] != EMPTY:
        h = (h + 1) & mask
    return h


@compiled
def grown(keys: Any, sums: Any) -> Any:
    """Return a table of twice the slots with the same entries."""
    wider = np.full(2 * len(keys), EMPTY, np.int64)
    moved = np.zeros((2 * len(keys), sums.shape[1]), np.int64)
    for h in range(len(keys)):
        if keys[h] != EMPTY:
            at = slot(wider, keys[h])
            wider[at] = keys[h]
            moved[at] = sums[h]
    return wider, moved


@compiled
def _entry(keys: Any, sums: Any, used: Any, one: Any, other: Any) -> Any:
    """Return the table with an entry for a pair, how many it has, and the slot."""
    if 2 * used + 4 > len(keys):
        keys, sums = grown(keys, sums)
    key = (np.int64(min(one, other)) << 32) | np.int64(max(one, other))
    h = slot(keys, key)
    if keys[h] == EMPTY:
        keys[h] = key
        used += 1
    return keys, sums, used, h


@compiled
def add_links(
    row_sink: Any,
    row_count: Any,
    row_fold: Any,
    term_ptr: Any,
    source_ptr: Any,
    source: Any,
    versions: Any,
    width: Any,
    readers: Any,
    number: Any,
    num_coarse: Any,
    keys: Any,
    sums: Any,
    used: Any,
) -> Any:
    """Add the links of a slice to the table: bytes, bytes shared by readers, uses by a hub; return the table.

    The operands of one term of a hub are linked to each other, as in the affinity graph.
    """
    for r in range(len(row_sink)):
        k = number[row_sink[r]]
        folds = row_fold[r] != 0
        for t in range(term_ptr[r], term_ptr[r + 1]):
            before, before_volume = -1, 0
            for i in range(source_ptr[t], source_ptr[t + 1]):
                s = source[i]
                a = number[s]
                if a == k:
                    continue
                volume = flow_bytes(row_count[r], versions[s], width[s])
                keys, sums, used, h = _entry(keys, sums, used, a, k)
                sums[h, 0] += volume
                sums[h, 1] += shared_bytes(volume, readers[s])
                if k < num_coarse or a >= num_coarse:
                    continue
                sums[h, 2] += row_count[r]
                if folds and before >= 0 and before != a:
                    keys, sums, used, h = _entry(keys, sums, used, before, a)
                    less = min(volume, before_volume)
                    sums[h, 0] += less
                    sums[h, 1] += shared_bytes(less, readers[s])
                before, before_volume = a, volume
    return keys, sums, used
