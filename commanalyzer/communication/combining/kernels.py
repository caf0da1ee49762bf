"""Compiled loops of the choice between sending operands and combining them.

Lines and owners are those of :mod:`commanalyzer.communication.kernels`. A *remote term* is one that a part
may compute which is not the sink's (:func:`~commanalyzer.communication.kernels.home_of`); a *run* are remote
terms of a row with the same such part that follow each other, others aside. *Items* are operands of a run at
the sink's owner: lines of what is sent. An operand that one term only needs there concerns its group alone:
its bytes are added up, and no line is made for it before it is clear that it is sent.

The least cover is a maximum flow from operands to groups, pairs in ascending order of these.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from commanalyzer.communication.kernels import (
    MOST,
    NONE,
    TERMS,
    LineTable,
    TermOwners,
    enter,
    enter_use,
    find_line,
    home_of,
    is_full,
    line_of,
    look_ahead,
    owner_of,
    times_seen,
)
from commanalyzer.foundation.compiled import compiled_in_place, compiled_inline
from commanalyzer.graph.value_graph import Int32, Int64, UInt8


class Net(NamedTuple):
    """E pairs of O operands and G groups."""

    operand: Int32  # [E], of each pair
    group: Int32  # [E], of each pair
    group_ptr: Int64  # [G + 1], pairs of group j are group_ptr[j] .. group_ptr[j + 1]
    operand_ptr: Int64  # [O + 1], where those of each operand begin in the next two
    slot_pair: Int32  # [E], pairs of an operand, ascending
    slot_group: Int32  # [E], their groups


class NetFlow(NamedTuple):
    """What flows through a net, and how far away its vertices are."""

    supply: Int64  # [O], what is left of the weights of operands
    demand: Int64  # [G], and of groups
    flow: Int64  # [E], what passes through each pair
    level: Int32  # [O], steps from operands with supply left
    group_level: Int32  # [G], likewise


@compiled_in_place
def layer(net: Any, state: Any, queue: Any) -> Any:
    """Number the steps from operands with supply left; return whether a group with demand left is reached.

    More may flow from an operand to each of its groups, and from a group back to operands it flows from.
    Levels of what is not reached are negative. If no such group is reached, everything that can be is.
    ``queue`` is int64[O], scratch space.
    """
    operand, _group, group_ptr, operand_ptr, _slot_pair, slot_group = net
    supply, demand, flow, level, group_level = state
    count, is_reached = 0, False
    for j in range(len(demand)):
        group_level[j] = NONE
    for i in range(len(supply)):
        level[i] = NONE
        if supply[i] > 0:
            level[i] = 0
            queue[count] = i
            count += 1
    at = 0
    while at < count:
        i = queue[at]
        at += 1
        for k in range(operand_ptr[i], operand_ptr[i + 1]):
            j = slot_group[k]
            if group_level[j] != NONE:
                continue
            group_level[j] = level[i] + 1
            is_reached |= demand[j] > 0
            for e in range(group_ptr[j], group_ptr[j + 1]):
                back = operand[e]
                if level[back] < 0 and flow[e] > 0:
                    level[back] = level[i] + 2
                    queue[count] = back
                    count += 1
    return is_reached


@compiled_inline
def _deeper(i: Any, net: Any, state: Any, places: Any, path: Any) -> Any:
    """Extend a path from operand ``i`` to a group with demand left; return its length, 0 for none.

    ``path`` becomes pairs, there and back in turn. ``places`` are where each vertex goes on.
    """
    operand, group, group_ptr, operand_ptr, slot_pair, slot_group = net
    _, demand, flow, level, group_level = state
    at, group_at = places
    length = 0
    while True:
        if at[i] < operand_ptr[i + 1]:
            j = slot_group[at[i]]
            if group_level[j] != level[i] + 1:
                at[i] += 1
                continue
            path[length] = slot_pair[at[i]]
            if demand[j] > 0:
                return length + 1
            while group_at[j] < group_ptr[j + 1]:
                e = group_at[j]
                if flow[e] > 0 and level[operand[e]] == group_level[j] + 1:
                    break
                group_at[j] += 1
            if group_at[j] == group_ptr[j + 1]:
                at[i] += 1
                continue
            path[length + 1] = group_at[j]
            length += 2
            i = np.int64(operand[group_at[j]])
        elif length == 0:
            return 0
        else:
            j = group[path[length - 1]]
            group_at[j] += 1
            length -= 2
            i = np.int64(operand[path[length]])


@compiled_in_place
def augment(net: Any, state: Any, places: Any, path: Any) -> None:
    """Let flow along paths of ascending levels until there are none.

    ``places`` are int64[O] and int64[G], where the pairs of each vertex begin; changed. ``path`` is scratch
    space, int64[2 O + 2]. Reference: Dinic, Algorithm for solution of a problem of maximum flow, 1970; for
    equal weights this is Hopcroft and Karp's matching.
    """
    group, supply, demand, flow = net.group, state.supply, state.demand, state.flow
    for first in range(len(supply)):
        while supply[first] > 0:
            length = _deeper(np.int64(first), net, state, places, path)
            if length == 0:
                break
            end = group[path[length - 1]]
            amount = min(supply[first], demand[end])
            for k in range(1, length, 2):
                amount = min(amount, flow[path[k]])
            for k in range(length):
                flow[path[k]] += amount if k % 2 == 0 else -amount
            supply[first] -= amount
            demand[end] -= amount


class Runs(NamedTuple):
    """K runs."""

    fold: Int32  # [K], line of the contribution
    row: Int32  # [K], its row
    item_end: Int64  # [K], where the items of each run end
    own_bytes: Int64  # [K], bytes of sending operands that nothing else needs there: they are no items
    item: Int32  # lines of the other operands of all runs, hubs beside others aside, at the sink's owner


class Operands(NamedTuple):
    """What is known of the operands of rows."""

    owners: TermOwners
    seen: NDArray[np.uint32]  # [V], what these rows need (:func:`note_needed`)
    width_bytes: UInt8  # [V]
    versions: Int64  # [V]
    sent: LineTable  # of (value, part it is sent to)


_BITS = 16  # parts that are told apart by which operands are seen to be needed once


@compiled_inline
def _once(part: Any) -> Any:
    """Bit of ``seen`` that says that a part (or one that shares it) needs a value; ``_BITS`` higher: more."""
    return np.int64(1) << (part & (_BITS - 1))


@compiled_in_place
def has_split_terms(rows: Any, owners: Any) -> Any:
    """Whether a term has operands of several parts and may be computed at the rarest of them."""
    common = TermOwners(owners.code, owners.readers[:0])
    for r in range(len(rows.row_sink)):
        owner = owner_of(owners.code[rows.row_sink[r]])
        for t in range(rows.term_ptr[r], rows.term_ptr[r + 1]):
            home = home_of(rows, r, t, owners)
            if home >= 0 and home != owner and home_of(rows, r, t, common) < 0:
                return True
    return False


@compiled_in_place
def note_needed(rows: Any, code: Any, seen: Any) -> None:
    """Note the values that rows need at other parts than their own, and which of them again there.

    ``seen`` uint32[V], zeros, is the result: one half for the first time, the other for more.
    """
    for r in range(len(rows.row_sink)):
        owner = owner_of(code[rows.row_sink[r]])
        bit = _once(owner)
        for i in range(rows.source_ptr[rows.term_ptr[r]], rows.source_ptr[rows.term_ptr[r + 1]]):
            v = rows.source[i]
            if owner_of(code[v]) != owner:
                bits = np.int64(seen[v])
                seen[v] = bits | (bit << _BITS if bits & bit else bit)


@compiled_inline
def _note_sent(rows: Any, t: Any, count: Any, owner: Any, operands: Any) -> None:
    """Note that the operands of a term are sent ``count`` times."""
    code, sent = operands.owners.code, operands.sent
    for i in range(rows.source_ptr[t], rows.source_ptr[t + 1]):
        v = rows.source[i]
        if owner_of(code[v]) != owner:
            at = line_of(sent, v, owner)
            sent.table[at, MOST] = max(sent.table[at, MOST], times_seen(count, operands.versions, v))


@compiled_inline
def _list_items(rows: Any, t: Any, owner: Any, operands: Any, item: Any, end: Any) -> Any:
    """List the operands of a remote term from ``end`` on.

    Returns the end of the items, and the bytes of sending once those that nothing else needs.
    """
    code, seen, sent = operands.owners.code, operands.seen, operands.sent
    own_bytes, is_alone = np.int64(0), rows.source_ptr[t + 1] == rows.source_ptr[t] + 1
    for i in range(rows.source_ptr[t], rows.source_ptr[t + 1]):
        v = rows.source[i]
        if (code[v] < 0 and not is_alone) or owner_of(code[v]) == owner:
            continue
        look_ahead(i, rows.source, sent)
        if not (np.int64(seen[v]) >> _BITS) & _once(owner) and find_line(sent, v, owner) < 0:
            own_bytes += np.int64(operands.width_bytes[v])
            continue
        item[end] = line_of(sent, v, owner)
        end += 1
    return end, own_bytes


@compiled_in_place
def split_rows(rows: Any, begin: Any, operands: Any, folds: Any, result: Any, runs: Any) -> Any:
    """Find the runs of rows from ``begin`` on; operands of other terms are noted to be sent so often.

    The terms of each contribution are added up in ``folds``, lines of (sink, part that contributes). An
    operand that nothing else needs at the sink's owner is no item: most are of this kind. ``runs`` are those
    found before. Returns the row it stopped at, because there may be too few lines, and the number of runs.
    """
    fold, row, item_end, own_bytes, item = result
    owners, sent = operands.owners, operands.sent
    end = item_end[runs - 1] if runs else np.int64(0)
    for r in range(begin, len(rows.row_sink)):
        if is_full(sent, rows.source_ptr[rows.term_ptr[r + 1]] - rows.source_ptr[rows.term_ptr[r]]):
            return r, runs
        if is_full(folds, rows.term_ptr[r + 1] - rows.term_ptr[r]):
            return r, runs
        look_ahead(r, rows.row_sink, folds)
        owner = owner_of(owners.code[rows.row_sink[r]])
        last_home = np.int64(NONE)
        for t in range(rows.term_ptr[r], rows.term_ptr[r + 1]):
            home = home_of(rows, r, t, owners)
            if home < 0 or home == owner:
                _note_sent(rows, t, rows.row_count[r], owner, operands)
                continue
            end, own = _list_items(rows, t, owner, operands, item, end)
            if home != last_home:
                last_home = home
                fold[runs], row[runs], own_bytes[runs] = line_of(folds, rows.row_sink[r], home), r, 0
                runs += 1
            folds[0][fold[runs - 1], TERMS] += rows.row_count[r]
            own_bytes[runs - 1] += rows.row_count[r] * own
            item_end[runs - 1] = end
    return len(rows.row_sink), runs


@compiled_in_place
def number_groups(line: Any, row: Any, continues: Any, known: Any, group: Any) -> Any:
    """Number the groups of K runs that one message can carry in ``group``; return how many there are.

    That is all of an accumulating (sink, part), else those of one row. ``line`` is that of the contribution
    of each run, ``continues`` (bool[F]) whether a row of each line accumulates, ``known`` (int32[F, 2],
    changed) the latest group of each line and its row, -1 for none.
    """
    groups = 0
    for k in range(len(row)):
        latest = known[line[k]]
        if latest[0] < 0 or not (continues[line[k]] or latest[1] == row[k]):
            latest[0], latest[1] = groups, row[k]
            groups += 1
        group[k] = latest[0]
    return groups


@compiled_in_place
def enter_rows(
    rows: Any, begin: Any, number: Any, owners: Any, writers: Any, lines: Any, fold: Any, runs: Any
) -> Any:
    """Enter what rows need: operands where terms are computed, and contributions.

    ``number`` (int32[R]) are those of the rows.
    ``lines`` are those of what is sent and of contributions, ``fold`` int32[K] that of the contribution of
    each run that is computed where its operands live, -1 for others; ``runs`` are behind. Returns the row it
    stopped at, because there may be too few lines, and the runs behind it.
    """
    code, (sent, folds) = owners.code, lines
    for r in range(begin, len(rows.row_sink)):
        if is_full(sent, rows.source_ptr[rows.term_ptr[r + 1]] - rows.source_ptr[rows.term_ptr[r]]):
            return r, runs
        count = rows.row_count[r]
        fresh = 0 if rows.row_accumulates[r] else count
        owner, last_home, is_sent = owner_of(code[rows.row_sink[r]]), np.int64(NONE), True
        for t in range(rows.term_ptr[r], rows.term_ptr[r + 1]):
            home = home_of(rows, r, t, owners)
            is_remote = home >= 0 and home != owner
            if is_remote and home != last_home:
                last_home, is_sent = home, fold[runs] < 0
                if not is_sent:
                    enter(folds, np.int64(fold[runs]), number[r], count, count, fresh)
                runs += 1
            where = owner if is_sent or not is_remote else home
            for i in range(rows.source_ptr[t], rows.source_ptr[t + 1]):
                v = rows.source[i]
                if owner_of(code[v]) != where:
                    look_ahead(i, rows.source, sent)
                    enter_use(sent, v, where, number[r], count, writers)
    return len(rows.row_sink), runs
