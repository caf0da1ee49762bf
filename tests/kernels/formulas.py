"""Functions for the formulas of ``workloads/kernels/kernels.toml``: owners of indices, sets of readers.

``block`` and ``deal`` take indices as numbers or arrays. Sums over owners count words exactly, for grids that
do not divide the extents as well.
"""

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

Index = NDArray[np.int64]
log2 = math.log2
inf = math.inf
minimum = np.minimum


def block(i: Index, n: int, parts: int) -> Index:
    """Part of index ``i`` of ``n`` in consecutive blocks of equal size."""
    return ((i + 1) * parts - 1) // n


def deal(i: Index, parts: int) -> Index:
    """Part of index ``i`` where indices are dealt out in turn, every second round backwards."""
    turn = i % (2 * parts)
    return np.minimum(turn, 2 * parts - 1 - turn)


def dealt(n: int, parts: int) -> list[int]:
    return [int(part) for part in deal(np.arange(n), parts)]


@cache
def others_above(n: int, parts: int) -> tuple[int, ...]:
    """For each index of ``n`` dealt to ``parts``: how many other parts own a larger index."""
    owner = dealt(n, parts)
    return tuple(len({*owner[i + 1 :]} - {owner[i]}) for i in range(n))


@cache
def others_below(n: int, parts: int) -> tuple[int, ...]:
    """For each index of ``n`` dealt to ``parts``: how many other parts own a smaller index."""
    owner = dealt(n, parts)
    return tuple(len({*owner[:i]} - {owner[i]}) for i in range(n))


@cache
def triangle_words(n: int, p1: int, p2: int) -> int:
    """Sum over i of the nodes, but one, that have row i or column i of a lower triangle dealt to p1 x p2."""
    row, column = (dealt(n, parts) for parts in (p1, p2))
    total = 0
    for i in range(n):
        needing = {(row[i], column[j]) for j in range(i + 1)} | {(row[j], column[i]) for j in range(i, n)}
        total += len(needing) - 1
    return total


def within_blocks(n: int, parts: int) -> int:
    """Entries of a lower triangle of ``n`` rows whose row and column are in the same of ``parts`` blocks."""
    sizes = np.bincount(block(np.arange(n), n, parts), minlength=parts)
    return int((sizes * (sizes + 1) // 2).sum())


@cache
def pair_words(n: int, p1: int, p2: int) -> int:
    """As :func:`triangle_words`, of a triangle without its diagonal; the owner of i is that of (i, i)."""
    row, column = (dealt(n, parts) for parts in (p1, p2))
    total = 0
    for i in range(n):
        needing = {(row[i], column[j]) for j in range(i)} | {(row[j], column[i]) for j in range(i + 1, n)}
        total += len(needing - {(row[i], column[i])})
    return total


@cache
def cholesky_words(n: int, p1: int, p2: int) -> int:
    """Words of a right-looking Cholesky factorisation whose lower triangle is dealt to p1 x p2."""
    row, column = (dealt(n, parts) for parts in (p1, p2))
    total = 0
    for k in range(n):
        total += len({row[i] for i in range(k + 1, n)} - {row[k]})
        for i in range(k + 1, n):
            needing = {(row[i], column[j]) for j in range(k + 1, i + 1)}
            needing |= {(row[m], column[i]) for m in range(i, n)}
            total += len(needing - {(row[i], column[k])})
    return total


def packed_row(at: Index) -> Index:
    """Row of the element at place ``at`` of a lower triangle that is stored row by row."""
    return np.asarray((np.sqrt(8.0 * at + 1) - 1) // 2, np.int64)


def packed_column(at: Index) -> Index:
    """Column of the element at place ``at`` of a lower triangle that is stored row by row."""
    row = packed_row(at)
    return at - row * (row + 1) // 2


def equal_work(i: Index, n: int, parts: int) -> Index:
    """Part of place ``i`` of ``n``, in blocks of equal work, where place i has n - i operations."""
    before = np.cumsum(n - np.arange(n)) - (n - np.arange(n)) / 2
    return np.minimum(before[i] * parts // (n * (n + 1) / 2), parts - 1).astype(np.int64)


@cache
def durbin_words(n: int, parts: int) -> int:
    """Words of the Levinson-Durbin recursion with places in blocks of equal work."""
    owner = equal_work(np.arange(n), n, parts)
    total = 0
    reads = {(k - 1 - i, int(owner[i])) for k in range(1, n) for i in range(k)}
    total += sum(1 for place, part in reads if owner[place] != part)  # r, which does not change
    for k in range(1, n):
        i = np.arange(k)
        total += int(np.count_nonzero(owner[i] != owner[k - 1 - i]))  # y, opposite places
        total += 2 * (len(set(owner[:k].tolist()) - {int(owner[k])}))  # sum combined, alpha sent
    return total


def halo(i: Index, n: int) -> Index:
    """Inner point (from 0, of ``n``) that is nearest to point ``i`` of an array with one more at each end."""
    return np.clip(i - 1, 0, n - 1)


@cache
def chain_words(n: int, p1: int, p2: int, *, diagonal: bool = False) -> int:
    """Words of an interval program whose upper triangle is dealt to p1 x p2.

    An element is read in its row later and in its column before; with ``diagonal``, so is the next element of
    the diagonal across, which also reads what is below the first diagonal.
    """
    row, column = (dealt(n, parts) for parts in (p1, p2))
    later = [set(column[k + 1 :]) for k in range(n)]
    before = [set(row[:i]) for i in range(n)]
    total = 0
    for i in range(n):
        for k in range(i, n):
            needing = {(row[i], c) for c in later[k]} | {(r, column[k]) for r in before[i]}
            if diagonal and i > 0 and k < n - 1:
                needing.add((row[i - 1], column[k + 1]))
            total += len(needing - {(row[i], column[k])})
        if diagonal and i > 0:
            total += (row[i - 1], column[i]) != (row[i], column[i - 1])
    return total


@cache
def bitonic_words(n: int, parts: int) -> int:
    """Numbers that go to a partner in another block in all stages of a bitonic sort."""
    place = np.arange(n)
    owner, total = block(place, n, parts), 0
    steps = n.bit_length() - 1
    for outer in range(1, steps + 1):
        for inner in range(outer):
            total += int(np.count_nonzero(owner != owner[place ^ (1 << inner)]))
    return total


@cache
def bfs_words(n: int, m: int, p1: int, p2: int) -> int:
    """Levels that go to other blocks in a breadth-first search of an n x m grid from its first place."""
    place = np.arange(n * m)
    owner = (block(place // m, n, p1) * p2 + block(place % m, m, p2)).tolist()
    seen, queue, sent = {0}, [0], set()
    for u in queue:
        for v, near in (
            (u - m, u >= m),
            (u - 1, u % m > 0),
            (u + 1, u % m < m - 1),
            (u + m, u < (n - 1) * m),
        ):
            if near and v not in seen:
                seen.add(v)
                queue.append(v)
                if owner[u] != owner[v]:
                    sent.add((u, owner[v]))
    return len(sent)


@cache
def _factor_readers(n: int, parts: int) -> tuple[frozenset[int], ...]:
    owner = block(np.arange(n), n, parts)
    readers: list[set[int]] = [set() for _ in range(n // 2)]
    for stage in range(1, n.bit_length()):
        length = 1 << stage
        for j in range(length // 2):
            pairs = np.arange(j, n, length // 2)
            readers[j * (n // length)] |= set(owner[pairs].tolist())
    return tuple(map(frozenset, readers))


def fft_factor(i: Index, n: int, parts: int) -> Index:
    """Block that owns factor ``i`` of a transform of ``n``: the first that uses it."""
    first = np.array([min(readers) for readers in _factor_readers(n, parts)])
    return first[np.minimum(i, n // 2 - 1)]


@cache
def fft_words(n: int, parts: int) -> int:
    """Words of a fast Fourier transform in blocks, numbers and factors."""
    place = np.arange(n)
    owner, total = block(place, n, parts), 0
    for stage in range(n.bit_length() - 1):
        total += 2 * int(np.count_nonzero(owner != owner[place ^ (1 << stage)]))
    return total + 2 * sum(len(readers) - 1 for readers in _factor_readers(n, parts))


def _cells(shape: tuple[int, ...], grid: tuple[int, ...]) -> Index:
    along = [block(np.arange(n), n, parts) for n, parts in zip(shape, grid, strict=True)]
    return np.asarray(np.ravel_multi_index(np.meshgrid(*along, indexing="ij"), grid))


def _layer_words(owner: Index) -> int:
    """Pairs of a cell and another part that owns one of its nearest neighbours."""
    own = np.pad(owner, 1, constant_values=-1)
    inner = tuple(slice(1, -1) for _ in owner.shape)
    seen = [owner]
    total = 0
    for axis in range(owner.ndim):
        for shift in (1, -1):
            other = np.roll(own, shift, axis)[inner]
            is_new = (other >= 0) & np.logical_and.reduce([other != known for known in seen])
            total += int(np.count_nonzero(is_new))
            seen.append(other)
    return total


def _between_levels(fine: Index, coarse: Index) -> int:
    """Pairs of a coarse cell and another part that owns one of its fine cells."""
    number = np.arange(coarse.size).reshape(coarse.shape)
    for axis in range(coarse.ndim):
        number = np.repeat(number, 2, axis)
    cell, part = number.ravel(), fine.ravel()
    crosses = part != coarse.ravel()[cell]
    return len(np.unique(cell[crosses] * (1 + int(fine.max())) + part[crosses]))


@cache
def vcycle_words(shape: tuple[int, ...], cycles: int, grid: tuple[int, ...]) -> int:
    """Words of V-cycles: layers before smoothing and residuals, what blocks of two levels do not share."""
    total = _layer_words(_cells(shape, grid))
    while min(shape) >= 8:
        owner = _cells(shape, grid)
        shape = tuple(n // 2 for n in shape)
        coarse = _cells(shape, grid)
        total += 2 * _layer_words(owner) + 2 * _between_levels(owner, coarse) + _layer_words(coarse)
    return cycles * total


@cache
def _quadtree(least: int, most: int) -> tuple[tuple[int, ...], ...]:
    """Children of each node, nodes in the order in which they are made."""
    children: list[list[int]] = []
    state = 1

    def grow(depth: int) -> int:
        nonlocal state
        number = len(children)
        children.append([])
        state = (state * 1664525 + 1013904223) % 2**32
        if depth < least or (depth < most and (state >> 16) % 3):
            children[number] = [grow(depth + 1) for _ in range(4)]
        return number

    grow(0)
    return tuple(map(tuple, children))


def quadtree_nodes(least: int, most: int) -> int:
    return len(_quadtree(least, most))


@cache
def _quadtree_owners(least: int, most: int, parts: int) -> Index:
    tree = _quadtree(least, most)
    is_leaf = np.array([not children for children in tree])
    leaf = np.cumsum(is_leaf) - is_leaf  # number of leaves made before; of an inner node, its first leaf
    return block(leaf, int(is_leaf.sum()), parts)


def quadtree_owner(i: Index, least: int, most: int, parts: int) -> Index:
    return _quadtree_owners(least, most, parts)[i]


@cache
def quadtree_words(least: int, most: int, parts: int) -> int:
    """Words of one pass up and one down."""
    owner = _quadtree_owners(least, most, parts).tolist()
    return sum(
        3 * len({owner[c] for c in children} - {owner[t]})
        for t, children in enumerate(_quadtree(least, most))
    )


@cache
def random_words(n: int, d: int, parts: int) -> int:
    """Values of a vector that rows of ``d`` random entries read in other blocks, once for each block."""
    r, columns = 7, np.empty(n * d, np.int64)
    for e in range(n * d):
        r = (r * 1664525 + 1013904223) % 2**32
        columns[e] = (r >> 8) % n
    reader, owner = block(np.repeat(np.arange(n), d), n, parts), block(columns, n, parts)
    remote = reader != owner
    return len(np.unique(columns[remote] * parts + reader[remote]))


def product_least(n: int, m: int, k: int, parts: int) -> float:
    """Bytes that a product n x m = (n x k)(k x m) sends at least, with work within 10 % of equal.

    A part with w products touches a, b, c elements of the matrices with abc >= w^2 (Loomis, Whitney 1949),
    hence a + b + c >= 3 w^(2/3); the parts own each element once.
    """
    touched = 3.0 * float((0.9 * n * m * k / parts) ** (2 / 3))
    return 8 * max(0.0, parts * touched - (n * m + n * k + k * m))
