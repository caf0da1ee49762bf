"""Compiled loops that look through the register values of a graph: see :mod:`.dissolve`."""

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
def close(node: Any, steps: Any, closure: Any, used: Any, limit: Any, where: Any) -> Any:
    """Write the sources of the nodes from ``node`` on, whose ``start`` is negative, behind ``used`` entries.

    ``where``: the entry a vertex had last; others as in :mod:`.dissolve`.

    Returns:
        Node that does not fit or exceeds ``limit`` (or the number of nodes), entries used, entries needed
        with that node, repetitions included.
    """
    pointer, by = steps.pointer, steps.by
    start, length, source, role = closure
    for n in range(node, len(start)):
        if start[n] >= 0:
            continue
        needed = used
        for k in range(pointer[n], pointer[n + 1]):
            needed += length[by[k]]
        if needed > min(len(source), limit):
            return n, used, needed
        start[n] = used
        for k in range(pointer[n], pointer[n + 1]):
            first = start[by[k]]
            for i in range(first, first + length[by[k]]):
                weakest, at = max(role[i], steps.role[k]), where[source[i]]
                if at >= start[n]:
                    role[at] = min(role[at], weakest)
                    continue
                where[source[i]] = used
                source[used], role[used] = source[i], weakest
                used += 1
        length[n] = used - start[n]
    return len(start), used, used


@compiled
def pass_on_work(pointer: Any, sink: Any, weight: Any, work: Any) -> None:
    """Hand the work of the nodes, in order, to their consumers in proportion to ``weight``."""
    for n in range(len(work)):
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
def _expand_row(rows: Any, row: Any, sink: Any, closure: Any, where: Any, word: Any, base: Any) -> Any:
    """Write the distinct sources of a row, ascending, to ``word``; return how many, and if the sink is one.

    ``where`` says at which word a value was put last, ``base`` is added so that rows do not mix.
    """
    start, length, source, closed_role = closure
    count, own = 0, False
    for i in range(rows.source_ptr[rows.term_ptr[row]], rows.source_ptr[rows.term_ptr[row + 1]]):
        v, role = rows.source[i], np.int64(rows.source_role[i])
        if role == _ADDRESS:
            continue
        for k in range(start[v], start[v] + length[v]):
            u = np.int64(source[k])
            if u == sink:
                own = True
                continue
            found, at = u * ROLES + max(role, np.int64(closed_role[k])), where[u] - base
            if at >= 0:
                word[at] = min(word[at], found)
            else:
                where[u] = base + count
                word[count] = found
                count += 1
    _sort(word, count)
    return count, own


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
    kept: Any, row: Any, sink: Any, own: Any, word: Any, count: Any, kept_sink: Any, kept_own: Any,
    pointer: Any,
) -> Any:  # fmt: skip
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
        length, own = _expand_row(rows, r, sink, closure, where, word, base)
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
