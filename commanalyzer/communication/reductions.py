"""Reductions that several parts take part in: send the operands, or combine them where they are.

Input: the rows of a graph with a term whose operands live in one part that is not the sink's (hubs aside),
and what is sent in any case. Output: all that these rows need.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from commanalyzer.communication import kernels
from commanalyzer.communication.cover import groups_to_combine
from commanalyzer.communication.uses import PairUses, Uses, UseTable, collapse, distinct_keys
from commanalyzer.vcg.graph import Bool, Int32, Int64, ValueGraph
from commanalyzer.vcg.segments import expand_ranges, group_starts


def settle(graph: ValueGraph, part: Int32, hub: Bool, sent: UseTable, num_parts: int) -> PairUses:
    """Enter all expansions that the rows of ``graph`` need, and return their fold contributions.

    Args:
        graph: Value graph with rows that fold only.
        part: int32[V], owners.
        hub: bool[V], values that have no say in where a term is computed.
        sent: What other rows need; added to.
        num_parts: Number of parts p.
    """
    mixed, remote = _split_terms(graph, part, hub, _crossing(graph, part), num_parts)
    combined = _cheaper_to_fold(graph, remote, _Sent(sent, collapse(graph, mixed, num_parts)), num_parts)
    folds = combined[remote.group]
    sent.enter(graph, Uses.join(mixed, _entry_uses(remote, ~combined)))
    return collapse(graph, Uses(remote.sink[folds], remote.home[folds], remote.row[folds]), num_parts)


@dataclass(frozen=True, slots=True)
class _RemoteTerms:
    """Terms whose operands live in one part that is not the sink's: K terms with N source entries.

    Attributes:
        row: int64[K].
        sink: int64[K].
        home: int64[K], part q where the operands live.
        owner: int64[K], part o of the sink.
        group: int64[K], terms that one combined message can carry (folded or expanded together).
        num_groups: Number of groups.
        entry_term: int64[N], index into the K terms.
        entry_value: int64[N], vertex.
        entry_part: int64[N], owner of that vertex.
        entry_hub: bool[N].
    """

    row: Int64
    sink: Int64
    home: Int64
    owner: Int64
    group: Int64
    num_groups: int
    entry_term: Int64
    entry_value: Int64
    entry_part: Int64
    entry_hub: Bool


@dataclass(frozen=True, slots=True)
class _Sent:
    """What is sent in any case: because of other rows and of terms that only the owner can compute."""

    others: UseTable
    forced: PairUses

    def times(self, value: Int64, dest: Int64, num_parts: int) -> Int64:
        """Return int64[N], how often each value is sent to each part at least."""
        have = self.others.most(value, dest)
        if len(self.forced.value) == 0:
            return have
        known = self.forced.value * num_parts + self.forced.part
        wanted = value * num_parts + dest
        at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        return np.maximum(have, np.where(known[at] == wanted, self.forced.most[at], 0))


def _crossing(graph: ValueGraph, part: Int32) -> Int64:
    """Return source entries whose owner differs from the sink's."""
    row_start = graph.source_ptr[graph.term_ptr]
    sink_part = np.repeat(part[graph.row_sink], np.diff(row_start))
    return np.flatnonzero(part[graph.source] != sink_part).astype(np.int64)


def _owner_of(pointer: Int64, entry: Int64) -> Int64:
    """Return the row of ``pointer`` that contains each entry (empty rows contain none)."""
    return (np.searchsorted(pointer, entry, side="right") - 1).astype(np.int64)


def _split_terms(
    graph: ValueGraph, part: Int32, hub: Bool, crossing: Int64, num_parts: int
) -> tuple[Uses, _RemoteTerms]:
    """Return operands that must be expanded to the sink's owner, and the terms another part can compute."""
    term = _owner_of(graph.source_ptr, crossing)
    term = term[group_starts(term)]
    row = _owner_of(graph.term_ptr, term)
    length = graph.source_ptr[term + 1] - graph.source_ptr[term]
    value = graph.source[expand_ranges(graph.source_ptr[term], length)].astype(np.int64)
    index = np.repeat(np.arange(len(term), dtype=np.int64), length)
    owner = part[graph.row_sink[row]].astype(np.int64)
    where = part[value].astype(np.int64)
    home = _single_home(where, hub[value], length, num_parts)
    remote = (home >= 0) & (home != owner)
    away = ~remote[index] & (where != owner[index])
    mixed = Uses(value[away], owner[index[away]], row[index[away]])

    kept = remote[index]
    number = np.cumsum(remote) - 1
    row, home, owner = row[remote], home[remote], owner[remote]
    sink = graph.row_sink[row].astype(np.int64)
    group, num_groups = _group(graph, row, sink * num_parts + home)
    return mixed, _RemoteTerms(
        row,
        sink,
        home,
        owner,
        group,
        num_groups,
        number[index[kept]],
        value[kept],
        where[kept],
        hub[value[kept]],
    )


def _single_home(where: Int64, hub: Bool, length: Int64, num_parts: int) -> Int64:
    """Return int64[K], the one part that owns all non-hub operands of each term, -1 if there is none."""
    if len(length) == 0:
        return np.zeros(0, dtype=np.int64)
    start = np.cumsum(length) - length
    least = np.minimum.reduceat(np.where(hub, num_parts, where), start)
    most = np.maximum.reduceat(np.where(hub, -1, where), start)
    return np.where(least == most, most, -1)


def _group(graph: ValueGraph, row: Int64, pair: Int64) -> tuple[Int64, int]:
    """Return which terms share a message: all of an accumulating (sink, part), else those of one row."""
    rounds = np.isin(pair, pair[graph.row_accumulates[row]])
    _, dense = distinct_keys(pair)
    distinct, group = distinct_keys(dense * (graph.num_rows + 1) + np.where(rounds, 0, row + 1))
    return group, len(distinct)


def _entry_uses(terms: _RemoteTerms, expand: Bool) -> Uses:
    """Return where the operands of remote terms are needed: expanded at the owner, folded at the home."""
    t = terms.entry_term
    dest = np.where(expand[terms.group], terms.owner, terms.home)[t]
    away = terms.entry_part != dest
    return Uses(terms.entry_value[away], dest[away], terms.row[t[away]])


def _cheaper_to_fold(graph: ValueGraph, terms: _RemoteTerms, sent: _Sent, num_parts: int) -> Bool:
    """Return bool[G], sending the combined term costs less bytes than sending the operands.

    Operands that the owner receives anyway (``sent``) cost what more of their versions have to be sent. For
    others versions play no part: sending all constant items of a reduction once would be fewer bytes than
    combining them in every round, but it would move the work of the reduction to one part.

    An operand that groups need different numbers of times is one operand per step of that number.
    """
    mine = ~terms.entry_hub
    value, term = terms.entry_value[mine], terms.entry_term[mine]
    count = graph.row_count[terms.row]
    group_bytes = np.zeros(terms.num_groups, dtype=np.int64)
    kernels.raise_to(group_bytes, terms.group, count * graph.width_bytes[terms.sink].astype(np.int64))

    operand, item = distinct_keys(value * num_parts + terms.owner[term])
    pair, place = distinct_keys(item * terms.num_groups + terms.group[term])
    uses = np.zeros(len(pair), dtype=np.int64)
    kernels.raise_to(uses, place, count[term])
    item, group = np.divmod(pair, terms.num_groups)

    step, number = distinct_keys(item * (int(count.max()) + 1) + uses)
    owner_of_step, needed = np.divmod(step, int(count.max()) + 1)
    vertex, dest = np.divmod(operand[owner_of_step], num_parts)
    cost = _sending_bytes(graph, vertex, needed, sent.times(vertex, dest, num_parts))
    first = group_starts(owner_of_step)
    extra = np.diff(cost, prepend=0)
    extra[first] = cost[first]
    start = np.repeat(first, np.diff(np.append(first, len(step))))[number]
    length = number - start + 1
    return groups_to_combine(extra, group_bytes, expand_ranges(start, length), np.repeat(group, length))


def _sending_bytes(graph: ValueGraph, vertex: Int64, uses: Int64, have: Int64) -> Int64:
    """Return the bytes of sending each vertex ``uses`` times where ``have`` times are paid for."""
    versions = np.maximum(graph.versions[vertex], 1)
    more = np.where(have > 0, np.minimum(uses, versions) - np.minimum(have, versions), uses)
    return np.maximum(more, 0) * graph.width_bytes[vertex].astype(np.int64)
