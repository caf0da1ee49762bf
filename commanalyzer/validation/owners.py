"""Owners as in an MPI program: blocks of its arrays -> owner of every value of the sequential program's graph."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from commanalyzer.errors import ConfigError
from commanalyzer.validation.cases import ArrayBlocks
from commanalyzer.validation.formulas import evaluate
from commanalyzer.vcg.graph import Int32, Int64, ValueGraph
from commanalyzer.vcg.segments import sink_of_source

_MALLOC_BYTES = 16  # heap blocks are rounded up to this


def owners_by_blocks(
    graph: ValueGraph,
    arrays: Sequence[ArrayBlocks],
    grid: Sequence[int],
    values: Mapping[str, int],
) -> Int32:
    """Return int32[V], owners where ``arrays`` are divided among the ranks of ``grid``.

    Values elsewhere (matrix entries, workspaces, registers) follow what they are computed with.

    Raises:
        ConfigError: If no array of the program has as many elements as one of ``arrays``.
    """
    part = np.full(graph.num_vertices, -1, dtype=np.int64)
    width = np.zeros(len(graph.objects), dtype=np.int64)
    np.maximum.at(width, graph.home_object, graph.width_bytes)
    size = np.array([item.size_bytes for item in graph.objects], dtype=np.int64)
    for blocks in arrays:  # one step per kind of array
        owner = element_owners(blocks, grid, values)
        exact = len(owner) * width
        rounded = -(-exact // _MALLOC_BYTES) * _MALLOC_BYTES
        fits = (width > 0) & ((size == exact) | (size == rounded))
        if not fits.any():
            raise ConfigError(
                f"expected an array of {len(owner)} elements ({' x '.join(blocks.shape)}), found none"
            )
        mine = np.flatnonzero(fits[graph.home_object])
        element = graph.home_offset[mine] // width[graph.home_object[mine]]
        part[mine] = owner[np.minimum(element, len(owner) - 1)]
    return spread(graph, part, math.prod(grid))


def element_owners(blocks: ArrayBlocks, grid: Sequence[int], values: Mapping[str, int]) -> Int64:
    """Return int64[elements], rank that owns each element; ranks are numbered the last dimension fastest."""
    shape = [evaluate(formula, values) for formula in blocks.shape]
    owner = np.zeros(shape, dtype=np.int64)
    for axis, (formula, parts) in enumerate(zip(blocks.points, grid, strict=False)):
        points = evaluate(formula, values)
        index = np.clip(np.arange(shape[axis]) - blocks.shift, 0, points - 1)
        along = [1] * len(shape)
        along[axis] = shape[axis]
        owner = owner * parts + block_of(index, points, parts).reshape(along)
    return owner.ravel()


def block_of(index: NDArray[np.int64], points: int, parts: int) -> Int64:
    """Return the part of each index where part k owns [points k / parts, points (k + 1) / parts)."""
    begin = points * np.arange(1, parts + 1, dtype=np.int64) // parts
    return np.searchsorted(begin, index, side="right").astype(np.int64)


def spread(graph: ValueGraph, part: Int64, parts: int) -> Int32:
    """Return int32[V] where values without owner (-1) go where most of their neighbours are; 0 without any."""
    part = part.copy()
    sink, source = sink_of_source(graph).astype(np.int64), graph.source.astype(np.int64)
    one, other = np.concatenate((sink, source)), np.concatenate((source, sink))
    while True:  # one step per distance from the arrays
        votes = np.flatnonzero((part[one] < 0) & (part[other] >= 0))
        if not len(votes):
            return np.maximum(part, 0).astype(np.int32)
        pair, count = np.unique(one[votes] * parts + part[other[votes]], return_counts=True)
        # Most votes first for each value, the lowest rank among equals; np.unique keeps the first.
        order = np.lexsort((pair % parts, -count, pair // parts))
        value, first = np.unique(pair[order] // parts, return_index=True)
        part[value] = pair[order][first] % parts
