"""Shapes of a program's arrays: value graph -> number of elements along each dimension.

Nothing in memory says that ``u`` has 98 rows of 98; three things tell. The *number of elements* is a square
or a cube. *Strides*: elements that are read together lie a row or a plane apart. *Kinship*: where one array
has n^3 elements, others of (n + 1)^3 or (n + 2)^3 are its nodes or its padded versions, and 8 n^3 are its
corners. Arrays of one family are divided by relative position, which keeps kin together.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from commanalyzer.compiled import frozen
from commanalyzer.partition import shape_kernels as kernels
from commanalyzer.vcg.graph import Bool, HomeKind, HomeObject, Int32, Int64
from commanalyzer.vcg.large import AnyGraph
from commanalyzer.vcg.segments import group_starts
from commanalyzer.vcg.slices import AnyRows, row_slices

LEAST_ELEMENTS = 16
MOST_COMPONENTS = 64
_LEAST_GAP = 16  # bytes between two heap blocks of one allocation site
_MEMORY = (int(HomeKind.GLOBAL), int(HomeKind.HEAP), int(HomeKind.STACK))
_FREQUENT = 0.3  # of the most frequent stride
_MOST_STRIDES = 16  # of a box of 27 points, 12 are above four; a row against a row has as many as elements
_FIRST_SLOTS = 1 << 12
_TALLIED_FLOWS = 1 << 24  # about as many are looked at, evenly spread


@dataclass(frozen=True, slots=True)
class Array:
    """Elements of one home object, or of one of several blocks that an allocation site handed out.

    Attributes:
        number: Index of the home object.
        vertex: int32[K], values that live there.
        index: int32[K], element number of each; int64 where numbers are larger.
        counts: Possible numbers of elements, the likeliest first.
    """

    number: int
    vertex: Int32
    index: Int32 | Int64
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
        point = np.minimum(self.array.index // self.components, math.prod(self.extents) - 1, dtype=np.int64)
        return tuple(np.asarray(c, dtype=np.int64) for c in np.unravel_index(point, self.extents))


def find_arrays(graph: AnyGraph, removed: Bool) -> tuple[Array, ...]:
    """Return the arrays of at least 16 elements, workspaces and removed values left out."""
    kinds = np.array([int(o.kind) for o in graph.objects] or [0], dtype=np.int64)
    home, offset = graph.home_object, graph.home_offset
    usable = np.isin(kinds, _MEMORY)[home] & ~graph.is_temporary & ~removed & (home > 0)
    vertex = np.flatnonzero(usable).astype(np.int32)
    if not len(vertex):
        return ()
    vertex = _by_place(vertex, home[vertex], offset[vertex])
    start = group_starts(home[vertex])
    ends = np.append(start[1:], len(vertex))
    found: list[Array] = []
    for first, last in zip(start, ends, strict=True):  # one step per object
        if last - first >= LEAST_ELEMENTS:
            number = int(home[vertex[first]])
            found.extend(_arrays_of(graph.objects, number, vertex[first:last], offset[vertex[first:last]]))
    return tuple(found)


def _by_place(vertex: Int32, home: Int32, offset: Int64) -> Int32:
    """Return vertices ordered by object and offset; they are usually numbered like that."""
    rises = (home[1:] > home[:-1]) | ((home[1:] == home[:-1]) & (offset[1:] >= offset[:-1]))
    if rises.all():
        return vertex
    return vertex[np.lexsort((offset, home))]


def _arrays_of(objects: Sequence[HomeObject], number: int, vertex: Int32, offset: Int64) -> list[Array]:
    """Arrays in one object; ``vertex`` ascends in offset."""
    size = objects[number].size_bytes
    blocks = _blocks(offset, size) if objects[number].kind == HomeKind.HEAP else []
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


def _array(number: int, vertex: Int32, index: Int64, sizes: tuple[int, ...]) -> Array:
    """Array whose number of elements its size (heap blocks are rounded up) or the last index tells."""
    last = int(index[-1]) + 1
    counts = dict.fromkeys(c for c in (*sizes, last) if c >= last)
    short = index.astype(np.int32) if last < 1 << 31 else index
    return Array(number, frozen(vertex, np.int32), frozen(short, short.dtype), tuple(counts))


def shape_families(graph: AnyGraph, arrays: Sequence[Array]) -> tuple[tuple[Shaped, ...], ...]:
    """Return for 3, 2 and 1 dimensions the arrays that can be divided along so many.

    Squares and cubes are candidates beside the shapes that strides show, the arrays that change most beside
    those with most values: counting tells which is better. A family with fewer values and fewer changes than
    one of more dimensions is left out. An array without the shape of its family takes no part and follows.
    """
    strides, sizes = _strides(graph, arrays), _sizes(graph, arrays)
    families: list[tuple[Shaped, ...]] = []
    most = np.ones(2)
    for dims in (3, 2, 1):  # one step per number of dimensions
        found = _largest_families(sizes, arrays, dims, strides)
        kept = [family for family in found if np.any(_extent(sizes, family) >= most)]
        families += kept
        most = np.max([most, *(_extent(sizes, family) for family in kept)], axis=0)
    return tuple(families)


def _sizes(graph: AnyGraph, arrays: Sequence[Array]) -> dict[int, Int64]:
    """Number of values in each array, and how often they change; by the identity of the array."""
    versions = graph.versions
    return {id(a): np.array([len(a.vertex), int(versions[a.vertex].sum())], np.int64) for a in arrays}


def _extent(sizes: Mapping[int, Int64], family: Sequence[Shaped]) -> Int64:
    """Number of values in a family, and how often they change."""
    return sum((sizes[id(s.array)] for s in family), start=np.zeros(2, np.int64))


def _largest_families(
    sizes: Mapping[int, Int64], arrays: Sequence[Array], dims: int, strides: tuple[int, ...]
) -> list[tuple[Shaped, ...]]:
    """The families with most values or changes, by the square or cube and by the strides."""
    counts = {c for array in arrays for c in array.counts}
    regular = {e for c in counts if (e := _extents(c, dims, ()))}
    shown = {e for c in counts if (e := _extents(c, dims, strides))}
    found: dict[tuple[int, ...], tuple[Shaped, ...]] = {}
    most = np.zeros(2, np.int64)
    for bases in (regular, shown):
        families = [f for base in sorted(bases) if (f := _family(arrays, base, regular | shown))]
        extents = np.array([_extent(sizes, f) for f in families]).reshape(-1, 2)
        for measure in range(2 if families else 0):
            best = int(np.argmax(extents[:, measure]))
            if np.any(extents[best] >= most):
                most = np.maximum(most, extents[best])
                found.setdefault(families[best][0].extents, families[best])
    return list(found.values())


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


def _strides(graph: AnyGraph, arrays: Sequence[Array]) -> tuple[int, ...]:
    """Distances above 4 that often lie between an element and what it is computed from, nested, at most two.

    Where elements are only computed through private values, distances between what is read together serve.
    """
    wide = any(array.index.dtype == np.int64 for array in arrays)
    index: Int32 | Int64 = np.full(graph.num_vertices, -1, np.int32)
    index = index.astype(np.int64) if wide else index
    owner = np.full(graph.num_vertices, -1, np.int32)
    for number, array in enumerate(arrays):  # one step per array
        index[array.vertex], owner[array.vertex] = array.index, number
    size = np.array([*(array.counts[0] for array in arrays), -1], np.int64)  # -1 finds the last one
    counts = {c for array in arrays for c in array.counts}
    found = _nested(tally_steps(graph, index, size, owner), counts)
    return found or _nested(tally_gaps(graph, index, owner, len(arrays)), counts)


def tally_steps(graph: AnyGraph, index: Int32 | Int64, size: Int64, owner: Int32) -> tuple[Int64, Int64]:
    """Return the distances above 4 of elements from what they are computed from, and how often each occurs.

    Args:
        graph: Value graph.
        index: int[V], place of each vertex in its array.
        size: int64[A + 1], elements of each array, and -1; those in arrays of the same size are compared.
        owner: int32[V], array of each vertex, -1 for none.
    """
    keys, times, count = _no_distances()
    for piece, rows in _looked_at(graph):
        columns = (rows, piece.row_sink, piece.term_ptr, piece.source_ptr, piece.source)
        keys, times = kernels.tally_steps(*columns, index, size, owner, keys, times, count)
    return _tallied(keys, times)


def tally_gaps(graph: AnyGraph, index: Int32 | Int64, owner: Int32, num_arrays: int) -> tuple[Int64, Int64]:
    """Return the distances above 4 of elements of one array that are read together, and how often they occur.

    Those up to four places apart among what a row reads are looked at; arguments as in :func:`tally_steps`.
    """
    (keys, times, count), latest = _no_distances(), np.full(num_arrays, -1, np.int64)
    for piece, rows in _looked_at(graph):
        columns = (rows, piece.term_ptr, piece.source_ptr, piece.source)
        keys, times = kernels.tally_gaps(*columns, index, owner, latest, keys, times, count)
    return _tallied(keys, times)


def _looked_at(graph: AnyGraph) -> Iterator[tuple[AnyRows, int]]:
    """Yield slices, and how many of their first rows are looked at: all, or a share of a large graph's."""
    share = max(1, graph.num_flows // _TALLIED_FLOWS)
    for piece in row_slices(graph):
        yield piece, -(-piece.num_rows // share)


def _no_distances() -> tuple[Int64, Int64, Int64]:
    """Return an empty table of distances, how often they occur, and how many there are."""
    return np.full(_FIRST_SLOTS, -1, np.int64), np.zeros((_FIRST_SLOTS, 1), np.int64), np.zeros(1, np.int64)


def _tallied(keys: Int64, times: Int64) -> tuple[Int64, Int64]:
    filled = np.flatnonzero(keys >= 0)
    order = filled[np.argsort(keys[filled])]
    return keys[order], times[order, 0]


def _nested(tally: tuple[Int64, Int64], counts: set[int]) -> tuple[int, ...]:
    """The smallest frequent distance that divides an array, and the next one that is a multiple of it."""
    distances, times = tally
    if not len(times):
        return ()
    frequent = {int(d) for d in distances[times >= _FREQUENT * times.max()]}
    if len(frequent) > _MOST_STRIDES:
        return ()
    usable = sorted(
        d for d in frequent if d // 2 not in frequent and any(c % d == 0 and c > d for c in counts)
    )
    if not usable:
        return ()
    return (usable[0], *[d for d in usable[1:] if d % usable[0] == 0][:1])
