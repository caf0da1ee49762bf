"""Transfers that travel alike, put together: charges -> who exchanges how much of which array with whom.

A decomposition has millions of transfers, but few pairs of parts times arrays. The matrix, messages, hub
values and phases are all made of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from commanalyzer.communication.matrix import Communication
from commanalyzer.communication.messages.transfers import Transfers
from commanalyzer.communication.totals import GraphTotals
from commanalyzer.foundation.compiled import compiled_in_place, frozen
from commanalyzer.graph.storage.slices import row_slices
from commanalyzer.graph.storage.store import AnyGraph, values_of
from commanalyzer.graph.value_graph import Bool, Int32, Int64, Rows, order_by


@dataclass(frozen=True, slots=True)
class Exchanges:
    """All transfers of each kind, pair of parts, statement and array, or level of it, (hubs apart) as one.

    They ascend by sender, receiver, statement, array and level.
    """

    num_parts: int
    num_homes: int  # arrays O
    is_expand: Bool  # [N], values that are sent; else contributions
    is_hub: Bool  # [N], values that travel by collectives
    sender: Int64  # [N], part
    receiver: Int64  # [N], part
    site: Int64  # [N], statement that makes the values, -1 for none
    home: Int64  # [N], array
    level: Int64  # [N], of it, see ``GraphTotals``
    rounds: Int64  # [N], most often that one of the values as many hops away is sent, all of these
    low_bytes: Int64  # [N], at the lower end
    comm_bytes: Int64  # [N], most likely
    high_bytes: Int64  # [N], at the upper end

    @classmethod
    def of(
        cls,
        kinds: Sequence[Transfers],
        num_parts: int,
        graph: AnyGraph,
        totals: GraphTotals,
        part: Int32,
        hubs: Bool | None = None,
    ) -> Exchanges:
        """Put transfers, contributions and values that are sent, together.

        Owners are ``part`` (int32[V]), ``hubs`` bool[V].
        """
        value, sender, receiver, *counts, width = (
            np.concatenate([getattr(item, f.name) for item in kinds]) for f in fields(Transfers)
        )
        pair, levels = sender.astype(np.int64) * num_parts + receiver, int(totals.level.max(initial=0)) + 1
        homes = max(len(graph.objects), 1)
        alike = (totals.site[value] + np.int64(1)) * homes + values_of(graph, "home_object", value)
        alike = 4 * (alike * levels + totals.level[value])
        alike += np.repeat(np.arange(len(kinds)), list(map(len, kinds)))
        if hubs is not None:
            alike += 2 * hubs[value]
        hops = hops_of(graph, totals, part)[value]
        order, begin = _grouped(pair, alike * (int(hops.max(initial=0)) + 1) + hops, num_parts**2)
        together = np.maximum.reduceat(counts[1][order], begin)  # what is as many hops away
        groups = _firsts(pair[order[begin]], alike[order[begin]])
        rounds, begin = np.add.reduceat(together, groups), begin[groups]
        first = order[begin]
        place, level = np.divmod(alike[first] // 4, levels)
        site, home = np.divmod(place, homes)
        moved = (np.add.reduceat((count * width)[order], begin) for count in counts)
        is_expand, is_hub = alike[first] % 2 == 1, alike[first] // 2 % 2 == 1
        ends = sender[first].astype(np.int64), receiver[first].astype(np.int64)
        known = num_parts, len(graph.objects), is_expand, is_hub, *ends, site - 1, home, level, rounds
        return cls(*known, *moved)

    def chosen(self, wanted: Bool) -> Exchanges:
        """Return some of them; ``wanted``: bool[N]."""
        columns = [f.name for f in fields(self) if not f.name.startswith("num_")]
        return replace(self, **{name: getattr(self, name)[wanted] for name in columns})

    def communication(self) -> Communication:
        """Return the matrix, with the most likely number in every bracket.

        Messages: all values that go from i to j in the same round travel together. A round of an array is one
        version of its values, so an array takes as many messages as any one of its values is sent; a value
        that is computed from what another part sent of the same array goes in a later one. Arrays, and levels
        in time of one, that the same statement fills take turns (two buffers that are swapped): their
        messages add up. Arrays of different statements are taken to share rounds.
        """
        comm_bytes = np.zeros((self.num_parts, self.num_parts), dtype=np.int64)
        np.add.at(comm_bytes, (self.sender, self.receiver), self.comm_bytes)
        return Communication(
            comm_bytes,
            self._messages(),
            low_bytes=int(self.low_bytes.sum()),
            high_bytes=int(self.high_bytes.sum()),
        )

    def _messages(self) -> Int64:
        messages = np.zeros((self.num_parts, self.num_parts), dtype=np.int64)
        keys = np.stack((self.sender, self.receiver, self.site, self.home, self.level))
        first = _firsts(*keys)
        per_array, keys = np.maximum.reduceat(self.rounds, first), keys[:3, first]
        first = _firsts(*keys)
        np.maximum.at(messages, tuple(keys[:2, first]), np.add.reduceat(per_array, first))
        return messages

    def bytes_per_object(self) -> Int64:
        """Return int64[O], bytes because of the values of each object."""
        total = np.zeros(self.num_homes, dtype=np.int64)
        np.add.at(total, self.home, self.comm_bytes)
        return total


def hops_of(graph: AnyGraph, totals: GraphTotals, part: Int32) -> Int32:
    """Return int32[V], how often values of its own array went to another part on the longest way to each.

    Owners are ``part`` (int32[V]), rows are in the order of their first occurrence. A row of a matrix that is
    computed from rows before it, on other parts, waits for these. Values that begin anew, as in each step of
    a loop over time, count for nothing: which of their versions is read is not known.
    """
    hops, array = np.zeros(graph.num_vertices, np.int32), graph.home_object.copy()
    private = graph.is_register | graph.is_temporary
    array[private] = -1
    for rows in row_slices(graph):
        _note_hops(rows, frozen(part, np.int32), totals.rounds <= 1, private, array, hops)
    return hops


@compiled_in_place
def _note_hops(rows: Rows, part: Int32, once: Bool, private: Bool, array: Int32, hops: Int32) -> None:
    """Add the hops of some rows; private values hand on the most of what they are computed from."""
    for r in range(len(rows.row_sink)):
        k = rows.row_sink[r]
        for i in range(rows.source_ptr[rows.term_ptr[r]], rows.source_ptr[rows.term_ptr[r + 1]]):
            s = rows.source[i]
            count = hops[s] + (part[s] != part[k])
            if s == k or array[s] < 0 or not once[s]:
                continue
            if private[k] and (array[k] < 0 or count > hops[k]):
                array[k], hops[k] = array[s], count
            elif array[s] == array[k]:
                hops[k] = max(hops[k], count)


def _firsts(*keys: Int64) -> NDArray[np.intp]:
    """Return the first of each group of equal keys, which are sorted; the first key is never negative."""
    return np.flatnonzero(np.any([np.diff(key, prepend=-1) != 0 for key in keys], axis=0))


def _grouped(row: Int64, column: Int64, rows: int) -> tuple[Int64, NDArray[np.intp]]:
    """Return the entries by ascending (row, column), and where each distinct pair begins among these.

    Without comparing all keys: by counting, and only what is in one row, [0, rows), is sorted.
    """
    pointer, order = order_by(row, rows)
    entries = order, column[order], pointer
    table = csr_array(entries, shape=(rows, int(column.max(initial=0)) + 1))
    table.sort_indices()
    order = table.data
    return order, _firsts(row[order], column[order])
