"""Communication volume of a decomposition (default model): value graph + owners -> charges and matrix.

Owner computes: every value has one owner part. A value is *expanded* (sent once per version) to the parts
that read it; where contributions enter a sink only through an associative operation they are combined
where their operands live and *folded* (sent once per round) into the sink.

    term of a foldable row, operands owned by   q only (not the sink's owner o)  ->  fold q -> o, or expand
                                                o only                           ->  local
                                                several parts                    ->  expand to o, or expand to
                                                    the owner of the rarest operands and fold from there
    hub operands (parameters, centroids) are available everywhere: they are expanded to where the term is
    computed and have no say in where that is.

The *rarest* operand is the one that the fewest terms read: the entry of a matrix, not that of a vector. A
product of a vector with a matrix in blocks on a grid of parts is computed where the blocks are: entries of
the vector are sent along the columns of the grid, sums combined along its rows (Hendrickson, Leland,
Plimpton, Int. J. High Speed Computing 7, 1995). Of several equally rare ones, the part that owns most
computes (of the seven points of a residual beside a border); where several own as many, or a sum is read
while it goes on (its partial results would be combined for each version that is read, as of a matrix that is
factorised), the sink's owner. Values that are no sums, of several operands that one other part owns, may be
computed there as well. Whether a decomposition does so is decided for all of its terms at once, by what costs
less, unless the work would lie more unevenly.

Whether the terms of one (sink, part) are folded or their operands expanded is what costs the least bytes over
all of them, given the operands that part o receives anyway (:mod:`.cover`).

The rows are passed once, in slices where the graph is large. What crosses between parts is found on the way;
only rows that may be folded are kept for the choice at the end.

Reference: paper Section 4.2.3, Algorithm 4; folds, hubs and version brackets extend it.
"""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from commanalyzer.communication.balance import TermWork, imbalance_with_folds, term_work
from commanalyzer.communication.charges import Charges, check_parts, expand_transfers
from commanalyzer.communication.combining.kernels import has_split_terms
from commanalyzer.communication.combining.reductions import settle
from commanalyzer.communication.kernels import TermOwners
from commanalyzer.communication.messages.transfers import Transfers, pairs
from commanalyzer.communication.totals import GraphTotals, totals_of
from commanalyzer.communication.uses import Lines, PairUses, UseTable, owner_codes
from commanalyzer.foundation.compiled import frozen
from commanalyzer.graph.storage.slices import chosen_rows, joined_rows, row_slices
from commanalyzer.graph.storage.store import AnyGraph, values_of
from commanalyzer.graph.value_graph import Bool, Int32
from commanalyzer.request import DEFAULT_IMBALANCE


def charge_volume(
    graph: AnyGraph,
    part: Int32,
    num_parts: int,
    hubs: Bool | None = None,
    totals: GraphTotals | None = None,
    work: TermWork | None = None,
    *,
    reads_others: bool = False,
) -> Charges:
    """Return every transfer of one decomposition in the ``volume`` model.

    ``part`` (int32[V]) owns every vertex, hubs included, which do not decide where a term is computed. Raises
    ``ConfigError`` if it does not cover the vertices with parts in [0, p).
    Linear in the source entries, but for reductions that share operands: finding the least cost of these
    takes a maximum flow. Operands of sums that are sent for others are there, unless sums read other versions
    (``reads_others``): only the order of events tells.
    """
    check_parts(graph, part, num_parts)
    hubs = np.zeros(graph.num_vertices, dtype=np.bool_) if hubs is None else hubs
    totals = totals or totals_of(graph)
    owners = TermOwners(owner_codes(part, hubs, num_parts), frozen(totals.readers, np.int32))
    decisions = totals.decisions
    removed = np.zeros(0, np.bool_) if decisions is None else decisions.is_variable
    uses, kept, numbers = UseTable(owners, num_parts, removed, totals.writers), [], []
    for piece in row_slices(graph):
        is_open, row = uses.add(piece)
        if is_open.any():
            kept.append(chosen_rows(piece, is_open))
            numbers.append((row + np.flatnonzero(is_open)).astype(np.int32))
    several = None if not kept else (joined_rows(kept), np.concatenate(numbers))
    kept.clear()

    def charged(uses: UseTable, owners: TermOwners) -> Charges:
        """Transfers because of all uses, which are used up, and rows that are left open."""
        if several is None:
            folded = Lines(0, num_parts, is_wide=True).pairs()  # no contributions
        else:
            folded = settle(graph, totals, *several, owners, uses, num_parts, reads_others)
        folded = _with_even_terms(folded, totals, part, num_parts)
        expand = expand_transfers(graph, totals, part, uses.lines.pairs())
        fold = _fold_transfers(graph, totals, part, folded)
        if decisions is not None:
            expand = decisions.told(graph, part, num_parts, expand, fold)
        return Charges(num_parts, expand, fold, folded.terms.copy(), splits_terms=len(owners.readers) > 0)

    others = uses.copy() if several is not None and has_split_terms(several[0], owners) else None
    found = charged(uses, owners._replace(readers=owners.readers[:0]))
    del uses  # as large as what follows
    if others is None:
        return found
    split = charged(others, owners)
    if split.comm_bytes >= found.comm_bytes:
        return found
    known = graph, work or term_work(graph), hubs, part, num_parts
    split_work, plain_work = (
        imbalance_with_folds(*known, (each.fold.value, each.fold.sender), each.fold_terms)
        for each in (split, found)
    )
    return split if split_work <= max(1.0 + DEFAULT_IMBALANCE, plain_work) else found


def _with_even_terms(uses: PairUses, totals: GraphTotals, part: Int32, num_parts: int) -> PairUses:
    """Return contributions and those of all parts to sums whose terms they share evenly."""
    value = np.repeat(totals.even, num_parts)
    to = np.tile(np.arange(num_parts, dtype=np.int32), len(totals.even))
    value, to = (each[part[value] != to] for each in (value, to))
    times = np.maximum(totals.rounds[value], 1).astype(np.int64)
    more = value, to, times, times, times, np.zeros_like(times)
    at = np.searchsorted(pairs(uses.value, uses.part, num_parts), pairs(value, to, num_parts))
    known = (getattr(uses, f.name) for f in fields(PairUses))
    return PairUses(*(np.insert(old, at, new) for old, new in zip(known, more, strict=True)))


def _fold_transfers(graph: AnyGraph, totals: GraphTotals, part: Int32, uses: PairUses) -> Transfers:
    """Return the transfers of combined contributions.

    Per (sink, part): as often as the most frequent contributing row, and once for each version that does not
    continue a round; at most as often as all contributing rows together, and not more often than the sink
    has rounds. A sum that is added to more often than that, or of which more versions are read than start
    rounds (numbers of a transform in place), goes on over reads: partial results are needed once between
    two of rounds and reads, which at least its most frequent reader tells apart. Unread ones may be needless.
    """
    low, rounds = np.maximum(uses.most, uses.fresh), np.maximum(totals.rounds[uses.value], 1)
    most_read, all_read = totals.reads[:, uses.value]
    read, least = totals.read[uses.value], np.maximum(rounds, most_read)
    periods = np.where((low > least) | (read > rounds), rounds + all_read, rounds)
    low = np.minimum(low, least)
    high = np.maximum(low, np.minimum(uses.total, periods))
    return Transfers(
        uses.value,
        uses.part,
        part[uses.value].astype(np.int32, copy=False),
        totals.combined_at_least(uses.value, low, read),
        low,
        high,
        values_of(graph, "width_bytes", uses.value).astype(np.int64),
    )
