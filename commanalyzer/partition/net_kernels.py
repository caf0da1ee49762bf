"""Compiled passes over the flows of a large graph that find the nets between coarse vertices.

The table of distinct nets is that of :mod:`commanalyzer.partition.link_kernels`; hubs are numbered behind the
coarse vertices as there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.compiled import compiled, compiled_in_place
from commanalyzer.partition.link_kernels import EMPTY, MULTIPLIER, grown, slot

_MIX = np.uint64(0xBF58476D1CE4E5B9)


@compiled_in_place
def _fold_place(t: Any, source_ptr: Any, source: Any, readers: Any, number: Any, num_coarse: Any) -> Any:
    """Return the coarse vertex that computes a term of a reduction, -1 for that of the sink.

    Operands in one place are combined there, unless all of them have other readers and come along anyway.
    """
    place, alone = -1, False
    for i in range(source_ptr[t], source_ptr[t + 1]):
        a = number[source[i]]
        if a >= num_coarse:
            continue
        if place >= 0 and a != place:
            return -1
        place = a
        alone = alone or readers[source[i]] <= 1
    return place if alone else -1


@compiled_in_place
def _row_pins(
    r: Any, row_sink: Any, row_fold: Any, term_ptr: Any, source_ptr: Any, source: Any, readers: Any,
    number: Any, num_coarse: Any, last: Any, last_folded: Any, out: Any, n: Any,
) -> Any:  # fmt: skip
    """Write the pins that row ``r`` adds to ``out`` from place ``n`` on; return the place behind them."""
    sink, values = row_sink[r], np.int64(len(number))
    k = number[sink]
    if k >= num_coarse:
        return n
    for t in range(term_ptr[r], term_ptr[r + 1]):
        if row_fold[r] != 0:
            place = _fold_place(t, source_ptr, source, readers, number, num_coarse)
            if place >= 0:
                if place != k and last_folded[sink] != place:
                    last_folded[sink] = place
                    out[n] = ((values + sink) << 32) | np.int64(place)
                    n += 1
                continue
        for i in range(source_ptr[t], source_ptr[t + 1]):
            s = source[i]
            if last[s] != k and number[s] != k and number[s] < num_coarse:
                last[s] = k
                out[n] = (np.int64(s) << 32) | np.int64(k)
                n += 1
    return n


@compiled_in_place
def list_pins(
    begin: Any, end: Any, row_sink: Any, row_fold: Any, term_ptr: Any, source_ptr: Any, source: Any,
    readers: Any, number: Any, num_coarse: Any, last: Any, last_folded: Any, out: Any,
) -> Any:  # fmt: skip
    """Write (net << 32) | coarse vertex to ``out`` for pins that are not a net's own; return how many.

    The net of a value has the value's number, that of a reduction V plus its sink's. Only the rows of the
    slice from ``begin`` to ``end - 1`` are looked at, those of one run after those of the one before. A pin
    that is the last one of its net already is left out: rows of one place read the same values.

    Args:
        begin: First row of each run.
        end: Row behind each run.
        row_sink: Columns of the slice, up to ``source``.
        row_fold: As above.
        term_ptr: As above.
        source_ptr: As above.
        source: As above.
        readers: Source entries that read each vertex.
        number: Coarse vertex of each vertex, hubs from ``num_coarse`` on.
        num_coarse: Number of coarse vertices.
        last: The last pin of the net of each value, -1 before the first slice.
        last_folded: The same of its reduction; may be empty where no row folds.
        out: Output, one place per flow of the runs.
    """
    n = 0
    for g in range(len(begin)):
        for r in range(begin[g], end[g]):
            n = _row_pins(r, row_sink, row_fold, term_ptr, source_ptr, source, readers, number, num_coarse,
                          last, last_folded, out, n)  # fmt: skip
    return n


@compiled
def _mixed(c: Any) -> Any:
    z = (np.uint64(c) + np.uint64(1)) * MULTIPLIER
    z = (z ^ (z >> np.uint64(30))) * _MIX
    return z ^ (z >> np.uint64(27))


@compiled
def merge_nets(
    key: Any, number: Any, most: Any, most_folded: Any, versions: Any, width: Any, keys: Any, sums: Any
) -> Any:
    """Return a table of distinct sets of pins: sums of bytes and the place in ``key`` of one net with it.

    Args:
        key: Sorted and distinct pins of :func:`list_pins`.
        number: Coarse vertex of each vertex.
        most: Largest count of a row that reads a vertex.
        most_folded: Largest count of a reduction into it.
        versions: Versions of each vertex.
        width: Bytes of each vertex.
        keys: Empty table.
        sums: Its two sums.
    """
    used, first, values = 0, 0, len(number)
    while first < len(key):
        net = key[first] >> 32
        value = net if net < values else net - values
        signature = _mixed(number[value])
        last = first
        while last < len(key) and key[last] >> 32 == net:
            signature += _mixed(key[last] & 0xFFFFFFFF)
            last += 1
        if 2 * used + 4 > len(keys):
            keys, sums = grown(keys, sums)
        h = slot(keys, np.int64(signature >> np.uint64(2)))
        if keys[h] == EMPTY:
            keys[h] = np.int64(signature >> np.uint64(2))
            sums[h, 1] = first
            used += 1
        times = most_folded[value] if net >= values else min(most[value], max(versions[value], 1))
        sums[h, 0] += np.int64(times) * np.int64(width[value])
        first = last
    return keys, sums
