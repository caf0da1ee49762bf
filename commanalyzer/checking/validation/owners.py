"""Owners as in an MPI program: blocks of its arrays -> owner of every value of the sequential graph."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import scipy.sparse
import scipy.sparse.csgraph
from numpy.typing import NDArray

from commanalyzer.checking.validation.cases import ArrayBlocks, CaseProgram, Tasks, evaluate
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.graph.value_graph import Bool, HomeKind, Int32, Int64, ValueGraph, sink_of_source

_MALLOC_BYTES = 16  # heap blocks are rounded up to this, which is also the size of a header
_MOST_BLOCKS = 4  # of one allocation site; more would take larger arrays for many small ones
_WIDTHS = (4, 8)  # bytes of an element


def owners_by_blocks(
    graph: ValueGraph, hubs: Bool, workload: CaseProgram, grid: Sequence[int], values: Mapping[str, int]
) -> Int32:
    """Return int32[V], owners where the arrays of ``workload`` are divided among the ranks of ``grid``.

    Values elsewhere (matrix entries, workspaces, registers) follow what they are computed with; hubs
    (parameters, centroids) have no say. A :class:`ConfigError` if no array of the program has as many
    elements as one of the workload's.
    """
    part = np.full(graph.num_vertices, -1, dtype=np.int64)
    leads = np.zeros(graph.num_vertices, dtype=np.bool_)
    for blocks in workload.arrays:  # one step per kind of array
        owner = element_owners(blocks, grid, values)
        mine, element = elements_of(graph, len(owner))
        if not len(mine):
            raise ConfigError(
                f"expected an array of {len(owner)} elements ({' x '.join(blocks.shape)}), found none"
            )
        part[mine] = owner[element]
        leads[mine] = blocks.leads
    parts = math.prod(grid)
    if workload.tasks:
        part = place_tasks(graph, hubs, part, leads, workload.tasks, parts)
    return spread(graph, hubs, part, parts)


def elements_of(graph: ValueGraph, count: int) -> tuple[Int64, Int64]:
    """Return the vertices of all arrays with ``count`` elements, and their element numbers.

    An object of several arrays of one allocation has them one behind the other, each with its header.
    """
    size = np.array([item.size_bytes for item in graph.objects], dtype=np.int64)
    is_memory = np.array([item.kind is not HomeKind.REGISTER for item in graph.objects], dtype=np.bool_)
    width = np.zeros(len(graph.objects), dtype=np.int64)
    stride = np.ones(len(graph.objects), dtype=np.int64)
    for bytes_each in _WIDTHS:
        rounded = -(-count * bytes_each // _MALLOC_BYTES) * _MALLOC_BYTES
        blocks, rest = np.divmod(size + _MALLOC_BYTES, rounded + _MALLOC_BYTES)
        several = (rest == 0) & (blocks > 0) & (blocks <= _MOST_BLOCKS)
        fits = is_memory & ((size == count * bytes_each) | several)
        width[fits], stride[fits] = bytes_each, rounded + _MALLOC_BYTES
    home = graph.home_object
    # Half as many elements of twice the width have the same size: their values tell.
    mine = np.flatnonzero((width[home] == graph.width_bytes) & ~graph.is_temporary)
    element = graph.home_offset[mine] % stride[home[mine]] // width[home[mine]]
    inside = element < count
    return mine[inside], element[inside]


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


def place_tasks(graph: ValueGraph, hubs: Bool, part: Int64, leads: Bool, tasks: Tasks, parts: int) -> Int64:
    """Return ``part`` with connected values without owner placed together, by the owned values they touch.

    Where most of the leading ones are, if there are any; else where ``tasks`` says.
    """
    one, other = _neighbours(graph, hubs)
    kind = np.array([int(item.kind) for item in graph.objects])[graph.home_object]
    # A variable that keeps its place (a time step) is no part of the work on one element.
    is_variable = ((kind == int(HomeKind.GLOBAL)) | (kind == int(HomeKind.STACK))) & ~graph.is_temporary
    free = (part < 0) & ~is_variable
    inner = free[one] & free[other]
    shape = (len(part), len(part))
    links = scipy.sparse.coo_array((np.ones(int(inner.sum())), (one[inner], other[inner])), shape=shape)
    task = scipy.sparse.csgraph.connected_components(links, directed=False)[1].astype(np.int64)
    votes = free[one] & (part[other] >= 0)
    voter, rank, led = task[one[votes]], part[other[votes]], leads[other[votes]]
    chosen = np.full(len(part), -1, dtype=np.int64)
    if tasks == "highest":
        np.maximum.at(chosen, voter, rank)
    else:
        of, best = _most_votes(voter, rank, parts)
        chosen[of] = best
    of, best = _most_votes(voter[led], rank[led], parts)
    chosen[of] = best
    return np.where(free, chosen[task], part)


def spread(graph: ValueGraph, hubs: Bool, part: Int64, parts: int) -> Int32:
    """Return int32[V] where values without owner (-1) are with what they belong to; 0 without anything.

    Where all of their readers are, if these agree: an intermediate result is computed for its reader. Else
    where most of their neighbours are.
    """
    part = part.copy()
    one, other = _neighbours(graph, hubs)
    half = len(one) // 2
    reader, value = one[:half], other[:half]
    while True:  # one step per distance from the arrays
        wanted = np.flatnonzero((part[value] < 0) & (part[reader] >= 0))
        least, most = np.full(len(part), parts), np.full(len(part), -1)
        np.minimum.at(least, value[wanted], part[reader[wanted]])
        np.maximum.at(most, value[wanted], part[reader[wanted]])
        agreed = np.flatnonzero(least == most)
        if len(agreed):
            part[agreed] = most[agreed]
            continue
        votes = np.flatnonzero((part[one] < 0) & (part[other] >= 0))
        if not len(votes):
            return np.maximum(part, 0).astype(np.int32)
        voter, best = _most_votes(one[votes], part[other[votes]], parts)
        part[voter] = best


def _neighbours(graph: ValueGraph, hubs: Bool) -> tuple[Int64, Int64]:
    """Return both ends of every flow between values that are no hubs, in both directions."""
    sink, source = sink_of_source(graph.rows).astype(np.int64), graph.rows.source.astype(np.int64)
    kept = ~hubs[sink] & ~hubs[source]
    sink, source = sink[kept], source[kept]
    return np.concatenate((sink, source)), np.concatenate((source, sink))


def _most_votes(voter: Int64, rank: Int64, parts: int) -> tuple[Int64, Int64]:
    """Return the distinct voters and the rank that each names most often, the lowest among equals."""
    pair, count = np.unique(voter * parts + rank, return_counts=True)
    order = np.lexsort((pair % parts, -count, pair // parts))
    value, first = np.unique(pair[order] // parts, return_index=True)
    return value, pair[order][first] % parts
