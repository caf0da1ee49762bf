"""Compiled loops over ranges that stay coded, see :mod:`commanalyzer.vcg.reading.coded_ranges`.

Tables are those of :mod:`.range_kernels` and :mod:`.form_kernels`. A *line*
are the vertices that a label or a sink names round after round: a vertex and a step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.abi.hooks import NOTHING, REGISTER, WORD_MASK
from commanalyzer.foundation.compiled import compiled_in_place
from commanalyzer.vcg.reading.form_kernels import role_of, vertex_at
from commanalyzer.vcg.reading.range_kernels import end_of
from commanalyzer.vcg.reading.trace_kernels import NONE, find_range

LEAST_ROUNDS = 8  # fewer are written out
_NO_LINE = -2


@compiled_in_place
def _line_of(label: Any, stride: Any, rounds: Any, places: Any) -> Any:
    """Vertex and step of a label; -1 where it names nothing, -2 where its vertices make no line."""
    starts, base, vertex, vertex_of_row = places
    word = label & WORD_MASK
    if label & REGISTER:
        v = NONE if label & NOTHING == NOTHING else np.int64(vertex_of_row[word])
        return (v, 0) if stride == 0 else (_NO_LINE, 0)
    if label == 0 and stride == 0:
        return NONE, 0
    last = label + (rounds - 1) * stride
    c = find_range(word, starts)
    if (label ^ last) & ~WORD_MASK or not starts[c] <= last & WORD_MASK < starts[c + 1]:
        return _NO_LINE, 0
    dense = base[c] + word - starts[c]
    if stride == 0:
        return vertex_at(dense, vertex), 0
    v = np.int64(vertex[dense])
    step = np.int64(vertex[dense + stride]) - v
    if v < 0:
        return _NO_LINE, 0
    for i in range(rounds):
        if vertex[dense + i * stride] != v + i * step:
            return _NO_LINE, 0
    return v, step


@compiled_in_place
def _stays_apart(v: Any, step: Any, other: Any, other_step: Any, rounds: Any) -> Any:
    """-1 or 1: one line is below or above another in all rounds; 0: they are the same; -2: they meet."""
    first, last = v - other, v - other + (rounds - 1) * (step - other_step)
    if first == 0 and step == other_step:
        return 0
    if first > 0 and last > 0:
        return 1
    return -1 if first < 0 and last < 0 else _NO_LINE


@compiled_in_place
def _insert(line: Any, role: Any, rounds: Any, first: Any, end: Any, source: Any, source_role: Any) -> Any:
    """Put a line in order among those from ``first`` to ``end``, unless it is one; return the end, or -2."""
    at = end
    while at > first:
        side = _stays_apart(line[0], line[1], source[at - 1, 0], source[at - 1, 1], rounds)
        if side == _NO_LINE:
            return _NO_LINE
        if side == 0:
            source_role[at - 1] = min(source_role[at - 1], role)
            return end
        if side > 0:
            break
        at -= 1
    for j in range(end, at, -1):
        source[j, 0], source[j, 1], source_role[j] = source[j - 1, 0], source[j - 1, 1], source_role[j - 1]
    source[at, 0], source[at, 1], source_role[at] = line[0], line[1], role
    return end + 1


@compiled_in_place
def _form_store(
    s: Any, rounds: Any, table: Any, places: Any, self_at: Any, first: Any, sink: Any, own: Any, flows: Any
) -> Any:
    """Write sink and sources of a store from ``first`` on; return the end of its sources, -2 if no lines."""
    stores, labels = table
    source, source_role = flows
    v, step = _line_of(stores[s, 1], stores[s, 2], rounds, places)
    if v < 0:
        return _NO_LINE
    sink[s, 0], sink[s, 1], own[s] = v, step, 0
    end = first
    for k in range(stores[s, 3], end_of(s, stores, labels)):
        line = _line_of(labels[k, 0], labels[k, 1], rounds, places)
        if line[0] == NONE:
            continue
        side = _NO_LINE if line[0] < 0 else _stays_apart(line[0], line[1], v, step, rounds)
        if side == _NO_LINE:
            return _NO_LINE
        if side == 0:
            own[s] |= 3 if k - stores[s, 3] == self_at else 1
            continue
        end = _insert(line, role_of(labels[k, 0]), rounds, first, end, source, source_role)
        if end == _NO_LINE:
            return _NO_LINE
    return end


@compiled_in_place
def form_segments(
    table: Any, places: Any, site_self: Any, is_kept: Any, first_source: Any, sink: Any, own: Any, flows: Any
) -> Any:
    """Write sinks and sources of the segments whose rows make lines; return the number of sources.

    Args:
        table: Columns of a :class:`~commanalyzer.vcg.reading.ranges.RangeTable`.
        places: Starts and base of ranges; vertices of words and of rows.
        site_self: Per site, label that is the sink's own version in its operation.
        is_kept: bool[N], result.
        first_source: int64[S + 1], result.
        sink: int64[S, 2], result: vertex in the first round and step.
        own: uint8[S], result, as :func:`~commanalyzer.vcg.reading.form_kernels.form_rows` finds it.
        flows: Results: int64[L, 2], vertex and step of each source; uint8[L], role.
    """
    _, _, rounds, first_store, stores, labels, is_merged, _, is_cut, _, _ = table
    found = 0
    for n in range(len(rounds)):
        first, end = found, found
        is_kept[n] = rounds[n] >= LEAST_ROUNDS
        for s in range(first_store[n], first_store[n + 1]):
            if is_kept[n] and not is_cut[s] and not is_merged[stores[s, 0]]:
                self_at = site_self[stores[s, 0]]
                end = _form_store(s, rounds[n], (stores, labels), places, self_at, end, sink, own, flows)
                is_kept[n] = end >= 0
            else:
                is_kept[n] = False
            first_source[s + 1] = max(end, first)
        if is_kept[n]:
            found = end
        else:
            for s in range(first_store[n], first_store[n + 1]):
                first_source[s + 1] = found
    return found


@compiled_in_place
def blocks_of(
    pieces: Any,
    column: Any,
    before: Any,
    first: Any,
    value: Any,
    width: Any,
    repeat: Any,
    start: Any,
    stride: Any,
) -> Any:
    """Fill the tables of blocks of a column for pieces of ranges; return numbers of blocks and of starts.

    Args:
        pieces: int64[k, 7].
        column: Which column of ``pieces`` says how many entries are before a piece.
        before: int64[k], result: those of each block.
        first: int64[N + 1], first entry of each segment.
        value: int64[., 2], entries of one round: in the first round, and step.
        width: int64[k], results as the next three; :mod:`commanalyzer.vcg.storage.coding_kernels`.
        repeat: int64[k].
        start: int64.
        stride: int64.
    """
    blocks, starts = 0, 0
    for piece in range(len(pieces)):
        low, high = first[pieces[piece, 1]], first[pieces[piece, 1] + 1]
        rounds, is_constant = pieces[piece, 3] - pieces[piece, 2], True
        if high == low:
            continue
        for k in range(low, high):
            is_constant &= value[k, 0] == value[low, 0] and value[k, 1] == 0
        last = low + 1 if is_constant else high
        for k in range(low, last):
            start[starts] = value[k, 0] + pieces[piece, 2] * value[k, 1]
            stride[starts] = value[k, 1]
            starts += 1
        before[blocks], width[blocks] = pieces[piece, column], last - low
        repeat[blocks] = rounds * (high - low) // (last - low)
        blocks += 1
    return blocks, starts
