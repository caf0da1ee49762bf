"""Uses of remote values by parts: what the counters collect before transfers are charged.

A *pair* is a value and a part that needs it (expand) or contributes to it (fold). How often the value has to
be sent follows from the counts of the rows because of which.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from commanalyzer.communication import kernels
from commanalyzer.compiled import frozen
from commanalyzer.vcg.graph import Bool, Int32, Int64, ValueGraph
from commanalyzer.vcg.segments import group_starts, sorted_unique

_KEY_LIMIT = 2**62
_FEWEST_LINES = 1024
_MOST_FORESEEN = 1 << 20


@dataclass(frozen=True, slots=True)
class Uses:
    """Uses of values by parts, one entry per (value, part, row); duplicates are allowed.

    Attributes:
        value: int64[N], vertex.
        part: int64[N], the part that needs the value (expand) or contributes to it (fold).
        row: int64[N], the row because of which.
    """

    value: Int64
    part: Int64
    row: Int64

    @staticmethod
    def join(*uses: Uses) -> Uses:
        """Return all entries of several use lists."""
        return Uses(
            np.concatenate([u.value for u in uses]),
            np.concatenate([u.part for u in uses]),
            np.concatenate([u.row for u in uses]),
        )


@dataclass(frozen=True, slots=True)
class PairUses:
    """Uses collapsed to distinct (value, part) pairs in ascending order of (value, part).

    Attributes:
        value: int64[K], vertex.
        part: int64[K], part.
        most: int64[K], largest count of any single row.
        total: int64[K], sum of the counts of all distinct rows.
        fresh: int64[K], sum of the counts of the rows that start a new version of their sink.
    """

    value: Int64
    part: Int64
    most: Int64
    total: Int64
    fresh: Int64


def none_used() -> PairUses:
    """Return no pairs."""
    none = np.zeros(0, dtype=np.int64)
    return PairUses(none, none, none, none, none)


def collapse(graph: ValueGraph, uses: Uses, num_parts: int) -> PairUses:
    """Return the distinct (value, part) pairs of ``uses`` with the bounds on their number of transfers.

    Packs (value, part, row) into one 64-bit key: one plain sort replaces an argsort of three arrays.
    """
    rows = max(graph.num_rows, 1)
    pair = uses.value * num_parts + uses.part
    table: Int64 | None = None
    if graph.num_vertices * num_parts >= _KEY_LIMIT // rows:
        table, inverse = np.unique(pair, return_inverse=True)
        pair = inverse.astype(np.int64)
    key = sorted_unique(pair * rows + uses.row)
    pair, row = np.divmod(key, rows)
    start = group_starts(pair)
    pair = pair[start] if table is None else table[pair[start]]
    count = graph.row_count[row]
    fresh = np.where(graph.row_accumulates[row], 0, count)
    if len(start) == 0:
        return none_used()
    value, part = np.divmod(pair, num_parts)
    return PairUses(
        value,
        part,
        np.maximum.reduceat(count, start),
        np.add.reduceat(count, start),
        np.add.reduceat(fresh, start),
    )


def numbered_keys(key: Int64) -> tuple[Int64, Int64]:
    """Return the distinct values of ``key`` (not negative) by first appearance, and the index of each entry.

    Linear, unlike ``np.unique``.
    """
    number = np.empty(len(key), dtype=np.int64)
    slots = np.full((1 << (2 * len(key)).bit_length(), 2), -1, dtype=np.int64)
    found = np.empty(kernels.number_keys(frozen(key, np.int64), slots, number), dtype=np.int64)
    used = slots[slots[:, 0] >= 0]
    found[used[:, 1]] = used[:, 0]
    return found, number


def distinct_keys(key: Int64) -> tuple[Int64, Int64]:
    """Return the same with the distinct values in ascending order."""
    found, number = numbered_keys(key)
    order = np.argsort(found, kind="stable")  # quick where they appear in ascending order
    rank = np.empty(len(found), dtype=np.int64)
    rank[order] = np.arange(len(found))
    return found[order], rank[number]


class UseTable:
    """Pairs of value and part, collected from rows of a graph in ascending order.

    Args:
        part: int32[V], owners.
        hub: bool[V], values that have no say in where a term is computed.
        num_parts: Number of parts p.
        removed: bool[V], values whose flows are left out; None for none.
    """

    def __init__(self, part: Int32, hub: Bool, num_parts: int, removed: Bool | None = None) -> None:
        self._part = frozen(part, np.int32)
        self._hub = frozen(hub, np.bool_)
        self._removed = frozen(np.zeros(0) if removed is None else removed, np.bool_)
        self._num_parts = num_parts
        self._num_vertices = len(part)
        self._table = _free_lines(_FEWEST_LINES)
        self._used = 0
        self._rows = 0

    def add(self, graph: ValueGraph) -> Bool:
        """Enter what ``graph``, the next rows, needs from other parts.

        Returns:
            bool[R], rows that were left out: another part may compute one of their terms.
        """
        is_open = np.zeros(graph.num_rows, dtype=np.bool_)
        self._grow(min(graph.num_flows // 8, _MOST_FORESEEN))
        row = 0
        while True:
            row, self._used = kernels.scan_rows(
                graph.row_sink,
                graph.row_count,
                graph.row_fold,
                graph.row_accumulates,
                graph.term_ptr,
                graph.source_ptr,
                graph.source,
                self._part,
                self._hub,
                self._removed,
                self._num_parts,
                row,
                self._rows,
                self._table,
                self._used,
                is_open,
            )
            if row == graph.num_rows:
                self._rows += graph.num_rows
                return is_open
            start, end = graph.source_ptr[graph.term_ptr[row : row + 2]].tolist()
            self._grow(2 * (self._used + end - start))

    def enter(self, graph: ValueGraph, uses: Uses) -> None:
        """Enter ``uses`` by rows of ``graph``, which are taken to follow those that were added."""
        order = np.argsort(uses.row, kind="stable")
        self._grow(2 * (self._used + len(order)))
        self._used += kernels.enter_uses(
            frozen(uses.value[order], np.int64),
            frozen(uses.part[order], np.int64),
            frozen(uses.row[order], np.int64),
            graph.row_count,
            graph.row_accumulates,
            self._num_parts,
            self._rows,
            self._table,
        )
        self._rows += graph.num_rows

    def most(self, value: Int64, part: Int64) -> Int64:
        """Return the largest count of a row that uses each pair, 0 where none does."""
        found = np.empty(len(value), dtype=np.int64)
        kernels.most_of(self._table, frozen(value, np.int64), frozen(part, np.int64), self._num_parts, found)
        return found

    def _grow(self, lines: int) -> None:
        """Make room for ``lines`` lines."""
        if lines <= len(self._table):
            return
        larger = _free_lines(max(2 * len(self._table), 1 << (lines - 1).bit_length()))
        kernels.rehash(self._table, self._num_parts, larger)
        self._table = larger

    def pairs(self) -> PairUses:
        """Return all pairs."""
        pairs = np.full((kernels.COLUMNS, self._used), -1, dtype=np.int64)
        place = np.zeros(self._num_vertices + 1, dtype=np.int64)
        kernels.ordered_pairs(self._table, self._num_parts, place, pairs)
        return PairUses(*pairs)


def _free_lines(count: int) -> Int64:
    table = np.zeros((count, kernels.COLUMNS), dtype=np.int64)
    table[:, 0] = -1
    return table
