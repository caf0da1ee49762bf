"""Reductions that several parts take part in: send the operands, or combine them where they are.

Input: the rows of a graph with a term that a part may compute which is not the sink's, and what is sent in
any case. Output: all that these rows need.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from commanalyzer.communication.combining import reduction_kernels as kernels
from commanalyzer.communication.combining.cover import Table, groups_to_combine, sparse_table
from commanalyzer.communication.totals import GraphTotals
from commanalyzer.communication.uses import Lines, OwnerCodes, PairUses, UseTable
from commanalyzer.foundation.compiled import frozen
from commanalyzer.vcg.graph import Bool, Int32, Int64, Rows
from commanalyzer.vcg.storage.large import AnyGraph


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


def has_split_terms(rows: Rows, code: OwnerCodes, readers: Int32) -> bool:
    """Return whether a term of some rows may be computed at the rarest of operands that several parts own."""
    return bool(kernels.has_split_terms(rows, code, readers))


@dataclass(slots=True)
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

    An operand that groups need different numbers of times is one operand per step of that number.
    """
    groups = _groups(graph, totals, rows, remote, num_folds)
    item, pair_group, uses = _pairs(rows, remote, groups, len(sent))
    step_bytes, step, step_group, table = _steps(graph, item, pair_group, uses, sent)
    weights = step_bytes, groups.message_bytes
    return groups, groups_to_combine(*weights, step, step_group, own_bytes=groups.own_bytes, table=table)


def _groups(graph: AnyGraph, totals: GraphTotals, rows: Rows, remote: _Runs, num_folds: int) -> _Groups:
    """Number the groups of ``remote``, whose ``fold`` and ``own_bytes`` are used up: lists may be long."""
    group, line = remote.fold, np.empty(len(remote.row), np.int32)
    message_bytes, own_bytes = np.zeros(len(group), np.int64), np.zeros(len(group), np.int64)
    count = kernels.number_groups(
        *(rows, graph.width_bytes, (totals.rounds, totals.reads[0]), remote.row, remote.own_bytes),
        *(np.zeros(num_folds, np.bool_), *(np.full(num_folds, -1, np.int32) for _ in range(2))),
        *(group, line, message_bytes, own_bytes),
    )
    remote.fold, remote.own_bytes = np.zeros(0, np.int32), np.zeros(0, np.int64)
    return _Groups(group, line[:count], message_bytes[:count], own_bytes[:count])


def _steps(
    graph: AnyGraph, item: Int32, pair_group: Int32, uses: Int64, sent: Lines
) -> tuple[Int64, Int32, Int32, Table | None]:
    """Return the bytes of each step, the pairs of step and group, and the table of them where it is known.

    Arguments as returned by :func:`_pairs`, and the lines of the items.
    """
    pointer, pairs = sparse_table(item, len(sent))
    step_bytes, step_ptr = np.empty(len(item), np.int64), np.empty(len(item) + 1, np.int64)
    first, last = np.empty(len(item), np.int32), np.empty(len(item), np.int32)
    steps, needed = kernels.cut_steps(
        pointer,
        pairs,
        uses,
        sent.arrays,
        graph.versions,
        graph.width_bytes,
        np.empty(int(np.diff(pointer).max(initial=0)), np.int64),
        step_bytes,
        step_ptr,
        first,
        last,
    )
    if needed == len(item):
        return step_bytes[:steps], last, pair_group, (frozen(step_ptr[: steps + 1], np.int64), pairs)
    step, group = np.empty(needed, np.int32), np.empty(needed, np.int32)
    kernels.write_steps(first, last, pair_group, step, group)
    return step_bytes[:steps], step, group, None


def _pairs(rows: Rows, remote: _Runs, groups: _Groups, lines: int) -> tuple[Int32, Int32, Int64]:
    """Return the distinct pairs of item and group, and how often the group needs the item."""
    item, pair_group = np.empty(len(remote.item), np.int32), np.empty(len(remote.item), np.int32)
    uses, place = np.empty(len(remote.item), np.int64), np.full(lines, -1, np.int32)
    table = sparse_table(groups.group, len(groups.line))
    terms = remote.row, remote.item_end, remote.item
    count = kernels.pair_up(rows, *terms, *table, place, item, pair_group, uses)
    return frozen(item[:count], np.int32), pair_group[:count], frozen(uses[:count], np.int64)
