"""Shapes of a program's arrays: value graph -> number of elements along each dimension.

Nothing in memory says that ``u`` has 98 rows of 98; three things tell. The *number of elements* is a square
or a cube. *Strides*: elements that are read together lie a row or a plane apart. *Kinship*: where one array
has n^3 elements, others of (n + 1)^3 or (n + 2)^3 are its nodes or its padded versions, and 8 n^3 are its
corners. Arrays of one family are divided by relative position, which keeps kin together.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from commanalyzer.vcg.graph import Bool, HomeKind, Int64, ValueGraph
from commanalyzer.vcg.segments import group_starts, sink_of_source

LEAST_ELEMENTS = 16
MOST_COMPONENTS = 64
_KIN = 2  # nodes, halo
_LEAST_GAP = 16  # bytes between two heap blocks of one allocation site
_MEMORY = (int(HomeKind.GLOBAL), int(HomeKind.HEAP), int(HomeKind.STACK))
_FREQUENT = 0.3  # of the most frequent stride
_LAGS = 4


@dataclass(frozen=True, slots=True)
class Array:
    """Elements of one home object, or of one of several blocks that an allocation site handed out.

    Attributes:
        number: Index of the home object.
        vertex: int64[K], values that live there.
        index: int64[K], element number of each.
        counts: Possible numbers of elements, the likeliest first.
    """

    number: int
    vertex: Int64
    index: Int64
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Shaped:
    """An array with its shape.

    Attributes:
        array: The array.
        extents: Elements along each divided dimension, slowest first.
        components: Values per point that stay together (fastest dimension, not divided).
    """

    array: Array
    extents: tuple[int, ...]
    components: int = 1

    def coordinates(self) -> tuple[Int64, ...]:
        """Return int64[K] for each dimension, slowest first."""
        point = np.minimum(self.array.index // self.components, math.prod(self.extents) - 1)
        return tuple(np.asarray(c, dtype=np.int64) for c in np.unravel_index(point, self.extents))


def find_arrays(graph: ValueGraph, removed: Bool) -> tuple[Array, ...]:
    """Return the arrays of at least 16 elements, workspaces and removed values left out."""
    kinds = np.array([int(o.kind) for o in graph.objects] or [0], dtype=np.int64)
    usable = np.isin(kinds, _MEMORY)[graph.home_object] & ~graph.is_temporary & ~removed
    vertex = np.flatnonzero(usable & (graph.home_object > 0)).astype(np.int64)
    if not len(vertex):
        return ()
    order = np.lexsort((graph.home_offset[vertex], graph.home_object[vertex]))
    vertex = vertex[order]
    start = group_starts(graph.home_object[vertex].astype(np.int64))
    ends = np.append(start[1:], len(vertex))
    found: list[Array] = []
    for first, last in zip(start, ends, strict=True):  # one step per object
        if last - first >= LEAST_ELEMENTS:
            found.extend(_arrays_of(graph, vertex[first:last]))
    return tuple(found)


def _arrays_of(graph: ValueGraph, vertex: Int64) -> list[Array]:
    """Arrays in one object; ``vertex`` ascends in offset."""
    number = int(graph.home_object[vertex[0]])
    offset = graph.home_offset[vertex]
    size = graph.objects[number].size_bytes
    blocks = _blocks(offset, size) if graph.objects[number].kind == HomeKind.HEAP else []
    if blocks:
        width = _stride(offset[blocks[0]])
        return [_array(number, vertex[b], (offset[b] - offset[b[0]]) // width, ()) for b in blocks]
    width = _stride(offset)
    return [_array(number, vertex, offset // width, (size // width, size // width - 1))]


def _stride(offset: Int64) -> int:
    return max(int(np.gcd.reduce(np.diff(offset))), 4)


def _blocks(offset: Int64, size: int) -> list[Int64]:
    """Positions of the elements of each block, where an object consists of several equal heap blocks."""
    steps = np.diff(offset)
    jumps = np.flatnonzero(steps > steps.min() + _LEAST_GAP - 1) + 1
    starts = offset[np.concatenate([[0], jumps])]
    period = int(starts[1] - starts[0]) if len(jumps) else 0
    regular = len(jumps) > 0 and bool(np.all(np.diff(starts) == period))
    if not regular or offset[0] != 0 or len(starts) * period - _LEAST_GAP != size:
        return []
    return np.split(np.arange(len(offset)), jumps)


def _array(number: int, vertex: Int64, index: Int64, sizes: tuple[int, ...]) -> Array:
    """Array whose number of elements its size (heap blocks are rounded up) or the last index tells."""
    last = int(index[-1]) + 1
    counts = dict.fromkeys(c for c in (*sizes, last) if c >= last)
    return Array(number, vertex, index, tuple(counts))


def shape_families(graph: ValueGraph, arrays: Sequence[Array]) -> tuple[tuple[Shaped, ...], ...]:
    """Return for 3, 2 and 1 dimensions the arrays that can be divided along so many.

    A family that covers no more values than one of more dimensions is left out: its divisions are among
    those of the other. A cube is only believed in where strides do not show rows. An array without the shape
    of its family takes no part and follows.
    """
    strides = _strides(graph, arrays)
    solid, flat, line = (_largest_family(arrays, dims, strides) for dims in (3, 2, 1))
    if len(strides) == 1 and _covered(flat) >= _covered(solid):
        solid = ()
    families: list[tuple[Shaped, ...]] = []
    for family in (solid, flat, line):
        least = max(map(_covered, families), default=1)
        several = len(family) > 0 and len(family[0].extents) > 1
        if _covered(family) > least or (several and _covered(family) == least):
            families.append(family)
    return tuple(families)


def _covered(family: Sequence[Shaped]) -> int:
    return sum(len(s.array.vertex) for s in family)


def _largest_family(arrays: Sequence[Array], dims: int, strides: tuple[int, ...]) -> tuple[Shaped, ...]:
    """The family that covers most values, of all whose extents some array has."""
    counts = {c for array in arrays for c in array.counts}
    voted = {e for c in counts if (e := _extents(c, dims, strides))}
    voted |= {e for c in counts if (e := _extents(c, dims, ()))}
    families = [_family(arrays, base, voted) for base in sorted(voted)]
    return max(families, key=_covered, default=())


def _extents(count: int, dims: int, strides: tuple[int, ...]) -> tuple[int, ...]:
    """Extents of an array by the strides of the program, else as a square or cube."""
    if dims == 1:
        return (count,)
    if len(strides) >= dims - 1:
        near = strides[: dims - 1]
        if count % near[-1] == 0 and count // near[-1] > 1:
            inner = [near[0], *(b // a for a, b in itertools.pairwise(near))]
            return (count // near[-1], *reversed(inner))
    edge = round(count ** (1.0 / dims))
    return (edge,) * dims if edge**dims == count and edge > 2 else ()


def _family(
    arrays: Sequence[Array], base: tuple[int, ...], voted: set[tuple[int, ...]]
) -> tuple[Shaped, ...]:
    """Arrays whose extents are kin of ``base``, or whole multiples of such."""
    kin = [tuple(b + delta for b in base) for delta in (0, 1, 2, -1, -2)]
    points: dict[int, tuple[int, ...]] = {}
    for extents in kin:
        if extents in voted:
            points.setdefault(math.prod(extents), extents)
    shaped = [_as_member(array, points) for array in arrays]
    return tuple(s for s in shaped if s is not None)


def _as_member(array: Array, points: dict[int, tuple[int, ...]]) -> Shaped | None:
    for count in array.counts:
        if count in points:
            return Shaped(array, points[count])
    for count in array.counts:
        for number, extents in points.items():
            if count % number == 0 and 1 < count // number <= MOST_COMPONENTS:
                return Shaped(array, extents, count // number)
    return None


def _strides(graph: ValueGraph, arrays: Sequence[Array]) -> tuple[int, ...]:
    """Distances above 4 that often lie between an element and what it is computed from, nested, at most two.

    Where elements are only computed through private values, distances between what is read together serve.
    """
    index = np.full(graph.num_vertices, -1, np.int64)
    size = np.full(graph.num_vertices, -1, np.int64)
    owner = np.full(graph.num_vertices, -1, np.int64)
    for number, array in enumerate(arrays):  # one step per array
        index[array.vertex], size[array.vertex], owner[array.vertex] = array.index, array.counts[0], number
    sink, source = sink_of_source(graph), graph.source
    counts = {c for array in arrays for c in array.counts}
    alike = (size[sink] == size[source]) & (size[source] > 0)
    found = _nested(np.abs(index[sink[alike]] - index[source[alike]]), counts)
    if found:
        return found
    entry = np.flatnonzero(owner[source] >= 0)
    row = graph.row_of_source()[entry]
    order = np.lexsort((index[source[entry]], owner[source[entry]], row))
    row, entry = row[order], entry[order]
    apart = [_apart(row, owner[source[entry]], index[source[entry]], lag) for lag in range(1, _LAGS + 1)]
    return _nested(np.concatenate(apart), counts)


def _apart(row: Int64, owner: Int64, index: Int64, lag: int) -> Int64:
    """Distances of elements of one array that are ``lag`` places apart among those that a row reads."""
    same = (row[lag:] == row[:-lag]) & (owner[lag:] == owner[:-lag])
    return np.asarray((index[lag:] - index[:-lag])[same])


def _nested(distance: Int64, counts: set[int]) -> tuple[int, ...]:
    """The smallest frequent distance that divides an array, and the next one that is a multiple of it."""
    distances, times = np.unique(distance[distance > _LAGS], return_counts=True)
    if not len(times):
        return ()
    frequent = {int(d) for d in distances[times >= _FREQUENT * times.max()]}
    usable = sorted(
        d for d in frequent if d // 2 not in frequent and any(c % d == 0 and c > d for c in counts)
    )
    if not usable:
        return ()
    return (usable[0], *[d for d in usable[1:] if d % usable[0] == 0][:1])
