"""Reductions that several parts take part in: send the operands, or combine them where they are.

Input: the rows of a graph with a term that a part may compute which is not the sink's, and what is sent in
any case. Output: all that these rows need.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from commanalyzer.communication.combining import reduction_kernels as kernels
from commanalyzer.communication.combining.cover import Pairs, groups_to_combine
from commanalyzer.communication.grouping import grouped
from commanalyzer.communication.kernels import MOST, VALUE
from commanalyzer.communication.totals import GraphTotals
from commanalyzer.communication.uses import Lines, OwnerCodes, PairUses, UseTable
from commanalyzer.foundation.compiled import frozen
from commanalyzer.vcg.graph import Bool, Int32, Int64, Rows
from commanalyzer.vcg.storage.large import AnyGraph
from commanalyzer.vcg.structure.segments import expand_ranges, order_by


def settle(
    graph: AnyGraph, totals: GraphTotals, rows: Rows, code: OwnerCodes, readers: Int32, sent: UseTable,
    num_parts: int,
) -> PairUses:  # fmt: skip
    """Enter all expansions that some rows need, and return their fold contributions.

    Args:
        graph: Value graph; only its vertices are looked at.
        totals: Totals of its rows.
        rows: Rows of it that fold.
        code: int8[V] or wider, owner codes.
        readers: int32[V], terms that read each value; empty where terms are only computed at common owners.
        sent: What other rows need; added to.
        num_parts: Number of parts p.
    """
    folds = Lines(graph.num_vertices, num_parts, is_fold=True)
    remote = _runs(graph, rows, code, readers, sent.lines, folds)
    groups, combined = _cheaper_to_fold(graph, totals, rows, remote, sent.lines, len(folds))
    first, row, runs = sent.number_rows(rows.num_rows), 0, 0
    while True:
        lines = sent.lines.arrays, folds.arrays
        row, runs = kernels.enter_rows(
            *(rows, row, first, code, readers, *lines),
            *(groups.group, groups.line, combined, runs),
        )
        if row == rows.num_rows:
            return folds.pairs()
        sent.lines.expect(rows.flows_of(row))


@dataclass(frozen=True, slots=True)
class _Runs:
    """Terms of a row that a part may compute which is not the sink's: K runs of terms with N items.

    Attributes:
        fold: int32[K], line of the contribution to the sink.
        row: int32[K], row.
        item_end: int64[K], where the items of each run end.
        own_bytes: int64[K], bytes of sending operands that nothing else needs there: they are no items.
        item: int32[N], lines of other operands, hubs aside, at the sink's owner.
    """

    fold: Int32
    row: Int32
    item_end: Int64
    own_bytes: Int64
    item: Int32


@dataclass(frozen=True, slots=True)
class _Groups:
    """Groups of runs that one message can carry.

    Attributes:
        group: int32[K], group of each run.
        line: int32[G], line of the contributions of each group.
        message_bytes: int64[G], bytes of its messages.
        own_bytes: int64[G], bytes of sending operands that nothing else needs.
    """

    group: Int32
    line: Int32
    message_bytes: Int64
    own_bytes: Int64


def _runs(graph: AnyGraph, rows: Rows, code: OwnerCodes, readers: Int32, sent: Lines, folds: Lines) -> _Runs:
    """Find the runs of some rows; note in ``sent`` how often operands of other terms are sent at least."""
    most = int(rows.term_ptr[-1])
    item_end, own_bytes = (np.empty(most, np.int64) for _ in range(2))
    fold, row = np.empty(most, np.int32), np.empty(most, np.int32)
    item = np.empty(rows.num_flows, np.int32)
    seen = np.zeros(graph.num_vertices, np.uint32)
    kernels.note_needed(rows, code, seen)
    sent.expect(len(item) // 2)
    folds.expect(most // 4)
    result = fold, row, item_end, own_bytes, item
    at, runs = 0, 0
    while True:
        lines = sent.arrays, folds.arrays
        at, runs = kernels.split_rows(
            rows, at, code, readers, frozen(seen, np.uint32), graph.width_bytes, *lines, result, runs
        )
        if at == rows.num_rows:
            items = int(item_end[runs - 1]) if runs else 0
            return _Runs(fold[:runs], row[:runs], item_end[:runs], own_bytes[:runs], item[:items])
        sent.expect(rows.flows_of(at))
        folds.expect(int(rows.term_ptr[at + 1] - rows.term_ptr[at]))


def _cheaper_to_fold(
    graph: AnyGraph, totals: GraphTotals, rows: Rows, remote: _Runs, sent: Lines, num_folds: int
) -> tuple[_Groups, Bool]:
    """Return groups of runs, and bool[G], sending what they combine to costs less than sending operands.

    A sum is sent once for each round or read. Operands that the owner receives anyway (``sent``) cost what
    more of their versions have to be sent. For others versions play no part: sending all constant items of a
    reduction once would be fewer bytes than combining them in every round, but moves its work to one part.
    """
    groups = _groups(graph, totals, rows, remote, num_folds)
    step_bytes, step, step_group = _steps(graph, *_pairs(rows, remote, groups), sent)
    known = step_bytes, groups.message_bytes, step, step_group
    return groups, groups_to_combine(*known, own_bytes=groups.own_bytes)


def _groups(graph: AnyGraph, totals: GraphTotals, rows: Rows, remote: _Runs, num_folds: int) -> _Groups:
    """Number the groups of ``remote``."""
    row, line = remote.row, np.empty(len(remote.row), np.int32)
    continues, known = np.zeros(num_folds, np.bool_), np.full((num_folds, 2), -1, np.int32)
    continues[remote.fold[rows.row_accumulates[row]]] = True
    group = np.empty_like(line)
    count = kernels.number_groups(remote.fold, row, continues, known, group, line)
    sink = rows.row_sink[row]
    often = np.maximum(np.maximum(totals.rounds[sink], totals.reads[0, sink]), 1)  # no more sums are needed
    message_bytes, own_bytes = np.zeros((2, count), np.int64)
    np.maximum.at(message_bytes, group, np.minimum(rows.row_count[row], often) * graph.width_bytes[sink])
    np.add.at(own_bytes, group, remote.own_bytes)
    return _Groups(group, line[:count], message_bytes, own_bytes)


def _pairs(rows: Rows, remote: _Runs, groups: _Groups) -> tuple[Pairs, Pairs, Int64]:
    """Return the distinct pairs of item and group, by groups, and how often the group needs the item."""
    items = np.diff(remote.item_end, prepend=0)
    group, count = np.repeat(groups.group, items), np.repeat(rows.row_count[remote.row], items)
    item = remote.item
    order, begin = grouped(group, item, len(groups.line))
    first = order[begin]
    return item[first], group[first], np.maximum.reduceat(count[order], begin)


def _steps(
    graph: AnyGraph, item: Pairs, group: Pairs, uses: Int64, sent: Lines
) -> tuple[Int64, Pairs, Pairs]:
    """Cut items that groups need different numbers of times into one step for each such number.

    Arguments as returned by :func:`_pairs`, and the lines of the items. Returns what each step costs in
    addition to the one before, and the pairs of a step and a group that needs it, by groups.
    """
    value, have = sent.table.view(np.int32)[:, VALUE], sent.table[:, MOST]
    versions, width_bytes = np.maximum(graph.versions[value], 1), graph.width_bytes[value]

    def bytes_of(line: Pairs, count: Int64) -> Int64:
        limit = versions[line]  # matters for what is paid for in part only
        new = np.maximum(np.minimum(count, limit) - np.minimum(have[line], limit), 0)
        return np.asarray(np.where(have[line] > 0, new, count) * width_bytes[line])

    least = np.full(len(sent), np.iinfo(np.int64).max)
    np.minimum.at(least, item, uses)
    least[np.bincount(item, minlength=len(sent)) == 0] = 0
    step_bytes, more = bytes_of(np.arange(len(sent)), least), np.flatnonzero(uses > least[item])
    if not len(more):
        return step_bytes, item, group
    order, begin = grouped(item[more], uses[more], len(sent))
    entry = more[order]
    step = np.cumsum(np.bincount(begin, minlength=len(entry))) - 1  # of the further ones
    line, often = item[entry[begin]], uses[entry[begin]]
    begins = np.diff(line, prepend=-1).astype(np.bool_)
    first = np.maximum.accumulate(np.where(begins, np.arange(len(line)), 0))[step]
    before = np.where(begins, least[line], np.roll(often, 1))
    further = np.concatenate((step_bytes, bytes_of(line, often) - bytes_of(line, before)))
    needed = step - first + 1
    step = np.concatenate((item.astype(np.int64), len(sent) + expand_ranges(first, needed)))
    group = np.concatenate((group, np.repeat(group[entry], needed)))
    by_group = order_by(group, int(group.max()) + 1)[1]
    return further, step[by_group], group[by_group]
