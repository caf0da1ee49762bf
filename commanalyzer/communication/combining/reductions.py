"""Reductions that several parts take part in: send the operands, or combine them where they are.

Input: the rows of a graph with a term that a part may compute which is not the sink's, and what is sent in
any case. Output: all that these rows need, by the cheapest choice for all reductions together.

There are operands (with the bytes of sending each) and groups of terms (with the bytes of sending what they
combine to). An operand is paid for once, however many groups read it, so the choices depend on each other:
for each operand of each group, it is sent or the group is combined. That is a vertex cover of least weight in
a bipartite graph, which equals a minimum cut, and a maximum matching where all weights are equal (König's
theorem: Papadimitriou, Steiglitz, Combinatorial Optimization, 1982, ch. 10).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from commanalyzer.communication.combining import kernels
from commanalyzer.communication.kernels import MOST, VALUE, TermOwners
from commanalyzer.communication.messages.transfers import pairs
from commanalyzer.communication.totals import GraphTotals
from commanalyzer.communication.uses import Lines, PairUses, UseTable
from commanalyzer.foundation.compiled import frozen
from commanalyzer.graph.storage.store import AnyGraph
from commanalyzer.graph.value_graph import (
    Bool,
    Int32,
    Int64,
    Rows,
    order_by,
    pointer_from_counts,
    sorted_unique,
)

Pairs = Int32 | Int64


def groups_to_combine(
    operand_bytes: Int64, group_bytes: Int64, operand: Pairs, group: Pairs, *, own_bytes: Int64 | None = None
) -> Bool:
    """Return bool[G]: the groups to combine; the operands of all others are sent. Fewest groups on a tie.

    Sending takes ``operand_bytes``, int64[O], >= 0, sending what groups combine to ``group_bytes``, int64[G],
    > 0. Pairs, [E], may be repeated; groups ascend. ``own_bytes``, int64[G], are those of sending more
    operands, which no other group reads.
    """
    # What only one group reads is cheaper to send than to combine: it takes its share of what may flow.
    demand = group_bytes.astype(np.int64) if own_bytes is None else group_bytes - own_bytes
    combined = demand < 0
    is_open = ~combined[group]
    one, other = frozen(operand[is_open], np.int32), frozen(group[is_open], np.int32)
    operands, groups = len(operand_bytes), len(combined)
    operand_ptr, slot_pair = order_by(one, operands)
    group_ptr = frozen(pointer_from_counts(np.bincount(other, minlength=groups)), np.int64)
    slots = frozen(operand_ptr, np.int64), frozen(slot_pair, np.int32), frozen(other[slot_pair], np.int32)
    net = kernels.Net(one, other, group_ptr, *slots)
    path = np.empty(2 * operands + 2, np.int64)  # what is not used takes no memory
    level, group_level = np.empty(operands, np.int32), np.empty(groups, np.int32)
    queue, flow = np.empty(operands, np.int64), np.zeros(len(one), np.int64)
    left = operand_bytes.astype(np.int64), np.maximum(demand, 0)
    state = kernels.NetFlow(*left, flow, level, group_level)
    while kernels.layer(net, state, queue):
        kernels.augment(net, state, (operand_ptr[:-1].copy(), group_ptr[:-1].copy()), path)
    # groups on the operands' side of the least cut that is nearest to them
    return np.asarray(combined | (group_level >= 0))


def settle(
    graph: AnyGraph,
    totals: GraphTotals,
    rows: Rows,
    number: Int32,
    owners: TermOwners,
    sent: UseTable,
    num_parts: int,
    reads_others: bool,
) -> PairUses:
    """Enter all expansions that some ``rows`` that fold need, and return their fold contributions.

    ``number`` (int32[R]) are those of the rows among all. What other rows need is in ``sent``, which is added
    to. With ``reads_others``, sums read other versions of their operands than other rows. Of ``graph``, only
    vertices are looked at.
    """
    folds = Lines(graph.num_vertices, num_parts, is_wide=True)
    remote = _runs(graph, rows, owners, sent, folds)
    groups, combined = _cheaper_to_fold(graph, totals, rows, remote, sent.lines, len(folds), reads_others)
    row, runs = 0, 0
    fold = np.where(combined[groups.group], remote.fold, np.int32(-1))
    while True:
        lines = sent.lines.arrays, folds.arrays
        row, runs = kernels.enter_rows(rows, row, number, owners, sent.writers, lines, fold, runs)
        if row == rows.num_rows:
            return folds.pairs()
        sent.lines.expect(rows.flows_of(row))


class _Groups(NamedTuple):
    """G groups of K runs that one message can carry."""

    group: Int32  # [K], group of each run
    message_bytes: Int64  # [G], bytes of its messages
    own_bytes: Int64  # [G], bytes of sending operands that nothing else needs


def _runs(graph: AnyGraph, rows: Rows, owners: TermOwners, sent: UseTable, folds: Lines) -> kernels.Runs:
    """Find the runs of some rows; note in ``sent`` how often operands of other terms are sent at least."""
    most = int(rows.term_ptr[-1])
    item_end, own_bytes = (np.empty(most, np.int64) for _ in range(2))
    fold, row = np.empty(most, np.int32), np.empty(most, np.int32)
    item = np.empty(rows.num_flows, np.int32)
    seen = np.zeros(graph.num_vertices, np.uint32)
    kernels.note_needed(rows, owners.code, seen)
    sent.lines.expect(len(item) // 2)
    folds.expect(most // 4)
    seen, result = frozen(seen, np.uint32), kernels.Runs(fold, row, item_end, own_bytes, item)
    at, runs = 0, 0
    while True:
        operands = kernels.Operands(owners, seen, graph.width_bytes, sent.writers.versions, sent.lines.arrays)
        at, runs = kernels.split_rows(rows, at, operands, folds.arrays, result, runs)
        if at == rows.num_rows:
            items = int(item_end[runs - 1]) if runs else 0
            return kernels.Runs(fold[:runs], row[:runs], item_end[:runs], own_bytes[:runs], item[:items])
        sent.lines.expect(rows.flows_of(at))
        folds.expect(int(rows.term_ptr[at + 1] - rows.term_ptr[at]))


def _cheaper_to_fold(
    graph: AnyGraph,
    totals: GraphTotals,
    rows: Rows,
    remote: kernels.Runs,
    sent: Lines,
    num_folds: int,
    reads_others: bool,
) -> tuple[_Groups, Bool]:
    """Return groups of runs, and bool[G], sending what they combine to costs less than sending operands.

    A sum is sent once for each round or read. Operands that the owner receives anyway (``sent``) cost what
    more of their versions have to be sent. For others versions play no part: sending all constant items of a
    reduction once would be fewer bytes than combining them in every round, but moves its work to one part.
    """
    groups = _groups(graph, totals, rows, remote, num_folds)
    items = np.diff(remote.item_end, prepend=0)
    item, group, uses = remote.item, np.repeat(groups.group, items), np.zeros(len(sent), np.int64)
    np.maximum.at(uses, item, np.repeat(rows.row_count[remote.row], items))
    item_bytes = _sending_bytes(graph, sent, uses, reads_others)
    ascending = order_by(group, len(groups.message_bytes))[1]
    needed = item[ascending], group[ascending]
    return groups, groups_to_combine(item_bytes, groups.message_bytes, *needed, own_bytes=groups.own_bytes)


def _groups(
    graph: AnyGraph, totals: GraphTotals, rows: Rows, remote: kernels.Runs, num_folds: int
) -> _Groups:
    """Number the groups of ``remote``."""
    row, group = remote.row, np.empty(len(remote.row), np.int32)
    continues, known = np.zeros(num_folds, np.bool_), np.full((num_folds, 2), -1, np.int32)
    continues[remote.fold[rows.row_accumulates[row]]] = True
    count = kernels.number_groups(remote.fold, row, continues, known, group)
    sink = rows.row_sink[row]
    often = np.maximum(np.maximum(totals.rounds[sink], totals.reads[0, sink]), 1)  # no more sums are needed
    messages, added, own_bytes = np.zeros((3, count), np.int64)
    np.maximum.at(messages, group, np.minimum(rows.row_count[row], often))
    # Where the sum is read between contributions, those of one row do not wait for those of the next.
    partial = np.flatnonzero(totals.read[sink] > often)
    of, once = np.divmod(sorted_unique(pairs(group[partial], row[partial], rows.num_rows)), rows.num_rows)
    np.add.at(added, of, rows.row_count[once])
    of_group = np.zeros(count, np.int32)
    of_group[group] = sink
    messages = np.maximum(messages, np.minimum(added, totals.read[of_group]))
    np.add.at(own_bytes, group, remote.own_bytes)
    return _Groups(group, messages * graph.width_bytes[of_group], own_bytes)


def _sending_bytes(graph: AnyGraph, sent: Lines, uses: Int64, reads_others: bool) -> Int64:
    """Bytes of sending what each line of ``sent`` stands for so often, beside what is sent anyway."""
    value, have = sent.table.view(np.int32)[:, VALUE], sent.table[:, MOST]
    limit = np.maximum(graph.versions[value], 1)  # matters for what is paid for in part only
    new = np.maximum(np.minimum(uses, limit) - np.minimum(have, limit), 0)
    is_shared = (have > 0) & ~(reads_others & (have < limit))
    return np.asarray(np.where(is_shared, new, uses) * graph.width_bytes[value])
