"""Compiled loops over the elements of arrays with shapes: work along each dimension, owners of blocks.

element k   vertex[k], at point min(index[k] // components, points - 1) in row-major order
extents     of the array; block[place[d] + i] is the block of coordinate i along dimension d
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.compiled import compiled, compiled_in_place


@compiled
def _last_point(extents: Any) -> Any:
    points = np.int64(1)
    for d in range(len(extents)):
        points *= extents[d]
    return points - 1


@compiled
def add_along(index: Any, components: Any, extents: Any, weight: Any, place: Any, along: Any) -> None:
    """Add the weight of each element to ``along[place[d] + i]`` for its coordinate i in each dimension d."""
    last = _last_point(extents)
    for k in range(len(index)):
        point = min(index[k] // components, last)
        for d in range(len(extents) - 1, -1, -1):
            rest = point // extents[d]
            along[place[d] + point - rest * extents[d]] += weight[k]
            point = rest


@compiled_in_place
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


@compiled
def fill_blocks(
    vertex: Any,
    index: Any,
    components: Any,
    extents: Any,
    block: Any,
    place: Any,
    grid: Any,
    first: Any,
    is_wanted: Any,
    owner: Any,
) -> None:
    """Set the owner of elements to ``first`` plus the number of their block, row-major in ``grid``.

    Only that of vertices in ``is_wanted`` (bool[V]), unless that is empty.
    """
    last, d = _last_point(extents), len(extents) - 1
    at, known, outer = np.zeros(len(extents), np.int64), np.int64(-1), np.int64(0)
    for k in range(len(index)):
        if len(is_wanted) > 0 and not is_wanted[vertex[k]]:
            continue
        point = np.int64(index[k])
        point = min(point if components == 1 else point // components, last)
        changed = d
        if point == known + 1 and known >= 0:
            changed = _step(at, extents)
        elif point != known:
            _jump(point, at, extents)
            changed = -1
        known = point
        if changed < d:
            outer = np.int64(0)
            for i in range(d):
                outer = outer * grid[i] + block[place[i] + at[i]]
            outer *= grid[d]
        owner[vertex[k]] = first + outer + block[place[d] + at[d]]
