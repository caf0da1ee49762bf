"""Coarse view of a large graph: value graph + coarse vertices -> affinity graphs and nets between them.

All flows are passed over in slices, and only what lies between coarse vertices is kept: links added up, and
nets whose pins are the same coarse vertices made one. Inside a coarse vertex there is no
communication, so the nets count a division into whole coarse vertices nearly exactly (each value with its
most frequent use).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from commanalyzer.division.coarsening.neighbours import Neighbours, find_neighbours
from commanalyzer.division.coarsening.tiles import Tiling, by_anchor
from commanalyzer.division.libraries.adjacency import Adjacency
from commanalyzer.division.libraries.hypergraph import Hypergraph, build_hypergraph, incidence
from commanalyzer.division.owners import HubTraffic
from commanalyzer.division.refinement.refine import placed
from commanalyzer.foundation.compiled import compiled_in_place, frozen
from commanalyzer.graph.storage.slices import Sliceable, row_slices
from commanalyzer.graph.storage.store import AnyGraph
from commanalyzer.graph.value_graph import (
    Bool,
    Float64,
    Int32,
    Int64,
    Rows,
    ValueGraph,
    group_starts,
    pointer_from_counts,
    sorted_unique,
)

_MULTIPLIER, _MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
_LEAST_DROPPED = 1 << 23  # pins among which those that are listed again are looked for
_MOST_PINS = 60_000_000  # beyond, there are no nets: their list would take gigabytes


@dataclass(frozen=True, slots=True)
class CoarseView:
    """Everything that divides and counts coarse vertices; owners of all values from theirs, and back.

    What is given for some values comes first, then what is given for the values that they follow, then the
    owner of the coarse vertex; hubs go where most of what they exchange is.

    """

    tiling: Tiling
    adjacency: Adjacency  # edges weigh bytes
    hubs: HubTraffic  # of the values that take no part
    # Coarse vertices, then terms that may be computed in several places; None: too many pins.
    hypergraph: Hypergraph | None
    operand: Int64  # [T], of each such term the operand that the fewest others read

    def on_coarse(self, value_part: Int32, *, leads: bool = False) -> Int32:
        """Return int32[N], the part of a value in each coarse vertex, -1 where none has one.

        With ``leads``, values that follow others take the parts of these; see :meth:`led`.
        """
        tiling = self.tiling
        coarse = np.full(tiling.num_vertices, -1, np.int32)
        own = self.led(lambda: value_part) if leads else self._told(value_part)
        known = (tiling.vertex >= 0) & (own >= 0)
        coarse[tiling.vertex[known]] = own[known]  # of several, the last one stays
        return coarse

    def completed(self, coarse: Int32, value_part: Int32, num_parts: int) -> Int32:
        """Return int32[V], owners: given ones, then those of anchors, then those of coarse vertices."""
        part = self.owners(coarse, num_parts)
        of_anchor = self._told(value_part)[self.tiling.neighbours.anchor]
        np.copyto(part, of_anchor, where=of_anchor >= 0)
        np.copyto(part, value_part, where=value_part >= 0)
        return part

    def led(self, owners: Callable[[], Int32]) -> Int32:
        """Return ``owners()`` with values that follow others at the owner of these, if they have one.

        Entries of a sparse matrix are as many as would be some per point, but not the same number at each.
        """
        value_part = self._told(owners())
        of_anchor = value_part[self.tiling.neighbours.anchor]
        np.copyto(of_anchor, value_part, where=of_anchor < 0)
        return of_anchor

    def _told(self, value_part: Int32) -> Int32:
        """Return ``value_part`` without owners of idle values, which say nothing about what these follow."""
        idle = self.tiling.neighbours.idle
        if not len(idle):
            return value_part
        told = value_part.copy()
        told[idle] = -1
        return told

    def owners(self, coarse: Int32, num_parts: int) -> Int32:
        """Return int32[V], owners of all values where those of coarse vertices are known."""
        vertex, hubs = self.tiling.vertex, self.hubs
        part = coarse[np.maximum(vertex, 0)]
        part[hubs.hub] = hubs.owners(coarse, num_parts)
        return part


class Links(NamedTuple):
    """Links of coarse vertices (0 to N - 1) and hubs (from N): square matrices, the lower number first."""

    volume: csr_array  # bytes
    uses: csr_array  # by hubs, of coarse vertices


def coarse_links(graph: AnyGraph, removed: Bool, tiling: Tiling, most: int | None = None) -> Links | None:
    """Return the links between the coarse vertices of ``tiling`` and hubs; ``None`` if more than ``most``."""
    size = tiling.num_vertices + int(np.count_nonzero(removed))
    return find_links(graph, _numbers(removed, tiling), tiling.num_vertices, size, most)


def find_links(graph: AnyGraph, number: Int32, n: int, size: int, most: int | None = None) -> Links | None:
    """Return the links of all pairs of numbers; ``None`` as soon as there are more than ``most`` coarse ones.

    ``number`` (int32[V]) are coarse vertices, hubs from ``n`` on, ``size`` in all. The operands of one term
    of a hub are linked, each to the next elsewhere, as in the affinity graph.
    """
    found = Links(*(csr_array((size, size), dtype=np.int64) for _ in range(2)))
    for rows in row_slices(graph):
        sink, source = np.repeat(number[rows.row_sink], np.diff(rows.row_ptr)), number[rows.source]
        apart = np.flatnonzero(sink != source)
        row, sink, source = np.searchsorted(rows.row_ptr, apart, "right") - 1, sink[apart], source[apart]
        count, value = rows.row_count[row], rows.source[apart]
        made = np.maximum(graph.versions[value], 1)  # a row cannot use more versions than exist
        volume = np.minimum(count, made) * graph.width_bytes[value]
        into = np.flatnonzero((sink >= n) & (source < n))
        folded = into[rows.row_fold[row[into]] != 0]
        term = np.searchsorted(rows.source_ptr, apart[folded], "right")
        one, other = folded[:-1], folded[1:]
        beside = (term[1:] == term[:-1]) & (source[one] != source[other])
        one, other = one[beside], other[beside]
        ends = np.stack((np.append(source, source[one]), np.append(sink, source[other])))
        moved = np.append(volume, np.minimum(volume[one], volume[other]))
        added = Links(
            csr_array((moved, (ends.min(axis=0), ends.max(axis=0))), (size, size)),
            csr_array((count[into], (source[into], sink[into])), (size, size)),
        )
        found = Links(*(before + more for before, more in zip(found, added, strict=True)))
        if most is not None and np.count_nonzero(found.volume.indices < n) > most:
            return None
    return found


def _entries(links: csr_array) -> tuple[Int64, Int64, Int64]:
    """Return the lower and the higher number of each pair, in order, and its sum."""
    found = links.tocoo()
    return found.row.astype(np.int64), found.col.astype(np.int64), found.data


def _numbers(removed: Bool, tiling: Tiling) -> Int32:
    """Return int32[V], coarse vertices, and numbers from N on for hubs."""
    number, hub = tiling.vertex.copy(), np.flatnonzero(removed)
    number[hub] = tiling.num_vertices + np.arange(len(hub), dtype=np.int32)
    return number


def build_coarse(
    graph: AnyGraph, removed: Bool, tiling: Tiling, links: Links | None = None, *, with_terms: bool = False
) -> CoarseView:
    """Return the coarse view of ``graph`` for the coarse vertices of ``tiling``; hubs are ``removed``.

    ``links`` are those of :func:`coarse_links`. With ``with_terms``, terms of reductions are vertices of the
    hypergraph.
    """
    n, hub, number = tiling.num_vertices, np.flatnonzero(removed), _numbers(removed, tiling)
    links = links or coarse_links(graph, removed, tiling)
    assert links is not None
    work = _work(graph, number, n, hub, links)
    operand, nets = np.zeros(0, np.int64), None
    adjacency = Adjacency.of_links(links.volume[:n, :n], work)
    hubs = _hub_traffic(links, n, hub)
    del links
    if with_terms and isinstance(graph, ValueGraph):
        nets, operand = build_hypergraph(graph, tiling.vertex.astype(np.int64), work)
    else:
        nets = build_nets(graph, number, n, tiling.neighbours, work)
    return CoarseView(tiling, adjacency, hubs, nets, operand)


def build_by_value(
    graph: AnyGraph, removed: Bool, near: Neighbours | None = None, *, with_terms: bool = False
) -> CoarseView:
    """Return the view whose vertices are all values but hubs (``removed``, bool[V]), in their order.

    ``near`` is what :func:`~.neighbours.find_neighbours` found; ``with_terms`` as of :func:`build_coarse`.
    """
    near = near or find_neighbours(graph, removed)
    alone = replace(near, anchor=np.arange(len(removed), dtype=np.int32))
    tiling = replace(by_anchor(alone, removed), neighbours=near)
    return build_coarse(graph, removed, tiling, with_terms=with_terms)


def _work(graph: AnyGraph, number: Int32, n: int, hub: Int64, links: Links) -> Float64:
    """Return float64[N], work; that of hubs is spread over what they are computed from, by uses."""
    work_flops = graph.work_flops
    work = work_by_number(number, work_flops, n)
    one, which, uses = _entries(links.uses[:n, n:])
    share = uses / np.bincount(which, uses, len(hub))[which] * work_flops[hub][which]
    return np.asarray(work + np.bincount(one, share, n))


def work_by_number(number: Int32, work_flops: Float64, count: int) -> Float64:
    """Return float64[count], the work of the values with each number (int32[V]); hubs have others."""
    return np.bincount(np.minimum(number, count), work_flops, count + 1)[:count].astype(np.float64)


def _hub_traffic(links: Links, n: int, hub: Int64) -> HubTraffic:
    _, group = connected_components(links.volume[n:, n:], directed=False)
    vertex, with_hub, volume = _entries(links.volume[:n, n:])
    return HubTraffic(hub, group.astype(np.int64), with_hub, vertex, volume)


def build_nets(
    graph: AnyGraph,
    number: Int32,
    num_coarse: int,
    near: Neighbours,
    work: Float64,
    rows: Sliceable | None = None,
    most_nets: int = _MOST_PINS,
    side: Int32 | None = None,
) -> Hypergraph | None:
    """Return the nets between coarse vertices; ``None`` where they are too many or have too many pins.

    There may be ``most_nets``. ``number`` (int32[V]) are coarse vertices, hubs from ``num_coarse``, N, on;
    ``work`` is float64[N]. ``rows`` are those of the graph among which are all that have pins; None for all.
    Terms of reductions whose operands are in one part of ``side`` (int32[V]) are computed there, though these
    are several vertices; None for vertices instead.
    """
    sides = frozen(number if side is None else side, np.int32)
    pins = _pins(graph, number, num_coarse, near.readers, sides, rows)
    if pins is None:
        return None
    first = group_starts(pins >> 32)
    net, other = pins[first] >> 32, (pins & 0xFFFFFFFF).astype(np.int32)
    folds, value = np.divmod(net, len(number))
    own, size = number[value], np.diff(first, append=len(pins))
    times = np.minimum(near.most[value], np.maximum(graph.versions[value], 1))
    volume = np.where(folds > 0, near.most_folded[value], times) * graph.width_bytes[value].astype(np.int64)
    # Nets with the same pins are one: those with the same sum of mixed numbers.
    signature = np.add.reduceat(_mixed(other), first) + _mixed(own) if len(first) else _mixed(own)
    _, lead, group = np.unique(signature, return_index=True, return_inverse=True)
    net_bytes = np.zeros(len(first), np.int64)  # in the place of the first net of each
    net_bytes[lead] = np.bincount(group, volume, len(lead))
    kept = np.flatnonzero(net_bytes)
    if len(kept) > max(most_nets, 0):
        return None
    pointer = pointer_from_counts(size[kept] + 1)
    place = np.searchsorted(pins, net[kept] << 32 | own[kept]) - first[kept] + pointer[:-1]
    del pins
    pin = np.insert(other[np.repeat(net_bytes > 0, size)], place - np.arange(len(kept)), own[kept])
    return Hypergraph(pointer, pin.astype(np.int64), net_bytes[kept], work)


def _mixed(number: Int32) -> NDArray[np.uint64]:
    """Return numbers whose sums differ for different sets, as good as surely (splitmix64)."""
    mixed = (number + np.int64(1)).astype(np.uint64)
    mixed *= _MULTIPLIER
    mixed ^= mixed >> np.uint64(30)
    mixed *= _MIX
    mixed ^= mixed >> np.uint64(27)
    return mixed


def _pins(
    graph: AnyGraph, number: Int32, num_coarse: int, readers: Int32, side: Int32, rows: Sliceable | None
) -> Int64 | None:
    """Return the distinct pins of all nets but those of the values themselves, sorted; none if too many.

    Most pins that would be listed again are not (see :func:`_list_pins`); those that are, are dropped before
    they take more memory than the distinct ones.
    """
    found, waiting, most, v = [np.zeros(0, np.int64)], 0, _LEAST_DROPPED, graph.num_vertices
    known = _Pins(readers, number, side, num_coarse, np.full(v, -1, np.int32), np.zeros(0, np.int32))
    for piece in row_slices(graph if rows is None else rows):
        if not len(known.last_folded) and piece.row_fold.any():
            known = known._replace(last_folded=np.full(v, -1, np.int32))
        out = np.empty(piece.num_flows, np.int64)
        count = _list_pins(piece, known, out)
        found.append(out[:count].copy())
        waiting += count
        if waiting > most:
            found, waiting = [_distinct(found)], 0
            most = max(_LEAST_DROPPED, len(found[0]))
            if len(found[0]) > _MOST_PINS:
                return None
    pins = _distinct(found)
    return pins if len(pins) <= _MOST_PINS else None


def _distinct(pins: list[Int64]) -> Int64:
    """Return the distinct ones of some lists of pins, sorted; empties the list of lists, they are many."""
    every = np.concatenate(pins)
    pins.clear()
    return sorted_unique(every)


def voted(adjacency: Adjacency, part: Int32, num_parts: int) -> Int32:
    """Return ``part`` with the missing ones (-1) filled in: where most bytes of a vertex go."""
    one = adjacency.vertex_of_edge()
    once = one < adjacency.neighbour
    ends, net_bytes = np.column_stack((one, adjacency.neighbour))[once], adjacency.edge_bytes[once]
    edges = Hypergraph(np.arange(len(ends) + 1) * 2, np.ravel(ends), net_bytes, adjacency.work_flops)
    return placed(edges, incidence(edges), part, num_parts)


class _Pins(NamedTuple):
    """What is known where pins are listed, of the V values and N coarse vertices."""

    readers: Int32  # [V], source entries that read each value
    number: Int32  # [V], coarse vertex of each value, hubs from ``num_coarse`` on
    side: Int32  # [V], operands of a term that have the same number here are combined where one of them is
    num_coarse: int  # Number of coarse vertices N
    last: Int32  # [V], the last pin of the net of each value, -1 before the first slice
    last_folded: Int32  # [V], the same of its reduction; may be empty where no row folds


@compiled_in_place
def _leading_operand(rows: Rows, t: int, pins: _Pins) -> int:
    """Return the operand whose owner computes a term of a reduction, -1 where that of the sink does.

    Operands on one side are combined there, unless all of them have other readers and come along anyway.
    """
    found, place = -1, -1
    for i in range(rows.source_ptr[t], rows.source_ptr[t + 1]):
        s = rows.source[i]
        if pins.number[s] >= pins.num_coarse:
            continue
        if place >= 0 and pins.side[s] != place:
            return -1
        place = pins.side[s]
        if found < 0 and pins.readers[s] <= 1:
            found = s
    return found


@compiled_in_place
def _row_pins(rows: Rows, r: int, pins: _Pins, out: Int64, n: int) -> int:
    """Write the pins that row ``r`` adds to ``out`` from place ``n`` on; return the place behind them."""
    number, num_coarse, last, last_folded = pins.number, pins.num_coarse, pins.last, pins.last_folded
    sink, values = rows.row_sink[r], np.int64(len(number))
    if number[sink] >= num_coarse:
        return n
    for t in range(rows.term_ptr[r], rows.term_ptr[r + 1]):
        k = number[sink]
        if rows.row_fold[r] != 0:
            lead = _leading_operand(rows, t, pins)
            if lead >= 0:
                k = number[lead]
                if k != number[sink] and last_folded[sink] != k:
                    last_folded[sink] = k
                    out[n] = ((values + sink) << 32) | np.int64(k)
                    n += 1
        for i in range(rows.source_ptr[t], rows.source_ptr[t + 1]):
            s = rows.source[i]
            if last[s] != k and number[s] != k and number[s] < num_coarse:
                last[s] = k
                out[n] = (np.int64(s) << 32) | np.int64(k)
                n += 1
    return n


@compiled_in_place
def _list_pins(rows: Rows, pins: _Pins, out: Int64) -> int:
    """Write (net << 32) | coarse vertex to ``out`` for pins that are not a net's own; return how many.

    The net of a value has the value's number, that of a reduction V plus its sink's. A pin that is the last
    one of its net already is left out: rows of one place read the same values. ``out`` has a place per flow.
    """
    n = 0
    for r in range(len(rows.row_sink)):
        n = _row_pins(rows, r, pins, out, n)
    return n
