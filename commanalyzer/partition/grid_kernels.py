"""Compiled loops over the elements of arrays with shapes: work along each dimension, owners of blocks.

element k   vertex[k], at point min(index[k] // components, points - 1) in row-major order
extents     of the array; block[place[d] + i] is the block of coordinate i along dimension d
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.compiled import compiled


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
    owner: Any,
) -> None:
    """Set the owner of each element to ``first`` plus the number of its block, row-major in ``grid``."""
    last = _last_point(extents)
    for k in range(len(index)):
        point = min(index[k] // components, last)
        found, stride = np.int64(0), np.int64(1)
        for d in range(len(extents) - 1, -1, -1):
            rest = point // extents[d]
            found += block[place[d] + point - rest * extents[d]] * stride
            stride *= grid[d]
            point = rest
        owner[vertex[k]] = first + found
