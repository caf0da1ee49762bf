"""Transfers that travel alike, put together: charges -> who exchanges how much of which array with whom.

A decomposition has millions of transfers, but few pairs of parts times arrays. The matrix, messages, hub
values and phases are all made of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from commanalyzer.communication.matrix import Communication
from commanalyzer.communication.messages import exchange_kernels as kernels
from commanalyzer.communication.messages.transfers import Transfers
from commanalyzer.communication.totals import GraphTotals
from commanalyzer.foundation.compiled import frozen
from commanalyzer.vcg.graph import Bool, Int64
from commanalyzer.vcg.storage.large import AnyGraph, homes_of

_FEWEST_LINES = 1024
FOLD, EXPAND = range(2)


@dataclass(frozen=True, slots=True)
class Exchanges:
    """All transfers of each kind, pair of parts, statement and array (hub values apart) as one.

    Attributes:
        num_parts: Number of parts p.
        num_homes: Number of arrays O.
        is_expand: bool[N], values that are sent; else contributions.
        is_hub: bool[N], values that travel by collectives.
        sender: int64[N], part.
        receiver: int64[N], part.
        site: int64[N], statement that makes the values, -1 for none.
        home: int64[N], array.
        rounds: int64[N], most often that one of the values is sent.
        low_bytes: int64[N], bytes at the lower end.
        comm_bytes: int64[N], bytes, most likely.
        high_bytes: int64[N], bytes at the upper end.
    """

    num_parts: int
    num_homes: int
    is_expand: Bool
    is_hub: Bool
    sender: Int64
    receiver: Int64
    site: Int64
    home: Int64
    rounds: Int64
    low_bytes: Int64
    comm_bytes: Int64
    high_bytes: Int64

    @classmethod
    def of(
        cls,
        kinds: Sequence[Transfers],
        num_parts: int,
        graph: AnyGraph,
        totals: GraphTotals,
        hubs: Bool | None = None,
    ) -> Exchanges:
        """Put transfers together; linear in their number.

        Args:
            kinds: Contributions and values that are sent.
            num_parts: Number of parts p.
            graph: The graph that was charged.
            totals: Its totals.
            hubs: bool[V], hub values; None for none.
        """
        lines = _lines(kinds, num_parts, graph, totals, hubs)
        pair, array = lines[:, kernels.PAIR], lines[:, kernels.ARRAY]
        sender, receiver = np.divmod(pair // 2, num_parts)
        site, home = np.divmod(array // 2, max(len(graph.objects), 1))
        rest = (lines[:, column] for column in range(kernels.ROUNDS, kernels.COLUMNS))
        parts = (sender, receiver, site - 1, home)
        return cls(num_parts, len(graph.objects), pair % 2 == EXPAND, array % 2 == 1, *parts, *rest)

    def chosen(self, wanted: Bool) -> Exchanges:
        """Return some of them; ``wanted``: bool[N]."""
        columns = [f.name for f in fields(self) if not f.name.startswith("num_")]
        return replace(self, **{name: getattr(self, name)[wanted] for name in columns})

    def communication(self) -> Communication:
        """Return the matrix, with the most likely number in every bracket.

        Messages: all values that go from i to j in the same round travel together. A round of an array is one
        version of its values, so an array takes as many messages as any one of its values is sent. Arrays
        that the same statement fills take turns (two buffers that are swapped): their messages add up.
        Arrays of different statements are taken to share rounds.
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
        if not len(self.rounds):
            return messages
        keys = [self.sender, self.receiver, self.site, self.home]
        order = np.lexsort(keys[::-1])
        keys = [key[order] for key in keys]
        first = _firsts(keys)
        per_array, keys = np.maximum.reduceat(self.rounds[order], first), [key[first] for key in keys[:3]]
        first = _firsts(keys)
        np.maximum.at(messages, (keys[0][first], keys[1][first]), np.add.reduceat(per_array, first))
        return messages

    def bytes_per_object(self) -> Int64:
        """Return int64[O], bytes because of the values of each object."""
        total = np.zeros(self.num_homes, dtype=np.int64)
        np.add.at(total, self.home, self.comm_bytes)
        return total


def _firsts(keys: Sequence[Int64]) -> Int64:
    """Return the first of each group of equal keys, which are sorted; at least one."""
    is_new = np.any([key[1:] != key[:-1] for key in keys], axis=0)
    return np.flatnonzero(np.append(True, is_new))


def _lines(
    kinds: Sequence[Transfers], num_parts: int, graph: AnyGraph, totals: GraphTotals, hubs: Bool | None
) -> Int64:
    """Return the lines of :mod:`commanalyzer.communication.messages.exchange_kernels`."""
    lines, count = np.empty((_FEWEST_LINES, kernels.COLUMNS), dtype=np.int64), 0
    slots = np.full(2 * len(lines), kernels.FREE, dtype=np.int32)
    homes = max(len(graph.objects), 1)
    hub = frozen(np.zeros(0) if hubs is None else hubs, np.bool_)
    for kind, item in enumerate(kinds):
        columns = tuple(getattr(item, f.name) for f in fields(item))
        home, begin = frozen(homes_of(graph, item.value), np.int32), 0
        while True:
            begin, count = kernels.add_transfers(
                *(begin, kind, columns, home, homes, totals.site, hub, num_parts, lines, count, slots)
            )
            if begin == len(item):
                break
            lines = np.concatenate((lines, np.empty_like(lines)))
            slots = np.full(2 * len(lines), kernels.FREE, dtype=np.int32)
            kernels.place_lines(lines[:count], slots)
    return lines[:count]
