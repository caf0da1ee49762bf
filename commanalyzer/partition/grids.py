"""Divisions a programmer would write: arrays with shapes + process grid -> owner of every element.

Each dimension is cut into equal numbers of points, or where the work on them is shared evenly; arrays of the
same extents are cut at the same places. Points that are never computed (halos) do not count, they join
their neighbours.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from commanalyzer.partition.shapes import Shaped
from commanalyzer.vcg.graph import Float64, Int32, Int64, ValueGraph


def process_grids(num_parts: int, dims: int) -> tuple[tuple[int, ...], ...]:
    """Return every way to write ``num_parts`` as a product of ``dims`` factors, in order."""
    if dims == 1:
        return ((num_parts,),)
    divisors = [d for d in range(1, num_parts + 1) if num_parts % d == 0]
    return tuple((d, *rest) for d in divisors for rest in process_grids(num_parts // d, dims - 1))


def surface(grid: tuple[int, ...], extents: tuple[int, ...]) -> float:
    """Return points beside cuts over all points: what a stencil would send, the first guess of the cost."""
    return sum((g - 1) / e for g, e in zip(grid, extents, strict=True))


def fits(grid: tuple[int, ...], extents: tuple[int, ...]) -> bool:
    """Whether every part gets at least one point."""
    return all(g <= e for g, e in zip(grid, extents, strict=True))


def block_owners(
    graph: ValueGraph, family: Sequence[Shaped], grid: tuple[int, ...], *, by_work: bool = False
) -> Int32:
    """Return int32[V], owner of each element in blocks; -1 for all other values.

    Args:
        graph: Value graph.
        family: Arrays of related shapes.
        grid: Number of blocks along each dimension.
        by_work: Cut where the work spent on the elements is halved, not where their number is.
    """
    owner = np.full(graph.num_vertices, -1, np.int32)
    for extents, members in _by_extents(family):
        places = [s.coordinates() for s in members]
        vertices = np.concatenate([s.array.vertex for s in members])
        weight = graph.work_flops[vertices] if by_work else _written(graph, members)
        part = np.zeros(len(vertices), np.int64)
        for axis, (count, extent) in enumerate(zip(grid, extents, strict=True)):
            at = np.concatenate([p[axis] for p in places])
            along = np.bincount(at, weight, extent).astype(np.float64)
            part = part * count + _cuts(along, count)[at]
        owner[vertices] = part
    return owner


def _written(graph: ValueGraph, members: Sequence[Shaped]) -> Float64:
    """Return float64[K], 1 for elements that change as often as others of their array, 0 for halos."""
    versions = [graph.versions[s.array.vertex] for s in members]
    return np.concatenate([2 * v >= v.max() for v in versions]).astype(np.float64)


def cyclic_owners(
    graph: ValueGraph, family: Sequence[Shaped], grid: tuple[int, ...], blocks: tuple[int, ...]
) -> Int32:
    """Return int32[V], owner of each element where blocks of ``blocks`` points are dealt out in turn."""
    owner = np.full(graph.num_vertices, -1, np.int32)
    for shaped in family:
        part = np.zeros(len(shaped.array.vertex), np.int64)
        for at, count, block in zip(shaped.coordinates(), grid, blocks, strict=True):
            part = part * count + (at // block) % count
        owner[shaped.array.vertex] = part
    return owner


def _by_extents(family: Sequence[Shaped]) -> list[tuple[tuple[int, ...], list[Shaped]]]:
    ordered = sorted(family, key=lambda s: s.extents)
    return [(e, list(members)) for e, members in itertools.groupby(ordered, key=lambda s: s.extents)]


def _cuts(work: Float64, count: int) -> Int64:
    """Return int64[extent], block of each point of one dimension: equal shares of ``work`` or points."""
    weight = work if work.sum() > 0 else np.ones(len(work))
    middle = (np.cumsum(weight) - 0.5 * weight) / weight.sum()
    block: Int64 = np.minimum(np.floor(middle * count + 1e-9), count - 1).astype(np.int64)
    return block


def grid_name(grid: tuple[int, ...]) -> str:
    """``4x4``."""
    return "x".join(map(str, grid))
