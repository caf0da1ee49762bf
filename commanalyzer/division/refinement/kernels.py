"""Compiled loops of the hypergraph refinement: moves of single vertices that lower the connectivity metric.

Reference: C. M. Fiduccia, R. M. Mattheyses, A linear-time heuristic for improving network partitions, DAC
1982; k-way with connectivity gains as in L. A. Sanchis, IEEE Transactions on Computers 38(1), 1989.

Moves are judged by tables of the pins per part. A net of k pins touches at most k parts, so its table lies at
the place of its pins and does not grow with the number of parts::

    state[e, FIRST]           first pin, and first slot, of net e; one more net ends the last one
    state[e, BYTES]           its weight
    state[e, TOUCHED]         parts that it touches
    slot[k, PART]             a part
    slot[k, PINS]             and the pins in it

What is read together lies together: most nets are far from each other in memory.

Moving v from a to b lowers the metric by the weight of the nets that have their last pin in a, minus that of
the nets that had none in b.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from commanalyzer.foundation.compiled import compiled, compiled_in_place, compiled_inline
from commanalyzer.graph.value_graph import Bool, Float64, Int32, Int64

STATES = 3
FIRST, BYTES, TOUCHED = range(STATES)
PART, PINS = 0, 1
_NONE = -1


class Divided(NamedTuple):
    """A hypergraph of N vertices and P pins whose vertices are in parts."""

    pin: Int32  # [P], pins state[e, FIRST] .. state[e+1, FIRST] of net e
    vertex_pointer: Int64  # [N + 1]
    net: Int32  # [P], nets vertex_pointer[v] .. vertex_pointer[v+1] of vertex v
    state: Int64  # [E + 1, STATES], of nets, and a last one; see above
    slot: Int32  # [P, 2]
    part: Int32  # [N], part of each vertex, -1 for none


class Balance(NamedTuple):
    """Work of N vertices in p parts."""

    weight: Float64  # [N], work of each vertex
    load: Float64  # [p], work of each part
    most: float  # Work that a part may have
    bytes_in: Int64  # [p], zeros between calls: bytes of nets of a vertex in each part
    near: Int64  # [p], scratch: parts where there are some


class Queue(NamedTuple):
    """A binary heap of vertices whose keys can change."""

    heap: Int32  # [N], vertices; keys of heap[2 i + 1], heap[2 i + 2] are at most that of heap[i]
    at: Int32  # [N], place of each vertex in the heap, -1 if it is not there
    key: Int64 | Float64  # [N], its key
    free: Bool  # [N], vertices that may move; those that :func:`improve` moved are no longer
    looked: Int32  # [N], the last move for which each vertex was looked at, -1 for none


@compiled
def count_pins(hyper: Any, parts: Any) -> None:
    """Fill the tables for the placed vertices (``part >= 0``)."""
    pin, state, table, part = hyper.pin, hyper.state, hyper.slot, hyper.part
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


@compiled_in_place
def add_pins(hyper: Any, chosen: Any, has_new: Any) -> None:
    """Enter vertices that were placed since into the tables, and say which nets have a new one (bool[E])."""
    state, slot, part = hyper.state, hyper.slot, hyper.part
    for v in chosen:
        for e in hyper.net[hyper.vertex_pointer[v] : hyper.vertex_pointer[v + 1]]:
            has_new[e] = True
            k, end = state[e, FIRST], state[e, FIRST] + state[e, TOUCHED]
            while k < end and slot[k, PART] != part[v]:
                k += 1
            if k == end:
                slot[k, PART], slot[k, PINS] = part[v], 0
                state[e, TOUCHED] += 1
            slot[k, PINS] += 1


@compiled_inline
def pins_in(e: Any, b: Any, hyper: Any) -> Any:
    """Return the pins of net ``e`` in part ``b``."""
    state, slot = hyper.state, hyper.slot
    first = state[e, FIRST]
    for k in range(first, first + state[e, TOUCHED]):
        if slot[k, PART] == b:
            return slot[k, PINS]
    return np.int32(0)


@compiled_in_place
def elect(hyper: Any, waiting: Any, has_new: Any, votes: Any, near: Any, best: Any, lead: Any) -> None:
    """Let the placed pins of the nets of each waiting vertex vote for their parts.

    Each net has its bytes as votes, which its placed pins share. Only vertices of nets of which more pins are
    placed than at the last call (``has_new``, bool[E]) vote. ``votes`` (float64[p]) are zeros, before and
    after; ``near`` (int64[p]) is scratch. Kept up are ``best``, the part with most votes, the lowest of equal
    ones, -1 if there is none, and ``lead``, its votes beyond those of the second, of all bytes of the vertex;
    -1 likewise.
    """
    vertex_pointer, net, state, slot = hyper.vertex_pointer, hyper.net, hyper.state, hyper.slot
    for i in range(len(waiting)):
        j, end = vertex_pointer[waiting[i]], vertex_pointer[waiting[i] + 1]
        while j < end and not has_new[net[j]]:
            j += 1
        if j == end:
            continue
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
def is_inner(v: Any, hyper: Any) -> Any:
    """Whether all nets of ``v`` lie in one part, so that no move can save anything."""
    j, end = hyper.vertex_pointer[v], hyper.vertex_pointer[v + 1]
    while j < end and hyper.state[hyper.net[j], TOUCHED] <= 1:
        j += 1
    return j == end


@compiled_inline
def _near_parts(v: Any, hyper: Any, bytes_in: Any, near: Any) -> Any:
    """List the other parts that nets of ``v`` touch in ``near``, add the bytes of these nets to ``bytes_in``.

    Returns how many parts, and what leaving its own gains where the vertex goes to none of them.
    """
    here = hyper.part[v]
    vertex_pointer, net, state, slot = hyper.vertex_pointer, hyper.net, hyper.state, hyper.slot
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
def best_move(v: Any, hyper: Any, balance: Any, anywhere: Any) -> Any:
    """Return the gain and the part of the best allowed move of ``v``; the part is -1 if there is none.

    Of equal gains that of the idlest part is best, of equally idle ones the first. With ``anywhere``, parts
    that none of its nets touches are considered, too.
    """
    weight, load, most, bytes_in, near = balance
    here = hyper.part[v]
    count, leaving = _near_parts(v, hyper, bytes_in, near)
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
def move(v: Any, to: Any, hyper: Any, balance: Any) -> None:
    """Give ``v`` the part ``to``, another one than it has."""
    vertex_pointer, net, state, slot = hyper.vertex_pointer, hyper.net, hyper.state, hyper.slot
    here, weight, load = hyper.part[v], balance.weight, balance.load
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
    hyper.part[v] = to


@compiled_inline
def _swap(queue: Any, i: Any, j: Any) -> None:
    heap, at = queue.heap, queue.at
    heap[i], heap[j] = heap[j], heap[i]
    at[heap[i]] = i
    at[heap[j]] = j


@compiled_inline
def _sift_up(queue: Any, i: Any) -> None:
    heap, key = queue.heap, queue.key
    while i > 0:
        parent = (i - 1) // 2
        if key[heap[parent]] >= key[heap[i]]:
            return
        _swap(queue, i, parent)
        i = parent


@compiled_inline
def _sift_down(queue: Any, size: Any, i: Any) -> None:
    heap, key = queue.heap, queue.key
    while True:
        child = 2 * i + 1
        if child >= size:
            return
        if child + 1 < size and key[heap[child + 1]] > key[heap[child]]:
            child += 1
        if key[heap[i]] >= key[heap[child]]:
            return
        _swap(queue, i, child)
        i = child


@compiled_inline
def _put(queue: Any, size: Any, v: Any, gain: Any) -> Any:
    """Insert ``v`` or change its key; return the new size."""
    at, key = queue.at, queue.key
    if at[v] < 0:
        queue.heap[size] = v
        at[v] = size
        key[v] = gain
        _sift_up(queue, size)
        return size + 1
    old = key[v]
    key[v] = gain
    if gain > old:
        _sift_up(queue, at[v])
    else:
        _sift_down(queue, size, at[v])
    return size


@compiled_inline
def _take(queue: Any, size: Any) -> Any:
    """Remove and return the vertex with the largest key."""
    v = queue.heap[0]
    _swap(queue, 0, size - 1)
    queue.at[v] = -1
    _sift_down(queue, size - 1, 0)
    return v


@compiled_inline
def _requeue(v: Any, here: Any, hyper: Any, balance: Any, queue: Any, size: Any, number: Any) -> Any:
    """Update the keys of free vertices that gain by a move of ``v``; return the size of the queue.

    Those are the last pin in ``here``, the part that was left, and all pins of nets new in the other; losses
    are seen when a vertex is taken. Each is looked at once for a move: ``number`` is that of the move.
    """
    to = hyper.part[v]
    for j in range(hyper.vertex_pointer[v], hyper.vertex_pointer[v + 1]):
        e = hyper.net[j]
        is_new = pins_in(e, to, hyper) == 1
        if not is_new and pins_in(e, here, hyper) != 1:
            continue
        for i in range(hyper.state[e, FIRST], hyper.state[e + 1, FIRST]):
            u = hyper.pin[i]
            if not queue.free[u] or queue.looked[u] == number or not (is_new or hyper.part[u] == here):
                continue
            queue.looked[u] = number
            gain, target = best_move(u, hyper, balance, False)
            if target >= 0:
                size = _put(queue, size, u, gain)
    return size


@compiled_in_place
def improve(hyper: Any, balance: Any, queue: Any, patience: Any, history: Any) -> Any:
    """One pass of single moves, the best first, each vertex once; keep the best prefix; return what it saves.

    Moves may lose for a while (at most ``patience`` moves since the best state), which gets over small hills.
    ``history`` is room for vertices with their parts before they moved.
    """
    free, part = queue.free, hyper.part
    moved, origin = history
    size = 0
    for v in range(len(part)):
        if free[v] and not is_inner(v, hyper):
            gain, to = best_move(v, hyper, balance, False)
            if to >= 0:
                size = _put(queue, size, v, gain)
    moves, saved, best, best_at = 0, 0, 0, 0
    while size > 0 and moves - best_at <= patience:
        v = _take(queue, size)
        size -= 1
        gain, to = best_move(v, hyper, balance, False)
        if to < 0:
            continue
        if gain < queue.key[v]:
            size = _put(queue, size, v, gain)
            continue
        moved[moves], origin[moves] = v, part[v]
        moves += 1
        move(v, to, hyper, balance)
        free[v] = False
        saved += gain
        if saved > best:
            best, best_at = saved, moves
        size = _requeue(v, origin[moves - 1], hyper, balance, queue, size, moves)
    while moves > best_at:
        moves -= 1
        move(moved[moves], origin[moves], hyper, balance)
    return best


@compiled_in_place
def relieve(hyper: Any, balance: Any, queue: Any) -> None:
    """Move vertices out of parts with more than ``most`` work, those that cost least per work first."""
    part, weight, load, most = hyper.part, balance.weight, balance.load, balance.most
    size = 0
    for v in range(len(part)):
        if queue.free[v] and weight[v] > 0.0 and load[part[v]] > most:
            gain, to = best_move(v, hyper, balance, True)
            if to >= 0:
                size = _put(queue, size, v, gain / weight[v])
    while size > 0:
        v = _take(queue, size)
        size -= 1
        if load[part[v]] <= most:
            continue
        gain, to = best_move(v, hyper, balance, True)
        if to < 0:
            continue
        if gain / weight[v] < queue.key[v]:
            size = _put(queue, size, v, gain / weight[v])
            continue
        move(v, to, hyper, balance)
