"""Compiled loops of the counters: one pass over the rows of a graph finds what crosses between parts.

Uses of values by parts are collected in *lines*, one per (value, part). They are a tuple of::

    table   int64[L, 7]     value, part, next line of the value, last row, most, total, fresh (``PairUses``)
    head    int32[V]        first line of each value, -1 for none; -2 - b where block b knows all of them
    slots   int32[B, p]     blocks: line of each part, -1 for none
    used    int64[2]        lines and blocks that are taken

Most values are used by few parts, whose lines are chained; a value that many use gets a block, so that no
chain is long. Rows come in ascending order: one that uses a value several times is seen by the last row of
its line. A pass stops at the row for which there may be too few lines, and goes on with more.

The *owner code* int32[V] of a value is its part, or ``~part`` where it has no say in where a term is computed
(hubs).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.compiled import compiled

COLUMNS = 7
VALUE, PART, NEXT, LAST, MOST, TOTAL, FRESH = range(COLUMNS)
NONE = -1
_BLOCK = -2  # heads from here down are blocks
_CHAIN = 4  # lines of a chain at least before it becomes a block
_SHARE = 16  # a block has at most so many places per line
_FREE = -1
_MIX = np.uint64(0x9E3779B97F4A7C15)


@compiled
def _new_line(table: Any, used: Any, value: Any, part: Any, following: Any) -> Any:
    i = used[0]
    used[0] += 1
    table[i, VALUE], table[i, PART], table[i, NEXT], table[i, LAST] = value, part, following, NONE
    table[i, MOST], table[i, TOTAL], table[i, FRESH] = 0, 0, 0
    return i


@compiled
def line_of(lines: Any, value: Any, part: Any) -> Any:
    """Return the line of a pair; it begins with nothing used."""
    table, head, slots, used = lines
    first = np.int64(head[value])
    if first <= _BLOCK:
        block = slots[_BLOCK - first]
        if block[part] < 0:
            block[part] = _new_line(table, used, value, part, NONE)
        return np.int64(block[part])
    i, length = first, 0
    while i >= 0:
        if table[i, PART] == part:
            return i
        i = table[i, NEXT]
        length += 1
    i = _new_line(table, used, value, part, first)
    head[value] = i
    if length >= max(_CHAIN, slots.shape[1] // _SHARE) and used[1] < len(slots):
        head[value] = _BLOCK - used[1]
        block = slots[used[1]]
        used[1] += 1
        block[:] = NONE
        at = i
        while at >= 0:
            block[table[at, PART]] = at
            at = table[at, NEXT]
    return i


@compiled
def enter(table: Any, i: Any, row: Any, count: Any, fresh: Any) -> None:
    """Enter in line ``i`` that ``row`` uses it."""
    if table[i, LAST] != row:
        table[i, LAST] = row
        table[i, MOST] = max(table[i, MOST], count)
        table[i, TOTAL] += count
        table[i, FRESH] += fresh


@compiled
def home_of(t: Any, source_ptr: Any, source: Any, code: Any) -> Any:
    """Return the one part that owns all operands of term ``t``, hubs aside; -1 if there is none."""
    home = np.int64(NONE)
    for i in range(source_ptr[t], source_ptr[t + 1]):
        owner = np.int64(code[source[i]])
        if owner < 0 or owner == home:
            continue
        if home >= 0:
            return np.int64(NONE)
        home = owner
    return home


@compiled
def _is_open(row: Any, owner: Any, term_ptr: Any, source_ptr: Any, source: Any, code: Any) -> Any:
    """Whether a part other than ``owner`` has all operands of a term of ``row``, hubs aside."""
    for t in range(term_ptr[row], term_ptr[row + 1]):
        home = home_of(t, source_ptr, source, code)
        if home >= 0 and home != owner:
            return True
    return False


@compiled
def owner_of(code: Any) -> Any:
    """Part of an owner code."""
    return np.int64(code if code >= 0 else ~code)


@compiled
def is_full(lines: Any, more: Any) -> Any:
    """Whether there may be too few lines or blocks if ``more`` lines are needed."""
    table, _, slots, used = lines
    return used[0] + more > len(table) or used[1] == len(slots)


@compiled
def scan_rows(
    row_sink: Any,
    row_count: Any,
    row_fold: Any,
    row_accumulates: Any,
    term_ptr: Any,
    source_ptr: Any,
    source: Any,
    code: Any,
    removed: Any,
    begin: Any,
    first_row: Any,
    lines: Any,
    is_open: Any,
) -> Any:
    """Enter the remote operands of the rows from ``begin`` on; return the row it stopped at.

    Rows with a term that another part may compute are only marked in ``is_open``: what they need is a choice.

    The columns of the graph are followed by ``code`` int32[V], owner codes, and ``removed`` bool[V], values
    whose flows are left out; empty for none. ``begin`` is the row to begin with, ``first_row`` the number of
    row 0 among the rows of all slices, ``is_open`` bool[R] the output.
    """
    table = lines[0]
    for r in range(begin, len(row_sink)):
        start, end = source_ptr[term_ptr[r]], source_ptr[term_ptr[r + 1]]
        if is_full(lines, end - start):
            return r
        owner = owner_of(code[row_sink[r]])
        if len(removed) and removed[row_sink[r]]:
            continue
        if row_fold[r] and _is_open(r, owner, term_ptr, source_ptr, source, code):
            is_open[r] = True
            continue
        fresh = 0 if row_accumulates[r] else row_count[r]
        for i in range(start, end):
            v = source[i]
            if owner_of(code[v]) != owner and not (len(removed) and removed[v]):
                enter(table, line_of(lines, v, owner), first_row + r, row_count[r], fresh)
    return len(row_sink)


@compiled
def count_pairs(table: Any, used: Any) -> Any:
    """Number of lines of which there are uses."""
    count = 0
    for i in range(used):
        count += table[i, TOTAL] > 0
    return count


@compiled
def _put_pair(table: Any, i: Any, first: Any, at: Any, pairs: Any) -> Any:
    """Put line ``i`` to the pairs of its value, which begin at ``first``; return where they end."""
    if table[i, TOTAL] == 0:
        return at
    k = at
    while k > first and pairs[1, k - 1] > table[i, PART]:
        pairs[:, k] = pairs[:, k - 1]
        k -= 1
    pairs[0, k], pairs[1, k] = table[i, VALUE], table[i, PART]
    pairs[2, k], pairs[3, k], pairs[4, k] = table[i, MOST], table[i, TOTAL], table[i, FRESH]
    return at + 1


@compiled
def ordered_pairs(lines: Any, pairs: Any) -> None:
    """Write the lines of which there are uses in ascending order of (value, part).

    ``pairs`` int64[5, K] is the output: value, part, most, total, fresh.
    """
    table, head, slots, _ = lines
    at = 0
    for v in range(len(head)):
        first = at
        i = np.int64(head[v])
        if i <= _BLOCK:
            for line in slots[_BLOCK - i]:
                if line >= 0:
                    at = _put_pair(table, line, first, at, pairs)
            continue
        while i >= 0:
            at = _put_pair(table, i, first, at, pairs)
            i = table[i, NEXT]


@compiled
def number_keys(key: Any, slots: Any, number: Any) -> Any:
    """Number distinct keys by their first appearance; return how many there are.

    Args:
        key: int64[N], not negative.
        slots: int64[2^k, 2], filled with -1, more than N lines.
        number: int64[N], output.
    """
    last = len(slots) - 1
    count = 0
    for i in range(len(key)):
        mixed = np.uint64(key[i]) * _MIX
        at = np.int64(mixed ^ (mixed >> np.uint64(32))) & last
        while slots[at, 0] != _FREE and slots[at, 0] != key[i]:
            at = (at + 1) & last
        if slots[at, 0] == _FREE:
            slots[at, 0], slots[at, 1] = key[i], count
            count += 1
        number[i] = slots[at, 1]
    return count


@compiled
def raise_to(target: Any, index: Any, value: Any) -> None:
    """Raise ``target[index[i]]`` to ``value[i]``."""
    for i in range(len(index)):
        target[index[i]] = max(target[index[i]], value[i])


@compiled
def add_totals(
    row_sink: Any, row_count: Any, row_site: Any, row_accumulates: Any, rounds: Any, most: Any, site: Any
) -> None:
    """Add rows to the totals of their sinks: rounds, site of the most frequent row (last on a tie)."""
    for r in range(len(row_sink)):
        v = row_sink[r]
        if not row_accumulates[r]:
            rounds[v] += row_count[r]
        if row_count[r] >= most[v]:
            most[v] = row_count[r]
            site[v] = row_site[r]


@compiled
def add_reads(row_count: Any, term_ptr: Any, source_ptr: Any, source: Any, reads: Any) -> None:
    """Raise ``reads`` of each source to the count of the most frequent row that reads it."""
    for r in range(len(row_count)):
        for i in range(source_ptr[term_ptr[r]], source_ptr[term_ptr[r + 1]]):
            reads[source[i]] = max(reads[source[i]], row_count[r])
