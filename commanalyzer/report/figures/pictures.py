"""Arrays of a program as pictures of ownership: value graph + owners -> owner of each element, in slices.

Which arrays have a shape is found as for the structured divisions (``division/regular/shapes.py``). An array
is shown along two dimensions, one with more in slices along its fastest two, a vector as a strip.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from commanalyzer.division.regular.shapes import Shaped, find_arrays, shape_families
from commanalyzer.division.selection import Division, cheapest_regular
from commanalyzer.graph.value_graph import Int32, Int64, ValueGraph

LARGEST_SIDE = 768  # points of a picture; longer vectors are thinned out
MOST_SLICES = 4
_STRIP_ROWS = 0.06  # of the length, so that a vector can be seen


@dataclass(frozen=True, slots=True)
class Picture:
    """Owners of the elements of one array.

    Attributes:
        name: Variable and slice, as a programmer writes it: ``b``, ``x[3, :, :]``.
        owner: int32[rows, columns], part of each element, -1 where the program keeps no value.
    """

    name: str
    owner: NDArray[np.int32]


def divided_dimensions(candidates: Iterable[Division]) -> int:
    """Return the number of dimensions of the cheapest regular division, 0 where none is regular."""
    regular = cheapest_regular(candidates)
    return 0 if regular is None else len(regular.grid)


def shaped_arrays(graph: ValueGraph, dimensions: int = 0) -> tuple[Shaped, ...]:
    """Return arrays with a shape, related ones only.

    A number of elements may be a square and a cube at once: the cheapest division tells which one matters.

    Args:
        graph: The graph whose vertices have owners.
        dimensions: How many dimensions the shape should have, see :func:`divided_dimensions`; 0 if not known.
    """
    nothing = np.zeros(graph.num_vertices, dtype=np.bool_)
    families = shape_families(graph, find_arrays(graph, nothing))
    fitting = [f for f in families if len(f[0].extents) == dimensions] or families
    return max(fitting, key=lambda f: (sum(len(s.array.vertex) for s in f), len(f[0].extents)), default=())


def choose_array(graph: ValueGraph, arrays: Sequence[Shaped], object_bytes: Int64) -> Shaped | None:
    """Return the array that causes the most communication; ``None`` if none has a shape.

    Args:
        graph: The graph.
        arrays: Result of :func:`shaped_arrays`.
        object_bytes: int64[objects], bytes that are moved because of each object; may be empty.
    """
    weight = object_bytes if len(object_bytes) else np.zeros(len(graph.objects), dtype=np.int64)
    return max(arrays, key=lambda s: (int(weight[s.array.number]), len(s.array.vertex)), default=None)


def array_pictures(graph: ValueGraph, shaped: Shaped, part: Int32) -> tuple[Picture, ...]:
    """Return the pictures of one array: one, or a few slices where it has more than two dimensions.

    Args:
        graph: The graph whose vertices have owners.
        shaped: The array.
        part: int32[V], owner of each vertex.
    """
    owner = np.full(shaped.extents, -1, dtype=np.int32)
    owner[shaped.coordinates()] = part[shaped.array.vertex]
    name = graph.objects[shaped.array.number].name
    if owner.ndim == 1:
        shown = owner[:: -(-len(owner) // LARGEST_SIDE)]
        rows = max(int(_STRIP_ROWS * len(shown)), 1)
        return (Picture(name, np.tile(shown, (rows, 1))),)
    if owner.ndim == 2:
        return (Picture(name, owner),)
    used = np.argwhere((owner >= 0).any(axis=(-2, -1)))
    chosen = np.unique(np.linspace(0, len(used) - 1, MOST_SLICES).round().astype(np.int64))
    places = used[chosen].tolist()
    return tuple(Picture(f"{name}[{', '.join(map(str, p))}, :, :]", owner[tuple(p)]) for p in places)


def centres(shaped: Shaped, part: Int32, num_parts: int) -> NDArray[np.float64] | None:
    """Return float64[p, 2], middle (x, y, upwards) of each part of a 2-D array; ``None`` if a part has none.

    Args:
        shaped: The array.
        part: int32[V], owner of each vertex.
        num_parts: Number of parts p.
    """
    if len(shaped.extents) != 2:
        return None
    owner = part[shaped.array.vertex]
    size = np.bincount(owner, minlength=num_parts)
    if not size.all():
        return None
    rows, columns = shaped.coordinates()
    x = np.bincount(owner, columns, num_parts) / size
    y = np.bincount(owner, rows, num_parts) / size
    return np.stack([x, -y], axis=1).astype(np.float64)
