"""Compiled loops over the families of a trace, see :mod:`commanalyzer.graph.reading.tables`.

Columns of the trace and of the result are those of :mod:`.trace_kernels`, contents of families those of
``comm_shim.h``. A row is *called* by its number in the trace; rows that were not recorded are called by the
numbers behind these. The place of a segment or entry is that of its first unit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from commanalyzer.foundation.compiled import compiled, compiled_in_place, compiled_inline
from commanalyzer.graph.reading.trace_kernels import (
    COUNT,
    FLAGS,
    LOW,
    NONE,
    hash_of_row,
    kept_label,
    mixed,
    plain_label,
    units_of,
    wide,
    write_group,
)
from commanalyzer.graph.value_graph import Int32, Int64
from commanalyzer.recording.abi import (
    REGISTER,
    ROW_FAMILY,
    ROW_FILL,
    ROW_REGISTER,
    ROW_TEMPORARY,
    ROW_UPDATE,
    ROW_WIDE,
    WORD_MASK,
)

OTHERS = ROW_FILL | ROW_TEMPORARY | ROW_UPDATE | ROW_FAMILY  # rows that no family stands for
_NUM_LOOPS = 255  # bits of the first word
_INITIAL, _INNER = 40, 48  # bits of the numbers of initial labels of a sum, and of loops of its terms but one
_SHORTEST_RUN = 4  # terms; see packing.c
_ENTRIES = 48  # bits of the number of entries in the first word
_LABELS = 255
_RESULTS = 40
_TAG = 32  # bits of a hash in the table


@compiled_inline
def _loops_of(units: Any, at: Any) -> Any:
    """Number of the loops of a segment."""
    return wide(units, at) & _NUM_LOOPS


@compiled_inline
def _first_entry(units: Any, at: Any) -> Any:
    """Place of the first entry of a segment."""
    return at + 2 + 2 * _loops_of(units, at)


@compiled_in_place
def _groups_of(units: Any, at: Any) -> Any:
    """Groups of a sum, terms of each, and whether these are runs; short ones are listed, in one group."""
    terms, last = np.int64(1), np.int64(1)
    for d in range(((wide(units, at) >> _INNER) & _LABELS) + 1):
        last = wide(units, at + 2 + 2 * d)
        terms *= last
    return (terms // last, last, True) if last >= _SHORTEST_RUN else (np.int64(1), terms, False)


@compiled_inline
def _behind_entry(units: Any, at: Any, loops: Any) -> Any:
    """Where the next entry begins."""
    head = wide(units, at)
    labels = (head >> 32) & _LABELS
    if head < 0:
        inner, initial = ((head >> _INNER) & _LABELS) + 1, (head >> _INITIAL) & _LABELS
        return at + 2 * (1 + inner + initial * (1 + loops) + labels * (1 + loops + inner))
    return at + 2 * (1 + (1 + labels) * (1 + loops))


@compiled_in_place
def _size_of(units: Any, at: Any) -> Any:
    """Rounds of a segment, entries, plain labels per round, sums; the place behind it."""
    rounds, loops, entries = np.int64(1), _loops_of(units, at), wide(units, at) >> _ENTRIES
    for d in range(loops):
        rounds *= wide(units, at + 2 + 2 * d)
    labels, sums, at = 0, 0, _first_entry(units, at)
    for _ in range(entries):
        head = wide(units, at)
        if head < 0:
            labels += (head >> _INITIAL) & _LABELS
            sums += 1
        else:
            labels += (head >> 32) & _LABELS
        at = _behind_entry(units, at, loops)
    return rounds, entries, labels, sums, at


@compiled_in_place
def _set_round(units: Any, at: Any, turn: Any, round_: Any) -> None:
    """Turn ``round_`` to the round of each loop of a segment after ``turn`` rounds of the innermost one."""
    for d in range(len(round_) - 1, -1, -1):
        rounds = wide(units, at + 2 + 2 * d)
        round_[d], turn = turn % rounds, turn // rounds


@compiled_inline
def _next_round(units: Any, at: Any, round_: Any) -> None:
    """Turn ``round_`` to the next round; the innermost loop turns fastest."""
    d = len(round_) - 1
    while d >= 0:
        round_[d] += 1
        if round_[d] < wide(units, at + 2 + 2 * d):
            break
        round_[d] = 0
        d -= 1


@compiled_inline
def _number(units: Any, at: Any, round_: Any) -> Any:
    """A sink or a label in a round."""
    number = wide(units, at)
    for d in range(len(round_)):
        number += round_[d] * wide(units, at + 2 + 2 * d)
    return number


@compiled_in_place
def count_sums(heads: Any, units: Any, is_written: Any) -> Any:
    """Numbers of families with sums; of their rows, units, groups, runs and listed labels; largest site.

    ``is_written``: result, bool per site; or empty.
    """
    families, rows, labels, groups, runs, listed, largest, unit = 0, 0, 0, 0, 0, 0, np.int64(0), 0
    for row in range(len(heads)):
        if (heads[row, 1] >> FLAGS) & ROW_FAMILY:
            rounds, entries, plain, sums, _ = _size_of(units, unit)
            at = _first_entry(units, unit)
            for _ in range(entries if sums else 0):
                head = wide(units, at)
                largest = max(largest, head & LOW)
                if len(is_written):
                    is_written[head & LOW] = True
                if head < 0:
                    number, size, are_runs = _groups_of(units, at)
                    groups += rounds * number
                    runs += rounds * number * ((head >> 32) & _LABELS) * are_runs
                    listed += rounds * size * ((head >> 32) & _LABELS) * (not are_runs)
                at = _behind_entry(units, at, _loops_of(units, unit))
            if sums:
                families += 1
                rows += rounds * entries
                labels += rounds * plain
        unit += units_of(heads[row, 1])
    return families, rows, 2 * labels, groups, runs, listed, largest


class Written(NamedTuple):
    """Rows that are written out, each once: columns as those of the trace."""

    heads: Int64
    cells: Int64
    units: Int32
    groups: Int64
    runs: Int64
    listed: Int64
    names: Int64  # what each row is called
    table: Int64  # [2^k], 0 at first: upper half of the hash of a row, and where it is written + 1
    kept: Int64  # per name of a row the name of the first row that equals it
    ends: Int64  # [6], how many rows, units, groups and runs are written; the next name; listed labels


@compiled_inline
def first_place(hash_: Any, name: Any, count: Any, written: Any) -> Any:
    """Where a row is: at the end if it is the first with its hash, else where that is, and counted there.

    What never happened in the region came before it: such rows are of their own.
    """
    cells, table = written.cells, written.table
    slot = hash_ & (len(table) - 1)
    while table[slot] != 0:
        place = (table[slot] & LOW) - 1
        is_same = table[slot] >> _TAG == hash_ >> _TAG and cells[place, 0] == hash_
        if is_same and (cells[place, 1] == 0) == (count == 0):
            cells[place, 1] += count
            written.kept[name] = written.names[place]
            return place
        slot = (slot + 1) & (len(table) - 1)
    table[slot] = (hash_ >> _TAG) << _TAG | (written.ends[0] + 1)
    return written.ends[0]


@compiled_inline
def write_head(sink: Any, word: Any, cell: Any, name: Any, written: Any) -> Any:
    """Write what a row is, its hash, its count and its name; return its place."""
    row = written.ends[0]
    written.heads[row, 0], written.heads[row, 1] = sink, word
    written.cells[row, 0], written.cells[row, 1], written.names[row] = cell[0], cell[1], name
    written.ends[0] = row + 1
    return row


@compiled_in_place
def _write_recorded(columns: Any, row: Any, unit: Any, group: Any, end: Any, cell: Any, written: Any) -> None:
    """Write a recorded row with its units and groups; its runs and listed labels stay where they are."""
    heads, _, units, groups, _, _ = columns
    at, ends = write_head(heads[row, 0], heads[row, 1], cell, row, written), written.ends
    u, g, size = ends[1], ends[2], units_of(heads[row, 1])
    for k in range(size):
        written.units[u + k] = units[unit + k]
    for k in range(4 * (end - group)):
        written.groups[g + k // 4, k % 4] = groups[group + k // 4, k % 4] if k % 4 else at
    ends[1], ends[2] = u + size, g + end - group


@compiled
def _hash_of_groups(hash_: Any, group: Any, end: Any, groups: Any, runs: Any, listed: Any, kept: Any) -> Any:
    """Hash of a row with these groups."""
    for g in range(group, end):
        first, width = groups[g, 1], groups[g, 3] & LOW
        hash_ = mixed(mixed(hash_, groups[g, 2]), groups[g, 3])
        if groups[g, 3] >> 32:
            for k in range(first, first + groups[g, 2] * width):
                hash_ = mixed(hash_, kept_label(listed[k], kept))
        else:
            for k in range(first, first + width):
                hash_ = mixed(mixed(hash_, kept_label(runs[k, 0], kept)), runs[k, 1])
    return hash_


@compiled
def _write_terms(units: Any, at: Any, round_: Any, written: Any) -> Any:
    """Write the groups of a sum in a round; return where they, their runs and their listed labels end."""
    head, groups, (_, _, g, n, _, i) = wide(units, at), written.groups, written.ends
    loops, inner, width = len(round_), ((head >> _INNER) & _LABELS) + 1, (head >> 32) & _LABELS
    number, size, are_runs = _groups_of(units, at)
    every = np.zeros(loops + inner, np.int64)
    every[:loops] = round_
    turning = every[loops:-1] if are_runs else every[loops:]
    place = at + 2 * (1 + inner + ((head >> _INITIAL) & _LABELS) * (1 + loops))
    for _ in range(number):
        groups[g, 1], groups[g, 2] = n if are_runs else i, size
        groups[g, 3] = width if are_runs else width | 1 << 32
        g += 1
        for _ in range(1 if are_runs else size):
            for k in range(width):
                label = place + 2 * k * (1 + loops + inner)
                if are_runs:
                    written.runs[n, 0] = _number(units, label, every)
                    written.runs[n, 1] = wide(units, label + 2 * (loops + inner))
                    n += 1
                else:
                    written.listed[i] = _number(units, label, every)
                    i += 1
            _next_round(units, at, turning)
    return g, n, i


@compiled
def _write_sum(units: Any, at: Any, round_: Any, count: Any, written: Any) -> None:
    """Write the register value of an entry in a round, unless it is known."""
    unit, groups, kept, ends = written.units, written.groups, written.kept, written.ends
    u, name, head = ends[1], ends[4], wide(units, at)
    site, initial = head & LOW, (head >> _INITIAL) & _LABELS
    hash_, place = mixed(site, np.int64(NONE)), at + 4 + 2 * ((head >> _INNER) & _LABELS)
    for k in range(initial):
        label = kept_label(_number(units, place, round_), kept)
        hash_ = mixed(hash_, label)
        unit[u + 2 * k], unit[u + 2 * k + 1] = label & LOW, label >> 32
        place += 2 + 2 * len(round_)
    group, run, listed = _write_terms(units, at, round_, written)
    hash_ = _hash_of_groups(hash_, ends[2], group, groups, written.runs, written.listed, kept)
    if first_place(hash_, name, count, written) == ends[0]:
        flags = (ROW_REGISTER | (ROW_WIDE if initial else 0)) << FLAGS
        groups[ends[2] : group, 0] = write_head(
            0, site | initial << 32 | flags, (hash_, count), name, written
        )
        ends[1], ends[2], ends[3], ends[5] = u + 2 * initial, group, run, listed


@compiled
def _write_store(units: Any, at: Any, round_: Any, results: Any, count: Any, written: Any) -> None:
    """Write the store of an entry in a round, unless it is known."""
    unit, kept, ends = written.units, written.kept, written.ends
    u, name = ends[1], ends[4]
    head, size = wide(units, at), 2 + 2 * len(round_)
    site, labels = head & LOW, (head >> 32) & _LABELS
    place = at + 2
    sink = _number(units, place, round_)
    hash_ = mixed(site, sink)
    for k in range(labels):
        place += size
        label = _number(units, place, round_)
        if (head >> (_RESULTS + k)) & 1:
            label = REGISTER | results[label]
        label = kept_label(label, kept)
        hash_ = mixed(hash_, label)
        unit[u + 2 * k], unit[u + 2 * k + 1] = label & LOW, label >> 32
    if first_place(hash_, name, count, written) == ends[0]:
        write_head(sink, site | labels << 32 | ROW_WIDE << FLAGS, (hash_, count), name, written)
        ends[1] = u + 2 * labels


@compiled
def _write_family(units: Any, unit: Any, count: Any, written: Any) -> None:
    """Write all rows of a family with sums."""
    rounds, entries, _, sums, _ = _size_of(units, unit)
    results, round_ = np.empty(sums, np.int64), np.zeros(_loops_of(units, unit), np.int64)
    for _ in range(rounds):
        at, found = _first_entry(units, unit), 0
        for _ in range(entries):
            if wide(units, at) < 0:
                _write_sum(units, at, round_, count, written)
                results[found] = written.kept[written.ends[4]]
                found += 1
            else:
                _write_store(units, at, round_, results, count, written)
            written.ends[4] += 1
            at = _behind_entry(units, at, len(round_))
        _next_round(units, unit, round_)


@compiled
def write_sums(columns: Any, is_written: Any, written: Any) -> None:
    """Write all rows, each where it comes first; of sites that are ``is_written`` some are in families."""
    heads, cells, units, groups, _, _ = columns
    unit, group, end = 0, 0, 0
    for row in range(len(heads)):
        flags, count = heads[row, 1] >> FLAGS, cells[row, 1]
        while end < len(groups) and groups[end, 0] == row:
            end += 1
        if flags & ROW_FAMILY and _size_of(units, unit)[3]:
            _write_family(units, unit, count, written)
        else:
            at, hash_ = written.ends[0], cells[row, 0]
            if is_written[heads[row, 1] & LOW] and not flags & OTHERS:
                hash_ = hash_of_row(heads, row, units, unit, written.kept)
                hash_ = _hash_of_groups(hash_, group, end, groups, written.runs, columns.listed, written.kept)
                at = first_place(hash_, row, count, written)
            if at == written.ends[0]:
                _write_recorded(columns, row, unit, group, end, (hash_, count), written)
        unit, group = unit + units_of(heads[row, 1]), end


@compiled_in_place
def find_spans(heads: Any, units: Any, scratch: Any, spans: Any) -> Any:
    """Count the runs of stores in innermost loops; write, into ``spans`` if it is not empty, what they are.

    Families have no sums, in this function and those below. ``spans`` are int64[n, 4]: site, first and last
    sink, rounds; ``scratch``, int64[255], has room for the loops that there may be.
    """
    n, unit = 0, 0
    for row in range(len(heads)):
        at = unit
        unit += units_of(heads[row, 1])
        while (heads[row, 1] >> FLAGS) & ROW_FAMILY and at < unit:
            loops = _loops_of(units, at)
            rounds, entries, _, _, behind = _size_of(units, at)
            inner, round_ = wide(units, at + 2 * loops), scratch[:loops]
            if not len(spans):
                n += rounds // inner * entries
                rounds = np.int64(0)
            for turn in range(0, rounds, inner):
                _set_round(units, at, turn, round_)
                entry = _first_entry(units, at)
                for _ in range(entries):
                    first = _number(units, entry + 2, round_)
                    spans[n, 0], spans[n, 1], spans[n, 3] = wide(units, entry) & LOW, first, inner
                    spans[n, 2] = first + (inner - 1) * wide(units, entry + 2 + 2 * loops)
                    entry = _behind_entry(units, entry, loops)
                    n += 1
            at = behind
    return n


@compiled_in_place
def find_touched(heads: Any, cells: Any, units: Any, touched: Any) -> Any:
    """Count what stores with labels and their loads touch in all rounds; write it into ``touched`` with rows.

    ``touched``: int64[n, 3], result: row, store and number in it; first and last word.
    """
    n, unit = 0, 0
    for row in range(len(heads)):
        at = unit
        unit += units_of(heads[row, 1])
        while (heads[row, 1] >> FLAGS) & ROW_FAMILY and at < unit:
            loops, place = _loops_of(units, at), _first_entry(units, at)
            for e in range(wide(units, at) >> _ENTRIES):
                labels = (wide(units, place) >> 32) & _LABELS
                place += 2
                for k in range(1 + labels):
                    word, low, high = wide(units, place), np.int64(0), np.int64(0)
                    if labels and cells[row, 1] > 0 and (k == 0 or (word != 0 and word & REGISTER == 0)):
                        for d in range(loops if len(touched) else 0):
                            way = (wide(units, at + 2 + 2 * d) - 1) * wide(units, place + 2 + 2 * d)
                            low, high = low + min(way, 0), high + max(way, 0)
                        if len(touched):
                            touched[n, 0] = row << 32 | e << 16 | k
                            touched[n, 1], touched[n, 2] = (word & WORD_MASK) + low, (word & WORD_MASK) + high
                        n += 1
                    place += 2 + 2 * loops
            at = place
    return n


@compiled_in_place
def _hash_of_store(units: Any, entry: Any, round_: Any) -> Any:
    """Hash of the row of a store in a round, that of an equal plain row."""
    head, place = wide(units, entry), entry + 2
    hash_ = mixed(head & LOW, _number(units, place, round_))
    for _ in range((head >> 32) & _LABELS):
        place += 2 + 2 * len(round_)
        hash_ = mixed(hash_, _number(units, place, round_))
    return hash_


@compiled_in_place
def hash_merged(
    heads: Any, cells: Any, units: Any, is_merged: Any, scratch: Any, hash_: Any, count: Any
) -> Any:
    """Write hash and count of each row of a merged site, in order; return how many there are."""
    place, unit = 0, 0
    for row in range(len(heads)):
        at, flags = unit, heads[row, 1] >> FLAGS
        unit += units_of(heads[row, 1])
        while flags & ROW_FAMILY and at < unit:
            rounds, entries, _, _, behind = _size_of(units, at)
            round_ = scratch[: _loops_of(units, at)]
            _set_round(units, at, 0, round_)
            for _ in range(rounds):
                entry = _first_entry(units, at)
                for _ in range(entries):
                    if is_merged[wide(units, entry) & LOW]:
                        hash_[place], count[place] = _hash_of_store(units, entry, round_), cells[row, 1]
                        place += 1
                    entry = _behind_entry(units, entry, len(round_))
                _next_round(units, at, round_)
            at = behind
        if is_merged[heads[row, 1] & LOW] and not flags & (OTHERS | ROW_REGISTER):
            begin, kept = unit - units_of(heads[row, 1]), hash_[:0]  # none: labels stay as they are
            hash_[place], count[place] = hash_of_row(heads, row, units, begin, kept), cells[row, 1]
            place += 1
    return place


@compiled_in_place
def chunk_end(heads: Any, units: Any, groups: Any, begin: Any, most_labels: Any, most_rows: Any) -> Any:
    """Where a chunk ends: as ``begin``; labels and rows in it.

    ``begin`` is where it begins: row, its first unit, segment (of other rows that unit), round in it, group.
    """
    row, unit, at, turn, group = begin
    labels, rows = 0, 0
    while row < len(heads) and rows < most_rows:
        behind = unit + units_of(heads[row, 1])
        if (heads[row, 1] >> FLAGS) & ROW_FAMILY:
            rounds, entries, width, _, next_ = _size_of(units, at)
            fitting = min((most_rows - rows) // entries, (most_labels - labels) // max(width, 1))
            if fitting <= 0 and rows > 0:
                break
            taken = min(rounds - turn, max(fitting, 1))
            rows += taken * entries
            labels += taken * width
            turn += taken
            if turn < rounds:
                break
            at, turn = next_, 0
            if at < behind:
                continue
        else:
            total = 0 if (heads[row, 1] >> FLAGS) & ROW_FILL else (heads[row, 1] >> 32) & COUNT
            g = group
            while g < len(groups) and groups[g, 0] == row:
                total += groups[g, 2] * (groups[g, 3] & LOW)
                g += 1
            if labels + total > most_labels and rows > 0:
                break
            labels += total
            rows += 1
            group = g
        row += 1
        unit = at = behind
    return row, unit, at, turn, group, labels, rows


@compiled_inline
def _write_round(trace: Any, row: Any, at: Any, round_: Any, merged: Any, out: Any, ends: Any) -> Any:
    """Write the rows of a round; return the rows and labels written, and the next place."""
    head, cell, origin, label, end, filled = out
    units, (rows, labels, place) = trace.units, ends
    entry, step = _first_entry(units, at), 2 + 2 * len(round_)
    for _ in range(wide(units, at) >> _ENTRIES):
        site, number = wide(units, entry) & LOW, (wide(units, entry) >> 32) & _LABELS
        times = trace.cells[row, 1]
        if merged.is_merged[site]:
            times = merged.times[place]
            place += 1
        if times >= 0:
            head[rows, 0], head[rows, 1] = _number(units, entry + 2, round_), site | number << 32
            cell[rows, 0], cell[rows, 1], origin[rows], filled[rows] = 0, times, row, 0
            for k in range(number):
                label[labels + k] = _number(units, entry + 2 + (1 + k) * step, round_)
            labels += number
            end[rows] = labels
            rows += 1
        entry += 2 + (1 + number) * step
    return rows, labels, place


@compiled_inline
def _write_plain(trace: Any, row: Any, unit: Any, times: Any, out: Any, rows: Any, labels: Any) -> Any:
    """Write a row that is no family, without its groups; return the labels written so far."""
    heads, cells, units = trace.heads, trace.cells, trace.units
    head, cell, origin, label, end, filled = out
    head[rows, 0], head[rows, 1], origin[rows], filled[rows] = heads[row, 0], heads[row, 1], row, 0
    cell[rows, 0], cell[rows, 1] = cells[row, 0], times
    if (heads[row, 1] >> FLAGS) & ROW_FILL:
        filled[rows] = wide(units, unit)
    else:
        for k in range((heads[row, 1] >> 32) & COUNT):
            label[labels] = plain_label(heads, row, units, unit, k)
            labels += 1
    end[rows] = labels
    return labels


@compiled_in_place
def write_rows(trace: Any, merged: Any, begin: Any, behind: Any, scratch: Any, out: Any) -> Any:
    """Write a chunk's rows, each of a merged site where it comes first; return its rows, labels, next place.

    The chunk begins at ``begin``: as :func:`chunk_end` has it, and the place in merged rows. ``behind`` is
    row, segment and round behind it, ``scratch`` is overwritten. ``out`` gets columns of a
    :class:`.tables.Chunk`: heads, cells, origin, label, end, filled.
    """
    heads, cells, units, groups, runs, listed = trace
    row, unit, at, turn, group, place = begin
    rows, labels = 0, 0
    while (row, at, turn) != behind:
        times, last = cells[row, 1], unit + units_of(heads[row, 1])
        if (heads[row, 1] >> FLAGS) & ROW_FAMILY:
            rounds, _, _, _, next_ = _size_of(units, at)
            stop = behind[2] if row == behind[0] and at == behind[1] else rounds
            round_ = scratch[: _loops_of(units, at)]
            _set_round(units, at, turn, round_)
            for _ in range(turn, stop):
                ends = rows, labels, place
                rows, labels, place = _write_round(trace, row, at, round_, merged, out, ends)
                _next_round(units, at, round_)
            if stop < rounds:
                break
            at, turn = next_, 0
            if at < last:
                continue
        else:
            head = heads[row, 1]
            if merged.is_merged[head & LOW] and not (head >> FLAGS) & (OTHERS | ROW_REGISTER):
                times = merged.times[place]
                place += 1
            if times >= 0:
                labels = _write_plain(trace, row, unit, times, out, rows, labels)
                while group < len(groups) and groups[group, 0] == row:
                    labels = write_group(groups, group, runs, listed, out[3], labels)
                    group += 1
                out[4][rows] = labels
                rows += 1
        row += 1
        unit = at = last
    return rows, labels, place
