"""Refinement beside the borders of parts: owners of all values -> owners that move fewer bytes.

Single values may change sides in the coarse vertices that lie at a border; everything else of a part is one
vertex that stays. So the hypergraph is as large as the borders, not as the graph.
"""

from __future__ import annotations

import math

import numpy as np

from commanalyzer.partition.coarse import CoarseView, build_nets
from commanalyzer.partition.refine import MOST_COUNTS, connectivity, incidence, refine
from commanalyzer.partition.tiles import Tiling, tiles_of
from commanalyzer.vcg.graph import Bool, Float64, Int32, Int64, ValueGraph

_MOST_MOVABLE = 2_000_000
_ROUNDS = 3
_PATIENCE = 0.1


def refine_borders(
    graph: ValueGraph, view: CoarseView, part: Int32, num_parts: int, allowed_imbalance: float
) -> Int32 | None:
    """Return int32[V], better owners of all values; ``None`` if none were found or borders are too long.

    Args:
        graph: Value graph.
        view: Its coarse view.
        part: int32[V], owners.
        num_parts: Number of parts p.
        allowed_imbalance: Allowed excess of the largest part's work over the mean.
    """
    best: Int32 | None = None
    for _ in range(_ROUNDS):
        better = _refined_once(graph, view, part, num_parts, allowed_imbalance)
        if better is None:
            break
        best = part = better
    return best


def _refined_once(
    graph: ValueGraph, view: CoarseView, part: Int32, num_parts: int, allowed_imbalance: float
) -> Int32 | None:
    tiling = view.tiling
    beside = _beside_border(view, part, num_parts)
    anchor = tiling.neighbours.anchor
    movable = (tiling.vertex >= 0) & (anchor == np.arange(len(anchor))) & beside[tiling.vertex]
    chosen = np.flatnonzero(movable)
    small, label = _small_tiles(graph, tiling, chosen, int(beside.sum()))
    if not 0 < len(small) <= _MOST_MOVABLE:
        return None
    single = part.copy()
    single[chosen] = num_parts + label
    number = np.where(tiling.vertex >= 0, single[anchor], -1)
    total = num_parts + len(small)
    hub = view.hubs.hub
    number[hub] = total + np.arange(len(hub))
    number = number.astype(np.int32)
    work = _work(graph, number, total)
    settled = work[:num_parts].copy()
    work[:num_parts] = 0.0
    nets = build_nets(graph, number, total, tiling.neighbours, work)
    if nets is None or not 0 < nets.num_nets * num_parts <= MOST_COUNTS:
        return None
    start = np.concatenate((np.arange(num_parts, dtype=np.int32), part[small]))
    fixed = np.arange(total) < num_parts
    found = refine(
        nets,
        incidence(nets),
        start,
        num_parts,
        imbalance=allowed_imbalance,
        fixed=fixed,
        settled=settled,
        patience=_PATIENCE,
    )
    if connectivity(nets, found, num_parts) >= connectivity(nets, start, num_parts):
        return None
    return np.where(tiling.vertex >= 0, found[np.minimum(number, total - 1)], part).astype(np.int32)


def _small_tiles(graph: ValueGraph, tiling: Tiling, chosen: Int64, num_tiles: int) -> tuple[Int64, Int32]:
    """Return a value of each group that moves together, and int32, the group of each chosen value.

    Elements at the same place of arrays of one family move together; where there would be too many, tiles as
    small as their number allows.
    """
    if not tiling.groups or not len(chosen):
        return chosen, np.arange(len(chosen), dtype=np.int32)
    points = max(math.prod(group[0].extents) for group in tiling.groups)
    most = _MOST_MOVABLE // 4 // max(num_tiles, 1) * tiling.num_vertices
    tile = tiles_of(graph, tiling.groups, max(min(points, most), 1))
    _, first, label = np.unique(tile[chosen], return_index=True, return_inverse=True)
    return chosen[first], label.astype(np.int32)


def _work(graph: ValueGraph, number: Int32, total: int) -> Float64:
    kept = np.flatnonzero(number < total)
    return np.bincount(number[kept], graph.work_flops[kept], total).astype(np.float64)


def _beside_border(view: CoarseView, part: Int32, num_parts: int) -> Bool:
    """Return bool[N], coarse vertices that hold values of several parts or are linked to other parts."""
    vertex = view.tiling.vertex
    kept = np.flatnonzero(vertex >= 0)
    coarse = np.zeros(view.tiling.num_vertices, np.int32)
    coarse[vertex[kept]] = part[kept]
    beside = np.zeros(len(coarse), np.bool_)
    beside[vertex[kept[part[kept] != coarse[vertex[kept]]]]] = True
    adjacency = view.adjacency
    one = adjacency.vertex_of_edge()
    beside[one[coarse[one] != coarse[adjacency.neighbour]]] = True
    return beside
