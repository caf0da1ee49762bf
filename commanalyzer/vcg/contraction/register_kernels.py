"""Compiled loops that look through the register values of a graph.

See :mod:`commanalyzer.vcg.contraction.closure` and :mod:`commanalyzer.vcg.contraction.dissolve`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.foundation.compiled import compiled
from commanalyzer.vcg.graph import SourceRole

_ADDRESS = int(SourceRole.ADDRESS)
ROLES = 4  # a source and its role are one word: source * 4 + role
_FACTORS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9))
_HALF = np.uint64(31)
_NEAR = 4  # slots
_GAPS = (701, 301, 132, 57, 23, 10, 4, 1)  # M. Ciura, Best increments for the average case of shellsort, 2001


@compiled
def count_flows(rows: Any, gone: Any, by_sink: Any) -> Any:
    """Return how many flows that are no addresses have a sink (or source) in ``gone``."""
    count = 0
    for r in range(len(rows.row_sink)):
        if by_sink and not gone[rows.row_sink[r]]:
            continue
        for i in range(rows.source_ptr[rows.term_ptr[r]], rows.source_ptr[rows.term_ptr[r + 1]]):
            count += rows.source_role[i] != _ADDRESS and (by_sink or gone[rows.source[i]])
    return count


@compiled
def choose_flows(rows: Any, gone: Any, by_sink: Any, row: Any, entry: Any) -> None:
    """Write row and index of the flows that :func:`count_flows` counts."""
    at = 0
    for r in range(len(rows.row_sink)):
        if by_sink and not gone[rows.row_sink[r]]:
            continue
        for i in range(rows.source_ptr[rows.term_ptr[r]], rows.source_ptr[rows.term_ptr[r + 1]]):
            if rows.source_role[i] != _ADDRESS and (by_sink or gone[rows.source[i]]):
                row[at], entry[at] = r, i
                at += 1


@compiled
def keep_distinct(place: Any, source: Any, role: Any, pointer: Any) -> None:
    """Keep each source of a node once, with its strongest (smallest) role, in place; write the pointer."""
    where = np.full(len(place), -1, np.int64)
    at = 0
    for n in range(len(place) - 1):
        begin = at
        for k in range(place[n], place[n + 1]):
            s = source[k]
            if where[s] >= begin:
                role[where[s]] = min(role[where[s]], role[k])
                continue
            where[s] = at
            source[at], role[at] = s, role[k]
            at += 1
        pointer[n + 1] = at


@compiled
def find_levels(
    pointer: Any, source: Any, is_register: Any, out_pointer: Any, consumer: Any, level: Any
) -> None:
    """Write the longest way to each register node through registers; other nodes keep what they have.

    Args:
        pointer: int64[N + 1].
        source: int32[E], nodes that each node is computed from.
        is_register: bool[N].
        out_pointer: int64[N + 1].
        consumer: int32[E], nodes that are computed from each node.
        level: int32[N], output.
    """
    count = len(pointer) - 1
    waiting, queue = np.zeros(count, np.int64), np.empty(count, np.int64)
    head, tail = 0, 0
    for n in range(count):
        if not is_register[n]:
            continue
        level[n] = 0
        for k in range(pointer[n], pointer[n + 1]):
            waiting[n] += is_register[source[k]]
        if waiting[n] == 0:
            queue[tail] = n
            tail += 1
    while head < tail:
        n = queue[head]
        head += 1
        for k in range(out_pointer[n], out_pointer[n + 1]):
            c = consumer[k]
            level[c] = max(level[c], level[n] + 1)
            waiting[c] -= 1
            if waiting[c] == 0:
                queue[tail] = c
                tail += 1


@compiled
def reach_of(node: Any, pointer: Any, source: Any, is_register: Any, length: Any) -> Any:
    """Return how many sources a node has when its registers are replaced, repetitions included."""
    reach = 0
    for k in range(pointer[node], pointer[node + 1]):
        reach += length[source[k]] if is_register[source[k]] else 1
    return reach


@compiled
def close_levels(
    begin: Any,
    level_ptr: Any,
    order: Any,
    pointer: Any,
    source: Any,
    role: Any,
    is_register: Any,
    vertex: Any,
    start: Any,
    length: Any,
    pool: Any,
    pool_role: Any,
    used: Any,
    limit: Any,
    where: Any,
) -> Any:
    """Write the memory sources of the nodes of all levels from ``begin`` on to ``pool``.

    Returns:
        Level that does not fit or exceeds ``limit`` (or the number of levels), entries used, entries needed
        with that level.
    """
    for level in range(begin, len(level_ptr) - 1):
        needed = used
        for n in order[level_ptr[level] : level_ptr[level + 1]]:
            needed += reach_of(n, pointer, source, is_register, length)
        if needed > min(len(pool), limit):
            return level, used, needed
        for n in order[level_ptr[level] : level_ptr[level + 1]]:
            start[n] = used
            for k in range(pointer[n], pointer[n + 1]):
                s = source[k]
                if not is_register[s]:
                    used = _add(vertex[s], role[k], start[n], pool, pool_role, used, where)
                    continue
                for i in range(start[s], start[s] + length[s]):
                    weakest = max(pool_role[i], role[k])
                    used = _add(pool[i], weakest, start[n], pool, pool_role, used, where)
            length[n] = used - start[n]
    return len(level_ptr) - 1, used, used


@compiled
def _add(value: Any, role: Any, begin: Any, pool: Any, pool_role: Any, used: Any, where: Any) -> Any:
    """Add a source to the entries from ``begin`` on, or a stronger role; return the number of entries."""
    if where[value] >= begin:
        pool_role[where[value]] = min(pool_role[where[value]], role)
        return used
    where[value] = used
    pool[used], pool_role[used] = value, role
    return used + 1


@compiled
def pass_on_work(order: Any, pointer: Any, sink: Any, weight: Any, work: Any) -> None:
    """Hand the work of the nodes in ``order`` to their consumers in proportion to ``weight``."""
    for n in order:
        if pointer[n] == pointer[n + 1]:
            continue
        total = 0.0
        for k in range(pointer[n], pointer[n + 1]):
            total += weight[k]
        share = work[n] / max(total, 1.0)
        work[n] = 0.0
        for k in range(pointer[n], pointer[n + 1]):
            work[sink[k]] += share * weight[k]


@compiled
def row_reach(rows: Any, gone: Any, length: Any) -> Any:
    """Return how many sources the rows of values that stay have when registers are replaced."""
    reach = 0
    for r in range(len(rows.row_sink)):
        if gone[rows.row_sink[r]]:
            continue
        for i in range(rows.source_ptr[rows.term_ptr[r]], rows.source_ptr[rows.term_ptr[r + 1]]):
            if rows.source_role[i] != _ADDRESS:
                reach += length[rows.source[i]] if gone[rows.source[i]] else 1
    return reach


@compiled
def _sort(word: Any, count: Any) -> None:
    for gap in _GAPS:
        if gap >= count:
            continue
        for i in range(gap, count):
            moved = word[i]
            j = i
            while j >= gap and word[j - gap] > moved:
                word[j] = word[j - gap]
                j -= gap
            word[j] = moved


@compiled
def _expand_row(
    rows: Any, row: Any, sink: Any, gone: Any, closure: Any, where: Any, word: Any, base: Any,
) -> Any:  # fmt: skip
    """Write the distinct sources of a row, ascending, to ``word``; return how many, and if the sink is one.

    ``where`` says at which word a value was put last, ``base`` is added so that rows do not mix.
    """
    closure_start, closure_length, closure_source, closure_role = closure
    count, own = 0, False
    for i in range(rows.source_ptr[rows.term_ptr[row]], rows.source_ptr[rows.term_ptr[row + 1]]):
        if rows.source_role[i] == _ADDRESS:
            continue
        v = np.int64(rows.source[i])
        if not gone[v]:
            own |= v == sink
            if v != sink:
                count = _put(v, np.int64(rows.source_role[i]), where, word, base, count)
            continue
        for k in range(closure_start[v], closure_start[v] + closure_length[v]):
            u = np.int64(closure_source[k])
            own |= u == sink
            if u != sink:
                weakest = max(np.int64(closure_role[k]), np.int64(rows.source_role[i]))
                count = _put(u, weakest, where, word, base, count)
    _sort(word, count)
    return count, own


@compiled
def _put(value: Any, role: Any, where: Any, word: Any, base: Any, count: Any) -> Any:
    at = where[value] - base
    if at >= 0:
        word[at] = min(word[at], value * ROLES + role)
        return count
    where[value] = base + count
    word[count] = value * ROLES + role
    return count + 1


@compiled
def _hash(sink: Any, own: Any, word: Any, count: Any) -> Any:
    h = np.uint64(sink * 2 + own)
    for k in range(count):
        h = (h ^ np.uint64(word[k])) * _FACTORS[0]
        h ^= h >> _HALF
    h *= _FACTORS[1]
    return np.int64(h >> np.uint64(2))


@compiled
def _same(
    kept: Any,
    row: Any,
    sink: Any,
    own: Any,
    word: Any,
    count: Any,
    kept_sink: Any,
    kept_own: Any,
    pointer: Any,
) -> Any:
    """Whether a row that was kept equals one with ``count`` sources in ``word``."""
    begin, end = pointer[row], pointer[row + 1]
    if kept_sink[row] != sink or kept_own[row] != own or end - begin != count:
        return False
    equal = True
    for k in range(count):
        equal &= kept[begin + k] == word[k]
    return equal


@compiled
def dissolve_rows(
    rows: Any, gone: Any, closure: Any, slots: Any, origin: Any, count: Any, accumulates: Any, pointer: Any,
    kept: Any, kept_sink: Any,
) -> Any:  # fmt: skip
    """Replace registers by their sources and merge equal rows; return how many rows are left.

    ``slots`` int64[2^k] holds the rows that were kept, -1 elsewhere: near a place for their sink, which stays
    in the cache, or where that is crowded anywhere by their hash. The columns behind it are the output: first
    row of equal ones, their counts, whether the sink is among the sources, and up to ``kept`` the words.
    """
    where = np.full(len(gone), -1, np.int64)
    word = np.empty(len(gone), np.int64)
    num_kept, base, last = 0, 0, len(slots) - 1
    for r in range(len(rows.row_sink)):
        sink = np.int64(rows.row_sink[r])
        if gone[sink]:
            continue
        length, own = _expand_row(rows, r, sink, gone, closure, where, word, base)
        base += length
        own = own or rows.row_accumulates[r]
        attempt, at, step = 0, (_NEAR * sink) & last, 1
        while slots[at] >= 0 and not _same(
            kept, slots[at], sink, own, word, length, kept_sink, accumulates, pointer
        ):
            attempt += 1
            if attempt == _NEAR:
                at = _hash(sink, own, word, length)
                step = (at >> 32) | 1
            at = (at + step) & last
        if slots[at] >= 0:
            count[slots[at]] += rows.row_count[r]
            continue
        slots[at] = num_kept
        origin[num_kept], count[num_kept] = r, rows.row_count[r]
        accumulates[num_kept], kept_sink[num_kept] = own, sink
        end = pointer[num_kept]
        for k in range(length):
            kept[end + k] = word[k]
        pointer[num_kept + 1] = end + length
        num_kept += 1
    return num_kept
