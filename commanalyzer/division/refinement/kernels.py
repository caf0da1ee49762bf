"""Compiled loops of the hypergraph refinement: moves of single vertices that lower the connectivity metric.

Vertices that may move are in a *queue*, a binary heap whose keys can change::

    heap[i]   vertices; keys of heap[2 i + 1] and heap[2 i + 2] are at most that of heap[i]
    at[v]     place of vertex v in the heap, -1 if it is not there
    key[v]    its key

Reference: C. M. Fiduccia, R. M. Mattheyses, A linear-time heuristic for improving network partitions, DAC
1982; k-way with connectivity gains as in L. A. Sanchis, IEEE Transactions on Computers 38(1), 1989.

Moves are judged by tables of the pins per part. Everything is a plain array, so that the compiled code can be
cached. A hypergraph is the tuple *hyper* of::

    pin                       int32[P], pins state[e, FIRST] .. state[e+1, FIRST] of net e
    vertex_pointer, net       int32[P], nets vertex_pointer[v] .. vertex_pointer[v+1] of vertex v

A net of k pins touches at most k parts, so its table lies at the place of its pins and does not grow with the
number of parts. The tuple *touch* is::

    state[e, FIRST]           first pin, and first slot, of net e; one more net ends the last one
    state[e, BYTES]           its weight
    state[e, TOUCHED]         parts that it touches
    slot[k, PART]             int32[P, 2], a part
    slot[k, PINS]             and the pins in it

What is read together lies together: most nets are far from each other in memory.

Moving v from a to b lowers the metric by the weight of the nets that have their last pin in a, minus that of
the nets that had none in b.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.foundation.compiled import compiled, compiled_in_place, compiled_inline

STATES = 3
FIRST, BYTES, TOUCHED = range(STATES)
PART, PINS = 0, 1
_NONE = -1


@compiled
def count_pins(hyper: Any, part: Any, parts: Any, touch: Any) -> None:
    """Fill the tables for the placed vertices (``part >= 0``)."""
    pin, state, table = hyper[0], touch[0], touch[1]
    slot = np.full(parts, _NONE, np.int64)
    for e in range(len(state) - 1):
        first = state[e, FIRST]
        end = first
        for i in range(first, state[e + 1, FIRST]):
            b = part[pin[i]]
            if b < 0:
                continue
            if slot[b] < first:
                slot[b] = end
                table[end, PART], table[end, PINS] = b, 0
                end += 1
            table[slot[b], PINS] += 1
        state[e, TOUCHED] = end - first


@compiled_inline
def pins_in(e: Any, b: Any, touch: Any) -> Any:
    """Return the pins of net ``e`` in part ``b``."""
    state, slot = touch
    first = state[e, FIRST]
    for k in range(first, first + state[e, TOUCHED]):
        if slot[k, PART] == b:
            return slot[k, PINS]
    return np.int32(0)


@compiled_in_place
def elect(hyper: Any, touch: Any, waiting: Any, votes: Any, near: Any, best: Any, lead: Any) -> None:
    """Let the placed pins of the nets of each waiting vertex vote for their parts.

    Each net has its bytes as votes, which its placed pins share.

    Args:
        hyper: Hypergraph.
        touch: Tables of the placed vertices.
        waiting: Vertices.
        votes: float64[p], zeros; they are zeros again afterwards.
        near: int64[p], scratch.
        best: Output, the part with most votes, the lowest of equal ones, -1 if there is none.
        lead: Output, its votes beyond those of the second, of all bytes of the vertex; -1 likewise.
    """
    _, vertex_pointer, net = hyper
    state, slot = touch
    for i in range(len(waiting)):
        count, total, most, second = 0, 0.0, 0.0, 0.0
        for j in range(vertex_pointer[waiting[i]], vertex_pointer[waiting[i] + 1]):
            e = net[j]
            total += state[e, BYTES]
            mine = slot[state[e, FIRST] : state[e, FIRST] + state[e, TOUCHED]]
            placed = 0
            for k in range(len(mine)):
                placed += mine[k, PINS]
            for k in range(len(mine)):
                b = mine[k, PART]
                if votes[b] == 0.0:
                    near[count] = b
                    count += 1
                votes[b] += state[e, BYTES] / placed * mine[k, PINS]
        best[i] = _NONE
        for b in near[:count]:
            if votes[b] > most or (votes[b] == most and b < best[i]):
                best[i], most, second = b, votes[b], most
            else:
                second = max(second, votes[b])
            votes[b] = 0.0
        lead[i] = (most - second) / total if count else -1.0


@compiled
def connectivity(net_pointer: Any, pin: Any, net_bytes: Any, part: Any, parts: Any) -> Any:
    """Return the sum over nets of bytes times (parts touched - 1); pins without a part (-1) do not count."""
    seen = np.full(parts, _NONE, np.int64)
    total = 0
    for e in range(len(net_pointer) - 1):
        touched = 0
        for i in range(net_pointer[e], net_pointer[e + 1]):
            p = part[pin[i]]
            if p >= 0 and seen[p] != e:
                seen[p] = e
                touched += 1
        total += max(touched - 1, 0) * net_bytes[e]
    return total


@compiled_inline
def is_inner(v: Any, hyper: Any, touch: Any) -> Any:
    """Whether all nets of ``v`` lie in one part, so that no move can save anything."""
    _, vertex_pointer, net = hyper
    j, end = vertex_pointer[v], vertex_pointer[v + 1]
    while j < end and touch[0][net[j], TOUCHED] <= 1:
        j += 1
    return j == end


@compiled_inline
def _near_parts(v: Any, here: Any, hyper: Any, touch: Any, bytes_in: Any, near: Any) -> Any:
    """List the other parts that nets of ``v`` touch in ``near``, add the bytes of these nets to ``bytes_in``.

    Returns:
        How many parts, and what leaving ``here`` gains where the vertex goes to none of them.
    """
    _, vertex_pointer, net = hyper
    state, slot = touch
    count, gain = 0, np.int64(0)
    for j in range(vertex_pointer[v], vertex_pointer[v + 1]):
        e = net[j]
        first, w = state[e, FIRST], state[e, BYTES]
        gain -= w
        for k in range(first, first + state[e, TOUCHED]):
            b = slot[k, PART]
            if b == here:
                if slot[k, PINS] == 1:
                    gain += w
                continue
            if bytes_in[b] == 0:
                near[count] = b
                count += 1
            bytes_in[b] += w
    return count, gain


@compiled_inline
def best_move(
    v: Any,
    hyper: Any,
    touch: Any,
    part: Any,
    weight: Any,
    load: Any,
    most: Any,
    scratch: Any,
    anywhere: Any,
) -> Any:
    """Return the gain and the part of the best allowed move of ``v``; the part is -1 if there is none.

    Of equal gains that of the idlest part is best, of equally idle ones the first.

    Args:
        v: Vertex.
        hyper: Hypergraph.
        touch: Tables.
        part: Part of each vertex.
        weight: Work of each vertex.
        load: Work of each part.
        most: Work that a part may have.
        scratch: int64[2, p], zeros in the first row; they are zeros again afterwards.
        anywhere: Whether to consider parts that none of its nets touches, too.
    """
    bytes_in, near = scratch[0], scratch[1]
    here = part[v]
    count, leaving = _near_parts(v, here, hyper, touch, bytes_in, near)
    best: Any = _NONE
    best_gain = np.int64(0)
    for i in range(len(load) if anywhere else count):
        b = np.int64(i) if anywhere else near[i]
        if b == here or (weight[v] > 0.0 and load[b] + weight[v] > most):
            continue
        gain = leaving + bytes_in[b]
        if best >= 0 and gain < best_gain:
            continue
        if best < 0 or gain > best_gain or load[b] < load[best] or (load[b] == load[best] and b < best):
            best, best_gain = b, gain
    for i in range(count):
        bytes_in[near[i]] = 0
    return best_gain, best


@compiled_inline
def move(v: Any, to: Any, hyper: Any, touch: Any, part: Any, weight: Any, load: Any) -> None:
    """Give ``v`` the part ``to``, another one than it has."""
    _, vertex_pointer, net = hyper
    state, slot = touch
    here = part[v]
    for j in range(vertex_pointer[v], vertex_pointer[v + 1]):
        e = net[j]
        first = state[e, FIRST]
        end = first + state[e, TOUCHED]
        k = first
        while slot[k, PART] != here:
            k += 1
        slot[k, PINS] -= 1
        if slot[k, PINS] == 0:
            end -= 1
            slot[k, PART], slot[k, PINS] = slot[end, PART], slot[end, PINS]
        k = first
        while k < end and slot[k, PART] != to:
            k += 1
        if k == end:
            slot[k, PART], slot[k, PINS] = to, 0
            end += 1
        slot[k, PINS] += 1
        state[e, TOUCHED] = end - first
    load[here] -= weight[v]
    load[to] += weight[v]
    part[v] = to


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
