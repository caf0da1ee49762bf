"""Itemised communication of one decomposition: which value goes from which part to which, and how often.

Input: uses of remote values found by a counter. Output: :class:`Charges`, whose sum is the
:class:`~commanalyzer.communication.matrix.Communication` and which says which values cause it.

Reference: paper Section 4.2.3, Algorithm 4 (REDUNDANTCOMMPRUNING and COMM_MAT_GENERATION).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from commanalyzer.communication.matrix import Communication
from commanalyzer.communication.messages.exchanges import Exchanges
from commanalyzer.communication.messages.transfers import Transfers
from commanalyzer.communication.totals import GraphTotals, totals_of
from commanalyzer.communication.uses import PairUses
from commanalyzer.foundation.errors import ConfigError, GraphInvariantError
from commanalyzer.graph.storage.store import AnyGraph, values_of
from commanalyzer.graph.value_graph import Bool, Int32, Int64


@dataclass(frozen=True, slots=True)
class Charges:
    """Everything that is communicated: values sent to their readers, partial results sent to their owner."""

    num_parts: int
    # Values to parts that read them (lambda - 1 of a value's net), by ascending value, receiver.
    expand: Transfers
    fold: Transfers  # combined contributions to the owner of a reduction
    # Terms whose operands the sender of each of these has, each as often as its row happened: they are
    # computed there instead of by the owner.
    fold_terms: Int64
    splits_terms: bool = False  # terms whose operands several parts own may be computed at the rarest of them

    @property
    def nbytes(self) -> int:
        """Memory that all columns take."""
        return self.expand.nbytes + self.fold.nbytes + self.fold_terms.nbytes

    @property
    def comm_bytes(self) -> int:
        """Bytes of all transfers, most likely."""
        return self.expand.comm_bytes + self.fold.comm_bytes

    def combines_as(self, other: Charges) -> bool:
        """Whether the same terms are computed by the same parts."""
        pairs = ((c.fold.value, c.fold.sender, c.fold_terms) for c in (self, other))
        return self.splits_terms == other.splits_terms and all(map(np.array_equal, *pairs))

    def listed(self) -> Int64:
        """Return int64[K, 4], value, sender, receiver and how often, of all that happens."""
        columns = [(t.value, t.sender, t.receiver, t.count) for t in (self.expand, self.fold)]
        found = np.concatenate([np.stack(each, axis=1, dtype=np.int64) for each in columns])
        return found[found[:, 3] > 0]

    def exchanges(
        self, graph: AnyGraph, part: Int32, totals: GraphTotals | None = None, hubs: Bool | None = None
    ) -> Exchanges:
        """Return the transfers of owners ``part`` (int32[V]) by pair and array; ``hubs`` (bool[V]) apart."""
        kinds, totals = (self.fold, self.expand), totals or totals_of(graph)
        return Exchanges.of(kinds, self.num_parts, graph, totals, part, hubs)

    def communication(self, graph: AnyGraph, part: Int32, totals: GraphTotals | None = None) -> Communication:
        """Return the matrix of this decomposition: :meth:`Exchanges.communication` of :meth:`exchanges`."""
        return self.exchanges(graph, part, totals).communication()


def charges_of(graph: AnyGraph, part: Int32, num_parts: int, listed: Int64) -> Charges:
    """Return what was :meth:`~Charges.listed`, of the same owners: an owner sends values, or receives sums.

    Raises ``GraphInvariantError`` if it is not of this graph, or of other owners.
    """
    value, sender, receiver, count = listed.T
    if len(value) and (value.max() >= graph.num_vertices or listed[:, 1:3].max() >= num_parts):
        raise GraphInvariantError("expected transfers of values of this graph, found others")
    is_sent, is_combined = part[value] == sender, part[value] == receiver
    if not (is_sent ^ is_combined).all():
        raise GraphInvariantError("expected transfers from or to the owner of each value, found others")
    width = values_of(graph, "width_bytes", value).astype(np.int64)
    ends = *listed[:, :3].astype(np.int32).T, count, count, count, width
    expand, fold = (Transfers(*(column[which] for column in ends)) for which in (is_sent, is_combined))
    return Charges(num_parts, expand, fold, np.zeros(0, np.int64))


def expand_transfers(graph: AnyGraph, totals: GraphTotals, part: Int32, uses: PairUses) -> Transfers:
    """Return the transfers of values to the parts that read them.

    Per (value, part): at least as often as the row that reads it most, but for what it may have read twice
    (what was there before anything was computed, of a norm that is taken once more at the end; what one of
    several rows that make the value leaves); at most as often as all reading rows together, and never more
    often than the value had versions. The upper end leaves out partial results of values that are not read
    between them: where no row reads more versions than such a value had rounds, readers see the end of each.
    The likeliest number is between: what is seen in the order of rows, where no row alone reads all versions
    that are read; else all see those that the most frequent one does.
    """
    rounds, read = totals.rounds[uses.value], totals.read[uses.value]
    made = np.maximum(values_of(graph, "versions", uses.value), 1)
    finished = np.where(read > rounds, made, np.minimum(rounds, made))
    limit = np.where(uses.most <= finished, finished, made)
    likely = np.minimum(np.minimum(uses.fresh, limit), read)
    return Transfers(
        uses.value,
        part[uses.value].astype(np.int32, copy=False),
        uses.part,
        np.minimum(uses.most, totals.certain[uses.value]),
        np.maximum(likely, np.minimum(uses.most, made)),
        np.minimum(uses.total, limit),
        values_of(graph, "width_bytes", uses.value).astype(np.int64),
    )


def check_parts(graph: AnyGraph, part: Int32, num_parts: int) -> None:
    """Raise ConfigError unless ``part`` gives every vertex one of ``num_parts`` parts."""
    if num_parts < 1:
        raise ConfigError(f"number of parts must be at least 1, found {num_parts}")
    if len(part) != graph.num_vertices:
        raise ConfigError(f"expected an owner for each of {graph.num_vertices} values, found {len(part)}")
    if len(part) and (part.min() < 0 or part.max() >= num_parts):
        raise ConfigError(f"owners must lie in [0, {num_parts}), found {part.min()} to {part.max()}")
