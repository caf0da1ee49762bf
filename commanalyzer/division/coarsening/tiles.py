"""Coarse vertices of a large graph: value graph + hubs -> number of the coarse vertex of every value.

Values go with their anchors (:mod:`.neighbours`). Arrays are cut into tiles: in as many dimensions as leave
the least bytes between tiles, at the same relative places in all arrays of a family, so that values computed
from each other element by element share a tile. What is in no array stays a vertex. Tasks, private values
that feed each other, may stay whole, where most of what they exchange is.

Where tiles would cut most bytes (the order of the elements says nothing about who needs whom) and the graph
is small enough for a partitioner, anchors themselves are the coarse vertices.

Reference: paper Section 4.2.2, where METIS coarsens vertex by vertex; tiles do it by place.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from commanalyzer.division.coarsening.kernels import add_across
from commanalyzer.division.coarsening.neighbours import Neighbours, find_neighbours
from commanalyzer.division.regular.grids import Blocks, grid_name
from commanalyzer.division.regular.shapes import Array, Shaped
from commanalyzer.foundation.compiled import frozen
from commanalyzer.graph.storage.slices import row_slices
from commanalyzer.graph.storage.store import AnyGraph
from commanalyzer.graph.value_graph import Bool, Int32, count_of_source, sink_of_source

LEAST_PER_PART = 256
_EVEN = 8  # tiles along a dimension are a multiple of it, so that parts can be blocks of whole tiles
_SCATTERED = 0.6  # of all bytes between tiles: their order says nothing
_SHARES = 64  # integers keep differences of less than a byte, and which are equal
_LEAST_POINTS = 16  # of a tile: of smaller ones, most bytes cross the border in any case
_MOST_LOOSE_FLOWS = 30_000_000  # for a partitioner without tiles
_MOST_LOOSE_VERTICES = 4_000_000


@dataclass(frozen=True, slots=True)
class Tiling:
    """Coarse vertices."""

    vertex: Int32  # [V], coarse vertex of each value, -1 for hubs
    num_vertices: int
    name: str  # ``tiles 250x250``, ``runs 4096``, or ``values`` where nothing was tiled
    neighbours: Neighbours  # what was learnt on the way
    groups: tuple[Blocks, ...] = ()  # arrays that were tiled alike, group by group

    @property
    def is_tiled(self) -> bool:
        """Whether vertices are tiles of arrays, not values."""
        return self.name != "values"


def build_tiling(
    graph: AnyGraph,
    removed: Bool,
    arrays: Sequence[Array],
    families: Sequence[Sequence[Shaped]],
    wanted: int,
    *,
    scattered: bool = True,
    near: Neighbours | None = None,
) -> Tiling:
    """Return coarse vertices of ``graph``, about ``wanted`` of them if its arrays can be tiled.

    Hubs are ``removed`` (bool[V]), ``families`` are arrays with shapes, most dimensions first. With
    ``scattered``, values may stay vertices where tiles would cut most bytes. ``near`` is what
    :func:`find_neighbours` found.
    """
    near = near or find_neighbours(graph, removed)
    wanted = near.tiles_wanted(wanted) if scattered else wanted
    own = np.arange(graph.num_vertices, dtype=np.int32)
    best: _Placed | None = None
    if near.num_anchors > wanted:
        found = _candidates(graph, removed, arrays, families, near, wanted)
        best = _least_cut(graph, removed, found, near, wanted, scattered=scattered)
    if best is None:
        return by_anchor(near, removed)
    used = np.zeros(int(best.tile.max()) + 1, np.bool_)
    used[best.tile[~removed & (best.near.anchor == own)]] = True
    number = np.cumsum(used, dtype=np.int32)
    vertex = number[best.tile] - np.int32(1)
    vertex[removed] = -1
    return Tiling(vertex, int(number[-1]), best.name, best.near, best.groups)


def by_anchor(near: Neighbours, removed: Bool) -> Tiling:
    """Return coarse vertices that are the anchors of ``near``."""
    number = np.cumsum(~removed & (near.anchor == np.arange(len(removed))), dtype=np.int32)
    vertex = number[near.anchor] - np.int32(1)
    vertex[removed] = -1
    return Tiling(vertex, int(number[-1]) if len(number) else 0, "values", near)


@dataclass(frozen=True, slots=True)
class _Placed:
    """Tiles of all values."""

    near: Neighbours
    tile: Int32  # [V], the tile of the anchor of each value, -1 for hubs
    name: str
    groups: tuple[Blocks, ...]  # arrays that are tiled alike


def _least_cut(
    graph: AnyGraph, removed: Bool, found: Iterator[_Placed], near: Neighbours, wanted: int, scattered: bool
) -> _Placed | None:
    """Return which of ``found`` tiles cut the least bytes; ``None`` where values should stay vertices.

    Tasks are laid on those that do so without them: that asks for the links of all tasks.
    """
    loose = near.flows <= _MOST_LOOSE_FLOWS and near.num_anchors <= _MOST_LOOSE_VERTICES
    complete = scattered and loose
    best, least, between = _least(graph, found, complete)
    if not near.has_no_tasks:
        tasks = replace(near, anchor=near.otherwise, otherwise=near.anchor)
        tile = _with_tasks(graph, removed, tasks, tiles_of(graph, best.groups, wanted))
        joined = replace(best, near=tasks, tile=_of_anchors(tile, tasks.anchor, removed))
        _, volume, between = _least(graph, iter((joined,)), complete)
        best, least = (joined, volume) if volume < least else (best, least)
    coarse = max((math.prod(g.extents) for g in best.groups), default=0) >= _LEAST_POINTS * wanted
    if scattered and loose and coarse and not near.is_dense and least > _SCATTERED * max(between, 1):
        return None
    return best


def _with_tasks(graph: AnyGraph, removed: Bool, near: Neighbours, tile: Int32) -> Int32:
    """Return ``tile`` (int32[V]) with each task, an anchor of ``near``, where it exchanges most bytes.

    Bytes of a value are shared by its readers: what belongs to an element decides, not the nodes that it
    shares with others.
    """
    anchor, is_task = near.anchor, (graph.is_register | graph.is_temporary) & ~removed
    number, total = (
        np.cumsum(is_task) - 1,
        csr_array((np.count_nonzero(is_task), int(tile.max()) + 1), dtype=np.int64),
    )
    for rows in row_slices(graph):
        ends = np.stack((anchor[rows.source], anchor[sink_of_source(rows)]))
        at = np.flatnonzero((is_task[ends[0]] != is_task[ends[1]]) & ~removed[ends].any(axis=0))
        task, other = np.where(is_task[ends[0, at]], ends[:, at], ends[::-1, at])
        value = rows.source[at]
        uses = np.minimum(count_of_source(rows)[at], np.maximum(graph.versions[value], 1))
        share = np.maximum(_SHARES * uses * graph.width_bytes[value] // np.maximum(near.readers[value], 1), 1)
        total += csr_array((share, (number[task], tile[other])), total.shape)
    row, order = (
        np.repeat(np.arange(total.shape[0]), np.diff(total.indptr)),
        np.lexsort((-total.indices, total.data)),
    )
    placed, tasks = tile.copy(), np.flatnonzero(is_task)
    placed[tasks[row[order]]] = total.indices[order]  # the last one stays
    return placed


def _least(graph: AnyGraph, found: Iterator[_Placed], complete: bool) -> tuple[_Placed, float, int]:
    """Return the tiles that cut the least bytes, how many these are, and the bytes between anchors.

    Unless ``complete``, nothing is asked but which is least: those of others end where they are more.
    """
    best, least, between = None, math.inf, 0
    versions, width_bytes = frozen(graph.versions, np.int64), graph.width_bytes
    while some := list(itertools.islice(found, 2)):  # one step per pass over all flows
        places = frozen(np.stack((some[-1].near.anchor, *(s.tile for s in some))), np.int32)
        enough, across = math.inf if complete else least, np.zeros(len(places), np.int64)
        latest = np.full_like(places, -1)
        for piece in row_slices(graph):
            add_across(piece, versions, width_bytes, places, latest, across)
            if across[1:].min() >= enough:
                break
        between, *volumes = across.tolist()
        for candidate, volume in zip(some, volumes, strict=True):
            if volume < least:
                best, least = candidate, volume
    assert best is not None
    return best, least, between


def _candidates(
    graph: AnyGraph,
    removed: Bool,
    arrays: Sequence[Array],
    families: Sequence[Sequence[Shaped]],
    near: Neighbours,
    wanted: int,
) -> Iterator[_Placed]:
    """Yield the tiles of each family of arrays, without tasks."""
    seen: set[frozenset[tuple[int, ...]]] = set()
    for family in families or ((),):  # one step per family
        members = tuple(_groups(arrays, family, families))
        if (alike := frozenset(tuple(map(id, group)) for group in members)) in seen:
            continue
        seen.add(alike)
        groups, name = tuple(Blocks(graph, group) for group in members), _name(family, wanted)
        tile = tiles_of(graph, groups, wanted)
        yield _Placed(near, _of_anchors(tile, near.anchor, removed), name, groups)


def _of_anchors(tile: Int32, anchor: Int32, removed: Bool) -> Int32:
    found = tile[anchor]
    found[removed] = -1
    return found


def tile_grid(extents: tuple[int, ...], wanted: int) -> tuple[int, ...]:
    """Return tiles along each dimension: about ``wanted`` in all, nearly cubes of points, or points."""
    if math.prod(extents) <= wanted:
        return extents
    edge = (math.prod(extents) / max(wanted, 1)) ** (1.0 / len(extents))
    counts = [e / max(edge, 1.0) for e in extents]
    even = [max(_EVEN, _EVEN * round(c / _EVEN)) if c >= _EVEN else max(1, round(c)) for c in counts]
    return tuple(min(c, e) for c, e in zip(even, extents, strict=True))


def _name(family: Sequence[Shaped], wanted: int) -> str:
    if not family:
        return "runs"
    grid = tile_grid(family[0].extents, wanted)
    return f"tiles {grid_name(grid)}" if len(grid) > 1 else f"runs {grid[0]}"


def tiles_of(graph: AnyGraph, groups: Sequence[Blocks], wanted: int, is_wanted: Bool | None = None) -> Int32:
    """Return int32[V], a tile of each value, about ``wanted`` in each group; other values have their own.

    With ``is_wanted`` (bool[V]), those of all other values mean nothing.
    """
    tile = np.full(graph.num_vertices, -1, np.int32)
    first = 0
    for group in groups:  # one step per group
        grid = tile_grid(group.extents, wanted)
        group.fill(group.cuts(grid), tile, first, is_wanted)
        first += math.prod(grid)
    alone = tile < 0
    tile[alone] = first + np.arange(np.count_nonzero(alone), dtype=np.int32)
    return tile


def _groups(
    arrays: Sequence[Array], family: Sequence[Shaped], families: Sequence[Sequence[Shaped]]
) -> Iterator[tuple[Shaped, ...]]:
    """The family, arrays of other shapes with as many dimensions, then all others by size."""
    tiled: set[int] = set()
    dims = len(family[0].extents) if family else 0
    alike = [f for f in families if f is not family and len(f[0].extents) == dims]
    for members in (family, *alike):
        group = tuple(s for s in members if id(s.array) not in tiled)
        tiled |= {id(s.array) for s in group}
        if group:
            yield group
    by_count: dict[int, list[Shaped]] = {}
    for array in arrays:  # one step per array
        if id(array) not in tiled:
            by_count.setdefault(array.counts[0], []).append(Shaped(array, (array.counts[0],)))
    yield from map(tuple, by_count.values())
