"""Compiled loops over the elements of arrays with shapes: work along each dimension, owners of blocks.

element k   vertex[k], at point min(index[k] // components, points - 1) in row-major order
extents     of the array; block[place[d] + i] is what coordinate i along dimension d adds to the part
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.foundation.compiled import compiled, compiled_in_place, compiled_inline


@compiled
def _last_point(extents: Any) -> Any:
    points = np.int64(1)
    for d in range(len(extents)):
        points *= extents[d]
    return points - 1


@compiled_inline
def _step(at: Any, extents: Any) -> Any:
    """Move coordinates to the next point; return the first dimension that changed."""
    d = len(extents) - 1
    at[d] += 1
    while d > 0 and at[d] == extents[d]:
        at[d] = 0
        d -= 1
        at[d] += 1
    return d


@compiled_in_place
def _jump(point: Any, at: Any, extents: Any) -> None:
    """Move coordinates to a point."""
    for d in range(len(extents) - 1, -1, -1):
        at[d] = point % extents[d]
        point //= extents[d]


@compiled_inline
def _advance(point: Any, known: Any, at: Any, extents: Any) -> Any:
    """Move coordinates from the point ``known`` (-1 for none) to another; return the first that changed."""
    if point == known:
        return len(extents) - 1
    if known >= 0 and point == known + 1:
        return _step(at, extents)
    _jump(point, at, extents)
    return -1


@compiled
def largest(value: Any, vertex: Any) -> Any:
    """Return the largest value of some vertices, 0 if there are none."""
    most = value[vertex[0]] if len(vertex) > 0 else value.dtype.type(0)
    for v in vertex:
        most = max(most, value[v])
    return most


@compiled
def add_along(
    vertex: Any, index: Any, components: Any, extents: Any, value: Any, full: Any, place: Any, along: Any
) -> None:
    """Add the weight of each element to ``along[place[d] + i]`` for its coordinate i in each dimension d.

    That is the value of its vertex, or with ``full`` >= 0: 1 for values of at least half of it, 0 for others.
    """
    last = _last_point(extents)
    at, known = np.zeros(len(extents), np.int64), np.int64(-1)
    for k in range(len(index)):
        point = np.int64(index[k])
        point = min(point if components == 1 else point // components, last)
        _advance(point, known, at, extents)
        known = point
        weight = value[vertex[k]] * 1.0
        if full >= 0:
            weight = 1.0 if 2.0 * weight >= full else 0.0
        for d in range(len(extents)):
            along[place[d] + at[d]] += weight


@compiled
def fill_blocks(
    vertex: Any,
    index: Any,
    components: Any,
    extents: Any,
    block: Any,
    place: Any,
    first: Any,
    is_wanted: Any,
    owner: Any,
) -> None:
    """Set the owner of elements to ``first`` plus what the blocks of their coordinates add.

    Only that of vertices in ``is_wanted`` (bool[V]), unless that is empty.
    """
    last, d = _last_point(extents), len(extents) - 1
    at, known, outer = np.zeros(len(extents), np.int64), np.int64(-1), np.int64(0)
    for k in range(len(index)):
        if len(is_wanted) > 0 and not is_wanted[vertex[k]]:
            continue
        point = np.int64(index[k])
        point = min(point if components == 1 else point // components, last)
        changed = _advance(point, known, at, extents)
        known = point
        if changed < d:
            outer = np.int64(0)
            for i in range(d):
                outer += block[place[i] + at[i]]
        owner[vertex[k]] = first + outer + block[place[d] + at[d]]


@compiled
def add_to_points(vertex: Any, index: Any, components: Any, value: Any, points: Any) -> None:
    """Add the value of each element to ``points`` float64[P], those of its array in row-major order."""
    last = len(points) - 1
    for k in range(len(index)):
        points[min(np.int64(index[k]) // components, last)] += value[vertex[k]]
