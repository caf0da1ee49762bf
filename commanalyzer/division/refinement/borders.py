"""Refinement beside the borders of parts: owners of all values -> owners that move fewer bytes.

Single values may change sides in the coarse vertices that lie at a border; everything else of a part is one
vertex that stays. So the hypergraph is as large as the borders, not as the graph: rows whose values have one
owner move nothing, and are never looked at.

Coarse vertices place what follows only as finely as they are themselves, and where a program's arrays differ
in order, they hold values of many parts. Here every value that follows can be asked for itself, in passes
over all flows: those whose neighbours have owners go where most of their bytes go, then those beside these.
Of each value only the part that leads and its lead are kept, whatever the number of parts: the part with more
than half of the bytes always wins (Boyer and Moore, MJRTY, 1981, with weights); where no part has that many,
one of those with many does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

import numpy as np

from commanalyzer.division.budget import least_gain
from commanalyzer.division.coarsening.coarse import CoarseView, build_nets, work_by_number
from commanalyzer.division.coarsening.kernels import flow_bytes
from commanalyzer.division.coarsening.tiles import Tiling, tiles_of
from commanalyzer.division.libraries.hypergraph import Hypergraph, incidence
from commanalyzer.division.refinement.refine import LEAST_GAIN, MOST_COUNTS, connectivity, most_work, refine
from commanalyzer.foundation.compiled import compiled_in_place, frozen
from commanalyzer.graph.storage.slices import chosen_rows, row_slices
from commanalyzer.graph.storage.store import AnyGraph
from commanalyzer.graph.value_graph import Bool, Float64, Int32, Int64, Rows, UInt8, sink_of_source

_MOST_ROUNDS = 16


def beside_neighbours(graph: AnyGraph, vertex: Int32, anchor: Int32, given: Int32, otherwise: Int32) -> Int32:
    """Return int32[V], owners of all values: given ones, and for others where most of their bytes go.

    Values are in a ``vertex`` (int32[V], -1 for hubs, which have no say); those with the same ``anchor``
    (int32[V]) have one owner. It is ``given`` (int32[V]), -1 for what follows; what exchanges bytes with no
    value that has an owner gets that of ``otherwise`` (int32[V]).
    """
    owner = given.copy()
    free = np.flatnonzero((given < 0) & (anchor == np.arange(len(given), dtype=np.int32)))
    owner[free] = ~np.arange(len(free), dtype=np.int32)
    leader, lead_bytes = np.full(len(free), -1, np.int32), np.zeros(len(free), np.int64)
    votes = _Votes(graph.versions, graph.width_bytes, vertex, anchor, owner, leader, lead_bytes)
    for _ in range(_MOST_ROUNDS):
        for piece in row_slices(graph):
            _poll(piece, votes)
        settled = np.flatnonzero((owner[free] < 0) & (leader >= 0))
        if not len(settled):
            break
        owner[free[settled]] = leader[settled]
    part = np.where(vertex >= 0, owner[anchor], np.int32(-1))
    np.copyto(part, given, where=given >= 0)
    np.copyto(part, otherwise, where=part < 0)
    return part


class _Votes(NamedTuple):
    """What the neighbours of F free anchors among V values ask for."""

    versions: Int64  # [V]
    width: UInt8  # [V], bytes
    vertex: Int32  # [V], -1 for hubs
    anchor: Int32  # [V], the value whose owner each value gets
    owner: Int32  # [V], of an anchor: its part, or ~i if it is free anchor i
    leader: Int32  # [F], part that leads at each free anchor, -1 before anything is known
    lead_bytes: Int64  # [F], by how many bytes


@compiled_in_place
def _poll(rows: Rows, votes: _Votes) -> None:
    """Let flows between an anchor with a part and a free one vote for the part of the latter."""
    versions, width, vertex, anchor, owner, leader, lead_bytes = votes
    for r in range(len(rows.row_sink)):
        sink = rows.row_sink[r]
        if vertex[sink] < 0:
            continue
        here = owner[anchor[sink]]
        for i in range(rows.source_ptr[rows.term_ptr[r]], rows.source_ptr[rows.term_ptr[r + 1]]):
            s = rows.source[i]
            there = owner[anchor[s]]
            if vertex[s] < 0 or (here < 0) == (there < 0):
                continue
            volume = flow_bytes(rows.row_count[r], versions[s], width[s])
            free, part = (~here, there) if here < 0 else (~there, here)
            if leader[free] == part:
                lead_bytes[free] += volume
            elif lead_bytes[free] >= volume:
                lead_bytes[free] -= volume
            else:
                leader[free] = part
                lead_bytes[free] = volume - lead_bytes[free]


_MOST_MOVABLE = 2_000_000
_MOST_DENSE_FLOWS = 1 << 24  # where nearly everything is at a border, all flows are looked at, to save little
_ROUNDS = 3
_GAIN_PER_VERTEX = 4e-9  # of the metric: a pass over more vertices takes longer and has to save more
_LEAST_ROUND = 4  # times what a pass has to save: a round that saves less is the last
_PATIENCE, _MOST_MOVES = 0.1, 16384


@dataclass(frozen=True, slots=True)
class SharedRows:
    """Rows of a graph whose sinks and sources have several owners, in order; a :class:`.slices.Sliceable`."""

    graph: AnyGraph
    # [V], parts, or vertices of a hypergraph; values with others than 0 to num_owners - 1 (hubs) do not
    # count.
    owner: Int32
    num_owners: int

    def slices(self, flows: int = 0, wanted: Bool | None = None) -> Iterator[Rows]:
        """Yield what these rows are in each slice, arguments as of :func:`.row_slices`."""
        owner = frozen(self.owner, np.int32)
        for rows in row_slices(self.graph, flows, wanted):
            is_shared = np.zeros(rows.num_rows, np.bool_)
            _mark_shared(rows, owner, self.num_owners, is_shared)
            yield chosen_rows(rows, is_shared)


@compiled_in_place
def _mark_shared(rows: Rows, owner: Int32, num_owners: int, is_shared: Bool) -> None:
    """Mark the rows of a slice that join values of several owners; others than these are nobody's."""
    for r in range(len(rows.row_sink)):
        home = owner[rows.row_sink[r]]
        for i in range(rows.source_ptr[rows.term_ptr[r]], rows.source_ptr[rows.term_ptr[r + 1]]):
            other = owner[rows.source[i]]
            if 0 <= other < num_owners:
                is_shared[r] |= 0 <= home < num_owners and home != other
                home = other


@dataclass(frozen=True, slots=True)
class Surface:
    """Rows of a graph at the borders of parts: all others move nothing, and join no two parts."""

    graph: AnyGraph
    view: CoarseView

    def movable(self, beside: Bool) -> Int64:
        """Return the anchors in some coarse vertices, ``beside`` (bool[N])."""
        tiling = self.view.tiling
        anchor = tiling.neighbours.anchor
        chosen = np.flatnonzero(anchor == np.arange(len(anchor), dtype=np.int32))
        return np.asarray(chosen[np.append(beside, False)[tiling.vertex[chosen]]])  # the last one for hubs

    def beside(self, part: Int32) -> Bool:
        """Return bool[N], coarse vertices that hold values of several parts or are linked to other parts."""
        vertex, n = self.view.tiling.vertex, self.view.tiling.num_vertices
        coarse, beside = np.full(n + 1, -1, np.int32), np.zeros(n + 1, np.bool_)  # the last one for hubs
        coarse[vertex] = part
        beside[vertex[coarse[vertex] != part]] = True
        one, other = self.view.adjacency.vertex_of_edge(), self.view.adjacency.neighbour
        beside[one[coarse[one] != coarse[other]]] = True
        return beside[:-1]

    def ends(self, part: Int32, num_parts: int) -> Int64:
        """Return the anchors at both ends of flows between parts."""
        tiling = self.view.tiling
        marked = np.zeros(len(part), np.bool_)
        for piece in SharedRows(self.graph, part, num_parts).slices():
            sink = sink_of_source(piece)
            apart = (part[sink] != part[piece.source]) & (tiling.vertex[sink] >= 0)
            apart &= tiling.vertex[piece.source] >= 0
            for end in (sink, piece.source):
                marked[tiling.neighbours.anchor[end[apart]]] = True
        return np.flatnonzero(marked)


@dataclass(frozen=True, slots=True)
class _Border:
    """Hypergraph of what is beside the borders; its first p vertices are all else of each part."""

    number: Int32  # [V], vertex of each value, hubs beyond the last
    start: Int32  # [N], owners of the vertices
    first: Int64  # [N - p], the value that stands for each vertex after the first p
    nets: Hypergraph  # with the work of what may move
    settled: Float64  # [p], work of all else

    def owners(self, found: Int32, part: Int32, tiling: Tiling) -> Int32:
        """Return int32[V], ``part`` with what ``found`` (int32[N]) says of the vertices."""
        chosen = found[np.minimum(self.number, len(found) - 1)]
        return np.where(tiling.vertex >= 0, chosen, part).astype(np.int32)

    def most_load(self, owners: Int32, num_parts: int) -> float:
        """Return the work of the part with most."""
        return float((np.bincount(owners, self.nets.work_flops, num_parts) + self.settled).max())


def follow_borders(
    surface: Surface,
    part: Int32,
    num_parts: int,
    allowed_imbalance: float,
    work_flops: Callable[[], Float64],
    is_free: Bool,
) -> Int32 | None:
    """Return owners where single free values beside borders follow the others; ``None`` if borders are long.

    Those that follow are ``is_free`` (bool[V]). A part may exceed the mean work by ``allowed_imbalance``;
    ``work_flops()`` is float64[V], work where each value is owned.
    """
    border = _border(surface, part, num_parts, work_flops)
    if border is None:
        return None
    start = border.start.copy()
    start[num_parts:][is_free[border.first]] = -1
    found = _refined(border, start, num_parts, allowed_imbalance, fixed=start >= 0)
    return border.owners(found, part, surface.view.tiling)


def refine_borders(
    surface: Surface,
    part: Int32,
    num_parts: int,
    allowed_imbalance: float,
    *,
    work_flops: Callable[[], Float64] | None = None,
    hopeless_bytes: float = math.inf,
    budget_s: float = math.inf,
) -> Int32 | None:
    """Return better owners of all values, int32[V]; ``None`` if none were found or borders are too long.

    Those are better that move fewer bytes or, where a part has too much work, share it more evenly. Arguments
    as of :func:`follow_borders`; ``work_flops`` is asked once if there is something to refine, None for the
    graph's. No further round is worth its time above ``hopeless_bytes``, and passes that take long of
    ``budget_s``, the CPU seconds for all of dividing, have to save more.
    """
    work = cache(work_flops or (lambda: surface.graph.work_flops))
    best = part
    for _ in range(_ROUNDS):
        border = _border(surface, best, num_parts, work)
        if border is None:
            break
        nets, start = border.nets, border.start
        before = connectivity(nets, start, num_parts)
        fixed, hopeless = np.arange(len(start)) < num_parts, hopeless_bytes / max(before, 1)
        least = max(_least_gain(len(start)), least_gain(nets.num_pins, num_parts, budget_s))
        limits = {"least": least, "hopeless": hopeless}
        found = _refined(border, start, num_parts, allowed_imbalance, fixed=fixed, **limits)
        after = connectivity(nets, found, num_parts)
        most = most_work(nets.work_flops, num_parts, allowed_imbalance, float(border.settled.sum()))
        is_relieved = border.most_load(found, num_parts) < border.most_load(start, num_parts) > most
        if after >= before and not is_relieved:
            break
        best = border.owners(found, best, surface.view.tiling)
        if before - after < _LEAST_ROUND * least * before or after > hopeless_bytes:  # another saves less
            break
    return None if best is part else best


def _least_gain(num_vertices: int) -> float:
    """Return the share of the metric that a pass over so many vertices has to save."""
    return max(LEAST_GAIN, _GAIN_PER_VERTEX * num_vertices)


def _refined(
    border: _Border,
    start: Int32,
    num_parts: int,
    imbalance: float,
    *,
    fixed: Bool,
    least: float = 0.0,
    hopeless: float = math.inf,
) -> Int32:
    return refine(
        border.nets,
        incidence(border.nets),
        start,
        num_parts,
        imbalance=imbalance,
        fixed=fixed,
        settled=border.settled,
        patience=min(_PATIENCE, _MOST_MOVES / len(start)),
        least_gain=max(least, _least_gain(len(start))),
        hopeless=hopeless,
    )


def _border(
    surface: Surface, part: Int32, num_parts: int, work_flops: Callable[[], Float64]
) -> _Border | None:
    """Return what is beside the borders; ``None`` where nothing is, or too much."""
    graph, view = surface.graph, surface.view
    tiling = view.tiling
    beside = surface.beside(part)
    chosen = surface.movable(beside)
    if _is_everywhere(tiling, len(chosen)):
        return None
    small, label = _small_tiles(graph, tiling, chosen, int(beside.sum()))
    # Coarse vertices that hold values of many places are nearly all at borders.
    if len(small) > _MOST_MOVABLE:
        chosen = surface.ends(part, num_parts)
        small, label = _small_tiles(graph, tiling, chosen, int(beside.sum()))
    if not 0 < len(small) <= _MOST_MOVABLE:
        return None
    number, small = _numbered(tiling, part, num_parts, chosen, small, label)
    total = num_parts + len(small)
    number[view.hubs.hub] = total + np.arange(len(view.hubs.hub), dtype=np.int32)
    rows, most = SharedRows(graph, number, total), MOST_COUNTS // num_parts
    nets = build_nets(graph, number, total, tiling.neighbours, np.zeros(total), rows, most, part)
    if nets is None or not nets.num_nets:
        return None
    own = work_flops()
    work = work_by_number(number, own, total)
    hub = view.hubs.hub
    settled = work[:num_parts] + np.bincount(part[hub], own[hub], num_parts)
    work[:num_parts] = 0.0
    nets = replace(nets, work_flops=work)
    start = np.concatenate((np.arange(num_parts, dtype=np.int32), part[small]))
    return _Border(number, start, small, nets, settled)


def _numbered(
    tiling: Tiling, part: Int32, num_parts: int, chosen: Int64, first: Int64, label: Int32
) -> tuple[Int32, Int64]:
    """Return int32[V], the vertex of each value, and a value of each vertex after the first p.

    Only values of one part move together: where those that follow an anchor, or are in one tile, are in
    several parts, refinement would begin with another division than the one it is given. Of C anchors that
    may move, ``chosen``, ``label`` is the group, ``first`` a value of each group.
    """
    single = part.copy()
    single[chosen] = num_parts + label
    number = single[tiling.neighbours.anchor]
    number = np.where(tiling.vertex < 0, np.int32(-1), np.where(number < num_parts, part, number))
    start = np.concatenate((np.arange(num_parts, dtype=np.int32), part[first]))
    apart = np.flatnonzero((number >= num_parts) & (start[number] != part))
    pair = number[apart].astype(np.int64) * num_parts + part[apart]
    _, where, which = np.unique(pair, return_index=True, return_inverse=True)
    number[apart] = num_parts + len(first) + which
    return number, np.concatenate((first, apart[where]))


def _is_everywhere(tiling: Tiling, movable: int) -> bool:
    """Whether most of a large dense graph (a matrix product) is at a border: single moves save little."""
    near = tiling.neighbours
    return near.is_dense and near.flows > _MOST_DENSE_FLOWS and 2 * movable > near.num_anchors


def _small_tiles(graph: AnyGraph, tiling: Tiling, chosen: Int64, num_tiles: int) -> tuple[Int64, Int32]:
    """Return a value of each group that moves together, and int32, the group of each chosen value.

    Elements at the same place of arrays of one family move together; where there would be too many, tiles as
    small as their number allows.
    """
    if not tiling.groups or not len(chosen):
        return chosen, np.arange(len(chosen), dtype=np.int32)
    points = max(math.prod(group.extents) for group in tiling.groups)
    most = _MOST_MOVABLE // 4 // max(num_tiles, 1) * tiling.num_vertices
    is_chosen = np.zeros(graph.num_vertices, np.bool_)
    is_chosen[chosen] = True
    tile = tiles_of(graph, tiling.groups, max(min(points, most), 1), is_chosen)
    return _groups_of(tile[chosen], chosen)


def _groups_of(tile: Int32, chosen: Int64) -> tuple[Int64, Int32]:
    """Return the first of ``chosen`` in each ``tile``, tiles ascending, and the position of each one's tile.

    Both are [n], at least one, ``chosen`` ascends. Linear in the number of tiles: they are many, and most are
    in use.
    """
    least = int(tile.min())
    used = np.zeros(int(tile.max()) - least + 1, np.bool_)
    used[tile - least] = True
    label = np.cumsum(used, dtype=np.int32)[tile - least] - 1
    first = np.empty(int(label.max()) + 1, np.int64)
    first[label[::-1]] = chosen[::-1]
    return first, label
