"""Compiled loops of the counters: one pass over the rows of a graph finds what crosses between parts.

Uses of remote values are collected in a hash table with one line per (value, part):

    table[i]  key = value * p + part (-1: free), last row, most, total, fresh (see ``PairUses``)

Rows come in ascending order, so that a row that uses a value several times is seen by the last row of its
line. A table is at most half full: a pass stops at the row for which it may not suffice, and goes on with a
larger one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.compiled import compiled

COLUMNS = 5
_KEY, _LAST, _MOST, _TOTAL, _FRESH = range(COLUMNS)
_FREE = -1
_NEAR = 4  # lines
_MIX = np.uint64(0x9E3779B97F4A7C15)


@compiled
def _line(table: Any, value: Any, part: Any, num_parts: Any) -> Any:
    """Return the line of a pair, or the free one where it belongs.

    Consecutive values of one part are neighbours as far as there is room: rows use them one after the other.
    """
    last, key = len(table) - 1, value * num_parts + part
    mixed = np.uint64(part + 1) * _MIX
    i, step, attempt = (np.int64(mixed >> np.uint64(32)) + value) & last, np.int64(1), 0
    while table[i, _KEY] != _FREE and table[i, _KEY] != key:
        attempt += 1
        if attempt == _NEAR:
            mixed = np.uint64(key) * _MIX
            i = np.int64(mixed >> np.uint64(32))
            step = 2 * np.int64(mixed & np.uint64(0xFFFFFF)) + 1
        i = (i + step) & last
    return i


@compiled
def _need(table: Any, value: Any, part: Any, num_parts: Any, row: Any, count: Any, fresh: Any) -> Any:
    """Enter that ``part`` uses ``value`` in ``row``; return the number of lines that this takes (0 or 1)."""
    i = _line(table, value, part, num_parts)
    new = table[i, _KEY] == _FREE
    if new:
        table[i, _KEY] = value * num_parts + part
    elif table[i, _LAST] == row:
        return 0
    table[i, _LAST] = row
    table[i, _MOST] = max(table[i, _MOST], count)
    table[i, _TOTAL] += count
    table[i, _FRESH] += fresh
    return 1 if new else 0


@compiled
def rehash(table: Any, num_parts: Any, larger: Any) -> None:
    """Move all lines of ``table`` to ``larger``, which is free."""
    for i in range(len(table)):
        if table[i, _KEY] != _FREE:
            value = table[i, _KEY] // num_parts
            part = table[i, _KEY] - value * num_parts
            larger[_line(larger, value, part, num_parts)] = table[i]


@compiled
def _has_remote_term(
    row: Any, owner: Any, term_ptr: Any, source_ptr: Any, source: Any, part: Any, hub: Any
) -> Any:
    """Whether a part other than ``owner`` has all operands of a term of ``row``, hubs aside."""
    for t in range(term_ptr[row], term_ptr[row + 1]):
        home, is_single = -1, True
        for i in range(source_ptr[t], source_ptr[t + 1]):
            v = source[i]
            if hub[v]:
                continue
            if home >= 0 and part[v] != home:
                is_single = False
                break
            home = part[v]
        if is_single and home >= 0 and home != owner:
            return True
    return False


@compiled
def scan_rows(
    row_sink: Any,
    row_count: Any,
    row_fold: Any,
    row_accumulates: Any,
    term_ptr: Any,
    source_ptr: Any,
    source: Any,
    part: Any,
    hub: Any,
    removed: Any,
    num_parts: Any,
    begin: Any,
    first_row: Any,
    table: Any,
    used: Any,
    is_open: Any,
) -> Any:
    """Enter the remote operands of the rows from ``begin`` on; return the row it stopped at and lines used.

    Rows with a term that another part may compute are only marked in ``is_open``: what they need is a choice.

    The columns of the graph are followed by ``part`` int32[V], ``hub`` bool[V] (no say in where a term is
    computed) and ``removed`` bool[V] (values whose flows are left out; empty for none). ``begin`` is the row
    to begin with, ``first_row`` the number of row 0 among the rows of all slices, ``used`` the number of
    lines of ``table`` that are taken, ``is_open`` bool[R] the output.
    """
    room = len(table) // 2
    for r in range(begin, len(row_sink)):
        start, end = source_ptr[term_ptr[r]], source_ptr[term_ptr[r + 1]]
        if used + end - start > room:
            return r, used
        owner = np.int64(part[row_sink[r]])
        if len(removed) and removed[row_sink[r]]:
            continue
        if row_fold[r] and _has_remote_term(r, owner, term_ptr, source_ptr, source, part, hub):
            is_open[r] = True
            continue
        fresh = 0 if row_accumulates[r] else row_count[r]
        for i in range(start, end):
            v = np.int64(source[i])
            if part[v] != owner and not (len(removed) and removed[v]):
                used += _need(table, v, owner, num_parts, first_row + r, row_count[r], fresh)
    return len(row_sink), used


@compiled
def enter_uses(
    value: Any,
    part: Any,
    row: Any,
    row_count: Any,
    row_accumulates: Any,
    num_parts: Any,
    first_row: Any,
    table: Any,
) -> Any:
    """Enter uses in ascending order of rows; return how many lines that takes."""
    used = 0
    for i in range(len(value)):
        r = row[i]
        fresh = 0 if row_accumulates[r] else row_count[r]
        used += _need(table, value[i], part[i], num_parts, first_row + r, row_count[r], fresh)
    return used


@compiled
def most_of(table: Any, value: Any, part: Any, num_parts: Any, most: Any) -> None:
    """Set ``most`` to the largest count of a row that uses each pair, 0 for pairs not in ``table``."""
    for i in range(len(value)):
        most[i] = table[_line(table, value[i], part[i], num_parts), _MOST]


@compiled
def ordered_pairs(table: Any, num_parts: Any, place: Any, pairs: Any) -> None:
    """Write the lines of ``table`` in ascending order of (value, part).

    Args:
        table: Lines.
        num_parts: Number of parts p.
        place: int64[V + 1], zeros; overwritten.
        pairs: int64[5, K], filled with -1; output: value, part, most, total, fresh.
    """
    for i in range(len(table)):
        if table[i, _KEY] != _FREE:
            place[table[i, _KEY] // num_parts + 1] += 1
    for v in range(1, len(place)):
        place[v] += place[v - 1]
    for i in range(len(table)):
        if table[i, _KEY] == _FREE:
            continue
        v = table[i, _KEY] // num_parts
        at = place[v]
        place[v] += 1
        part = table[i, _KEY] - v * num_parts
        while at > 0 and pairs[0, at - 1] == v and pairs[1, at - 1] > part:
            for c in range(COLUMNS):
                pairs[c, at] = pairs[c, at - 1]
            at -= 1
        pairs[0, at], pairs[1, at] = v, part
        for c in range(_MOST, COLUMNS):
            pairs[c, at] = table[i, c]


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
