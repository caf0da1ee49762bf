"""Itemised communication of one decomposition: which value goes from which part to which, and how often.

Input: uses of remote values found by a counter. Output: :class:`Charges`, whose sum is the
:class:`~commanalyzer.communication.matrix.Communication` and which says which values cause it.

Reference: paper Section 4.2.3, Algorithm 4 (REDUNDANTCOMMPRUNING and COMM_MAT_GENERATION).
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from commanalyzer.communication import kernels
from commanalyzer.communication.matrix import Communication
from commanalyzer.communication.totals import GraphTotals, totals_of
from commanalyzer.communication.uses import PairUses, numbered_keys
from commanalyzer.errors import ConfigError, GraphInvariantError
from commanalyzer.vcg.graph import Bool, Int32, Int64
from commanalyzer.vcg.large import AnyGraph, homes_of, versions_of, widths_of


@dataclass(frozen=True, slots=True)
class Transfers:
    """Items of communication of one kind.

    Attributes:
        value: int32[K], the value that is sent (expand) or contributed to (fold).
        sender: int32[K], part.
        receiver: int32[K], part, never the sender.
        low: int64[K], transfers that certainly happen, one word each.
        high: int64[K], upper end where collapsed versions leave doubt; equal to ``low`` when exact.
        width_bytes: int64[K], bytes per transfer.
    """

    value: Int32
    sender: Int32
    receiver: Int32
    low: Int64
    high: Int64
    width_bytes: Int64

    def __post_init__(self) -> None:
        if np.any(self.sender == self.receiver):
            raise GraphInvariantError("a part was charged for sending a value to itself")
        if np.any(self.low < 0) or np.any(self.low > self.high):
            raise GraphInvariantError("transfer counts need 0 <= low <= high")
        for f in fields(self):
            getattr(self, f.name).setflags(write=False)

    def __len__(self) -> int:
        return len(self.value)

    def chosen(self, wanted: Bool) -> Transfers:
        """Return some of the items; ``wanted``: bool[K]."""
        return Transfers(*(getattr(self, f.name)[wanted] for f in fields(self)))

    @property
    def low_bytes(self) -> int:
        """Bytes at the lower end."""
        return int(np.dot(self.low, self.width_bytes))

    @property
    def high_bytes(self) -> int:
        """Bytes at the upper end."""
        return int(np.dot(self.high, self.width_bytes))


@dataclass(frozen=True, slots=True)
class Charges:
    """Everything that is communicated: values sent to their readers, partial results sent to their owner.

    Attributes:
        num_parts: Number of parts p.
        expand: Values sent to the parts that read them (lambda - 1 of the value's net).
        fold: Combined contributions sent to the owner of a reduction.
    """

    num_parts: int
    expand: Transfers
    fold: Transfers

    def communication(self, graph: AnyGraph, totals: GraphTotals | None = None) -> Communication:
        """Return the matrix of this decomposition, counted at the lower end of every bracket.

        Messages: all values that go from i to j in the same round travel together. A round of an array is one
        version of its values, so an array takes as many messages as any one of its values is sent. Arrays
        that the same statement fills take turns (two buffers that are swapped): their messages add up.
        Arrays of different statements are taken to share rounds.

        Args:
            graph: The graph that was charged.
            totals: Its totals; computed if not given.
        """
        comm_bytes = np.zeros((self.num_parts, self.num_parts), dtype=np.int64)
        for item in (self.expand, self.fold):
            np.add.at(comm_bytes, (item.sender, item.receiver), item.low * item.width_bytes)
        return Communication(
            comm_bytes,
            self._messages(graph, totals or totals_of(graph)),
            low_bytes=self.expand.low_bytes + self.fold.low_bytes,
            high_bytes=self.expand.high_bytes + self.fold.high_bytes,
        )

    def _messages(self, graph: AnyGraph, totals: GraphTotals) -> Int64:
        value = np.concatenate((self.expand.value, self.fold.value))
        sender = np.concatenate((self.expand.sender, self.fold.sender)).astype(np.int64)
        receiver = np.concatenate((self.expand.receiver, self.fold.receiver)).astype(np.int64)
        count = np.concatenate((self.expand.low, self.fold.low))
        pair = sender * self.num_parts + receiver
        site, home = totals.site[value].astype(np.int64) + 1, homes_of(graph, value)
        arrays, array = numbered_keys(site * max(len(graph.objects), 1) + home)
        found, number = numbered_keys(pair * max(len(arrays), 1) + array)
        per_array = np.zeros(len(found), dtype=np.int64)
        kernels.raise_to(per_array, number, count)
        pair, array = np.divmod(found, max(len(arrays), 1))
        sites = len(graph.sites) + 1
        found, number = numbered_keys(pair * sites + arrays[array] // max(len(graph.objects), 1))
        per_site = np.zeros(len(found), dtype=np.int64)
        np.add.at(per_site, number, per_array)
        messages = np.zeros(self.num_parts * self.num_parts, dtype=np.int64)
        np.maximum.at(messages, found // sites, per_site)
        return messages.reshape(self.num_parts, self.num_parts)

    def bytes_per_object(self, graph: AnyGraph) -> Int64:
        """Return int64[O], bytes (lower end) charged because of the values of each object."""
        total = np.zeros(len(graph.objects), dtype=np.int64)
        for item in (self.expand, self.fold):
            np.add.at(total, homes_of(graph, item.value), item.low * item.width_bytes)
        return total


def expand_transfers(graph: AnyGraph, totals: GraphTotals, part: Int32, uses: PairUses) -> Transfers:
    """Return the transfers of values to the parts that read them.

    Per (value, part): at least as often as the most frequent reading row, at most as often as all reading
    rows together, and never more often than the value had versions (a value that never changes is sent once).
    The upper end leaves out partial results: where no row reads more versions than the value had rounds,
    readers are taken to see the end of each round, as they do after a reduction.

    The counts of ``uses`` become those of the transfers.
    """
    kernels.limit_uses(uses.most, uses.total, versions_of(graph, uses.value), totals.rounds[uses.value])
    return Transfers(
        uses.value,
        part[uses.value].astype(np.int32, copy=False),
        uses.part,
        uses.most,
        uses.total,
        widths_of(graph, uses.value).astype(np.int64),
    )


def check_parts(graph: AnyGraph, part: Int32, num_parts: int) -> None:
    """Raise ConfigError unless ``part`` gives every vertex one of ``num_parts`` parts."""
    if num_parts < 1:
        raise ConfigError(f"number of parts must be at least 1, found {num_parts}")
    if len(part) != graph.num_vertices:
        raise ConfigError(f"expected an owner for each of {graph.num_vertices} values, found {len(part)}")
    if len(part) and (part.min() < 0 or part.max() >= num_parts):
        raise ConfigError(f"owners must lie in [0, {num_parts}), found {part.min()} to {part.max()}")
