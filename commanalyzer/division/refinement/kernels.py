"""Compiled loops of the hypergraph refinement: moves of single vertices that lower the connectivity metric.

Hypergraphs (*hyper*), tables of the parts that nets touch (*touch*) and moves are those of
:mod:`.touched_kernels`. Vertices that may move are in a *queue*, a binary heap whose keys can change::

    heap[i]   vertices; keys of heap[2 i + 1] and heap[2 i + 2] are at most that of heap[i]
    at[v]     place of vertex v in the heap, -1 if it is not there
    key[v]    its key

Reference: C. M. Fiduccia, R. M. Mattheyses, A linear-time heuristic for improving network partitions, DAC
1982; k-way with connectivity gains as in L. A. Sanchis, IEEE Transactions on Computers 38(1), 1989.
"""

from __future__ import annotations

from typing import Any

from commanalyzer.division.refinement.touched_kernels import (
    FIRST,
    best_move,
    is_inner,
    move,
    pins_in,
)
from commanalyzer.foundation.compiled import compiled_in_place, compiled_inline


@compiled_inline
def _swap(heap: Any, at: Any, i: Any, j: Any) -> None:
    heap[i], heap[j] = heap[j], heap[i]
    at[heap[i]] = i
    at[heap[j]] = j


@compiled_inline
def _sift_up(heap: Any, at: Any, key: Any, i: Any) -> None:
    while i > 0:
        parent = (i - 1) // 2
        if key[heap[parent]] >= key[heap[i]]:
            return
        _swap(heap, at, i, parent)
        i = parent


@compiled_inline
def _sift_down(heap: Any, at: Any, key: Any, size: Any, i: Any) -> None:
    while True:
        child = 2 * i + 1
        if child >= size:
            return
        if child + 1 < size and key[heap[child + 1]] > key[heap[child]]:
            child += 1
        if key[heap[i]] >= key[heap[child]]:
            return
        _swap(heap, at, i, child)
        i = child


@compiled_inline
def _put(heap: Any, at: Any, key: Any, size: Any, v: Any, gain: Any) -> Any:
    """Insert ``v`` or change its key; return the new size."""
    if at[v] < 0:
        heap[size] = v
        at[v] = size
        key[v] = gain
        _sift_up(heap, at, key, size)
        return size + 1
    old = key[v]
    key[v] = gain
    if gain > old:
        _sift_up(heap, at, key, at[v])
    else:
        _sift_down(heap, at, key, size, at[v])
    return size


@compiled_inline
def _take(heap: Any, at: Any, key: Any, size: Any) -> Any:
    """Remove and return the vertex with the largest key."""
    v = heap[0]
    _swap(heap, at, 0, size - 1)
    at[v] = -1
    _sift_down(heap, at, key, size - 1, 0)
    return v


@compiled_inline
def _requeue(
    v: Any,
    here: Any,
    hyper: Any,
    touch: Any,
    part: Any,
    free: Any,
    weight: Any,
    load: Any,
    most: Any,
    scratch: Any,
    queue: Any,
    size: Any,
    looked: Any,
    number: Any,
) -> Any:
    """Update the keys of free vertices that gain by a move of ``v``; return the size of the queue.

    Those are the last pin in ``here``, the part that was left, and all pins of nets new in the other; losses
    are seen when a vertex is taken. Each is looked at once for a move: ``number`` is that of the move.
    """
    pin, vertex_pointer, net = hyper
    heap, at, key = queue
    to = part[v]
    for j in range(vertex_pointer[v], vertex_pointer[v + 1]):
        e = net[j]
        is_new = pins_in(e, to, touch) == 1
        if not is_new and pins_in(e, here, touch) != 1:
            continue
        for i in range(touch[0][e, FIRST], touch[0][e + 1, FIRST]):
            u = pin[i]
            if not free[u] or looked[u] == number or not (is_new or part[u] == here):
                continue
            looked[u] = number
            gain, target = best_move(u, hyper, touch, part, weight, load, most, scratch, False)
            if target >= 0:
                size = _put(heap, at, key, size, u, gain)
    return size


@compiled_in_place
def improve(
    hyper: Any,
    touch: Any,
    part: Any,
    free: Any,
    weight: Any,
    load: Any,
    most: Any,
    patience: Any,
    scratch: Any,
    queue: Any,
    looked: Any,
    history: Any,
) -> Any:
    """One pass of single moves, the best first, each vertex once; keep the best prefix; return what it saves.

    Moves may lose for a while (at most ``patience`` moves since the best state), which gets over small hills.
    ``free`` says which vertices may move; it is changed. The rest is room: of :func:`best_move`, a queue,
    -1 for each vertex, and vertices with their parts before they moved.
    """
    heap, at, key = queue
    moved, origin = history
    size = 0
    for v in range(len(part)):
        if free[v] and not is_inner(v, hyper, touch):
            gain, to = best_move(v, hyper, touch, part, weight, load, most, scratch, False)
            if to >= 0:
                size = _put(heap, at, key, size, v, gain)
    moves, saved, best, best_at = 0, 0, 0, 0
    while size > 0 and moves - best_at <= patience:
        v = _take(heap, at, key, size)
        size -= 1
        gain, to = best_move(v, hyper, touch, part, weight, load, most, scratch, False)
        if to < 0:
            continue
        if gain < key[v]:
            size = _put(heap, at, key, size, v, gain)
            continue
        moved[moves], origin[moves] = v, part[v]
        moves += 1
        move(v, to, hyper, touch, part, weight, load)
        free[v] = False
        saved += gain
        if saved > best:
            best, best_at = saved, moves
        size = _requeue(
            v, origin[moves - 1], hyper, touch, part, free, weight, load, most, scratch, queue, size, looked,
            moves,
        )  # fmt: skip
    while moves > best_at:
        moves -= 1
        move(moved[moves], origin[moves], hyper, touch, part, weight, load)
    return best


@compiled_in_place
def relieve(
    hyper: Any,
    touch: Any,
    part: Any,
    movable: Any,
    weight: Any,
    load: Any,
    most: Any,
    scratch: Any,
    queue: Any,
) -> None:
    """Move vertices out of parts with more than ``most`` work, those that cost least per work first."""
    heap, at, key = queue
    size = 0
    for v in range(len(part)):
        if movable[v] and weight[v] > 0.0 and load[part[v]] > most:
            gain, to = best_move(v, hyper, touch, part, weight, load, most, scratch, True)
            if to >= 0:
                size = _put(heap, at, key, size, v, gain / weight[v])
    while size > 0:
        v = _take(heap, at, key, size)
        size -= 1
        if load[part[v]] <= most:
            continue
        gain, to = best_move(v, hyper, touch, part, weight, load, most, scratch, True)
        if to < 0:
            continue
        if gain / weight[v] < key[v]:
            size = _put(heap, at, key, size, v, gain / weight[v])
            continue
        move(v, to, hyper, touch, part, weight, load)
