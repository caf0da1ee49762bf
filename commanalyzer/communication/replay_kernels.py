"""The compiled loop of :mod:`commanalyzer.communication.replay`."""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.communication.kernels import NONE, home_of, owner_of
from commanalyzer.foundation.compiled import compiled, compiled_inline
from commanalyzer.graph.reading.form_kernels import EARLIER, INSIDE, OUTSIDE
from commanalyzer.recording.abi import ORDER_VERSIONS

NO_STORE = -2  # instead of a sink


@compiled
def has_earlier(event: Any, result: Any) -> Any:
    """Note the vertices of which earlier versions are read; return ``result`` bool[V]."""
    for e in event:  # versions are positive
        if e <= EARLIER:
            result[EARLIER - e] = True
    return result


@compiled_inline
def _pair_of(table: Any, value: Any, part: Any) -> Any:
    """Number of the pair of a value and a part, negative for none."""
    pointer, parts = table
    for k in range(pointer[value], pointer[value + 1]):
        if parts[k] == part:
            return np.int64(k)
    return np.int64(NONE)


@compiled_inline
def _place_of(rows: Any, t: Any, row: Any, owner: Any, owners: Any, pairs: Any) -> Any:
    """The part that computes term ``t`` of a row, and its pair of ``fold`` unless it is the sink's owner."""
    code, (expand, fold) = owners.code, pairs
    home = home_of(rows, row, t, owners)
    pair = _pair_of(fold, rows.row_sink[row], home) if home >= 0 and home != owner else np.int64(NONE)
    for v in rows.source[rows.source_ptr[t] : rows.source_ptr[t + 1]]:
        if pair >= 0 and owner_of(code[v]) != home and _pair_of(expand, v, home) < 0:
            pair = np.int64(NONE)
    return (home if pair >= 0 else owner), pair


@compiled_inline
def _read(pair: Any, version: Any, is_earlier: Any, has: Any, result: Any) -> None:
    """Count that a version is needed, unless it was the last one that was sent."""
    sent, _, seen, several, counters = result
    if pair < 0:
        counters[0] += 1
        return
    seen[pair] = True
    if has[pair] != version:
        has[pair] = version
        if not is_earlier:
            sent[pair] += 1
            return
        if counters[1] < len(several):
            several[counters[1], 0], several[counters[1], 1] = pair, version
        counters[1] += 1


@compiled_inline
def _end_sum(value: Any, is_read: Any, pairs: Any, state: Any, needed: Any) -> None:
    """A sum with new contributions is read, or starts again."""
    _, _, is_open, contributed, _ = state
    is_open[value] = False
    for k in range(pairs[1][0][value], pairs[1][0][value + 1]):
        needed[k] += contributed[k] and is_read
        contributed[k] = False


@compiled_inline
def _run(rows: Any, row: Any, told: Any, pairs: Any, state: Any, earlier: Any, result: Any) -> None:
    """Count what one row needs; those that tell decisions need sums to be complete.

    ``state`` are the versions of values, what pairs have of them, sums with contributions that nobody has
    read, and whose, and the earlier versions that the row reads, 0 for none.
    """
    owners, removed = told
    code = owners.code
    version, has, is_open, contributed, old = state
    sink, (made, needed) = rows.row_sink[row], result[1]
    owner = owner_of(code[sink])
    is_told = len(removed) > 0 and removed[sink]
    first, last = rows.term_ptr[row], rows.term_ptr[row + 1]
    for v in rows.source[rows.source_ptr[first] : rows.source_ptr[last]]:
        if is_open[v]:
            _end_sum(v, True, pairs, state, needed)
    if is_open[sink] and not rows.row_accumulates[row]:
        _end_sum(sink, False, pairs, state, needed)
    for t in range(first, last if not is_told else first):
        place, pair = _place_of(rows, t, row, owner, owners, pairs)
        for v in rows.source[rows.source_ptr[t] : rows.source_ptr[t + 1]]:
            if owner_of(code[v]) != place and not (len(removed) and removed[v]):
                now = old[v] if old[v] else version[v]
                _read(_pair_of(pairs[0], v, place), now, earlier[v], has, result)
        if pair >= 0 and not contributed[pair]:
            is_open[sink] = contributed[pair] = True
            made[pair] += 1


@compiled
def replay(rows: Any, timeline: Any, told: Any, pairs: Any, earlier: Any, result: Any) -> None:
    """Go through all events, with rows and sinks of the counted graph, and count what crosses.

    ``told`` are owners, and values whose flows are left out (may be empty). ``pairs`` are values with
    receivers, and sinks with contributors: pointer int64[V + 1] and parts of each. Of ``earlier`` values
    (bool[V]) earlier versions are read. In ``result``, zeros, are int64: how often a value was sent; how
    often partial results were made, and read; bool, pairs that some row needs; int64[N, 2], pairs and
    versions that were sent of values of ``earlier``, with repetitions; int64[2], operands that are no pair,
    and entries that would have been written.
    """
    event, row_of, sink_of, fill, vertex = timeline
    version, is_open = np.ones(len(earlier), np.int64), np.zeros(len(earlier), np.bool_)
    has, contributed = np.zeros(len(result[0]), np.int64), np.zeros(result[1].shape[1], np.bool_)
    old, noted = np.zeros((2, len(earlier)), np.int64)
    num_old, at, is_inside = 0, 0, len(event) == 0 or event[0] != OUTSIDE
    while at < len(event):
        e = event[at]
        at += 1
        if e >= 0:
            r, s = row_of[e], sink_of[e]
            if r >= 0 and is_inside:
                state = version, has, is_open, contributed, old
                _run(rows, r, told, pairs, state, earlier, result)
            old[noted[:num_old]] = num_old = 0
            if s >= 0:
                version[s] += 1
            for d in range(fill[e, 0], fill[e, 1] if s == NONE else 0):
                if vertex[d] >= 0:
                    version[vertex[d]] += 1
        elif e > EARLIER:
            is_inside = e == INSIDE
        else:
            v = EARLIER - e
            if not old[v]:
                noted[num_old] = v
                num_old += 1
            old[v] = version[v] - (version[v] - event[at]) % ORDER_VERSIONS
            at += 1
