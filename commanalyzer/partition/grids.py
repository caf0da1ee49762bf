"""Divisions a programmer would write: arrays with shapes + process grid -> owner of every element.

Each dimension is cut where the work (of the values themselves) is shared evenly; arrays of the same extents are
cut at the same places. Elements of the last and the first point of a dimension without work (halos)
join their neighbours.
"""

from __future__ import annotations

import itertools
import math
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


def block_owners(graph: ValueGraph, family: Sequence[Shaped], grid: tuple[int, ...]) -> Int32:
    """Return int32[V], owner of each element in blocks of equal work; -1 for all other values."""
    owner = np.full(graph.num_vertices, -1, np.int32)
    for extents, members in _by_extents(family):
        places = [s.coordinates() for s in members]
        vertices = np.concatenate([s.array.vertex for s in members])
        work = graph.work_flops[vertices]
        part = np.zeros(len(vertices), np.int64)
        for axis, (count, extent) in enumerate(zip(grid, extents, strict=True)):
            at = np.concatenate([p[axis] for p in places])
            along = np.bincount(at, work, extent)
            part = part * count + _cuts(along, count)[at]
        owner[vertices] = part
    return owner


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
    """Return int64[extent], block of each point of one dimension: equal shares of the work, or of the points."""
    weight = work if work.sum() > 0 else np.ones(len(work))
    middle = (np.cumsum(weight) - 0.5 * weight) / weight.sum()
    return np.minimum(np.floor(middle * count + 1e-9), count - 1).astype(np.int64)


def grid_name(grid: tuple[int, ...]) -> str:
    """``4x4``."""
    return "x".join(map(str, grid))


def is_slab(grid: tuple[int, ...]) -> bool:
    """Only one dimension is divided."""
    return sum(g > 1 for g in grid) <= 1


def points(extents: tuple[int, ...]) -> int:
    """Number of points."""
    return math.prod(extents)
