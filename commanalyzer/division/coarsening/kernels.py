"""Compiled passes over the flows of a large graph: what follows what, and sums between coarse vertices.

Each pass takes the rows of one slice; what it adds up is kept in arrays over the vertices. Nothing here is as
large as the flows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.compiled import compiled, compiled_in_place
from commanalyzer.graph.contraction.kernels import root
from commanalyzer.graph.value_graph import Bool, Int32, Int64, UInt8

_ON_PATH = -2
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


class LinkTable(NamedTuple):
    """Sums of pairs of numbers, in a hash table with linear probing.

    Numbers are coarse vertices 0 .. N - 1, then hubs, one number for each.
    """

    keys: Int64  # [slots], (smaller number << 32) | larger one, -1 for empty slots; a power of two
    sums: Int64  # [slots, 3], bytes, bytes shared by readers, uses by a hub
    entries: Int64  # [2], of the table, and those between coarse vertices
    num_coarse: int  # Coarse vertices N
    linked: Int32  # for each number the one it was last linked to as a source, -1 before
    place: Int32  # the slot of that link


class Values(NamedTuple):
    """What passes ask about the V values."""

    number: Int32  # [V], coarse vertex or hub
    versions: Int64  # [V]
    width: UInt8  # [V], bytes
    readers: Int32  # [V], source entries that read it


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


EMPTY = -1
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
ENTRIES, INNER = 0, 1  # of the table; those between two coarse vertices
_SHARES = 64  # a shared link weighs 64 times its bytes over the readers: integers keep the difference


@compiled
def flow_bytes(count: Any, versions: Any, width_bytes: Any) -> Any:
    """Return the bytes of a flow that happens ``count`` times; a row cannot use more versions than exist."""
    return min(count, max(versions, 1)) * np.int64(width_bytes)


@compiled
def shared_bytes(volume: Any, readers: Any) -> Any:
    """Return ``volume`` divided among the readers of the value, in 64ths of a byte, at least one."""
    return max(_SHARES * volume // max(readers, 1), 1)


@compiled_in_place
def slot(keys: Any, key: Any) -> Any:
    """Return the slot of ``key``, or the empty one where it belongs."""
    mask = len(keys) - 1
    mixed = np.uint64(key) * MULTIPLIER
    h = np.int64(mixed ^ (mixed >> np.uint64(32))) & mask  # both halves of the key reach the lowest bits
    while keys[h] != key and keys[h] != EMPTY:
        h = (h + 1) & mask
    return h


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


@compiled
def grown(keys: Any, sums: Any) -> Any:
    """Return a table of twice the slots with the same entries."""
    wider = np.full(2 * len(keys), EMPTY, np.int64)
    moved = np.zeros((2 * len(keys), sums.shape[1]), np.int64)
    for h in range(len(keys)):
        if keys[h] != EMPTY:
            at = slot(wider, keys[h])
            wider[at] = keys[h]
            for c in range(sums.shape[1]):
                moved[at, c] = sums[h, c]
    return wider, moved


@compiled_in_place
def _entry(links: Any, one: Any, other: Any) -> Any:
    """Return the slot of a pair, which gets an entry if it is new; there must be room."""
    larger = max(one, other)
    key = (np.int64(min(one, other)) << 32) | np.int64(larger)
    h = slot(links.keys, key)
    if links.keys[h] == EMPTY:
        links.keys[h] = key
        links.entries[ENTRIES] += 1
        links.entries[INNER] += larger < links.num_coarse
    return h


@compiled_in_place
def _link_operands(rows: Any, t: Any, times: Any, values: Any, links: Any) -> None:
    """Add the links between the operands of a term of a hub, each with the next elsewhere."""
    number, versions, width, readers = values
    before, before_volume = -1, 0
    for i in range(rows.source_ptr[t], rows.source_ptr[t + 1]):
        s = rows.source[i]
        a = number[s]
        if a >= links.num_coarse:
            continue
        volume = flow_bytes(times, versions[s], width[s])
        if before >= 0 and before != a:
            h = _entry(links, before, a)
            less = min(volume, before_volume)
            links.sums[h, 0] += less
            links.sums[h, 1] += shared_bytes(less, readers[s])
        before, before_volume = a, volume


@compiled_in_place
def add_links(rows: Any, row: Any, term: Any, values: Any, links: Any) -> Any:
    """Add the links of a slice to the table, beginning with one row and one of its terms.

    The operands of one term of a hub are linked to each other, as in the affinity graph. Rows of one place
    read the same places again and again: the slot of the last link of each number is kept. Returns the row
    and the term that the table may be too small for; the number of rows if it was not.
    """
    number, versions, width, readers = values
    keys, sums, entries, num_coarse, linked, place = links
    for r in range(row, len(rows.row_sink)):
        k, times = number[rows.row_sink[r]], rows.row_count[r]
        first = max(term, rows.term_ptr[r]) if r == row else rows.term_ptr[r]
        for t in range(first, rows.term_ptr[r + 1]):
            if 3 * (entries[ENTRIES] + 2 * (rows.source_ptr[t + 1] - rows.source_ptr[t])) > 2 * len(keys):
                return r, t
            for i in range(rows.source_ptr[t], rows.source_ptr[t + 1]):
                s = rows.source[i]
                a = number[s]
                if a == k:
                    continue
                if linked[a] != k:
                    linked[a] = k
                    place[a] = _entry(links, a, k)
                h = place[a]
                volume = flow_bytes(times, versions[s], width[s])
                sums[h, 0] += volume
                sums[h, 1] += shared_bytes(volume, readers[s])
                if k >= num_coarse > a:
                    sums[h, 2] += times
            if k >= num_coarse and rows.row_fold[r] != 0:
                _link_operands(rows, t, times, values, links)
    return len(rows.row_sink), 0
