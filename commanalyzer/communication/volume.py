"""Communication volume of a decomposition (default model): value graph + owners -> charges and matrix.

Owner computes: every value has one owner part. A value is *expanded* (sent once per version) to the parts
that read it; where contributions enter a sink only through an associative operation they are combined
where their operands live and *folded* (sent once per round) into the sink.

    term of a foldable row, operands owned by   q only (not the sink's owner o)  ->  fold q -> o, or expand
                                                o only                           ->  local
                                                several parts                    ->  expand to o
    hub operands (parameters, centroids) are available everywhere: they are expanded to where the term is
    computed and have no say in where that is.

Whether the terms of one (sink, part) are folded or their operands expanded is what costs the least bytes over
all of them, given the operands that part o receives anyway (:mod:`commanalyzer.communication.cover`).

The rows are passed once, in slices where the graph is large. What crosses between parts is found on the way;
only rows that may be folded are kept for the choice at the end.

Reference: paper Section 4.2.3, Algorithm 4; folds, hubs and version brackets extend it.
"""

from __future__ import annotations

import numpy as np

from commanalyzer.communication.charges import Charges, check_parts, expand_transfers
from commanalyzer.communication.matrix import Communication
from commanalyzer.communication.open_rows import OpenRows
from commanalyzer.communication.reductions import settle
from commanalyzer.communication.totals import GraphTotals, totals_of
from commanalyzer.communication.transfers import Transfers
from commanalyzer.communication.uses import PairUses, UseTable, none_used, owner_codes
from commanalyzer.vcg.graph import Bool, Int32, ValueGraph
from commanalyzer.vcg.large import AnyGraph, widths_of
from commanalyzer.vcg.slices import AnyRows, Sliceable, row_slices

_REUSED = 8  # flows per value: each is used many times over


def count_volume(graph: AnyGraph, part: Int32, num_parts: int, hubs: Bool | None = None) -> Communication:
    """Return the communication matrix of one decomposition in the ``volume`` model.

    Args:
        graph: Value graph with terms.
        part: int32[V], owner of every vertex, hubs included.
        num_parts: Number of parts p.
        hubs: bool[V], vertices that do not decide where a term is computed; None for none.

    Raises:
        ConfigError: If ``part`` does not cover the vertices with parts in [0, p).
    """
    return charge_volume(graph, part, num_parts, hubs).communication(graph)


def charge_volume(
    graph: AnyGraph,
    part: Int32,
    num_parts: int,
    hubs: Bool | None = None,
    totals: GraphTotals | None = None,
    rows: Sliceable | None = None,
) -> Charges:
    """Return every transfer of one decomposition; arguments and errors as :func:`count_volume`.

    Linear in the source entries, but for reductions whose operands are neither clearly sent nor clearly
    combined: finding the least cost of these takes a maximum flow. The totals of ``graph`` are computed if
    not given. Where ``rows`` are given, only these are looked at: all others have one owner each.
    """
    counter = VolumeCounter(graph, totals or totals_of(graph), part, num_parts, hubs)
    if rows is None and isinstance(graph, ValueGraph):
        counter.add(graph)
        return counter.charges()
    for piece in row_slices(graph if rows is None else rows):
        counter.add(piece)
    return counter.charges()


class VolumeCounter:
    """Counts one decomposition while the rows of a graph pass by.

    Args:
        graph: Value graph; only its vertices are looked at.
        totals: Totals of all rows.
        part: int32[V], owner of every vertex, hubs included.
        num_parts: Number of parts p.
        hubs: bool[V], vertices that do not decide where a term is computed; None for none.

    Raises:
        ConfigError: If ``part`` does not cover the vertices with parts in [0, p).
    """

    def __init__(
        self, graph: AnyGraph, totals: GraphTotals, part: Int32, num_parts: int, hubs: Bool | None = None
    ) -> None:
        check_parts(graph, part, num_parts)
        self._graph, self._totals, self._part, self._num_parts = graph, totals, part, num_parts
        hub = np.zeros(graph.num_vertices, dtype=np.bool_) if hubs is None else hubs
        self._code = owner_codes(part, hub, num_parts)
        is_reused = graph.num_flows >= _REUSED * graph.num_vertices
        self._uses = UseTable(self._code, num_parts, versions=graph.versions if is_reused else None)
        self._open = OpenRows()

    def add(self, rows: AnyRows) -> None:
        """Count the next rows (all, or a slice): every row that joins several parts once, in order."""
        is_open = self._uses.add(rows)
        if is_open.any():
            self._open.add(rows, is_open)

    def charges(self) -> Charges:
        """Return every transfer; to be called once."""
        folded, rows = none_used(), self._open
        if len(rows):
            folded = settle(self._graph, rows, self._code, self._uses, self._num_parts)
            self._open = OpenRows()
        return Charges(
            self._num_parts,
            expand_transfers(self._graph, self._totals, self._part, self._uses.lines.pairs()),
            _fold_transfers(self._graph, self._totals, self._part, folded),
            folded.terms,
        )


def _fold_transfers(graph: AnyGraph, totals: GraphTotals, part: Int32, uses: PairUses) -> Transfers:
    """Return the transfers of combined contributions.

    Per (sink, part): at least as often as the most frequent contributing row, and once for each version
    that does not continue a round; at most as often as all contributing rows together, and not more often
    than the sink has rounds.
    """
    low = np.maximum(uses.most, uses.fresh)
    rounds = totals.rounds[uses.value]
    return Transfers(
        uses.value,
        uses.part,
        part[uses.value].astype(np.int32, copy=False),
        low,
        np.maximum(low, np.minimum(uses.total, rounds)),
        widths_of(graph, uses.value).astype(np.int64),
    )
