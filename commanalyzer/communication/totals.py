"""What counting needs of all rows of a graph, whatever the owners: computed once, for all decompositions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from commanalyzer.communication import kernels
from commanalyzer.communication.decisions import Decisions
from commanalyzer.graph.storage.large import AnyGraph
from commanalyzer.graph.storage.slices import row_slices
from commanalyzer.graph.value_graph import Bool, Int32, Int64


@dataclass(frozen=True, slots=True)
class GraphTotals:
    """Sums over the rows of each sink.

    Attributes:
        rounds: int32[V] (int64[V] where they are more), versions that start a new round: made without reading
            the previous version. The input version is one of them. Successive ``x += term`` versions belong
            to the round they continue.
        site: int32[V], site that most often stores to the vertex (the latest on a tie), -1 for none.
        readers: int32[V], terms that read the value (flows from it), their complement where ``read`` is more
            than ``rounds`` and one.
        reads: int64[2, V], how often the row that read it most did, and all rows together.
        read: int64[V], versions that are read, in the order in which rows happened first: where they are
            more than start rounds, what reads the value sees partial results.
        remains: bool[V], in memory, or made once: may be needed where nobody is seen to read it.
        decisions: Decisions of the program; None if there are none.
    """

    rounds: Int32 | Int64
    site: Int32
    readers: Int32
    reads: Int64
    read: Int64
    remains: Bool
    decisions: Decisions | None = None

    def __post_init__(self) -> None:
        for column in (self.rounds, self.site, self.readers, self.reads, self.read, self.remains):
            column.setflags(write=False)

    def combined_at_least(self, value: Int32, often: Int64, read: Int64) -> Int64:
        """int64[K], how often sums made so often are needed, of ``read``; not all readers are seen."""
        is_unseen = self.remains[value] & (self.read[value] == 0)
        return np.where(is_unseen, often, np.minimum(often, read))


def totals_of(graph: AnyGraph) -> GraphTotals:
    """Return the totals of ``graph``."""
    rounds = np.zeros(graph.num_vertices, dtype=np.int64)
    most = np.zeros(graph.num_vertices, dtype=np.int64)
    site = np.full(graph.num_vertices, -1, dtype=np.int32)
    readers = np.zeros(graph.num_vertices, np.int32)
    reads, read = np.zeros((2, graph.num_vertices), np.int64), np.zeros(graph.num_vertices, np.int64)
    state = np.zeros((4, graph.num_vertices), np.int64)
    state[0], state[3], first = 1, -1, 0  # the input version was made once
    for rows in row_slices(graph):
        kernels.add_totals(rows, rounds, most, site)
        kernels.add_readers(rows, readers, reads)
        kernels.count_read(rows, first, state, read)
        first += rows.num_rows
    del most, state
    rounds += graph.is_input
    rounds = rounds.astype(np.int32) if rounds.max(initial=0) < 1 << 31 else rounds
    remains = ~graph.is_register | (rounds <= 1)
    np.bitwise_not(readers, out=readers, where=read > np.maximum(rounds, 1))
    return GraphTotals(rounds, site, readers, reads, read, remains, Decisions.of(graph))
