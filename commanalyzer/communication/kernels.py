"""Compiled loops of the counters: one pass over the rows of a graph finds what crosses between parts.

Uses of values by parts are collected in *lines*, one per (value, part)::

    table   most, total and, where C = 6, fresh and terms (``PairUses``) in columns 2 to 5; columns 0, 1 are
            the first four of ``key``
    key     value, part, next line of the value, last row: the same memory as ``table``; next is -1 for none,
            -2 - b where block b knows all lines of the value; period read last, versions of it that were seen

Most values are used by few parts, whose lines are chained; a value that many use gets a block, so that no
chain is long. Rows that follow each other mostly have one owner: the line used last is looked at first. Rows
come in ascending order: one that uses a value several times is seen by the last row of its line. A pass stops
at the row for which there may be too few lines, and goes on with more.

Lines are found at places that no processor foresees, and much depends on what is found there: what comes some
places later begins to be loaded beforehand.

The *owner code* of a value is its part, or ``~part`` where it has no say in where a term is computed (hubs).
Likewise, ``readers`` are the terms that read a value, or their complement where it is a sum that is read
while it goes on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.compiled import compiled_in_place, compiled_inline, prefetch
from commanalyzer.graph.value_graph import Int32, Int64

OwnerCodes = NDArray[np.int8] | NDArray[np.int16] | NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class ReadersPolicy:
    """Which versions readers see, of which only is known how many."""

    # Readers of more than this share of the versions that one row makes see the same ones, as in a loop over
    # steps; others see others. Two that see more than half each share some, whatever they see. Of eleven
    # programs (ssor, fft, pic, ..) on 4 and 16 nodes, bytes are the same at 1/3 and 2/3 (bench.brackets).
    same: float = 0.5


POLICY = ReadersPolicy()
_SAME = POLICY.same  # kernels read numbers only
VALUE, PART, NEXT, LAST = range(4)  # of ``key``
MOST, TOTAL, FRESH, TERMS = range(2, 6)  # of ``table``; TERMS only of contributions
_PERIOD = 10  # of ``key``, where TERMS are
MOST_ROWS = np.iinfo(np.int32).max
NONE = -1
_BLOCK = -2  # next lines from here down are blocks
_CHAIN = 2  # lines of a chain at least before it becomes a block
_MOST_OPERANDS = 32  # of a term whose operands are compared with each other
_NEAR, _FAR = 32, 64  # flows that loads take about as long as
_SHARE = 16  # a block has at most so many places per line


class LineTable(NamedTuple):
    """L lines of V values and p parts, with room for more."""

    table: Int64  # [L, C]
    key: Int32  # [L, 2 C]
    head: Int32  # [V], first line of each value, -1 for none; where there is a block, that used last
    slots: Int32  # [B, p], blocks: line of each part, -1 for none
    used: Int64  # [2], lines and blocks that are taken


class Writers(NamedTuple):
    """W rows with sources (fills come last) that make values of which none reads all that anyone reads."""

    versions: Int64  # [V], of all values
    ptr: Int64  # [V + 1], those of value v are ptr[v] .. ptr[v + 1], in order
    row: Int32  # [W], its number
    made: Int32  # [W], versions that it makes


class TermOwners(NamedTuple):
    """Who may compute terms."""

    code: OwnerCodes  # [V], owner codes
    readers: Int32  # [V]; empty where only common owners matter


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
    _, key, head, slots, _ = lines
    i = np.int64(head[value])
    while i >= 0 and key[i, PART] != part:
        i = np.int64(key[i, NEXT])
    return i if i > _BLOCK else np.int64(slots[_BLOCK - i, part])


@compiled_inline
def line_of(lines: Any, value: Any, part: Any) -> Any:
    """Return the line of a pair; it begins with nothing used."""
    table, key, head, slots, used = lines
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
def enter(lines: Any, i: Any, row: Any, count: Any, seen: Any, fresh: Any) -> None:
    """Enter in line ``i`` that ``row`` uses it ``count`` times, of which ``seen`` see other versions."""
    table, key = lines[0], lines[1]
    if key[i, LAST] != row & MOST_ROWS:
        key[i, LAST] = row & MOST_ROWS
        table[i, MOST] = max(table[i, MOST], seen)
        table[i, TOTAL] += count
        if table.shape[1] > FRESH:
            table[i, FRESH] += fresh


@compiled_inline
def enter_use(lines: Any, value: Any, part: Any, row: Any, count: Any, writers: Any) -> None:
    """Enter that ``row`` reads a value ``count`` times in a part."""
    i, seen, fresh = line_of(lines, value, part), times_seen(count, writers.versions, value), 0
    if lines[0].shape[1] > FRESH and lines[1][i, LAST] != row & MOST_ROWS:
        fresh = _fresh(lines[1][i, _PERIOD:], value, row, seen, writers)
    enter(lines, i, row, count, seen, fresh)


@compiled_inline
def _fresh(state: Any, value: Any, row: Any, count: Any, writers: Any) -> Any:
    """Return how many versions of a value ``row`` sees that none before has; 0 if that is not told.

    A *period* begins with a row that makes the value. Rows that read in the same one see the same versions if
    they read more than ``POLICY.same`` of them, others if not; those of two periods see others. A row that
    reads more than there are goes on: rows behind see the same (of what is copied back). ``state`` int32[2],
    changed, are the period read last and the versions of it that were seen, complement if a row goes on.
    """
    first, end = writers.ptr[value], writers.ptr[value + 1]
    if first == end:
        return np.int64(0)
    period, seen = np.int64(state[0]), np.int64(max(state[1], ~state[1]))
    goes_on = state[1] < 0
    is_over = first + period < end and writers.row[first + period] < row
    if is_over or (period > 0 and writers.row[first + period - 1] >= row):
        period = np.searchsorted(writers.row[first:end], row)
    made = np.int64(writers.made[first + period - 1]) if period else np.int64(1)
    if period != state[0]:
        goes_on = goes_on and period == state[0] + 1
        seen = made if goes_on and first + period == end else np.int64(0)
    fresh = count - (seen if count > _SAME * made else 0)
    fresh = max(fresh if count > made else min(fresh, made - seen), 0)
    seen = min(seen + fresh, np.int64(MOST_ROWS))
    state[0], state[1] = period, ~seen if goes_on or (period > 0 and count > made) else seen
    return fresh


@compiled_inline
def times_seen(count: Any, versions: Any, value: Any) -> Any:
    """Return how many versions of a value a row saw that reads it ``count`` times.

    One that reads more often than there are versions reads all that it sees equally often where the numbers
    allow it (two sweeps of a step); else it sees all.
    """
    made = max(versions[value], 1)
    times = (count + made - 1) // made
    return count // times if count % times == 0 else made


@compiled_inline
def _terms_of(readers: Any, value: Any) -> Any:
    """Number of terms that read a value."""
    return max(np.int64(readers[value]), ~np.int64(readers[value]))


@compiled_inline
def _rarest_home(rows: Any, t: Any, code: Any, readers: Any) -> Any:
    """Return the part that owns most of the operands that the fewest terms read; -1 if others own as many."""
    home, fewest, most = np.int64(NONE), np.int64(-1), 0
    first, last = rows.source_ptr[t], rows.source_ptr[t + 1]
    for i in range(first, last):
        owner, count, same = np.int64(code[rows.source[i]]), _terms_of(readers, rows.source[i]), 0
        if owner < 0 or (0 <= fewest < count):
            continue
        for j in range(first, last):
            same += code[rows.source[j]] == owner and _terms_of(readers, rows.source[j]) == count
        if count != fewest or same > most:
            home, fewest, most = owner, count, same
        elif same == most and owner != home:
            home = np.int64(NONE)
    return home


@compiled_inline
def _has_several(rows: Any, row: Any) -> Any:
    """Whether a row that is no sum makes a value of several others."""
    first, last = rows.source_ptr[rows.term_ptr[row]], rows.source_ptr[rows.term_ptr[row + 1]]
    return last > first + 1 and not rows.row_accumulates[row]


@compiled_inline
def owner_of(code: Any) -> Any:
    """Part of an owner code."""
    return np.int64(code if code >= 0 else ~code)


@compiled_inline
def home_of(rows: Any, row: Any, t: Any, owners: Any) -> Any:
    """Return the part that may compute term ``t`` of a row instead of the sink's owner; -1 if there is none.

    That is the part that owns all operands, hubs beside others aside; where there is none, for a sum, the
    owner of the operand that the fewest terms read (a matrix entry, not the vector's), of several the one
    that owns most of them (that of the point, beside a border); unless others own as many, or the sum is read
    while it goes on. What is no sum, and not made of what it was, may be made where all of several are.
    Without ``readers`` (empty), only sums, of operands that one part owns.
    """
    code, readers = owners
    if not rows.row_fold[row] and (len(readers) == 0 or not _has_several(rows, row)):
        return np.int64(NONE)
    home, is_common = np.int64(NONE), True
    for i in range(rows.source_ptr[t], rows.source_ptr[t + 1]):
        owner = np.int64(code[rows.source[i]])
        if owner >= 0 and owner != home:
            is_common = bool(home < 0)
            home = owner
            if not is_common:
                break
    if is_common:
        is_alone = rows.row_fold[row] and rows.source_ptr[t + 1] == rows.source_ptr[t] + 1
        return owner_of(code[rows.source[rows.source_ptr[t]]]) if is_alone else home
    is_few = rows.source_ptr[t + 1] - rows.source_ptr[t] <= _MOST_OPERANDS
    if rows.row_fold[row] and len(readers) > 0 and readers[rows.row_sink[row]] >= 0 and is_few:
        return _rarest_home(rows, t, code, readers)
    return np.int64(NONE)


@compiled_inline
def _is_open(rows: Any, row: Any, owner: Any, owners: Any) -> Any:
    """Whether a part other than ``owner`` may compute a term of ``row``."""
    first = rows.source_ptr[rows.term_ptr[row]]
    if not rows.row_fold[row] and (not _has_several(rows, row) or owners.code[rows.source[first]] == owner):
        return False  # as most: not all of its operands are elsewhere
    for t in range(rows.term_ptr[row], rows.term_ptr[row + 1]):
        home = home_of(rows, row, t, owners)
        if home >= 0 and home != owner:
            return True
    return False


@compiled_inline
def is_full(lines: Any, more: Any) -> Any:
    """Whether there may be too few lines or blocks if ``more`` lines are needed."""
    table, _, _, slots, used = lines
    return used[0] + more > len(table) or used[1] == len(slots)


@compiled_inline
def look_ahead(i: Any, source: Any, lines: Any) -> None:
    """Begin to load what entering the operands some places behind flow ``i`` takes."""
    table, _, head, _, _ = lines
    last = len(source) - 1
    prefetch(head, source[min(i + _FAR, last)])
    prefetch(table, head[source[min(i + _NEAR, last)]])


@compiled_in_place
def scan_rows(
    rows: Any, begin: Any, first_row: Any, owners: Any, writers: Any, removed: Any, lines: Any, is_open: Any
) -> Any:
    """Enter the remote operands of the rows from ``begin`` on; return the row it stopped at.

    Rows with a term that another part may compute are only marked in ``is_open`` (bool[R]): what they need is
    a choice. ``first_row`` is the number of row 0 among the rows of all slices.
    """
    code = owners.code
    for r in range(begin, len(rows.row_sink)):
        start, end = rows.source_ptr[rows.term_ptr[r]], rows.source_ptr[rows.term_ptr[r + 1]]
        if is_full(lines, end - start):
            return r
        owner = owner_of(code[rows.row_sink[r]])
        if len(removed) and removed[rows.row_sink[r]]:
            continue
        if _is_open(rows, r, owner, owners):
            is_open[r] = True
            continue
        for i in range(start, end):
            v = rows.source[i]
            if owner_of(code[v]) == owner or (len(removed) and removed[v]):
                continue
            look_ahead(i, rows.source, lines)
            enter_use(lines, v, owner, first_row + r, rows.row_count[r], writers)
    return len(rows.row_sink)


@compiled_inline
def _put_pair(lines: Any, i: Any, first: Any, at: Any, keys: Any, counts: Any) -> Any:
    """Put line ``i`` to the pairs of its value, which begin at ``first``; return where they end."""
    table, key = lines.table, lines.key
    if table[i, TOTAL] == 0:
        return at
    k = at
    while k > first and keys[PART, k - 1] > key[i, PART]:
        keys[PART, k] = keys[PART, k - 1]
        for column in range(len(counts)):
            counts[column, k] = counts[column, k - 1]
        k -= 1
    keys[VALUE, at] = key[i, VALUE]
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
    table, key, head, slots, _ = lines
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
                    at = _put_pair(lines, np.int64(line), first, at, keys, counts)
            continue
        while i >= 0:
            at = _put_pair(lines, i, first, at, keys, counts)
            i = np.int64(key[i, NEXT])
    return at


@compiled_inline
def has_sources(rows: Any, row: Any) -> Any:
    """Whether a row makes a value of others."""
    return rows.source_ptr[rows.term_ptr[row]] < rows.source_ptr[rows.term_ptr[row + 1]]


@compiled_in_place
def add_writers(rows: Any, first: Any, writers: Any, at: Any) -> None:
    """Write the rows that make values to ``writers``, those of each at ``at`` (int64[V], changed) next."""
    for r in range(len(rows.row_sink)):
        v = rows.row_sink[r]
        if writers.ptr[v] < writers.ptr[v + 1] and has_sources(rows, r):
            writers.row[at[v]], writers.made[at[v]] = first + r, min(rows.row_count[r], MOST_ROWS)
            at[v] += 1


@compiled_in_place
def add_totals(rows: Any, made: Any, site: Any, readings: Any) -> None:
    """Add rows to the totals of their sinks, ``made``, and of their sources, ``readings``.

    Those of sinks are rounds; versions that are made of no other value; how often the most frequent row was,
    the last of which has the ``site``; versions that other rows made, each as often as that one; rows with
    sources. Of sources: flows; how often the row that did most read it, and all rows together; the most of a
    row that is no sum.
    """
    rounds, given, most, others, writers = made
    readers, reads, steps = readings
    for r in range(len(rows.row_sink)):
        v = rows.row_sink[r]
        if rows.row_count[r] == most[v]:
            others[v] += most[v]
        elif rows.row_count[r] > most[v]:
            others[v] = 0
        if has_sources(rows, r):
            writers[v] += 1
        else:
            given[v] += rows.row_count[r]
        if not rows.row_accumulates[r]:
            rounds[v] += rows.row_count[r]
        if rows.row_count[r] >= most[v]:
            most[v] = rows.row_count[r]
            site[v] = rows.row_site[r]
        for i in range(rows.source_ptr[rows.term_ptr[r]], rows.source_ptr[rows.term_ptr[r + 1]]):
            s = rows.source[i]
            readers[s] += 1
            reads[0, s] = max(reads[0, s], rows.row_count[r])
            reads[1, s] += rows.row_count[r]
            if rows.row_fold[r] == 0:
                steps[s] = max(steps[s], rows.row_count[r])


@compiled_in_place
def count_read(rows: Any, first: Any, state: Any, writers: Any, read: Any) -> None:
    """Add to ``read`` int64[V] how many versions rows read, in the order in which these happened first.

    Rows of one period (:func:`_fresh`) read the same versions if they read more than ``POLICY.same`` of them,
    others if not. ``state`` int64[5, V] is how many versions the row makes that made the value last, how many
    of these were read, how many more a row has read (of those to come), the last row that read it, and how
    many rows made it, of all its ``writers``. ``first`` numbers row 0.
    """
    made, seen, owed, last, makers = state
    for r in range(len(rows.row_sink)):
        count = rows.row_count[r]
        for i in range(rows.source_ptr[rows.term_ptr[r]], rows.source_ptr[rows.term_ptr[r + 1]]):
            v = rows.source[i]
            if v != rows.row_sink[r] and last[v] != first + r:
                last[v] = first + r
                before = seen[v] if count > _SAME * made[v] else np.int64(0)
                new = min(max(count - before, 0), made[v] - seen[v])
                read[v] += new
                seen[v] += new
                owed[v] = max(owed[v], count - made[v])
        if not has_sources(rows, r):
            continue
        v = rows.row_sink[r]
        makers[v] += 1
        due = min(owed[v], made[v]) if seen[v] == 0 else np.int64(0)
        more = min(owed[v] - due, count) if makers[v] == writers[v] else np.int64(0)
        read[v] += due + more
        owed[v] -= due + more
        made[v], seen[v] = count, more if writers[v] == 1 or more == 0 else count
