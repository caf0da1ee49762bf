"""A graph as one model sees it: what is not partitioned, and what owners of its values cost.

Input: a value graph as recorded. Everything that counting needs of all rows is found once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from commanalyzer.communication.balance import TermWork, imbalance_with_folds, term_work, work_by_value
from commanalyzer.communication.charges import Charges
from commanalyzer.communication.collectives import with_collectives
from commanalyzer.communication.hpdc18 import charge_hpdc18, with_singletons
from commanalyzer.communication.matrix import Communication
from commanalyzer.communication.messages.phases import StepOrder, step_order, with_phases
from commanalyzer.communication.totals import GraphTotals, totals_of
from commanalyzer.communication.volume import charge_volume
from commanalyzer.division.libraries.concurrency import LEAST_SECONDS, LibraryCaller
from commanalyzer.division.options import is_large
from commanalyzer.division.selection import Cost, Latest
from commanalyzer.foundation.errors import PartitionError
from commanalyzer.foundation.heap import give_back
from commanalyzer.foundation.quantities import format_bytes, format_count, format_percent
from commanalyzer.graph.contraction.dissolve import dissolve_registers, dissolving
from commanalyzer.graph.contraction.simplify import simplified
from commanalyzer.graph.invariants import check_dissolved
from commanalyzer.graph.storage.slices import row_slices
from commanalyzer.graph.storage.store import AnyGraph, LargeGraph, OneGraph
from commanalyzer.graph.structure.hubs import find_hubs
from commanalyzer.graph.structure.singletons import SingletonKind, find_singletons, paper_counts, passes_on
from commanalyzer.graph.value_graph import Bool, Int32, Int64, UInt8, ValueGraph, sink_of_source
from commanalyzer.request import DEFAULT_IMBALANCE, Model
from commanalyzer.result.results import SingletonCounts

_CHARGES_BYTES = 1 << 27  # that may be remembered at least
_MOST_SIDE_FLOWS = 50_000_000  # above it, singletons are counted only for who asks: 60 bytes per flow


@dataclass(frozen=True, slots=True)
class View:
    """A graph as one model sees it."""

    model: Model
    graph: AnyGraph  # what is partitioned and counted
    removed: Bool  # [V], hubs or singletons: they are not partitioned
    singletons: UInt8 | None  # values that the paper's model treats apart; None in the ``volume`` model
    work: TermWork
    totals: GraphTotals
    # What the latest owners move: much is counted to be compared and again to be shown.
    charges: Latest[Charges]
    order: StepOrder | None = None  # time steps; None in the paper's model
    constant_sums: tuple[Int64, Int64] = (np.zeros(0, np.int64),) * 2  # of :func:`_constant_sums`; likewise

    @classmethod
    def of(cls, model: Model, graph: AnyGraph, high: float, *, may_be_tiled: bool, jobs: int) -> View:
        """Return the view of a graph as recorded; ``high`` is the threshold of the singleton scores.

        A large graph that ``may_be_tiled`` stays coded. ``jobs`` cores may be used.
        """
        # as much as a list of owners takes, and a little more for small graphs
        room = Latest[Charges](max(_CHARGES_BYTES, 4 * graph.num_vertices))
        if model == "hpdc18":
            flat: AnyGraph = dissolve_registers(_expanded(graph))
            singletons = find_singletons(flat, high)
            return cls(model, flat, singletons > 0, singletons, term_work(flat), totals_of(flat), room)
        if isinstance(graph, LargeGraph):
            large = simplified(graph)
            give_back()
            flat = large if may_be_tiled and is_large(large) else large.store.graph()
        else:
            flat = simplified(graph)
        totals, find = totals_of(flat), partial(find_hubs, flat, high)
        both = LibraryCaller(jobs, LEAST_SECONDS).both
        hubs, (work, order) = both(find, lambda: (term_work(flat), step_order(flat, totals)))
        found = hubs, None, work, totals, room, order, _constant_sums(flat, totals)
        return cls(model, _without_work(flat, totals.even), *found)

    def charge(self, part: Int32, num_parts: int, *, reads_others: bool = False) -> Charges:
        """Return what owners int32[V] of so many parts move, counted unless it was before.

        ``reads_others`` as of :func:`charge_volume`.
        """
        known = None if reads_others else self.charges.find(part, num_parts)
        if known is None:
            give_back()
            if self.singletons is None:
                found = self.graph, part, num_parts, self.removed, self.totals, self.work
                known = charge_volume(*found, reads_others=reads_others)
            else:
                known = charge_hpdc18(self.graph, part, num_parts, self.singletons, self.totals)
            if not reads_others:
                self.charges.note(part, num_parts, known, known.nbytes)
        return known

    def communication(self, part: Int32, charges: Charges) -> tuple[Communication, Int64]:
        """Return what the ``charges`` of owners add up to, all told apart, and int64[O], bytes of arrays."""
        graph, removed = self.graph, self.removed
        hubs = removed if self.singletons is None else None
        exchanges = charges.exchanges(graph, part, self.totals, hubs)
        found, object_bytes = exchanges.communication(), exchanges.bytes_per_object()
        if self.singletons is not None:
            return with_singletons(found, graph, part, self.singletons, self.totals), object_bytes
        more = self.partial_sums(charges.num_parts)[0]
        found = replace(found, high_bytes=found.high_bytes + more)
        found = with_collectives(found, charges, exchanges, graph, removed)
        return with_phases(found, charges, exchanges, graph, part, removed, self.order), object_bytes

    def cost(self, part: Int32, charges: Charges, comm_bytes: int) -> Cost:
        """Return what owners cost, whose ``charges`` and bytes are known."""
        p, folded = charges.num_parts, (charges.fold.value, charges.fold.sender)
        narrow = part.astype(np.min_scalar_type(p))  # many costs are kept at a time
        known = (self.graph, self.work, self.removed, narrow, p, folded)
        readers = self.totals.readers if charges.splits_terms else None
        work = partial(work_by_value, *known, readers)
        low_bytes = sum(int(np.dot(t.low, t.width_bytes)) for t in (charges.expand, charges.fold))
        return Cost(comm_bytes, imbalance_with_folds(*known, charges.fold_terms), work, low_bytes)

    def counted_cost(self, part: Int32, num_parts: int) -> Cost:
        """Return what owners cost; arguments as of :meth:`charge`."""
        charges = self.charge(part, num_parts)
        comm_bytes = charges.comm_bytes
        if self.singletons is not None:
            comm_bytes = self.communication(part, charges)[0].total_bytes
        return self.cost(part, charges, comm_bytes)

    def partial_sums(self, num_parts: int) -> tuple[int, tuple[str, ...]]:
        """Return bytes of partial sums of constants that no flow tells of, and what to say of them.

        Where all nodes can make all of these terms and have no more work than balance allows, nothing.
        """
        if num_parts == 1:
            return 0, ()
        work, (sink, in_turn) = self.graph.work_flops, self.constant_sums
        sums = np.unique(sink[in_turn < num_parts])
        share = float(work[sums].sum() / max(work.sum() + self.work.even_flops, 1.0))
        limit = DEFAULT_IMBALANCE / (num_parts - 1)
        if share <= limit:
            return 0, ()
        words = np.maximum(self.totals.rounds[sums] - self.graph.is_input[sums], 1)
        comm_bytes = (num_parts - 1) * int(np.dot(words, self.graph.width_bytes[sums].astype(np.int64)))
        return comm_bytes, (
            f"{num_parts} nodes: {len(sums)} sums are made of constants, with {format_percent(share)} of the "
            f"work (above {format_percent(limit)}, nodes that all repeat it have more than balance allows): "
            "no flow tells who makes which terms, and the bytes are those where its owner makes all of it. "
            "Where sums share iterations (tallies), divide these: partial sums of p - 1 words each, "
            f"{format_bytes(comm_bytes)} more, end the bracket",
        )

    def require_values(self, nodes: int) -> None:
        """Raise ``PartitionError`` unless there are values for all nodes."""
        if nodes > max(self.num_divided, 1):
            raise PartitionError(
                f"cannot divide {self.num_divided} values among {nodes} parts ({self.values_found})",
                hint="use fewer nodes or a larger problem size",
            )

    @property
    def num_divided(self) -> int:
        """Number of values that are no hubs or singletons."""
        return len(self.removed) - int(np.count_nonzero(self.removed))

    @property
    def values_found(self) -> str:
        """How many values there are, and how many of them are not divided."""
        hubs = int(np.count_nonzero(self.removed))
        found = f"{format_count(len(self.removed))} found"
        return f"{found}, {format_count(hubs)} of them used nearly everywhere (hubs)" if hubs else found


def _constant_sums(graph: AnyGraph, totals: GraphTotals) -> tuple[Int64, Int64]:
    """Return int64[K], sums of constants, and as many at least as their place makes one after the other.

    That is what it does in a register; 0 where it adds to words of memory, whose iterations may be the same.
    Sums that are read while they go on (the time of steps) are no such, nor those that are counted.
    """
    is_open, found = totals.readers >= 0, [np.zeros((3, 0), np.int64)]
    is_open[totals.even] = False
    for rows in row_slices(graph):
        is_open[sink_of_source(rows)] = False
        row = np.flatnonzero((rows.row_fold != 0) & (np.diff(rows.row_ptr) == 0))
        goes_on = rows.row_accumulates[row] & (rows.row_count[row] > 1)
        found.append(np.stack((rows.row_sink[row], rows.row_site[row], goes_on)))
    sink, site, goes_on = np.concatenate(found, axis=1)
    in_turn = np.where(np.bincount(site, goes_on) > 0, 0, np.bincount(site))[site]
    return sink[is_open[sink]], in_turn[is_open[sink]]


def _without_work(graph: AnyGraph, value: Int32) -> AnyGraph:
    """Return ``graph`` where some values (int32[K]) take no work, as what is divided evenly anyway."""
    if not len(value):
        return graph
    work_flops = graph.work_flops.copy()
    work_flops[value] = 0.0
    if isinstance(graph, LargeGraph):
        return LargeGraph(graph.store.with_work(work_flops), graph.slice_flows)
    return replace(graph, work_flops=work_flops)


def volume_view(graph: OneGraph, high: float) -> tuple[OneGraph, Bool]:
    """Graph that the ``volume`` model counts, and its hubs bool[V]; vertices keep their numbers."""
    flat = simplified(graph)
    return flat, find_hubs(flat, high)


def paper_view(
    graph: AnyGraph, high: float, *, is_asked: bool, check: bool = False
) -> tuple[SingletonCounts | None, int]:
    """Return singletons and graph size in words, by the graph without named registers.

    Nothing, unless somebody asked for the paper's model, where that has to be made by passing on what
    registers hold, which takes longer than dividing the graph, or where it is large. Raises ``ConfigError``
    if the graph without registers would be too large, and was asked for, and ``GraphInvariantError`` if
    ``check`` finds a conservation law violated; ``high`` is the threshold of the singleton scores.
    """
    if graph.num_flows > _MOST_SIDE_FLOWS and not is_asked:
        return None, 0
    gone = dissolving(graph)
    if passes_on(graph, gone):
        if not is_asked:
            return None, 0
        whole = _expanded(graph)
        graph = dissolve_registers(whole)
        if check:
            check_dissolved(whole, graph)
        gone = np.zeros(graph.num_vertices, np.bool_)
    kind, words = paper_counts(graph, high, gone)
    kinds = (SingletonKind.SOURCE, SingletonKind.SINK, SingletonKind.REDUCTION)
    return SingletonCounts(*(int(np.count_nonzero(kind == k)) for k in kinds)), words


def _expanded(graph: AnyGraph) -> ValueGraph:
    return graph.store.graph() if isinstance(graph, LargeGraph) else graph
