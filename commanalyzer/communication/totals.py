"""What counting needs of all rows of a graph, whatever the owners: computed once, for all decompositions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from commanalyzer.communication import kernels
from commanalyzer.communication.decisions import Decisions
from commanalyzer.vcg.graph import Bool, Int32, Int64
from commanalyzer.vcg.storage.large import AnyGraph
from commanalyzer.vcg.storage.slices import row_slices


@dataclass(frozen=True, slots=True)
class GraphTotals:
    """Sums over the rows of each sink.

    Attributes:
        rounds: int32[V] (int64[V] where they are more), versions that start a new round: made without reading
            the previous version. The input version is one of them. Successive ``x += term`` versions belong
            to the round they continue.
        site: int32[V], site that most often stores to the vertex (the latest on a tie), -1 for none.
        readers: int32[V], terms that read the value (flows from it).
        reads: int64[2, V], how often the row that read it most did, and all rows together.
        decisions: Decisions of the program; None if there are none.
        between: bool[V], more versions are read than start rounds, in the order in which rows happened first:
            what reads the value sees partial results.
        changes: bool[V], several rows start rounds of the sink: they read something else each time.
    """

    rounds: Int32 | Int64
    site: Int32
    readers: Int32
    reads: Int64
    between: Bool
    changes: Bool
    decisions: Decisions | None = None

    def __post_init__(self) -> None:
        for column in (self.rounds, self.site, self.readers, self.reads, self.between, self.changes):
            column.setflags(write=False)


def totals_of(graph: AnyGraph) -> GraphTotals:
    """Return the totals of ``graph``."""
    rounds = np.zeros(graph.num_vertices, dtype=np.int64)
    most = np.zeros(graph.num_vertices, dtype=np.int64)
    site = np.full(graph.num_vertices, -1, dtype=np.int32)
    readers, reading = np.zeros(graph.num_vertices, np.int32), np.zeros(graph.num_vertices, np.uint8)
    reads, seen = np.zeros((2, graph.num_vertices), np.int64), np.zeros(graph.num_vertices, np.int32)
    is_old = np.zeros(graph.num_vertices, np.bool_)
    for rows in row_slices(graph):
        kernels.add_totals(
            *(rows.row_sink, rows.row_count, rows.row_site, rows.row_accumulates, rows.term_ptr),
            *(rounds, most, site, reading),
        )
        kernels.add_readers(rows.row_count, rows.term_ptr, rows.source_ptr, rows.source, readers, reads)
        kernels.count_seen(rows.row_sink, rows.term_ptr, rows.source_ptr, rows.source, is_old, seen)
    del most
    rounds += graph.is_input
    short = rounds.max(initial=0) < 1 << 31
    rounds, between = rounds.astype(np.int32) if short else rounds, seen > np.maximum(rounds, 1)
    return GraphTotals(rounds, site, readers, reads, between, reading > 1, Decisions.of(graph))
