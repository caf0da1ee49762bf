"""Refinement of partitions in plain Python, with a table of all nets times all parts.

What the compiled passes of :mod:`.kernels` do with compact tables; same results.

    count[e, a]   pins of net e in part a
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.partition.refinement.heap_kernels import put, take

_NO_PART = -1


def count_pins(net_pointer: Any, pin: Any, part: Any, count: Any) -> None:
    """Fill ``count`` for the placed vertices (``part >= 0``)."""
    count[:] = 0
    for e in range(len(net_pointer) - 1):
        for i in range(net_pointer[e], net_pointer[e + 1]):
            if part[pin[i]] >= 0:
                count[e, part[pin[i]]] += 1


def _best_move(
    v: Any,
    vertex_pointer: Any,
    net: Any,
    net_bytes: Any,
    count: Any,
    part: Any,
    weight: Any,
    load: Any,
    most: Any,
    present: Any,
    anywhere: Any,
) -> Any:
    """Return the gain and the part of the best allowed move of ``v``; the part is -1 if there is none.

    ``anywhere`` also considers parts that none of its nets touches.
    """
    here = part[v]
    parts = count.shape[1]
    present[:] = 0
    total = 0
    freed = 0
    for j in range(vertex_pointer[v], vertex_pointer[v + 1]):
        e = net[j]
        w = net_bytes[e]
        total += w
        if here >= 0 and count[e, here] == 1:
            freed += w
        for b in range(parts):
            if count[e, b] > 0:
                present[b] += w
    best = _NO_PART
    best_gain = 0
    for b in range(parts):
        if b == here or (present[b] == 0 and not anywhere):
            continue
        if weight[v] > 0.0 and load[b] + weight[v] > most:
            continue
        gain = freed - total + present[b]
        if best < 0 or gain > best_gain or (gain == best_gain and load[b] < load[best]):
            best = b
            best_gain = gain
    return best_gain, best


def _move(
    v: Any, to: Any, vertex_pointer: Any, net: Any, count: Any, part: Any, weight: Any, load: Any
) -> None:
    here = part[v]
    for j in range(vertex_pointer[v], vertex_pointer[v + 1]):
        e = net[j]
        if here >= 0:
            count[e, here] -= 1
        count[e, to] += 1
    if here >= 0:
        load[here] -= weight[v]
    load[to] += weight[v]
    part[v] = to


def place(
    vertex_pointer: Any,
    net: Any,
    net_bytes: Any,
    part: Any,
    count: Any,
    placed: Any,
    confidence: Any,
    choice: Any,
) -> Any:
    """Choose parts for vertices without one (-1) that know where they belong; return how many.

    Each net votes with its bytes for the parts of its placed pins, in proportion. A vertex is placed when the
    best part leads the second by ``confidence`` of all its bytes. ``choice`` is applied by the caller after
    all have chosen, so that the order of vertices does not matter.
    """
    parts = count.shape[1]
    votes = np.zeros(parts, np.float64)
    chosen = 0
    for v in range(len(part)):
        choice[v] = _NO_PART
        if part[v] >= 0:
            continue
        votes[:] = 0.0
        total = 0.0
        for j in range(vertex_pointer[v], vertex_pointer[v + 1]):
            e = net[j]
            total += net_bytes[e]
            if placed[e] == 0:
                continue
            share = net_bytes[e] / placed[e]
            for b in range(parts):
                votes[b] += share * count[e, b]
        best = np.argmax(votes)
        lead = votes[best]
        votes[best] = 0.0
        if lead > 0.0 and lead - votes.max() >= confidence * total:
            choice[v] = best
            chosen += 1
    return chosen


def _is_inner(v: Any, net_pointer: Any, vertex_pointer: Any, net: Any, part: Any, count: Any) -> Any:
    """Whether all nets of ``v`` lie in its part alone, so that no move can save anything."""
    for j in range(vertex_pointer[v], vertex_pointer[v + 1]):
        e = net[j]
        if count[e, part[v]] < net_pointer[e + 1] - net_pointer[e]:
            return False
    return True


def _requeue(
    v: Any,
    here: Any,
    to: Any,
    net_pointer: Any,
    pin: Any,
    net_bytes: Any,
    vertex_pointer: Any,
    net: Any,
    part: Any,
    free: Any,
    weight: Any,
    load: Any,
    most: Any,
    count: Any,
    present: Any,
    heap: Any,
    at: Any,
    key: Any,
    size: Any,
) -> Any:
    """Update the keys of free vertices that gain by the move of ``v``; return the new size of the queue.

    Those are the last pin in the part that was left and all pins of nets new in the other; losses are seen
    when a vertex is taken.
    """
    for j in range(vertex_pointer[v], vertex_pointer[v + 1]):
        e = net[j]
        if count[e, here] != 1 and count[e, to] != 1:
            continue
        for i in range(net_pointer[e], net_pointer[e + 1]):
            u = pin[i]
            if not free[u] or (count[e, to] != 1 and part[u] != here):
                continue
            gain, target = _best_move(
                u, vertex_pointer, net, net_bytes, count, part, weight, load, most, present, False
            )
            if target >= 0:
                size = put(heap, at, key, size, u, gain)
    return size


def improve(
    net_pointer: Any,
    pin: Any,
    net_bytes: Any,
    vertex_pointer: Any,
    net: Any,
    part: Any,
    free: Any,
    weight: Any,
    load: Any,
    most: Any,
    count: Any,
    patience: Any,
) -> Any:
    """One pass of single moves, the best first, each vertex once; keep the best prefix; return what it saves.

    Moves may lose for a while (at most ``patience`` moves since the best state), which gets over small hills.
    ``free`` says which vertices may move; it is changed.
    """
    n = len(part)
    present = np.zeros(count.shape[1], np.int64)
    heap, at, key = np.empty(n, np.int64), np.full(n, -1, np.int64), np.zeros(n, np.int64)
    size = 0
    for v in range(n):
        if free[v] and not _is_inner(v, net_pointer, vertex_pointer, net, part, count):
            gain, to = _best_move(
                v, vertex_pointer, net, net_bytes, count, part, weight, load, most, present, False
            )
            if to >= 0:
                size = put(heap, at, key, size, v, gain)
    moved, origin = np.empty(n, np.int64), np.empty(n, np.int32)
    moves, saved, best, best_at = 0, 0, 0, 0
    while size > 0 and moves - best_at <= patience:
        v = take(heap, at, key, size)
        size -= 1
        gain, to = _best_move(
            v, vertex_pointer, net, net_bytes, count, part, weight, load, most, present, False
        )
        if to < 0:
            continue
        if gain < key[v]:
            size = put(heap, at, key, size, v, gain)
            continue
        moved[moves], origin[moves] = v, part[v]
        moves += 1
        _move(v, to, vertex_pointer, net, count, part, weight, load)
        free[v] = False
        saved += gain
        if saved > best:
            best, best_at = saved, moves
        size = _requeue(
            v, origin[moves - 1], to, net_pointer, pin, net_bytes, vertex_pointer, net, part, free, weight,
            load, most, count, present, heap, at, key, size,
        )  # fmt: skip
    while moves > best_at:
        moves -= 1
        _move(moved[moves], origin[moves], vertex_pointer, net, count, part, weight, load)
    return best


def relieve(
    vertex_pointer: Any,
    net: Any,
    net_bytes: Any,
    part: Any,
    movable: Any,
    weight: Any,
    load: Any,
    most: Any,
    count: Any,
) -> None:
    """Move vertices out of parts with more than ``most`` work, those that cost least per work first."""
    n = len(part)
    present = np.zeros(count.shape[1], np.int64)
    heap = np.empty(n, np.int64)
    at = np.full(n, -1, np.int64)
    key = np.zeros(n, np.float64)
    size = 0
    for v in range(n):
        if movable[v] and weight[v] > 0.0 and load[part[v]] > most:
            gain, to = _best_move(
                v, vertex_pointer, net, net_bytes, count, part, weight, load, most, present, True
            )
            if to >= 0:
                size = put(heap, at, key, size, v, gain / weight[v])
    while size > 0:
        v = take(heap, at, key, size)
        size -= 1
        if load[part[v]] <= most:
            continue
        gain, to = _best_move(
            v, vertex_pointer, net, net_bytes, count, part, weight, load, most, present, True
        )
        if to < 0:
            continue
        if gain / weight[v] < key[v]:
            size = put(heap, at, key, size, v, gain / weight[v])
            continue
        _move(v, to, vertex_pointer, net, count, part, weight, load)
