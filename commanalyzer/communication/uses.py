"""Uses of remote values by parts: what the counters collect before transfers are charged.

A *pair* is a value and a part that needs it (expand) or contributes to it (fold). How often the value has to
be sent follows from the counts of the rows because of which.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from commanalyzer.communication import kernels
from commanalyzer.communication.kernels import OwnerCodes, TermOwners, Writers
from commanalyzer.foundation.compiled import frozen
from commanalyzer.graph.value_graph import Bool, Int32, Int64, Rows

Entry = TypeVar("Entry", bound=np.generic)
_FEWEST_LINES = 1024
_FEWEST_BLOCKS = 64
_OWNER_TYPES = (np.int8, np.int16, np.int32)


@dataclass(frozen=True, slots=True)
class PairUses:
    """Uses collapsed to distinct (value, part) pairs in ascending order of (value, part)."""

    value: Int32  # [K], vertex
    part: Int32  # [K]
    most: Int64  # [K], largest count of a row
    total: Int64  # [K], sum of the counts of all distinct rows
    # [K], of contributions, counts of rows that start a new version of their sink; of uses, versions that are
    # seen in the order of rows, 0 where that is not told
    fresh: Int64
    terms: Int64  # [K], of contributions, terms of all rows, each as often as its row happened


def owner_codes(part: Int32, hub: Bool, num_parts: int) -> OwnerCodes:
    """Return int8[V] (wider for more parts), read-only: owners of values, ``~owner`` of hubs.

    They are looked up for every flow: narrow ones stay in the caches.
    """
    dtype = next(each for each in _OWNER_TYPES if num_parts - 1 <= np.iinfo(each).max)
    code = part.astype(dtype)
    return frozen(np.bitwise_not(code, out=code, where=hub), dtype)


class Lines:
    """Pairs of value and part with what uses them; see :mod:`commanalyzer.communication.kernels`.

    ``fresh`` and ``terms`` of :class:`PairUses` are noted if ``is_wide``. Kernels work on ``arrays``.
    """

    def __init__(self, num_vertices: int, num_parts: int, *, is_wide: bool) -> None:
        columns = 1 + (kernels.TERMS if is_wide else kernels.TOTAL)
        table = np.empty((_FEWEST_LINES, columns), dtype=np.int64)
        head = np.full(num_vertices, kernels.NONE, dtype=np.int32)
        slots = np.empty((_FEWEST_BLOCKS, num_parts), dtype=np.int32)
        self.arrays = kernels.LineTable(table, table.view(np.int32), head, slots, np.zeros(2, np.int64))

    @property
    def table(self) -> Int64:
        """int64[L, C], the lines."""
        return self.arrays.table[: self.arrays.used[0]]

    def __len__(self) -> int:
        return int(self.arrays.used[0])

    def expect(self, more: int) -> None:
        """Make room for ``more`` lines, and at least one block: what is not used takes no memory."""
        table, _, head, slots, used = self.arrays
        lines, blocks = used.tolist()
        if lines + more > len(table):
            table = larger(table, lines, max(lines + more, 2 * len(table)))
        if blocks == len(slots):
            slots = larger(slots, blocks, 2 * blocks)
        self.arrays = kernels.LineTable(table, table.view(np.int32), head, slots, used)

    def copy(self) -> Lines:
        """Return the same lines."""
        other, (table, _, head, slots, used) = copy.copy(self), self.arrays
        table, slots = larger(table, used[0], used[0]), larger(slots, used[1], max(used[1], 1))
        other.arrays = kernels.LineTable(table, table.view(np.int32), head.copy(), slots, used.copy())
        return other

    def pairs(self) -> PairUses:
        """Return all pairs of which there are uses."""
        lines, columns = self.table.shape  # of some there may be no uses: what they leave takes no memory
        keys, counts = np.empty((2, lines), np.int32), np.empty((columns - 2, lines), np.int64)
        count = kernels.ordered_pairs(self.arrays, keys, counts)
        keys, counts = keys[:, :count], counts[:, :count]
        fresh, terms = counts[2:] if len(counts) > 2 else np.zeros((2, count), np.int64)
        return PairUses(keys[0], keys[1], counts[0], counts[1], fresh, terms)


def larger(array: NDArray[Entry], count: int, size: int) -> NDArray[Entry]:
    """Return an array of ``size`` entries that begins with the first ``count`` of ``array``."""
    result = np.empty((size, *array.shape[1:]), array.dtype)
    result[:count] = array[:count]
    return result


class UseTable:
    """Uses of values by parts, collected in ``lines`` from rows of a graph in ascending order.

    Flows of ``removed`` values (bool[V]; empty for none) are left out.
    """

    def __init__(self, owners: TermOwners, num_parts: int, removed: Bool, writers: Writers) -> None:
        self._owners, self._removed = owners, frozen(removed, np.bool_)
        self.writers = writers
        self.lines = Lines(len(owners.code), num_parts, is_wide=len(writers.row) > 0)
        self._rows = 0

    def copy(self) -> UseTable:
        """Return the same uses, to which others may be added."""
        other = copy.copy(self)
        other.lines = self.lines.copy()
        return other

    def add(self, rows: Rows) -> tuple[Bool, int]:
        """Enter what ``rows`` need; return bool[R], those left to choose, and the number of the first."""
        is_open = np.zeros(rows.num_rows, dtype=np.bool_)
        self.lines.expect(rows.num_flows // 2)
        first, row, known = self._rows, 0, (self._owners, self.writers, self._removed)
        self._rows += rows.num_rows
        while True:
            row = kernels.scan_rows(rows, row, first, *known, self.lines.arrays, is_open)
            if row == rows.num_rows:
                return is_open, first
            self.lines.expect(rows.flows_of(row))
