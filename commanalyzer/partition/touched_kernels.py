"""Compiled loops over the parts that nets touch: tables of pins per part, and moves judged by them.

Everything is a plain array, so that the compiled code can be cached. A hypergraph is the tuple *hyper* of::

    net_pointer, pin          pins net_pointer[e] .. net_pointer[e+1] of net e
    net_bytes                 its weight
    vertex_pointer, net       nets vertex_pointer[v] .. vertex_pointer[v+1] of vertex v

A net of k pins touches at most k parts, so its table lies at the place of its pins and does not grow with the
number of parts. The tuple *touch* is::

    slot_part, slot_pins      a part and the pins in it; slots of net e begin at net_pointer[e]
    touched                   int32[M], parts that each net touches
    placed                    int32[M], pins of each net that have a part

Moving v from a to b lowers the metric by the weight of the nets that have their last pin in a, minus that of
the nets that had none in b.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.compiled import compiled, compiled_in_place

_NONE = -1


@compiled
def count_pins(hyper: Any, part: Any, parts: Any, touch: Any) -> None:
    """Fill the tables for the placed vertices (``part >= 0``)."""
    net_pointer, pin = hyper[0], hyper[1]
    slot_part, slot_pins, touched, placed = touch
    slot = np.full(parts, _NONE, np.int64)
    for e in range(len(net_pointer) - 1):
        first = net_pointer[e]
        end = first
        placed[e] = 0
        for i in range(first, net_pointer[e + 1]):
            b = part[pin[i]]
            if b < 0:
                continue
            placed[e] += 1
            if slot[b] < first:
                slot[b] = end
                slot_part[end], slot_pins[end] = b, 0
                end += 1
            slot_pins[slot[b]] += 1
        touched[e] = end - first


@compiled_in_place
def pins_in(e: Any, b: Any, net_pointer: Any, touch: Any) -> Any:
    """Return the pins of net ``e`` in part ``b``."""
    slot_part, slot_pins, touched, _ = touch
    for k in range(net_pointer[e], net_pointer[e] + touched[e]):
        if slot_part[k] == b:
            return slot_pins[k]
    return np.int32(0)


@compiled_in_place
def add_pin(e: Any, b: Any, net_pointer: Any, touch: Any) -> None:
    """Count one more placed pin of net ``e``, in part ``b``."""
    slot_part, slot_pins, touched, placed = touch
    k, end = net_pointer[e], net_pointer[e] + touched[e]
    while k < end and slot_part[k] != b:
        k += 1
    if k == end:
        slot_part[k], slot_pins[k] = b, 0
        touched[e] += 1
    slot_pins[k] += 1
    placed[e] += 1


@compiled
def connectivity(net_pointer: Any, pin: Any, net_bytes: Any, part: Any, parts: Any) -> Any:
    """Return the sum over nets of bytes times (parts touched - 1)."""
    seen = np.full(parts, _NONE, np.int64)
    total = 0
    for e in range(len(net_pointer) - 1):
        touched = 0
        for i in range(net_pointer[e], net_pointer[e + 1]):
            if seen[part[pin[i]]] != e:
                seen[part[pin[i]]] = e
                touched += 1
        total += (touched - 1) * net_bytes[e]
    return total


@compiled_in_place
def is_inner(v: Any, hyper: Any, touch: Any) -> Any:
    """Whether all nets of ``v`` lie in one part, so that no move can save anything."""
    vertex_pointer, net, touched = hyper[3], hyper[4], touch[2]
    j, end = vertex_pointer[v], vertex_pointer[v + 1]
    while j < end and touched[net[j]] <= 1:
        j += 1
    return j == end


@compiled_in_place
def _near_parts(v: Any, here: Any, hyper: Any, touch: Any, bytes_in: Any, near: Any) -> Any:
    """List the other parts that nets of ``v`` touch in ``near``, add the bytes of these nets to ``bytes_in``.

    Returns:
        How many parts, and what leaving ``here`` gains where the vertex goes to none of them.
    """
    net_pointer, _, net_bytes, vertex_pointer, net = hyper
    slot_part, slot_pins, touched, _ = touch
    count, gain = 0, np.int64(0)
    for j in range(vertex_pointer[v], vertex_pointer[v + 1]):
        e = net[j]
        w, first = net_bytes[e], net_pointer[e]
        gain -= w
        for k in range(first, first + touched[e]):
            b = slot_part[k]
            if b == here:
                if slot_pins[k] == 1:
                    gain += w
                continue
            if bytes_in[b] == 0:
                near[count] = b
                count += 1
            bytes_in[b] += w
    return count, gain


@compiled_in_place
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


@compiled_in_place
def move(v: Any, to: Any, hyper: Any, touch: Any, part: Any, weight: Any, load: Any) -> None:
    """Give ``v`` the part ``to``, another one than it has."""
    net_pointer, vertex_pointer, net = hyper[0], hyper[3], hyper[4]
    slot_part, slot_pins, touched, _ = touch
    here = part[v]
    for j in range(vertex_pointer[v], vertex_pointer[v + 1]):
        e = net[j]
        end = net_pointer[e] + touched[e]
        k = net_pointer[e]
        while slot_part[k] != here:
            k += 1
        slot_pins[k] -= 1
        if slot_pins[k] == 0:
            end -= 1
            slot_part[k], slot_pins[k] = slot_part[end], slot_pins[end]
        k = net_pointer[e]
        while k < end and slot_part[k] != to:
            k += 1
        if k == end:
            slot_part[k], slot_pins[k] = to, 0
            end += 1
        slot_pins[k] += 1
        touched[e] = end - net_pointer[e]
    load[here] -= weight[v]
    load[to] += weight[v]
    part[v] = to
