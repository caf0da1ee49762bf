"""Compiled passes over the flows of hubs: which hubs flow into each other, what they exchange with parts.

dense[v]   number of the group of hub v, -1 for other values
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.compiled import compiled
from commanalyzer.partition.flow_bytes import flow_bytes


@compiled
def list_hub_links(
    row_sink: Any, term_ptr: Any, source_ptr: Any, source: Any, dense: Any, one: Any, other: Any
) -> Any:
    """Write the ends of the flows from hub to hub to ``one`` and ``other``; return how many there are.

    Only as many are written as there is room for.
    """
    count = 0
    for r in range(len(row_sink)):
        sink = dense[row_sink[r]]
        if sink < 0:
            continue
        for i in range(source_ptr[term_ptr[r]], source_ptr[term_ptr[r + 1]]):
            if dense[source[i]] >= 0:
                if count < len(one):
                    one[count], other[count] = sink, dense[source[i]]
                count += 1
    return count


@compiled
def add_traffic(
    row_sink: Any,
    row_count: Any,
    term_ptr: Any,
    source_ptr: Any,
    source: Any,
    versions: Any,
    width_bytes: Any,
    owner: Any,
    dense: Any,
    traffic: Any,
) -> None:
    """Add the bytes between hubs and other values to ``traffic`` int64[G, p], by groups and owners."""
    for r in range(len(row_sink)):
        sink = np.int64(dense[row_sink[r]])
        here = owner[row_sink[r]]
        for i in range(source_ptr[term_ptr[r]], source_ptr[term_ptr[r + 1]]):
            s = source[i]
            group = np.int64(dense[s])
            if (group < 0) == (sink < 0):
                continue
            volume = flow_bytes(row_count[r], versions[s], width_bytes[s])
            if group < 0:
                traffic[sink, owner[s]] += volume
            else:
                traffic[group, here] += volume
