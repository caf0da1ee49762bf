"""Coarse vertices of a large graph: value graph + hubs -> number of the coarse vertex of every value.

Three steps, each in passes over slices of rows. Private values (registers, temporaries) follow what they are
computed for, leaves (matrix entries) follow their only reader: the array value at the end of that chain is
their *anchor*. Arrays are then cut into tiles: in as many dimensions as leave the least bytes between tiles,
at the same relative places in all arrays of a family, so that values computed from each other element by
element share a tile. What is in no array stays a vertex of its own.

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

from commanalyzer.partition import tile_kernels as kernels
from commanalyzer.partition.grids import Blocks, grid_name
from commanalyzer.partition.shapes import Array, Shaped
from commanalyzer.partition.tasks import with_tasks
from commanalyzer.vcg.graph import Bool, Int32, Int64
from commanalyzer.vcg.large import AnyGraph
from commanalyzer.vcg.slices import row_slices

DEFAULT_VERTICES = 32_768  # coarse vertices to aim at
LEAST_PER_PART = 256
_EVEN = 8  # tiles along a dimension are a multiple of it, so that parts can be blocks of whole tiles
_SCATTERED = 0.6  # of all bytes between tiles: their order says nothing
_LEAST_POINTS = 16  # of a tile: of smaller ones, most bytes cross the border in any case
_DENSE = 32  # flows per anchor: from it on, nearly every tile is linked to many others
_FEW_VERTICES = 4096
_MOST_ROUNDS = 4
_TASK_SHARE = 0.002  # of all values: larger tasks are chains through the program
_LEAST_TASK = 64
_MOST_LOOSE_FLOWS = 30_000_000  # for a partitioner without tiles
_MOST_LOOSE_VERTICES = 4_000_000


@dataclass(frozen=True, slots=True)
class Neighbours:
    """What is known of every vertex after one pass over all flows.

    Attributes:
        anchor: int32[V], the vertex whose owner each vertex gets: itself, or the end of what it follows.
        readers: int32[V], source entries that read it.
        most: int32[V], largest count of a row that reads it.
        most_folded: int32[V], largest count of a reduction into it.
        flows: Flows of the graph.
        task_anchor: int32[V], anchors where private values that feed each other stay together as tasks; empty
            where none do, and once tiles are made.
        num_anchors: Number of anchors that are no hubs.
        idle: int64[I], values without any flow or work: they follow what they have nothing to do with.
    """

    anchor: Int32
    readers: Int32
    most: Int32
    most_folded: Int32
    flows: int
    task_anchor: Int32
    num_anchors: int
    idle: Int64

    @property
    def is_dense(self) -> bool:
        """Whether nearly every tile will be linked to many others."""
        return self.flows > _DENSE * self.num_anchors

    def tiles_wanted(self, wanted: int) -> int:
        """Return ``wanted``, or fewer tiles of a dense graph."""
        return min(wanted, _FEW_VERTICES) if self.is_dense else wanted


@dataclass(frozen=True, slots=True)
class Tiling:
    """Coarse vertices.

    Attributes:
        vertex: int32[V], coarse vertex of each value, -1 for hubs.
        num_vertices: Their number N.
        name: ``tiles 250x250``, ``runs 4096``, or ``values`` where nothing was tiled.
        neighbours: What was learnt on the way.
        groups: Arrays that were tiled alike, group by group.
        cut_share: Bytes between tiles, of those between values.
    """

    vertex: Int32
    num_vertices: int
    name: str
    neighbours: Neighbours
    groups: tuple[Blocks, ...] = ()
    cut_share: float = 0.0


def find_neighbours(graph: AnyGraph, removed: Bool) -> Neighbours:
    """Return anchors and uses of all values; hubs (``removed``) follow nothing and nothing follows them."""
    v = graph.num_vertices
    private = (graph.is_register | graph.is_temporary) & ~removed
    follow, rank = np.full(v, -1, np.int32), np.zeros(v, np.int8)
    several, computed = np.zeros(v, np.uint8), np.zeros(v, np.uint8)
    readers, most, most_folded = np.zeros(v, np.int32), np.zeros(v, np.int32), np.zeros(v, np.int32)
    flows = 0
    for piece in row_slices(graph):
        flows += piece.num_flows
        kernels.note_readers(
            *(piece.row_sink, piece.row_count, piece.row_fold, piece.term_ptr, piece.source_ptr),
            *(piece.source, private, removed, follow, rank, several, computed, readers, most, most_folded),
        )
    private &= (readers > 0) | (computed > 0)  # others neither lead nor follow
    is_computed = computed > 0
    leaf = ~is_computed & (graph.versions - graph.is_input <= 1) & ~removed
    ahead = (private & (rank > kernels.TO_SUM)) | (leaf & (several == 0))
    parent = np.where(ahead & (follow >= 0), follow, np.arange(v, dtype=np.int32))
    last = np.where(private & (rank == kernels.TO_SUM), follow, np.int32(-1))
    passed = _passed_on(graph, ahead | private | removed, (several == 0) & (readers == 1), follow)
    parent = np.where(passed, follow, parent)
    del follow, rank, computed, ahead, passed
    anchor = _settled(graph, removed, private, parent, last, readers)
    parent = _beside_readers(graph, removed, leaf & (several != 0) & ~private, anchor, parent)
    task_anchor = np.zeros(0, np.int32)
    if private.any():
        task_anchor = _joined_tasks(graph, private, parent)
    own = np.arange(v, dtype=np.int32)
    kernels.find_anchors(np.where(anchor != own, anchor, parent), anchor)
    idle = (readers == 0) & ~is_computed & ~removed & (graph.work_flops == 0)
    others, idle = np.flatnonzero(~idle & ~removed), np.flatnonzero(idle)
    for found in (anchor, task_anchor) if len(task_anchor) else (anchor,):
        _lay_beside(graph, others, idle, found)
    num_anchors = int(np.count_nonzero(~removed & (anchor == own)))
    return Neighbours(anchor, readers, most, most_folded, flows, task_anchor, num_anchors, idle)


def _passed_on(graph: AnyGraph, others: Bool, is_read_once: Bool, follow: Int32) -> Bool:
    """Return bool[V], values that are only read to compute another one that has no other source.

    Both in one part cost no more than both apart: what the second one sends, the first would have to send to
    it (Padberg and Rinaldi, 1990). Pairs only: whole chains would be work that cannot be divided.

    Args:
        graph: Value graph.
        others: bool[V], values that cannot be the first or the second one.
        is_read_once: bool[V].
        follow: int32[V], the reader of each value.
    """
    only, several = np.full(len(follow), kernels.EMPTY, np.int32), np.zeros(len(follow), np.bool_)
    for piece in row_slices(graph):
        kernels.note_sources(*(piece.row_sink, piece.term_ptr, piece.source_ptr, piece.source, only, several))
    first = np.flatnonzero(is_read_once & ~others & (follow >= 0))
    second = follow[first]
    linked = (only[second] == first) & ~several[second] & ~others[second]
    linked &= graph.versions[second] <= graph.versions[first]
    linked &= graph.width_bytes[second] <= graph.width_bytes[first]
    passed = np.zeros(len(follow), np.bool_)
    passed[first[linked]] = True
    before = np.zeros(len(follow), np.bool_)
    before[second[linked]] = True
    return passed & ~before & ~np.where(follow >= 0, passed[np.maximum(follow, 0)], False)


def _lay_beside(graph: AnyGraph, others: Int64, idle: Int64, anchor: Int32) -> None:
    """Let ``idle`` values follow the one before them in their array, in place; whole arrays lie along all.

    They move nothing wherever they are. As vertices of their own they would take the room of those that
    matter: the columns of a sparse matrix are most values of its program.
    """
    if not len(idle) or not len(others):
        return
    before = np.maximum(np.searchsorted(others, idle) - 1, 0)
    home = graph.home_object
    alone = np.flatnonzero(home[others[before]] != home[idle])
    before[alone] = np.arange(len(alone)) * len(others) // max(len(alone), 1)
    anchor[idle] = anchor[others[before]]


def _joined_tasks(graph: AnyGraph, private: Bool, parent: Int32) -> Int32:
    """Return int32[V], anchors where private values that feed each other stay together; empty if none do."""
    v = graph.num_vertices
    root, size = np.arange(v, dtype=np.int32), np.ones(v, np.int32)
    most = max(int(_TASK_SHARE * v), _LEAST_TASK)
    for piece in row_slices(graph):
        kernels.unite(
            *(piece.row_sink, piece.term_ptr, piece.source_ptr, piece.source, private, root, size, most)
        )
    if (size == 1).all():
        return np.zeros(0, np.int32)
    kernels.find_anchors(np.where(private, root, parent), root)
    return root


def _beside_readers(graph: AnyGraph, removed: Bool, leaf: Bool, anchor: Int32, parent: Int32) -> Int32:
    """Return ``parent`` with leaves that several private values of one place read in that place, too.

    The entries of a matrix that several products of the program read are such.
    """
    if not leaf.any():
        return parent
    place, elsewhere = np.full(len(parent), -1, np.int32), np.zeros(len(parent), np.bool_)
    for piece in row_slices(graph):
        kernels.note_places(
            *(piece.row_sink, piece.term_ptr, piece.source_ptr, piece.source),
            *(removed, leaf, anchor, place, elsewhere),
        )
    return np.where((place >= 0) & ~elsewhere, place, parent)


def _settled(
    graph: AnyGraph, removed: Bool, private: Bool, parent: Int32, last: Int32, readers: Int32
) -> Int32:
    """Return int32[V], anchors; private values that end no array value go beside what they are computed from.

    Contributions to sums are such: they are computed where their operands are, and wait for those that are
    settled later. Those without any operand that is settled follow the sum itself (``last``).
    """
    own = np.arange(len(parent), dtype=np.int32)
    anchor = np.empty(len(parent), np.int32)
    kernels.find_anchors(parent, anchor)
    waits = True
    for more in reversed(range(_MOST_ROUNDS)):
        is_open = private & (anchor == own)
        if not is_open.any():
            return anchor
        producer, fewest = np.full(len(own), -1, np.int32), np.zeros(len(own), np.int32)
        for piece in row_slices(graph):
            kernels.note_producers(
                *(piece.row_sink, piece.term_ptr, piece.source_ptr, piece.source),
                *(removed, readers, anchor, is_open, waits, producer, fewest),
            )
        found = is_open & (producer >= 0) & ~is_open[producer]
        if not (waits or found.any()):
            break
        waits = more > 1 and bool(found.any())
        parent = np.where(found, producer, parent)
        kernels.find_anchors(parent, anchor)
    left = private & (anchor == own) & (last >= 0)
    kernels.find_anchors(np.where(left, last, parent), anchor)
    return anchor


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

    Args:
        graph: Value graph.
        removed: bool[V], hubs.
        arrays: Arrays of the program.
        families: Arrays with shapes, most dimensions first.
        wanted: Coarse vertices to aim at.
        scattered: Whether values may stay vertices where tiles would cut most bytes.
        near: What :func:`find_neighbours` found; found if not given.
    """
    near = near or find_neighbours(graph, removed)
    wanted = near.tiles_wanted(wanted) if scattered else wanted
    own = np.arange(graph.num_vertices, dtype=np.int32)
    best: _Placed | None = None
    if near.num_anchors > wanted:
        best = _least_cut(graph, removed, arrays, families, near, wanted, scattered=scattered)
    followed = near if best is None else best.near
    is_anchor = ~removed & (followed.anchor == own)
    number = np.cumsum(is_anchor, dtype=np.int32)  # of an anchor: its place among them, and one
    count = int(number[-1]) if len(number) else 0
    if best is None:
        vertex = number[followed.anchor] - np.int32(1)
    else:
        used = np.zeros(int(best.tile.max()) + 1, np.bool_)
        used[best.tile[is_anchor]] = True
        number = np.cumsum(used, dtype=np.int32)
        vertex = number[best.tile] - np.int32(1)
        count = int(number[-1])
    vertex[removed] = -1
    known = replace(followed, task_anchor=np.zeros(0, np.int32))  # only needed here
    if best is None:
        return Tiling(vertex, count, "values", known)
    return Tiling(vertex, count, best.name, known, best.groups, best.cut_share)


@dataclass(frozen=True, slots=True)
class _Placed:
    """Tiles of all values.

    Attributes:
        near: Anchors.
        tile: int32[V], the tile of the anchor of each value, -1 for hubs.
        name: What to call the tiles.
        groups: Arrays that are tiled alike.
        cut_share: Bytes between tiles, of those between values; 0 where these were not counted.
    """

    near: Neighbours
    tile: Int32
    name: str
    groups: tuple[Blocks, ...]
    cut_share: float = 0.0


def _least_cut(
    graph: AnyGraph,
    removed: Bool,
    arrays: Sequence[Array],
    families: Sequence[Sequence[Shaped]],
    near: Neighbours,
    wanted: int,
    *,
    scattered: bool,
) -> _Placed | None:
    """Return the tiles that cut the least bytes; ``None`` where values should stay vertices."""
    best, least, between = None, math.inf, 0
    loose = near.flows <= _MOST_LOOSE_FLOWS and near.num_anchors <= _MOST_LOOSE_VERTICES
    found = _candidates(graph, removed, arrays, families, near, wanted)
    while some := list(itertools.islice(found, 2)):  # one step per pass over all flows
        # of more than that, nothing is asked but which is least
        enough = math.inf if scattered and loose else least
        between, across = _crossing(graph, some, enough)
        for candidate, volume in zip(some, across, strict=True):
            if volume < least:
                best, least = candidate, volume
    assert best is not None
    coarse = max((math.prod(g.extents) for g in best.groups), default=0) >= _LEAST_POINTS * wanted
    if scattered and loose and coarse and not near.is_dense and least > _SCATTERED * max(between, 1):
        return None
    return replace(best, cut_share=least / max(between, 1)) if loose else best


def _candidates(
    graph: AnyGraph,
    removed: Bool,
    arrays: Sequence[Array],
    families: Sequence[Sequence[Shaped]],
    near: Neighbours,
    wanted: int,
) -> Iterator[_Placed]:
    """Yield the tiles of each family of arrays, without tasks and with them."""
    tasks = replace(near, anchor=near.task_anchor)
    seen: set[frozenset[tuple[int, ...]]] = set()
    for family in families or ((),):  # one step per family
        members = tuple(_groups(arrays, family, families))
        if (alike := frozenset(tuple(map(id, group)) for group in members)) in seen:
            continue
        seen.add(alike)
        groups, name = tuple(Blocks(graph, group) for group in members), _name(family, wanted)
        tile = tiles_of(graph, groups, wanted)
        yield _Placed(near, _of_anchors(tile, near.anchor, removed), name, groups)
        if len(near.task_anchor):
            placed = with_tasks(graph, removed, tasks.anchor, near.readers, tile)
            yield _Placed(tasks, _of_anchors(placed, tasks.anchor, removed), name, groups)


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


def _crossing(graph: AnyGraph, placed: Sequence[_Placed], enough: float) -> tuple[int, list[int]]:
    """Return the bytes between anchors of the last of two or one, and those between tiles of each.

    What is counted ends where all of the latter are ``enough``.
    """
    one, last = placed[0], placed[-1]
    found, versions, width_bytes = np.zeros(3, np.int64), graph.versions, graph.width_bytes
    for piece in row_slices(graph):
        kernels.crossing_bytes(
            *(piece.row_sink, piece.row_count, piece.term_ptr, piece.source_ptr, piece.source),
            *(versions, width_bytes, last.near.anchor, one.tile, last.tile, found),
        )
        if found[1:].min() >= enough:
            break
    return int(found[0]), found[1 : 1 + len(placed)].tolist()
