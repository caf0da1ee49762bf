"""Shapes of a program's arrays: value graph -> number of elements along each dimension.

Nothing in memory says that ``u`` has 98 rows of 60; what the program does with it tells. *Strides*, for every
array by itself: elements that are read together or met by the next round of a loop lie a row or a plane
apart. The *number of elements* is a square or a cube. *Kinship*: where one array has n^3 elements, others of
(n + 1)^3 or (n + 2)^3 are its nodes or its padded versions, and 8 n^3 are its corners. Arrays of one family
are divided by relative position, which keeps kin together.

The elements of one array may also be divided like a graph, as mesh codes do: a table says who has each
element, arrays with as many elements use the same one, all else is where the elements are that it is computed
from. Which array: the one, with those of its length, beside whose elements most of the work is done.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from commanalyzer.division.regular import shape_kernels as kernels
from commanalyzer.foundation.compiled import frozen
from commanalyzer.graph.storage.slices import row_slices
from commanalyzer.graph.storage.store import AnyGraph
from commanalyzer.graph.value_graph import Bool, Float64, HomeKind, HomeObject, Int32, Int64, group_starts

LEAST_ELEMENTS = 16
MOST_COMPONENTS = 64
_MEMORY = (int(HomeKind.GLOBAL), int(HomeKind.HEAP), int(HomeKind.STACK))
_FREQUENT = 0.3  # of the most frequent stride of its kind
_MOST_STRIDES = 16  # of a box of 27 points, 12 are above four; a row against a row has as many as elements
_SEVERAL = 8  # steps of a loop that are no accident, or half as many as there are rows: durbin's 96 are none
_MET_ROWS = 8  # and one for every so many rows: members of a cluster are now and then as far apart
_BESIDE = 2  # places: of gaps that a condition leaves, those next to the commonest are as common together
_MOST_GUESSED = 3  # dimensions of arrays whose declaration shows none
_MOST_FAMILIES = 8  # of so many dimensions: that many more shapes are compared, at a tile search each
_FIRST_SLOTS = 1 << 12
_TALLIED_FLOWS = 1 << 23  # about as many are looked at, evenly spread
_NEW_DISTANCES = 1 << 18  # in a slice: more are those of elements without order, fewer are looked at next
_FEWER = 4  # times


@dataclass(frozen=True, slots=True)
class Array:
    """Elements of one home object."""

    number: int  # index of the home object
    vertex: Int32  # [K], values that live there
    index: Int32 | Int64  # [K], element number of each, one for members of a structure
    counts: tuple[int, ...]  # possible numbers of elements, the likeliest first
    # Elements from each plane, then row to the next, where declared or allocated one by one.
    rows: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Shaped:
    """An array with its shape."""

    array: Array
    extents: tuple[int, ...]  # elements along each divided dimension, slowest first
    components: int = 1  # values per point that stay together (fastest dimension, not divided)
    # The extents are declared, allocated or steps of loops, not a guess by their number.
    is_known: bool = False

    @property
    def points(self) -> Int32 | Int64:
        """int[K], the point of each element in row-major order."""
        return np.minimum(self.array.index // self.components, math.prod(self.extents) - 1)

    def on_points(self, value: Float64) -> Float64:
        """Return the sum of the values of the elements (float64[K]) at each point, by extents."""
        found = np.bincount(self.points, value, math.prod(self.extents)).astype(np.float64)
        return found.reshape(self.extents)

    def coordinates(self, chosen: Int64 | None = None) -> tuple[Int64, ...]:
        """Return int64[K] for each dimension, slowest first; only of ``chosen`` elements if given."""
        points = self.points if chosen is None else self.points[chosen]
        return tuple(np.asarray(c, dtype=np.int64) for c in np.unravel_index(points, self.extents))


def find_arrays(graph: AnyGraph, removed: Bool) -> tuple[Array, ...]:
    """Return the arrays of at least 16 elements, workspaces and removed values left out."""
    kinds = np.array([int(o.kind) for o in graph.objects] or [0], dtype=np.int64)
    home, offset = graph.home_object, graph.home_offset
    usable = np.isin(kinds, _MEMORY)[home] & ~graph.is_temporary & ~removed & (home > 0)
    vertex = np.flatnonzero(usable).astype(np.int32)
    if not len(vertex):
        return ()
    where, at = home[vertex], offset[vertex]
    rises = (where[1:] > where[:-1]) | ((where[1:] == where[:-1]) & (at[1:] >= at[:-1]))
    if not rises.all():  # they are usually numbered by object and offset
        vertex = vertex[np.lexsort((at, where))]
    start = group_starts(home[vertex])
    ends = np.append(start[1:], len(vertex))
    found: list[Array] = []
    for first, last in zip(start, ends, strict=True):  # one step per object
        if last - first >= LEAST_ELEMENTS:
            number = int(home[vertex[first]])
            here = vertex[first:last]
            found.append(_array_of(graph.objects[number], number, here, offset[here]))
    return tuple(found)


def elements_of(arrays: Sequence[Array], num_vertices: int) -> Bool:
    """Return bool[V], the values that are elements of ``arrays``."""
    found = np.zeros(num_vertices, np.bool_)
    for array in arrays:  # one step per array
        found[array.vertex] = True
    return found


def _array_of(place: HomeObject, number: int, vertex: Int32, offset: Int64) -> Array:
    """The array that an object is; ``vertex`` ascends in offset. Structures are elements as wholes."""
    width, size = place.record_bytes or int(np.gcd.reduce(np.diff(offset))) or 4, place.size_bytes
    row, within = np.divmod(offset, place.strides[0] if place.strides else max(size, 1))
    length = int(within.max()) // width + 1
    if place.kind == HomeKind.HEAP and len(place.strides) == 1 and length * width < place.strides[0]:
        # blocks with unused bytes between them
        counts = ((size // place.strides[0] + 1) * length,)
        index = row * length + within // width
        return _array(number, vertex, index, counts, (length,) if length > 1 else ())
    is_whole = bool(place.strides) and size % width == 0 and all(s % width == 0 for s in place.strides)
    rows = tuple(s // width for s in place.strides) if is_whole else ()
    sizes = (size // width,) if rows else (size // width, size // width - 1)
    return _array(number, vertex, offset // width, sizes, rows)


def _array(number: int, vertex: Int32, index: Int64, sizes: tuple[int, ...], rows: tuple[int, ...]) -> Array:
    """Array whose number of elements its size (heap blocks are rounded up) or the last index tells."""
    last = int(index[-1]) + 1
    counts = dict.fromkeys(c for c in (*sizes, *(() if rows else (last,))) if c >= last)
    short = index.astype(np.int32) if last < 1 << 31 else index
    return Array(number, frozen(vertex, np.int32), frozen(short, short.dtype), tuple(counts), rows)


def shape_families(graph: AnyGraph, arrays: Sequence[Array]) -> tuple[tuple[Shaped, ...], ...]:
    """Return for 3, 2 and 1 dimensions the arrays that can be divided along so many; for more, as declared.

    Squares and cubes are candidates beside the shapes that strides show: counting tells which is better. Of
    equal dimensions, families come first that have most of the values, of the changes or of the work. A
    family with less of all three than one of more dimensions is left out, unless it has arrays that none of
    these has, or the likeliest shape by its own strides of one that had several values per point in others.
    An array without the shape of a family takes no part in it and follows.
    """
    strides, sizes = _strides(graph, arrays), _sizes(graph, arrays)
    families: list[tuple[Shaped, ...]] = []
    for dims in range(max(_MOST_GUESSED, *(1 + len(a.rows) for a in arrays), 0), 0, -1):
        most = np.max([np.zeros(3), *(_extent(sizes, family) for family in families)], axis=0)
        known = {id(s.array) for family in families for s in family}
        whole = set[int]()  # in a family of so many dimensions, every element a point of its own
        for family in _largest_families(sizes, arrays, dims, strides):
            is_new = any(
                id(s.array) not in known or (_is_shown(s, strides) and id(s.array) not in whole)
                for s in family
            )
            if is_new or np.any(_extent(sizes, family) >= most):
                families.append(family)
                whole |= {id(s.array) for s in family if s.components == 1}
    return tuple(families)


def _sizes(graph: AnyGraph, arrays: Sequence[Array]) -> dict[int, Float64]:
    """Number of values in each array, how often they change, and their work; by the identity of the array."""
    versions, work = graph.versions, graph.work_flops
    return {
        id(a): np.array([len(a.vertex), versions[a.vertex].sum(), work[a.vertex].sum()], np.float64)
        for a in arrays
    }


def _extent(sizes: Mapping[int, Float64], family: Sequence[Shaped]) -> Float64:
    """Number of values in a family, how often they change, and their work."""
    return sum((sizes[id(s.array)] for s in family), start=np.zeros(3))


def _largest_families(
    sizes: Mapping[int, Float64], arrays: Sequence[Array], dims: int, strides: Mapping[int, tuple[int, ...]]
) -> list[tuple[Shaped, ...]]:
    """Families of so many dimensions: every array in one by its size, and in one by its strides."""
    regular = {e for a in arrays for c in a.counts for e in _edges(a, c, dims, strides[id(a)])}
    shown = {id(a): _shown(a, dims, strides[id(a)]) for a in arrays}
    voted = regular.union(*shown.values())
    families = [f for base in sorted(voted) if (f := _family(arrays, base, voted, regular, shown, strides))]
    total = np.maximum(sum(sizes.values(), start=np.zeros(3)), 1.0)
    shares = [_extent(sizes, f) / total for f in families]
    chosen, most, seen = list[tuple[Shaped, ...]](), np.zeros(3), set[tuple[int, int, bool]]()
    for i in sorted(range(len(families)), key=lambda i: (-shares[i].max(), -shares[i].sum())):
        is_regular = families[i][0].extents in regular
        members = {(id(s.array), is_regular * s.components, _is_shown(s, strides)) for s in families[i]}
        is_guess = not any(s.extents in shown[id(s.array)] for s in families[i])
        if chosen and dims > 1 and is_guess and not np.any(shares[i] >= most):
            continue
        if not members <= seen and len(chosen) < _MOST_FAMILIES:
            most = np.maximum(most, shares[i])
            chosen.append(families[i])
            seen |= members
    return chosen


def _edges(array: Array, count: int, dims: int, strides: Sequence[int]) -> list[tuple[int, ...]]:
    """Extents of a square or cube of ``count`` elements, or of points with all that is in the likeliest row.

    Nothing where it is none, or rows contradict. Points have fewer values than there are in a line.
    """
    if dims == 1:
        return [(count,)]
    found, is_free = [], not array.rows and (dims == 2 or not strides)
    of_point = [s for s in strides[:1] if s <= MOST_COMPONENTS and not array.rows]
    for values in (1, *of_point) if dims <= _MOST_GUESSED else ():
        edge = round((count / values) ** (1.0 / dims))
        is_one = edge**dims * values == count and edge > (2 if values == 1 else values)
        if is_one and (is_free or edge * values in strides):
            found.append((edge,) * dims)
    return found


def _shown(array: Array, dims: int, strides: Sequence[int]) -> list[tuple[int, ...]]:
    """Extents of an array by its own strides, the likeliest first; its last row may be cut short."""
    found: list[tuple[int, ...]] = []
    is_declared = dims <= _MOST_GUESSED or dims == 1 + len(array.rows)
    for near in itertools.combinations(strides, dims - 1) if dims > 1 and is_declared else ():
        steps = sorted(near)
        if all(b % a == 0 for a, b in itertools.pairwise(steps)):
            count = next((c for c in array.counts if c % steps[-1] == 0), array.counts[-1])
            inner = [steps[0], *(b // a for a, b in itertools.pairwise(steps))]
            found.append((-(-count // steps[-1]), *reversed(inner)))
    return found


def _is_shown(shaped: Shaped, strides: Mapping[int, tuple[int, ...]]) -> bool:
    """Whether an array has the likeliest shape of so many dimensions by its own strides."""
    shown = _shown(shaped.array, len(shaped.extents), strides[id(shaped.array)])
    return len(shaped.extents) > 1 and shaped.components == 1 and shaped.extents in shown[:1]


def _family(
    arrays: Sequence[Array],
    base: tuple[int, ...],
    voted: set[tuple[int, ...]],
    regular: set[tuple[int, ...]],
    shown: Mapping[int, Sequence[tuple[int, ...]]],
    strides: Mapping[int, tuple[int, ...]],
) -> tuple[Shaped, ...]:
    """Arrays whose extents are kin of ``base``, or whole multiples of such.

    An array whose own strides show others is none of them, unless ``base`` is a square or cube and nothing
    says what rows the array has: neither its declaration, nor a stride that makes it a square or cube itself.
    """
    kin = [e for delta in (0, 1, 2, -1, -2) if (e := tuple(b + delta for b in base)) in voted]
    dims, shaped = len(base), list[Shaped | None]()
    for a in arrays:  # one step per array
        own, rows = strides[id(a)], strides[id(a)] if dims == 1 else ()
        is_told = bool(a.rows) or any(s**k in a.counts for s in own for k in (2, 3))
        told = () if base in regular and not is_told else shown[id(a)]
        if dims == 1 or told or not is_told:
            shaped.append(_as_member(a, kin, told, rows))
    return tuple(replace(s, is_known=_is_known(s, shown[id(s.array)])) for s in shaped if s is not None)


def _is_known(shaped: Shaped, shown: Sequence[tuple[int, ...]]) -> bool:
    """Whether the rows of an array are shown, its shortest ones as declared, and its last row is whole."""
    extents, declared = shaped.extents, shaped.array.rows
    row = (*extents[:-1], extents[-1] * shaped.components)
    points = extents if shaped.components == 1 else (*extents, shaped.components)
    steps = tuple(math.prod(points[k:]) for k in range(1, len(points)))
    is_so = steps[-len(declared) :] == declared or not declared
    return is_so and {extents, row} & set(shown) != set() and math.prod(row) in shaped.array.counts


def _as_member(
    array: Array, kin: Sequence[tuple[int, ...]], shown: Sequence[tuple[int, ...]], rows: Sequence[int]
) -> Shaped | None:
    for extents in kin:
        if extents in shown or (not shown and math.prod(extents) in array.counts):
            return Shaped(array, extents)
    for count, extents in itertools.product(array.counts, kin):
        components, rest = divmod(count, math.prod(extents))
        row = (*extents[:-1], extents[-1] * components)
        fits = rest == 0 and 1 < components <= MOST_COMPONENTS
        if fits and (not shown or row in shown) and (not rows or components in rows):
            return Shaped(array, extents, components)
    return None


def _strides(graph: AnyGraph, arrays: Sequence[Array]) -> dict[int, tuple[int, ...]]:
    """Return likely distances of rows and planes of each array, the likeliest first; by its identity."""
    wide = any(array.index.dtype == np.int64 for array in arrays)
    index: Int32 | Int64 = np.full(graph.num_vertices, -1, np.int32)
    index = index.astype(np.int64) if wide else index
    owner = np.full(graph.num_vertices, -1, np.int32)
    for number, array in enumerate(arrays):  # one step per array
        index[array.vertex], owner[array.vertex] = array.index, number
    of, distance, times = tally_distances(graph, index, len(arrays), owner)
    return {id(a): _rows(a, distance[of == number], times[of == number]) for number, a in enumerate(arrays)}


def _rows(array: Array, distance: Int64, times: Int64) -> tuple[int, ...]:
    """The rows and planes that an array has, then frequent distances that are such of it.

    What elements are read together shows places beside rows as well: there, rows divide the array. Loops step
    by whole rows, or along a diagonal where rows of a triangle begin. A few rows are none, nor are the gaps
    that a condition leaves. What does not divide the array is a row only where nothing does.
    """
    score, last = dict[int, float](), array.counts[-1]
    first = np.searchsorted(distance, distance - _BESIDE)
    end = np.searchsorted(distance, distance + _BESIDE, "right")
    for kind, often in enumerate(times.T):  # one step per kind
        is_frequent = (often > 0) & (often >= _FREQUENT * often.max(initial=0))
        if np.count_nonzero(is_frequent) > _MOST_STRIDES:
            continue
        sums = np.concatenate(([0], np.cumsum(often)))
        is_peak = (2 * often > sums[end] - sums[first]) | (kind < kernels.LOOPS)
        frequent = set(distance[is_frequent & is_peak].tolist())
        is_run = max(frequent, default=0) == kernels.LAGS + len(frequent) >= 2 * kernels.LAGS
        if kind == kernels.GAPS and is_run:
            continue  # all distances of some neighbourhood in a line
        for d, count in zip(distance.tolist(), often.tolist(), strict=True):
            steps = max(min(_SEVERAL, last // (2 * d)), last // (_MET_ROWS * d))  # that a loop over rows has
            is_row = count >= steps if kind >= kernels.LOOPS else any(c % d == 0 for c in array.counts)
            if d in frequent and is_row and 2 * d <= last + 1:
                score[d] = score.get(d, 0.0) + count / often.max()
    # by the size first: squares less their last corner are oblongs, n * n - 1 = (n - 1) * (n + 1); cubes, too
    near = ((d, c, e) for d in score for c in array.counts for e in (d, d - 1, d + 1))
    whole = dict.fromkeys(score, 0)
    edges = [(d, e) for d, c, e in near if c % e == 0 and (e == d or c in (e * e, e**3) or c * c == e**3)]
    whole |= dict(reversed(edges))
    several = {lag * d for d in (*whole.values(), *array.rows) for lag in range(2, kernels.LAGS + 1)}
    found = dict.fromkeys(whole[d] or d for d in sorted(score, key=lambda d: (-score[d], d)))
    likely = [d for d in found if d not in several and (d in whole.values() or not any(whole.values()))]
    fitting = [d for d in likely if all(d % row == 0 or row % d == 0 for row in array.rows)]
    return tuple(dict.fromkeys((*array.rows, *fitting)))


def tally_distances(
    graph: AnyGraph, index: Int32 | Int64, arrays: int, owner: Int32
) -> tuple[Int64, Int64, Int64]:
    """Return arrays int64[N], distances above 4 in them, and how often each occurs, by kind int64[N, kinds].

    The kinds: elements that a row reads, up to four places apart among those of its array; an element and the
    one in its place when a loop goes on, the innermost first. Of each vertex, ``index`` (int[V]) is the place
    in its array, ``owner`` (int32[V]) the number of that, -1 for none; in both, private results get what
    their element has. Arrays and distances ascend.
    """
    if index.dtype == np.int64:  # a key has so many bits for a place
        owner[index >> kernels.ARRAY_BITS != 0] = -1
    keys, times = np.full(_FIRST_SLOTS, -1, np.int64), np.zeros((_FIRST_SLOTS, kernels.KINDS), np.int64)
    tally = kernels.Tally(keys, times, np.zeros(1, np.int64))
    share, streams = max(1, graph.num_flows // _TALLIED_FLOWS), kernels.new_streams()
    for piece in row_slices(graph):
        kernels.note_results(piece, index, owner)
    for piece in row_slices(graph):
        row, rows = 0, -(-piece.num_rows // share)  # all, or a share of those of a large graph
        before, flows = int(tally.entries[0]), np.diff(piece.source_ptr[piece.term_ptr[: rows + 1]])
        reads = kernels.new_reads(flows.max(initial=0), arrays)
        known = rows, index, owner, reads, streams
        while (row := kernels.tally_distances(piece, row, *known, tally)) < rows:
            keys, times = kernels.grown(tally.keys, tally.times)
            tally = kernels.Tally(keys, times, tally.entries)
        if tally.entries[0] - before > _NEW_DISTANCES:
            share *= _FEWER
    keys, times, _ = tally
    filled = np.flatnonzero(keys >= 0)
    order = filled[np.argsort(keys[filled])]
    array, distance = keys[order] >> kernels.ARRAY_BITS, keys[order] & ((1 << kernels.ARRAY_BITS) - 1)
    return array, distance, times[order] * share


_PART_OF = "partition of "


def is_of_one_array(method: str) -> bool:
    """Whether a method of this name divides the elements of one array, and all else follows."""
    return method.startswith(_PART_OF)


def divided_elements(
    objects: Sequence[HomeObject],
    arrays: Sequence[Array],
    families: Sequence[Sequence[Shaped]],
    part: Int32,
    work: Float64,
    num_parts: int,
) -> tuple[str, Int32, float]:
    """Return a name, int32[V]: owners of the elements of leading arrays, -1 for what follows, and a limit.

    Each element goes where most of its work (float64[V]) is with the owners ``part`` (int32[V]); values of
    one point of an array with a shape stay together. The limit is the work of a part with one element more
    than the mean, over the mean. Without arrays, the name is empty.
    """
    owners = np.full(len(part), -1, np.int32)
    # as declared, or as is shown: rows of sparse matrices only seem equally long
    shaped = [s for s in itertools.chain(*families) if s.array.rows[-1:] in ((), (s.components,))]
    together = {s.array.number: s.components for s in shaped if s.components == 1 or s.is_known}
    by_length: dict[int, list[Array]] = defaultdict(list)
    for array in arrays:  # one step per array
        by_length[array.counts[0] // together.get(array.number, 1)].append(array)
    if not by_length:
        return "", owners, 1.0
    weights = {a.number: float(work[a.vertex].sum()) for a in arrays}
    length, leading = max(by_length.items(), key=lambda item: sum(weights[a.number] for a in item[1]))
    points = [a.index.astype(np.int64) // together.get(a.number, 1) for a in leading]
    vertex = np.concatenate([a.vertex for a in leading])
    key, number = np.unique(np.concatenate(points) * num_parts + part[vertex], return_inverse=True)
    amount = np.bincount(number, 1.0 + work[vertex])
    rising = np.argsort(amount[::-1], kind="stable")  # what comes last stays, of equal parts the lowest
    chosen = np.zeros(int(key[-1]) // num_parts + 1, np.int32)
    chosen[key[::-1][rising] // num_parts] = key[::-1][rising] % num_parts
    owners[vertex] = chosen[np.concatenate(points)]
    first = max(leading, key=lambda a: weights[a.number])
    name = f"{_PART_OF}{objects[first.number].name}[{length}], others follow"
    return name, owners, 1.0 + num_parts * np.bincount(key // num_parts, amount).max() / amount.sum()
