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

Reference: paper Section 4.2.3, Algorithm 4; folds, hubs and version brackets extend it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from commanalyzer.communication.charges import (
    Charges,
    PairUses,
    Transfers,
    Uses,
    check_parts,
    collapse,
    expand_transfers,
)
from commanalyzer.communication.cover import groups_to_combine
from commanalyzer.communication.matrix import Communication
from commanalyzer.vcg.graph import Bool, Fold, Int32, Int64, ValueGraph
from commanalyzer.vcg.segments import expand_ranges, fresh_versions, group_starts


def count_volume(graph: ValueGraph, part: Int32, num_parts: int, hubs: Bool | None = None) -> Communication:
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


def charge_volume(graph: ValueGraph, part: Int32, num_parts: int, hubs: Bool | None = None) -> Charges:
    """Return every transfer of one decomposition; arguments and errors as :func:`count_volume`.

    Time O(S + X log X) for S source entries of which X cross parts.
    """
    check_parts(graph, part, num_parts)
    hub = np.zeros(graph.num_vertices, dtype=np.bool_) if hubs is None else hubs
    crossing, row = _crossing(graph, part)
    foldable = graph.row_fold[row] != int(Fold.NONE)
    plain = Uses(
        graph.source[crossing[~foldable]].astype(np.int64),
        part[graph.row_sink[row[~foldable]]].astype(np.int64),
        row[~foldable],
    )
    mixed, remote = _split_terms(graph, part, hub, crossing[foldable], num_parts)
    expanded, folded = _settle(graph, Uses.join(plain, mixed), remote, num_parts)
    return Charges(
        num_parts,
        expand_transfers(graph, part, collapse(graph, expanded, num_parts)),
        _fold_transfers(graph, part, collapse(graph, folded, num_parts)),
    )


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


def _crossing(graph: ValueGraph, part: Int32) -> tuple[Int64, Int64]:
    """Return source entries whose owner differs from the sink's, and their rows."""
    row_start = graph.source_ptr[graph.term_ptr]
    sink_part = np.repeat(part[graph.row_sink], np.diff(row_start))
    entry = np.flatnonzero(part[graph.source] != sink_part).astype(np.int64)
    return entry, _owner_of(row_start, entry)


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
    _, dense = np.unique(pair, return_inverse=True)
    key = dense.astype(np.int64) * (graph.num_rows + 1) + np.where(rounds, 0, row + 1)
    distinct, group = np.unique(key, return_inverse=True)
    return group.astype(np.int64), len(distinct)


def _settle(graph: ValueGraph, forced: Uses, terms: _RemoteTerms, num_parts: int) -> tuple[Uses, Uses]:
    """Return all expansions and all fold contributions."""
    if len(terms.row) == 0:
        return forced, Uses(terms.sink, terms.home, terms.row)
    folded = _cheaper_to_fold(graph, terms, collapse(graph, forced, num_parts), num_parts)
    folds = folded[terms.group]
    expanded = Uses.join(forced, _entry_uses(terms, ~folded))
    return expanded, Uses(terms.sink[folds], terms.home[folds], terms.row[folds])


def _entry_uses(terms: _RemoteTerms, expand: Bool) -> Uses:
    """Return where the operands of remote terms are needed: expanded at the owner, folded at the home."""
    t = terms.entry_term
    dest = np.where(expand[terms.group], terms.owner, terms.home)[t]
    away = terms.entry_part != dest
    return Uses(terms.entry_value[away], dest[away], terms.row[t[away]])


def _cheaper_to_fold(graph: ValueGraph, terms: _RemoteTerms, sent: PairUses, num_parts: int) -> Bool:
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
    np.maximum.at(group_bytes, terms.group, count * graph.width_bytes[terms.sink].astype(np.int64))

    operand, item = np.unique(value * num_parts + terms.owner[term], return_inverse=True)
    pair, place = np.unique(item * terms.num_groups + terms.group[term], return_inverse=True)
    uses = np.zeros(len(pair), dtype=np.int64)
    np.maximum.at(uses, place, count[term])
    item, group = np.divmod(pair, terms.num_groups)

    step, number = np.unique(item * (int(count.max()) + 1) + uses, return_inverse=True)
    owner_of_step, needed = np.divmod(step, int(count.max()) + 1)
    vertex, dest = np.divmod(operand[owner_of_step], num_parts)
    cost = _sending_bytes(graph, vertex, needed, _already_sent(sent, vertex, dest, num_parts))
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


def _already_sent(sent: PairUses, value: Int64, dest: Int64, num_parts: int) -> Int64:
    have = np.zeros(len(value), dtype=np.int64)
    if len(sent.value) == 0:
        return have
    known = sent.value * num_parts + sent.part
    wanted = value * num_parts + dest
    at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    hit = known[at] == wanted
    have[hit] = sent.most[at[hit]]
    return have


def _fold_transfers(graph: ValueGraph, part: Int32, uses: PairUses) -> Transfers:
    """Return the transfers of combined contributions.

    Per (sink, part): at least as often as the most frequent contributing row, and once for each version
    that does not continue a round; at most as often as all contributing rows together, and not more often
    than the sink has rounds.
    """
    low = np.maximum(uses.most, uses.fresh)
    rounds = fresh_versions(graph)[uses.value]
    return Transfers(
        uses.value.astype(np.int32),
        uses.part.astype(np.int32),
        part[uses.value].astype(np.int32),
        low,
        np.maximum(low, np.minimum(uses.total, rounds)),
        graph.width_bytes[uses.value].astype(np.int64),
    )
