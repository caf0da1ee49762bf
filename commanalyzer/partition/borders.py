"""Refinement beside the borders of parts: owners of all values -> owners that move fewer bytes.

Single values may change sides in the coarse vertices that lie at a border; everything else of a part is one
vertex that stays. So the hypergraph is as large as the borders, not as the graph.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from commanalyzer.partition import border_kernels as kernels
from commanalyzer.partition.coarse import CoarseView, RowRuns, build_nets
from commanalyzer.partition.refine import LEAST_GAIN, MOST_COUNTS, connectivity, incidence, refine
from commanalyzer.partition.tiles import Tiling, tiles_of
from commanalyzer.vcg.graph import Bool, Int32, Int64
from commanalyzer.vcg.large import AnyGraph

_MOST_MOVABLE = 2_000_000
_ROUNDS = 3
_LEAST_ROUND = 0.001  # of the metric: a round that saves less is the last
_PATIENCE, _MOST_MOVES = 0.1, 16384


@dataclass(frozen=True, slots=True)
class Refined:
    """Owners after a refinement.

    Attributes:
        part: int32[V].
        net_bytes: Connectivity metric, bytes.
    """

    part: Int32
    net_bytes: int


def refine_borders(
    graph: AnyGraph,
    view: CoarseView,
    part: Int32,
    num_parts: int,
    allowed_imbalance: float,
    *,
    runs: RowRuns | None = None,
    hopeless_bytes: float = math.inf,
) -> Refined | None:
    """Return better owners of all values; ``None`` if none were found or borders are too long.

    Args:
        graph: Value graph.
        view: Its coarse view.
        part: int32[V], owners.
        num_parts: Number of parts p.
        allowed_imbalance: Allowed excess of the largest part's work over the mean.
        runs: Runs of its rows by coarse vertices; found if not given.
        hopeless_bytes: Metric above which no further round is worth its time.
    """
    best: Refined | None = None
    runs = runs or RowRuns.of(graph, view.tiling)
    for _ in range(_ROUNDS):
        before, better = _refined_once(graph, view, part, num_parts, allowed_imbalance, runs, hopeless_bytes)
        if better is None:
            break
        best, part = better, better.part
        if before - best.net_bytes < _LEAST_ROUND * before or best.net_bytes > hopeless_bytes:
            break
    return best


def _refined_once(
    graph: AnyGraph,
    view: CoarseView,
    part: Int32,
    num_parts: int,
    allowed_imbalance: float,
    runs: RowRuns,
    hopeless_bytes: float,
) -> tuple[int, Refined | None]:
    """Return the connectivity metric before, and better owners if some were found."""
    tiling = view.tiling
    beside = _beside_border(view, part, num_parts)
    anchor = tiling.neighbours.anchor
    chosen = np.empty(len(anchor), np.int64)
    chosen = chosen[: kernels.list_movable(tiling.vertex, anchor, beside, chosen)].copy()
    small, label = _small_tiles(graph, tiling, chosen, int(beside.sum()))
    if not 0 < len(small) <= _MOST_MOVABLE:
        return 0, None
    single = part.copy()
    single[chosen] = num_parts + label
    total = num_parts + len(small)
    number = np.empty(len(anchor), np.int32)
    kernels.number_values(tiling.vertex, anchor, single, total, number)
    work = np.zeros(total)
    kernels.add_work(number, graph.work_flops, work)
    settled = work[:num_parts].copy()
    work[:num_parts] = 0.0
    rows = runs.chosen(_with_neighbours(view, beside))
    nets = build_nets(graph, number, total, tiling.neighbours, work, rows)
    if nets is None or not 0 < nets.num_nets * num_parts <= MOST_COUNTS:
        return 0, None
    start = np.concatenate((np.arange(num_parts, dtype=np.int32), part[small]))
    before = connectivity(nets, start, num_parts)
    found = refine(
        nets,
        incidence(nets),
        start,
        num_parts,
        imbalance=allowed_imbalance,
        fixed=np.arange(total) < num_parts,
        settled=settled,
        patience=min(_PATIENCE, _MOST_MOVES / total),
        least_gain=LEAST_GAIN,
        hopeless=hopeless_bytes / max(before, 1),
    )
    after = connectivity(nets, found, num_parts)
    if after >= before:
        return before, None
    better = np.where(tiling.vertex >= 0, found[np.minimum(number, total - 1)], part).astype(np.int32)
    return before, Refined(better, after)


def _with_neighbours(view: CoarseView, chosen: Bool) -> Bool:
    """Return bool[N], ``chosen`` and the coarse vertices that are linked to these.

    All rows with an end in a chosen one have their sink there: no others have pins of several parts.
    """
    one = view.adjacency.vertex_of_edge()
    found = chosen.copy()
    found[view.adjacency.neighbour[chosen[one]]] = True
    return found


def _small_tiles(graph: AnyGraph, tiling: Tiling, chosen: Int64, num_tiles: int) -> tuple[Int64, Int32]:
    """Return a value of each group that moves together, and int32, the group of each chosen value.

    Elements at the same place of arrays of one family move together; where there would be too many, tiles as
    small as their number allows.
    """
    if not tiling.groups or not len(chosen):
        return chosen, np.arange(len(chosen), dtype=np.int32)
    points = max(math.prod(group.extents) for group in tiling.groups)
    most = _MOST_MOVABLE // 4 // max(num_tiles, 1) * tiling.num_vertices
    tile = tiles_of(graph, tiling.groups, max(min(points, most), 1))
    return _groups_of(tile[chosen], chosen)


def _groups_of(tile: Int32, chosen: Int64) -> tuple[Int64, Int32]:
    """Return the first of ``chosen`` in each tile, tiles ascending, and the position of each one's tile.

    Linear in the number of tiles: they are many, and most are in use.
    """
    least = int(tile.min())
    used = np.zeros(int(tile.max()) - least + 1, np.bool_)
    used[tile - least] = True
    label = np.cumsum(used, dtype=np.int32)[tile - least] - 1
    first = np.empty(int(label.max()) + 1, np.int64)
    first[label[::-1]] = chosen[::-1]
    return first, label


def _beside_border(view: CoarseView, part: Int32, num_parts: int) -> Bool:
    """Return bool[N], coarse vertices that hold values of several parts or are linked to other parts."""
    coarse = np.full(view.tiling.num_vertices, -1, np.int32)
    beside = np.zeros(len(coarse), np.bool_)
    kernels.mark_mixed(view.tiling.vertex, part, coarse, beside)
    adjacency = view.adjacency
    one = adjacency.vertex_of_edge()
    beside[one[coarse[one] != coarse[adjacency.neighbour]]] = True
    return beside
