"""Compiled passes over the flows of a large graph: what follows what, links and nets between coarse vertices.

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

_EMPTY = -1
_ON_PATH = -2
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xBF58476D1CE4E5B9)
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
    anchor[:] = _EMPTY
    for v in range(len(parent)):
        u = v
        while anchor[u] == _EMPTY and parent[u] != u:
            anchor[u] = _ON_PATH
            u = parent[u]
        if anchor[u] == _EMPTY:
            anchor[u] = u
        root = u if anchor[u] == _ON_PATH else anchor[u]
        u = v
        while anchor[u] == _ON_PATH:
            anchor[u] = root
            u = parent[u]


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
def _slot(keys: Any, key: Any) -> Any:
    mask = len(keys) - 1
    h = np.int64((np.uint64(key) * _MULTIPLIER) >> np.uint64(20)) & mask
    while keys[h] != key and keys[h] != _EMPTY:
        h = (h + 1) & mask
    return h


@compiled
def _grown(keys: Any, sums: Any) -> Any:
    """Return a table of twice the slots with the same entries."""
    wider = np.full(2 * len(keys), _EMPTY, np.int64)
    moved = np.zeros((2 * len(keys), sums.shape[1]), np.int64)
    for h in range(len(keys)):
        if keys[h] != _EMPTY:
            at = _slot(wider, keys[h])
            wider[at] = keys[h]
            moved[at] = sums[h]
    return wider, moved


@compiled
def _entry(keys: Any, sums: Any, used: Any, one: Any, other: Any) -> Any:
    """Return the table with an entry for a pair, how many it has, and the slot."""
    if 2 * used + 4 > len(keys):
        keys, sums = _grown(keys, sums)
    key = (np.int64(min(one, other)) << 32) | np.int64(max(one, other))
    h = _slot(keys, key)
    if keys[h] == _EMPTY:
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


@compiled
def _fold_place(t: Any, source_ptr: Any, source: Any, readers: Any, number: Any, num_coarse: Any) -> Any:
    """Return the coarse vertex that computes a term of a reduction, -1 for that of the sink.

    Operands in one place are combined there, unless all of them have other readers and come along anyway.
    """
    place, alone = -1, False
    for i in range(source_ptr[t], source_ptr[t + 1]):
        a = number[source[i]]
        if a >= num_coarse:
            continue
        if place >= 0 and a != place:
            return -1
        place = a
        alone = alone or readers[source[i]] <= 1
    return place if alone else -1


@compiled
def list_pins(
    row_sink: Any,
    row_fold: Any,
    term_ptr: Any,
    source_ptr: Any,
    source: Any,
    readers: Any,
    number: Any,
    num_coarse: Any,
    out: Any,
) -> Any:
    """Write (net << 32) | coarse vertex to ``out`` for pins that are not a net's own; return how many.

    The net of a value has the value's number, that of a reduction V plus its sink's.
    """
    n, values = 0, np.int64(len(number))
    for r in range(len(row_sink)):
        sink = row_sink[r]
        k = number[sink]
        if k >= num_coarse:
            continue
        for t in range(term_ptr[r], term_ptr[r + 1]):
            if row_fold[r] != 0:
                place = _fold_place(t, source_ptr, source, readers, number, num_coarse)
                if place >= 0:
                    if place != k:
                        out[n] = ((values + sink) << 32) | np.int64(place)
                        n += 1
                    continue
            for i in range(source_ptr[t], source_ptr[t + 1]):
                s = source[i]
                if number[s] != k and number[s] < num_coarse:
                    out[n] = (np.int64(s) << 32) | np.int64(k)
                    n += 1
    return n


@compiled
def _mixed(c: Any) -> Any:
    z = (np.uint64(c) + np.uint64(1)) * _MULTIPLIER
    z = (z ^ (z >> np.uint64(30))) * _MIX
    return z ^ (z >> np.uint64(27))


@compiled
def merge_nets(
    key: Any, number: Any, most: Any, most_folded: Any, versions: Any, width: Any, keys: Any, sums: Any
) -> Any:
    """Return a table of distinct sets of pins: sums of bytes and the place in ``key`` of one net with it.

    Args:
        key: Sorted and distinct pins of :func:`list_pins`.
        number: Coarse vertex of each vertex.
        most: Largest count of a row that reads a vertex.
        most_folded: Largest count of a reduction into it.
        versions: Versions of each vertex.
        width: Bytes of each vertex.
        keys: Empty table.
        sums: Its two sums.
    """
    used, first, values = 0, 0, len(number)
    while first < len(key):
        net = key[first] >> 32
        value = net if net < values else net - values
        signature = _mixed(number[value])
        last = first
        while last < len(key) and key[last] >> 32 == net:
            signature += _mixed(key[last] & 0xFFFFFFFF)
            last += 1
        if 2 * used + 4 > len(keys):
            keys, sums = _grown(keys, sums)
        h = _slot(keys, np.int64(signature >> np.uint64(2)))
        if keys[h] == _EMPTY:
            keys[h] = np.int64(signature >> np.uint64(2))
            sums[h, 1] = first
            used += 1
        times = most_folded[value] if net >= values else min(most[value], max(versions[value], 1))
        sums[h, 0] += np.int64(times) * np.int64(width[value])
        first = last
    return keys, sums
