"""Tiles of tasks: private values that feed each other go where most of what they exchange is.

Input: tiles of all values by place. Output: tiles in which each task is whole.
"""

from __future__ import annotations

import numpy as np

from commanalyzer.division.coarsening import tile_kernels as kernels
from commanalyzer.division.coarsening.links import Links, find_links
from commanalyzer.graph.storage.large import AnyGraph
from commanalyzer.graph.value_graph import Bool, Int32, Int64


def with_tasks(graph: AnyGraph, removed: Bool, anchor: Int32, readers: Int32, tile: Int32) -> Int32:
    """Return tiles where each task is in the one that it exchanges most bytes with.

    Bytes of a value are shared by its readers: what belongs to an element decides, not the nodes that it
    shares with others.

    Args:
        graph: Value graph.
        removed: bool[V], hubs.
        anchor: int32[V], anchors where tasks stay together.
        readers: int32[V], source entries that read each value.
        tile: int32[V], tiles without tasks.
    """
    private = (graph.is_register | graph.is_temporary) & ~removed
    placed = tile.copy()
    anchors = np.flatnonzero(~removed & (anchor == np.arange(len(anchor), dtype=np.int32)))
    if not len(anchors):
        return placed
    first, label = groups_of(tile[anchors], anchors)
    number = np.full(len(anchor), len(first), np.int32)
    number[anchors] = label
    number = number[anchor]
    number[removed] = len(first)
    kind = np.append(private[first].astype(np.uint8), np.uint8(kernels.NO_KIND))
    links = find_links(graph, number, len(first), len(first) + 1, readers, kind=kind)
    assert links is not None
    best = heaviest(links, private[first])
    of_task = np.where(best >= 0, best, np.arange(len(first)))
    placed[anchors] = tile[first][of_task[label]]
    return placed


def groups_of(tile: Int32, chosen: Int64) -> tuple[Int64, Int32]:
    """Return the first of ``chosen`` in each tile, tiles ascending, and the position of each one's tile.

    Linear in the number of tiles: they are many, and most are in use.

    Args:
        tile: int32[n], tile of each chosen value; at least one.
        chosen: int64[n], ascending.
    """
    least = int(tile.min())
    used = np.zeros(int(tile.max()) - least + 1, np.bool_)
    used[tile - least] = True
    label = np.cumsum(used, dtype=np.int32)[tile - least] - 1
    first = np.empty(int(label.max()) + 1, np.int64)
    first[label[::-1]] = chosen[::-1]
    return first, label


def heaviest(links: Links, is_task: Bool) -> Int64:
    """Return int64[N], the number that each task shares most bytes with, the lowest on a tie; else -1."""
    first = is_task[links.one]
    task, near = np.where(first, links.one, links.other), np.where(first, links.other, links.one)
    order, best = np.lexsort((-near, links.sums[:, 1])), np.full(len(is_task), -1, np.int64)
    best[task[order]] = near[order]  # the last one stays
    return best
