"""Compiled passes over the flows of a large graph that find the nets between coarse vertices.

Hubs are numbered behind the coarse vertices as in :mod:`commanalyzer.partition.coarsening.link_kernels`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.foundation.compiled import compiled, compiled_in_place
from commanalyzer.partition.coarsening.link_kernels import EMPTY, MULTIPLIER, first_slot

_MIX = np.uint64(0xBF58476D1CE4E5B9)
_FEW = 32  # pins that are sorted fastest one by one


@compiled_in_place
def _leading_operand(rows: Any, t: Any, readers: Any, number: Any, side: Any, num_coarse: Any) -> Any:
    """Return the operand whose owner computes a term of a reduction, -1 where that of the sink does.

    Operands on one side are combined there, unless all of them have other readers and come along anyway.
    """
    found, place = -1, -1
    for i in range(rows.source_ptr[t], rows.source_ptr[t + 1]):
        s = rows.source[i]
        if number[s] >= num_coarse:
            continue
        if place >= 0 and side[s] != place:
            return -1
        place = side[s]
        if found < 0 and readers[s] <= 1:
            found = s
    return found


@compiled_in_place
def _row_pins(
    rows: Any, r: Any, readers: Any, number: Any, side: Any, num_coarse: Any, last: Any, last_folded: Any,
    out: Any, n: Any,
) -> Any:  # fmt: skip
    """Write the pins that row ``r`` adds to ``out`` from place ``n`` on; return the place behind them."""
    sink, values = rows.row_sink[r], np.int64(len(number))
    if number[sink] >= num_coarse:
        return n
    for t in range(rows.term_ptr[r], rows.term_ptr[r + 1]):
        k = number[sink]
        if rows.row_fold[r] != 0:
            lead = _leading_operand(rows, t, readers, number, side, num_coarse)
            if lead >= 0:
                k = number[lead]
                if k != number[sink] and last_folded[sink] != k:
                    last_folded[sink] = k
                    out[n] = ((values + sink) << 32) | np.int64(k)
                    n += 1
        for i in range(rows.source_ptr[t], rows.source_ptr[t + 1]):
            s = rows.source[i]
            if last[s] != k and number[s] != k and number[s] < num_coarse:
                last[s] = k
                out[n] = (np.int64(s) << 32) | np.int64(k)
                n += 1
    return n


@compiled_in_place
def list_pins(
    rows: Any, begin: Any, end: Any, readers: Any, number: Any, side: Any, num_coarse: Any, last: Any,
    last_folded: Any, out: Any,
) -> Any:  # fmt: skip
    """Write (net << 32) | coarse vertex to ``out`` for pins that are not a net's own; return how many.

    The net of a value has the value's number, that of a reduction V plus its sink's. Only the rows of the
    slice from ``begin`` to ``end - 1`` are looked at, those of one run after those of the one before. A pin
    that is the last one of its net already is left out: rows of one place read the same values.

    Args:
        begin: First row of each run.
        end: Row behind each run.
        rows: Rows of the slice.
        readers: Source entries that read each vertex.
        number: Coarse vertex of each vertex, hubs from ``num_coarse`` on.
        side: Operands of a term that have the same number here are combined where one of them is.
        num_coarse: Number of coarse vertices.
        last: The last pin of the net of each value, -1 before the first slice.
        last_folded: The same of its reduction; may be empty where no row folds.
        out: Output, one place per flow of the runs.
    """
    n = 0
    for g in range(len(begin)):
        for r in range(begin[g], end[g]):
            n = _row_pins(rows, r, readers, number, side, num_coarse, last, last_folded, out, n)
    return n


@compiled
def order_pins(pins: Any, place: Any, pin: Any) -> Any:
    """Move the distinct ones of ``pins`` to the front in ascending order; return how many there are.

    Most nets have few pins, and those of nets that are near each other are listed soon after each other.

    Args:
        pins: (net << 32) | coarse vertex; changed.
        place: int32, zeros, one for each net and one more; they are zeros again afterwards.
        pin: int32, room for one number per entry of ``pins``.
    """
    for i in range(len(pins)):
        place[pins[i] >> 32] += 1
    for e in range(1, len(place)):
        place[e] += place[e - 1]
    for i in range(len(pins)):
        e = pins[i] >> 32
        place[e] -= 1
        pin[place[e]] = pins[i] & 0xFFFFFFFF
    n = 0
    for e in range(len(place) - 1):
        first, last = place[e], place[e + 1]
        place[e] = 0
        if last > first:
            _sort_few(pin, first, last)
        for i in range(first, last):
            if i == first or pin[i] != pin[i - 1]:
                pins[n] = (np.int64(e) << 32) | np.int64(pin[i])
                n += 1
    place[len(place) - 1] = 0
    return n


@compiled
def _sort_few(pin: Any, first: Any, last: Any) -> None:
    """Sort ``pin[first:last]``."""
    if last - first > _FEW:
        pin[first:last].sort()
        return
    for i in range(first + 1, last):
        k, at = pin[i], i
        while at > first and pin[at - 1] > k:
            pin[at] = pin[at - 1]
            at -= 1
        pin[at] = k


@compiled
def _mixed(c: Any) -> Any:
    z = (np.uint64(c) + np.uint64(1)) * MULTIPLIER
    z = (z ^ (z >> np.uint64(30))) * _MIX
    return z ^ (z >> np.uint64(27))


@compiled
def count_nets(key: Any) -> Any:
    """Return the number of nets of sorted pins."""
    count = 0
    for i in range(len(key)):
        count += i == 0 or key[i] >> 32 != key[i - 1] >> 32
    return count


@compiled
def merge_nets(
    key: Any, number: Any, most: Any, most_folded: Any, versions: Any, width: Any, slots: Any, nets: Any,
    limit: Any,
) -> Any:  # fmt: skip
    """Find the distinct sets of pins, in order of the first net with each; return how many.

    It stops as soon as more than ``limit`` of them have any bytes, and returns -1.

    Args:
        key: Sorted and distinct pins of :func:`list_pins`.
        number: Coarse vertex of each vertex.
        most: Largest count of a row that reads a vertex.
        most_folded: Largest count of a reduction into it.
        versions: Versions of each vertex.
        width: Bytes of each vertex.
        slots: int32, a power of two, more than nets; -1 before: sets by signature, linear probing.
        nets: int64[M, 4], results: signature, bytes of all nets with the set, first and last place in
            ``key`` of the first net.
        limit: Sets with bytes that there may be.
    """
    used, first, values, mask = 0, 0, len(number), len(slots) - 1
    paid = 0
    while first < len(key):
        net = key[first] >> 32
        value = net if net < values else net - values
        signature = _mixed(number[value])
        last = first
        while last < len(key) and key[last] >> 32 == net:
            signature += _mixed(key[last] & 0xFFFFFFFF)
            last += 1
        name = np.int64(signature >> np.uint64(2))
        h = first_slot(name, mask)
        while slots[h] != EMPTY and nets[slots[h], 0] != name:
            h = (h + 1) & mask
        if slots[h] == EMPTY:
            slots[h] = used
            nets[used, 0], nets[used, 1], nets[used, 2], nets[used, 3] = name, 0, first, last
            used += 1
        times = most_folded[value] if net >= values else min(most[value], max(versions[value], 1))
        volume = np.int64(times) * np.int64(width[value])
        if nets[slots[h], 1] == 0 and volume > 0:
            paid += 1
        if paid > limit:
            return -1
        nets[slots[h], 1] += volume
        first = last
    return used


@compiled
def write_pins(key: Any, number: Any, first: Any, last: Any, pointer: Any, pin: Any) -> None:
    """Write the pins of nets in ascending order: those listed, and the place of the value itself.

    Args:
        key: Sorted and distinct pins of :func:`list_pins`.
        number: Coarse vertex of each vertex.
        first: First place in ``key`` of each net.
        last: The place behind its last one.
        pointer: Where the pins of each net are written.
        pin: Result.
    """
    values = len(number)
    for e in range(len(first)):
        net = key[first[e]] >> 32
        own = np.int64(number[net if net < values else net - values])
        at, is_open = pointer[e], True
        for i in range(first[e], last[e]):
            other = key[i] & 0xFFFFFFFF
            if is_open and own < other:
                pin[at] = own
                at += 1
                is_open = False
            pin[at] = other
            at += 1
        if is_open:
            pin[at] = own
