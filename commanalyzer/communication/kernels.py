"""Compiled loops of the counters: one pass over the rows of a graph finds what crosses between parts.

Uses of values by parts are collected in *lines*, one per (value, part). They are a tuple of::

    table   int64[L, C]     most, total and, where C = 6, fresh and terms (``PairUses``) in columns 2 to 5;
                            columns 0, 1 are the first four of ``key``
    key     int32[L, 2 C]   value, part, next line of the value, last row: the same memory as ``table``;
                            next is -1 for none, -2 - b where block b knows all lines of the value
    head    int32[V]        first line of each value, -1 for none; where there is a block, that used last
    slots   int32[B, p]     blocks: line of each part, -1 for none
    used    int64[3]        lines, blocks and places of ``sums`` that are taken
    sums    int64[2, H]     open addressing, H a power of two: line and sink as ``line << 32 | sink``, -1 for
                            none, and the sum of the counts of the sink's rows

Most values are used by few parts, whose lines are chained; a value that many use gets a block, so that no
chain is long. Rows that follow each other mostly have one owner: the line used last is looked at first. Rows
come in ascending order: one that uses a value several times is seen by the last row of its line. A pass stops
at the row for which there may be too few lines, and goes on with more.

Lines are found at places that no processor foresees, and much depends on what is found there: what comes some
places later begins to be loaded beforehand.

The *owner code* int8[V] (or wider) of a value is its part, or ``~part`` where it has no say in where a term
is computed (hubs).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.foundation.compiled import compiled_in_place, compiled_inline, prefetch

VALUE, PART, NEXT, LAST = range(4)  # of ``key``
MOST, TOTAL, FRESH, TERMS = range(2, 6)  # of ``table``; the last two only of contributions
MOST_ROWS = np.iinfo(np.int32).max
NONE = -1
_BLOCK = -2  # next lines from here down are blocks
_CHAIN = 2  # lines of a chain at least before it becomes a block
_NEAR, _FAR = 32, 64  # flows that loads take about as long as
_SPREAD = 0x9E3779B97F4A7C1  # odd, near 2^60 (sqrt(5) - 1) / 2: products of neighbours lie far apart (Knuth)
_SHARE = 16  # a block has at most so many places per line


@compiled_inline
def _new_line(table: Any, key: Any, used: Any, value: Any, part: Any, following: Any) -> Any:
    i = used[0]
    used[0] += 1
    key[i, VALUE], key[i, PART], key[i, NEXT], key[i, LAST] = value, part, following, NONE
    table[i, MOST] = 0
    table[i, TOTAL] = 0
    if table.shape[1] > FRESH:
        table[i, FRESH] = 0
        table[i, TERMS] = 0
    return i


@compiled_inline
def find_line(lines: Any, value: Any, part: Any) -> Any:
    """Return the line of a pair, negative where there is none."""
    _, key, head, slots, _, _ = lines
    i = np.int64(head[value])
    while i >= 0 and key[i, PART] != part:
        i = np.int64(key[i, NEXT])
    return i if i > _BLOCK else np.int64(slots[_BLOCK - i, part])


@compiled_inline
def line_of(lines: Any, value: Any, part: Any) -> Any:
    """Return the line of a pair; it begins with nothing used."""
    table, key, head, slots, used, _ = lines
    first = np.int64(head[value])
    i, length = first, 0
    while i >= 0:
        if key[i, PART] == part:
            return i
        i = np.int64(key[i, NEXT])
        length += 1
    if i <= _BLOCK:
        block = slots[_BLOCK - i]
        if block[part] < 0:
            block[part] = _new_line(table, key, used, value, part, i)
        head[value] = block[part]
        return np.int64(block[part])
    i = _new_line(table, key, used, value, part, first)
    head[value] = i
    if length >= max(_CHAIN, slots.shape[1] // _SHARE) and used[1] < len(slots):
        block = slots[used[1]]
        block[:] = NONE
        at = i
        while at >= 0:
            block[key[at, PART]] = at
            following = np.int64(key[at, NEXT])
            key[at, NEXT] = _BLOCK - used[1]
            at = following
        used[1] += 1
    return i


@compiled_inline
def _place_of(sums: Any, pair: Any) -> Any:
    """Return where the sum of a line and a sink is, or may be put."""
    mask = sums.shape[1] - 1
    at = ((pair ^ (pair >> 32)) * _SPREAD >> 20) & mask
    while sums[0, at] != NONE and sums[0, at] != pair:
        at = (at + 1) & mask
    return at


@compiled_in_place
def put_again(old: Any, sums: Any) -> None:
    """Put what is in a table of sums into a larger one, which is empty."""
    for i in range(old.shape[1]):
        if old[0, i] != NONE:
            at = _place_of(sums, old[0, i])
            sums[0, at], sums[1, at] = old[0, i], old[1, i]


@compiled_inline
def enter(lines: Any, i: Any, row: Any, count: Any, fresh: Any, sink: Any, rounds: Any) -> None:
    """Enter in line ``i`` that ``row`` uses it.

    Its count adds up with that of others of ``sink`` if this is >= 0, up to ``rounds`` of the value: readers
    that change are taken to see the ends of rounds.
    """
    table, key = lines[0], lines[1]
    if key[i, LAST] != row:
        key[i, LAST] = row
        most = count
        if sink >= 0:
            used, sums = lines[4], lines[5]
            pair = np.int64(i) << 32 | np.int64(sink)
            at = _place_of(sums, pair)
            if sums[0, at] == NONE:
                sums[0, at], sums[1, at] = pair, 0
                used[2] += 1
            sums[1, at] += count
            most = max(count, min(sums[1, at], np.int64(rounds)))
        table[i, MOST] = max(table[i, MOST], most)
        table[i, TOTAL] += count
        if table.shape[1] > FRESH:
            table[i, FRESH] += fresh


@compiled_inline
def home_of(t: Any, source_ptr: Any, source: Any, code: Any, readers: Any) -> Any:
    """Return the part that may compute term ``t`` instead of the sink's owner; -1 if there is none.

    That is the part that owns all operands, hubs aside; where there is none, the owner of the operand that
    the fewest terms read (a matrix entry, not the vector's), unless operands of several parts are equally
    rare. Without ``readers`` int32[V] (empty), only the former.
    """
    home, is_common = np.int64(NONE), True
    for i in range(source_ptr[t], source_ptr[t + 1]):
        owner = np.int64(code[source[i]])
        if owner >= 0 and owner != home:
            is_common = bool(home < 0)
            home = owner
            if not is_common:
                break
    if is_common:
        return home
    home, fewest = np.int64(NONE), np.int64(-1)
    if len(readers) > 0:
        for i in range(source_ptr[t], source_ptr[t + 1]):
            owner, count = np.int64(code[source[i]]), np.int64(readers[source[i]])
            if owner >= 0 and (fewest < 0 or count < fewest):
                home, fewest = owner, count
            elif owner >= 0 and count == fewest and owner != home:
                home = np.int64(NONE)
    return home


@compiled_inline
def _is_open(
    row: Any, owner: Any, term_ptr: Any, source_ptr: Any, source: Any, code: Any, readers: Any
) -> Any:
    """Whether a part other than ``owner`` may compute a term of ``row``."""
    for t in range(term_ptr[row], term_ptr[row + 1]):
        home = home_of(t, source_ptr, source, code, readers)
        if home >= 0 and home != owner:
            return True
    return False


@compiled_inline
def changing_sink(sink: Any, accumulates: Any, changes: Any) -> Any:
    """Return the sink of a row if its rows add up, -1 otherwise.

    Rows that start new rounds of a sink are different executions, which read different versions. ``changes``
    bool[V] says which sinks have several; empty for none.
    """
    return np.int64(sink) if len(changes) and changes[sink] and not accumulates else np.int64(NONE)


@compiled_inline
def owner_of(code: Any) -> Any:
    """Part of an owner code."""
    return np.int64(code if code >= 0 else ~code)


@compiled_inline
def is_full(lines: Any, more: Any) -> Any:
    """Whether there may be too few lines or blocks if ``more`` lines are needed."""
    table, _, _, slots, used, sums = lines
    return used[0] + more > len(table) or used[1] == len(slots) or 2 * (used[2] + more) > sums.shape[1]


@compiled_inline
def look_ahead(i: Any, source: Any, lines: Any) -> None:
    """Begin to load what entering the operands some places behind flow ``i`` takes."""
    table, _, head, _, _, _ = lines
    last = len(source) - 1
    prefetch(head, source[min(i + _FAR, last)])
    prefetch(table, head[source[min(i + _NEAR, last)]])


@compiled_in_place
def scan_rows(
    row_sink: Any,
    row_count: Any,
    row_fold: Any,
    row_accumulates: Any,
    term_ptr: Any,
    source_ptr: Any,
    source: Any,
    code: Any,
    readers: Any,
    removed: Any,
    changes: Any,
    rounds: Any,
    begin: Any,
    first_row: Any,
    lines: Any,
    versions: Any,
    sated: Any,
    is_open: Any,
) -> Any:
    """Enter the remote operands of the rows from ``begin`` on; return the row it stopped at.

    Rows with a term that another part may compute are only marked in ``is_open``: what they need is a choice.

    The columns of the graph are followed by ``code``, owner codes, ``readers`` (:func:`home_of`), and
    ``removed`` bool[V], values whose flows are left out; empty for none, ``changes``
    (:func:`changing_sink`), and ``rounds`` int32[V] of the values, empty like ``changes``. ``begin`` is the
    row to begin with, ``first_row`` the number of row 0 among the rows of all slices, ``is_open`` bool[R] the
    output.

    A pair whose most frequent sink uses all versions of its value is sated: more uses change nothing. Bits of
    ``sated`` uint64[V] say to which parts each value need not be entered again; empty not to note that, with
    ``versions`` int64[V].
    """
    for r in range(begin, len(row_sink)):
        start, end = source_ptr[term_ptr[r]], source_ptr[term_ptr[r + 1]]
        if is_full(lines, end - start):
            return r
        owner = owner_of(code[row_sink[r]])
        if len(removed) and removed[row_sink[r]]:
            continue
        if row_fold[r] and _is_open(r, owner, term_ptr, source_ptr, source, code, readers):
            is_open[r] = True
            continue
        sink = changing_sink(row_sink[r], row_accumulates[r], changes)
        for i in range(start, end):
            v = source[i]
            if owner_of(code[v]) == owner or (len(removed) and removed[v]):
                continue
            if len(sated) and (sated[v] >> np.uint64(owner)) & np.uint64(1):
                continue
            look_ahead(i, source, lines)
            line = line_of(lines, v, owner)
            enter(lines, line, first_row + r, row_count[r], 0, sink, rounds[v] if sink >= 0 else 0)
            if len(sated) and lines[0][line, MOST] >= versions[v]:
                sated[v] |= np.uint64(1) << np.uint64(owner)
    return len(row_sink)


@compiled_inline
def _put_pair(table: Any, key: Any, i: Any, value: Any, first: Any, at: Any, keys: Any, counts: Any) -> Any:
    """Put line ``i`` to the pairs of its value, which begin at ``first``; return where they end."""
    if table[i, TOTAL] == 0:
        return at
    k = at
    while k > first and keys[PART, k - 1] > key[i, PART]:
        keys[PART, k] = keys[PART, k - 1]
        for column in range(len(counts)):
            counts[column, k] = counts[column, k - 1]
        k -= 1
    keys[VALUE, at] = value
    keys[PART, k] = key[i, PART]
    counts[0, k] = table[i, MOST]
    counts[1, k] = table[i, TOTAL]
    if len(counts) > 2:
        counts[2, k] = table[i, FRESH]
        counts[3, k] = table[i, TERMS]
    return at + 1


@compiled_in_place
def ordered_pairs(lines: Any, keys: Any, counts: Any) -> Any:
    """Write the lines of which there are uses in ascending order of (value, part); return how many they are.

    Results are ``keys`` int32[2, L], value and part, and ``counts`` int64[C - 2, L], the columns from 2 on.
    """
    table, key, head, slots, _, _ = lines
    at = 0
    for v in range(len(head)):
        first = at
        prefetch(table, head[min(v + _FAR, len(head) - 1)])
        i = np.int64(head[v])
        if i >= 0 and key[i, NEXT] <= _BLOCK:
            block = slots[_BLOCK - np.int64(key[i, NEXT])]
            for line in block:
                prefetch(table, line)
            for line in block:
                if line >= 0:
                    at = _put_pair(table, key, np.int64(line), v, first, at, keys, counts)
            continue
        while i >= 0:
            at = _put_pair(table, key, i, v, first, at, keys, counts)
            i = np.int64(key[i, NEXT])
    return at


@compiled_in_place
def limit_uses(most: Any, total: Any, versions: Any, rounds: Any, between: Any) -> None:
    """Turn uses of values into how often they are sent, at least and at most; all int64[K].

    ``most`` and ``total`` are changed, ``versions`` and ``rounds`` are those of the values, which are read
    between their partial results where ``between`` bool[K] says so.
    """
    for k in range(len(most)):
        made = max(versions[k], 1)
        finished = made if between[k] else min(np.int64(rounds[k]), made)
        total[k] = min(total[k], finished if most[k] <= finished else made)
        most[k] = min(most[k], made)


@compiled_in_place
def add_totals(
    row_sink: Any, row_count: Any, row_site: Any, row_accumulates: Any, term_ptr: Any, rounds: Any, most: Any,
    site: Any, reading: Any,
) -> None:  # fmt: skip
    """Add rows to the totals of their sinks: rounds, site of the most frequent row (last on a tie).

    ``reading`` uint8[V] is the number of rows that start a round and read something, up to two.
    """
    for r in range(len(row_sink)):
        v = row_sink[r]
        if not row_accumulates[r]:
            rounds[v] += row_count[r]
            if term_ptr[r + 1] > term_ptr[r]:
                reading[v] = min(reading[v] + 1, 2)
        if row_count[r] >= most[v]:
            most[v] = row_count[r]
            site[v] = row_site[r]


@compiled_in_place
def count_seen(row_sink: Any, term_ptr: Any, source_ptr: Any, source: Any, is_old: Any, seen: Any) -> None:
    """Add to ``seen`` int32[V] how many versions rows read, in the order in which these happened first.

    ``is_old`` bool[V] are values that were read since they were made.
    """
    for r in range(len(row_sink)):
        for i in range(source_ptr[term_ptr[r]], source_ptr[term_ptr[r + 1]]):
            v = source[i]
            if not is_old[v] and v != row_sink[r]:
                is_old[v] = True
                seen[v] += 1
        is_old[row_sink[r]] = False


@compiled_in_place
def add_readers(
    row_count: Any, term_ptr: Any, source_ptr: Any, source: Any, readers: Any, reads: Any
) -> None:
    """Add the flows of rows to ``readers`` int32[V], and how often rows read to ``reads`` int64[2, V].

    Of ``reads``, the first is that of the row that read the value most, the second that of all rows.
    """
    for r in range(len(row_count)):
        for i in range(source_ptr[term_ptr[r]], source_ptr[term_ptr[r + 1]]):
            v = source[i]
            readers[v] += 1
            reads[0, v] = max(reads[0, v], row_count[r])
            reads[1, v] += row_count[r]
