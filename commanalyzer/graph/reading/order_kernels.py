"""Compiled loops over the order of events: marks read, vertices named by what made them.

*Events* are rows of the trace (not negative) and marks: ``INSIDE`` and ``OUTSIDE`` of the analysed region,
and ``EARLIER - vertex``: the next row reads an earlier version of this vertex, which the next entry says.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.foundation.compiled import compiled_in_place
from commanalyzer.graph.reading.form_kernels import vertex_at
from commanalyzer.graph.reading.trace_kernels import find_range
from commanalyzer.recording.abi.trace_layout import ORDER_EARLIER, ORDER_INSIDE, ORDER_OUTSIDE

INSIDE, OUTSIDE, EARLIER = -1, -2, -3
_FACTOR = 0x9E3779B97F4A7C1  # odd: multiplication by it loses nothing


@compiled_in_place
def read_order(order: Any, starts: Any, base: Any, vertex: Any, event: Any) -> Any:
    """Write the section ``order`` (uint32) of a trace as events; return how many entries there are."""
    at, entries = 0, 0
    while at < len(order):
        unit = np.int64(order[at])
        at += 1
        if unit in (ORDER_INSIDE, ORDER_OUTSIDE):
            event[entries] = INSIDE if unit == ORDER_INSIDE else OUTSIDE
        elif unit == ORDER_EARLIER:
            version, word = np.int64(order[at]), np.int64(order[at + 1]) | np.int64(order[at + 2]) << 32
            c = find_range(word, starts)
            v = vertex_at(base[c] + word - starts[c], vertex)
            at += 3
            if v < 0:
                continue
            event[entries] = EARLIER - v
            entries += 1
            event[entries] = version
        else:
            event[entries] = unit
        entries += 1
    return entries


@compiled_in_place
def name_defined(rows: Any, is_defined: Any, offset: Any, name: Any) -> None:
    """Name vertices that rows define by site, place and the names of what their first row reads.

    ``name`` int64[V] is the result, 0 for all that are to be named.
    The order of sources does not matter: it is that of their numbers.
    """
    for r in range(len(rows.row_sink)):
        v = rows.row_sink[r]
        if not is_defined[v] or name[v] != 0:
            continue
        total = np.int64(rows.row_site[r]) * _FACTOR + offset[v] + 1
        for i in range(rows.source_ptr[rows.term_ptr[r]], rows.source_ptr[rows.term_ptr[r + 1]]):
            mixed = (name[rows.source[i]] ^ np.int64(rows.source_role[i]) << 60) * _FACTOR
            total += (mixed ^ (mixed >> 29)) * _FACTOR
        name[v] = (total ^ (total >> 31)) * _FACTOR | 1
