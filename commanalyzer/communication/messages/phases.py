"""Phases of a step: exchanges that wait for each other, from the order in which statements happened.

A time step may exchange several arrays one after another: forces go to the owners of nodes, then the
positions that follow from them come back, then gradients of what was received go to neighbours. An exchange
of a phase sends what is computed from what the phase before delivered, so that the two cannot overlap; and
where the last phase of a step leads to the first one of the next, steps cannot overlap either.

Exchanges are told apart by the statement that makes the values (a :class:`Site`), and by whether finished
values go to their readers or contributions to their owner. Rows of a graph are in the order of their first
occurrence, which for a loop over time is the order within its first step:

    maker before reader, each value stored before it is read   ->  the value of this step is read
    otherwise                                                  ->  that of the step before

What is assumed: steps repeat that order; if some values of an exchange depend on one before, all do
(programs exchange whole arrays), and all exchanges of a phase are over before the next one starts. An
exchange whose phase the dependences leave open belongs to no phase, and an order in which steps could
overlap has none: fewer phases allow more.

Reference: the longest chain of exchanges is the critical path of a step, as in static timing analysis (as
soon as possible, as late as possible).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from commanalyzer.communication.charges import Charges
from commanalyzer.communication.matrix import Communication
from commanalyzer.communication.messages.exchanges import Exchanges
from commanalyzer.communication.messages.transfers import pairs
from commanalyzer.communication.totals import GraphTotals, totals_of
from commanalyzer.foundation.compiled import compiled_in_place, frozen
from commanalyzer.graph.storage.slices import row_slices
from commanalyzer.graph.storage.store import AnyGraph
from commanalyzer.graph.value_graph import Bool, Int32, Int64, Rows

_MOST_SITES = 4096  # matrices of sites x sites
# Share of the rounds of the most frequent exchange. It may have one more, for the first state.
_EVERY_STEP = 0.9
_LEAST_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class StepOrder:
    """Which statement reads what of which other one, in a step of the outermost loop over time."""

    totals: GraphTotals  # ``site`` is what makes each value (the last one that adds to it)
    first_row: Int64  # [N], first row of each site
    now: Bool  # [N, N], the column site reads values that the row site made in the same step
    before: Bool  # [N, N], the column site reads values that the row site made in the step before
    reach: Bool  # [N, N], the column site depends on the row site within a step; every site on itself
    reach_next: Bool  # [N, N], likewise on the row site in the step before


def step_order(graph: AnyGraph, totals: GraphTotals | None = None) -> StepOrder | None:
    """Order of the statements of ``graph``; ``None`` without statements, or with too many to relate them all.

    Rows are in the order of their first occurrence. Time O(S + N^3 / word) for S source entries and N sites.
    """
    n = len(graph.sites)
    if not 0 < n <= _MOST_SITES or not graph.num_flows:
        return None
    totals = totals or totals_of(graph)
    main = totals.site
    first_row, read, old = reads_of_sites(graph, main)
    read |= _continued(graph, main)
    now = read & ~old & (first_row[:, None] < first_row[None, :])
    before = read & ~now
    reach = _closure(now, np.argsort(first_row, kind="stable"))
    return StepOrder(totals, first_row, now, before, reach, _product(_product(reach, before), reach))


def reads_of_sites(graph: AnyGraph, main: Int32) -> tuple[Int64, Bool, Bool]:
    """Return which sites read values of which other ones, and which do so before these are stored first.

    ``main`` (int32[V]) is the site that makes each value, -1 for none. Returns int64[N], first row of each
    site, and bool[N, N] twice, the column site reads values of the row site.
    """
    n, begin = len(graph.sites), 0
    first_row = np.full(n, graph.num_rows)
    first_store = np.full(graph.num_vertices, graph.num_rows, np.int64)
    for rows in row_slices(graph):
        number = np.arange(begin, begin + rows.num_rows)
        np.minimum.at(first_store, rows.row_sink, number)
        np.minimum.at(first_row, rows.row_site, number)
        begin += rows.num_rows
    read, old = np.zeros((2, n, n), np.bool_)
    begin = 0
    for rows in row_slices(graph):
        made = np.flatnonzero(main[rows.source] >= 0)
        value, row = rows.source[made], rows.row_of_source()[made]
        maker, reader = main[value], rows.row_site[row]
        read[maker, reader] = True
        is_old = first_store[value] >= begin + row
        old[maker[is_old], reader[is_old]] = True
        begin += rows.num_rows
    return first_row, read, old


def _continued(graph: AnyGraph, main: Int32) -> Bool:
    """bool[N, N], the column site adds to values that the row site made (``x = a; x += b``)."""
    adds = np.zeros(graph.num_vertices, dtype=np.bool_)
    for rows in row_slices(graph):
        adds[rows.row_sink[rows.row_accumulates & (rows.row_site == main[rows.row_sink])]] = True
    found = np.zeros((len(graph.sites),) * 2, dtype=np.bool_)
    for rows in row_slices(graph) if adds.any() else ():
        row = np.flatnonzero(adds[rows.row_sink])
        found[rows.row_site[row], main[rows.row_sink[row]]] = True
    np.fill_diagonal(found, False)
    return found


def _closure(now: Bool, order: Int64) -> Bool:
    """bool[N, N], reflexive and transitive closure of ``now``, all of whose pairs follow ``order``."""
    reach = np.eye(len(now), dtype=np.bool_)
    for site in order[::-1].tolist():
        reach[site] |= reach[now[site]].any(axis=0)
    return reach


def _product(left: Bool, right: Bool) -> Bool:
    return np.asarray(left.astype(np.float32) @ right.astype(np.float32) > 0)


def with_phases(
    communication: Communication,
    charges: Charges,
    exchanges: Exchanges,
    graph: AnyGraph,
    part: Int32,
    hubs: Bool,
    order: StepOrder | None,
) -> Communication:
    """``communication`` of ``charges`` that also says what is exchanged one after another in every step.

    In ``exchanges``, ``hubs`` (bool[V]), which travel by collectives and belong to no phase, are told apart.
    ``part`` is int32[V], ``order`` that of the statements.
    """
    if order is None:
        return communication
    number = np.where((exchanges.site >= 0) & ~exchanges.is_hub, 2 * exchanges.site + exchanges.is_expand, -1)
    groups = _every_step(number, exchanges.rounds)
    if len(groups) < 2:
        return communication
    readers = _remote_readers(graph, part, charges, hubs, order)
    phase = _phases(groups, readers, order)
    count = int(phase.max(initial=-1)) + 1
    if count < 2:
        return communication
    members = [np.isin(number, groups[phase == k]) for k in range(count)]
    parts = [exchanges.chosen(m).communication() for m in members]
    return replace(
        communication,
        phase_bytes=np.stack([item.comm_bytes for item in parts]),
        phase_messages=np.stack([item.messages for item in parts]),
    )


def _every_step(number: Int64, rounds: Int64) -> Int64:
    """Groups of exchanges that happen about as often as the most frequent one, ascending.

    ``number`` (int64[N]) is the group of each: 2 site, and 1 more where values are sent; -1 for none.
    """
    groups, place = np.unique(number[number >= 0], return_inverse=True)
    most_rounds = np.zeros(len(groups), dtype=np.int64)
    np.maximum.at(most_rounds, place, rounds[number >= 0])
    most = int(most_rounds.max(initial=0))
    return groups[most_rounds >= max(_EVERY_STEP * most - 1.0, _LEAST_SHARE * most)]


def _remote_readers(graph: AnyGraph, part: Int32, charges: Charges, hubs: Bool, order: StepOrder) -> Bool:
    """bool[N, N], the column site reads values of the row site that were sent to its node; hubs aside."""
    n, sent, main = len(graph.sites), charges.expand.value, order.totals.site
    is_sent = np.zeros(graph.num_vertices, dtype=np.bool_)
    is_sent[sent[(main[sent] >= 0) & ~hubs[sent]]] = True
    most = np.count_nonzero((order.now | order.before)[np.unique(main[is_sent])])  # rows can give no others
    found = np.zeros((n, n), dtype=np.bool_)
    arriving = pairs(sent, charges.expand.receiver, charges.num_parts)  # ascending, as they are
    known = frozen(part, np.int32), is_sent, arriving, charges.num_parts, frozen(main, np.int32)
    for rows in row_slices(graph):
        if np.count_nonzero(found) == most:
            break
        note_arrivals(rows, *known, found)
    return found


@compiled_in_place
def note_arrivals(
    rows: Rows, part: Int32, is_sent: Bool, arriving: Int64, num_parts: int, site: Int32, found: Bool
) -> None:
    """Mark which sites read values of which sites that were sent to them.

    ``arriving`` has the keys (value times p plus part) of what is sent, ascending; ``is_sent`` its values.
    """
    for r in range(len(rows.row_sink)):
        here, reader = part[rows.row_sink[r]], rows.row_site[r]
        for i in range(rows.source_ptr[rows.term_ptr[r]], rows.source_ptr[rows.term_ptr[r + 1]]):
            v = rows.source[i]
            if is_sent[v] and part[v] != here and not found[site[v], reader]:
                key = np.int64(v) * num_parts + here
                at = np.searchsorted(arriving, key)
                found[site[v], reader] = at < len(arriving) and arriving[at] == key


def _phases(groups: Int64, readers: Bool, order: StepOrder) -> Int64:
    """int64[G], phase of each exchange, -1 where it is open; all of them where steps could overlap."""
    site, is_expand = groups // 2, groups % 2 == 1
    soon = np.where(is_expand[:, None], _product(readers & order.now, order.reach)[site], order.reach[site])
    later = np.where(
        is_expand[:, None],
        (_product(readers & order.now, order.reach_next) | _product(readers & order.before, order.reach))[
            site
        ],
        order.reach_next[site],
    )
    # Contributions come in before a value is finished, and a value is finished before it goes out.
    rank = np.lexsort((is_expand, order.first_row[site]))
    place = np.argsort(rank)
    precedes = soon[:, site] & (place[:, None] < place[None, :])
    head, tail = _longest(precedes, rank), _longest(precedes.T, rank[::-1])
    count = int(head.max())
    critical = head + tail - 1 == count
    first, last = critical & (head == 1), critical & (tail == 1)
    chained = _closure(precedes, rank)
    closes = (later[:, site] & last[:, None] & first[None, :]).T & chained
    return np.where(critical, head - 1, -1) if closes.any() else np.full(len(groups), -1)


def _longest(precedes: Bool, rank: Int64) -> Int64:
    """int64[G], exchanges on the longest chain that ends with each one."""
    length = np.ones(len(precedes), dtype=np.int64)
    for k in rank.tolist():
        length[k] += length[precedes[:, k]].max(initial=0)
    return length
