"""Compiled passes over the flows of hubs: which hubs flow into each other, what they exchange with parts.

dense[v]   number of hub v, -1 for other values
"""

from __future__ import annotations

from typing import Any

from commanalyzer.foundation.compiled import compiled
from commanalyzer.partition.libraries.flow_bytes import flow_bytes


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
def count_outer_links(row_sink: Any, term_ptr: Any, source_ptr: Any, source: Any, dense: Any) -> Any:
    """Return the number of flows between hubs and other values."""
    count = 0
    for r in range(len(row_sink)):
        is_hub = dense[row_sink[r]] >= 0
        for i in range(source_ptr[term_ptr[r]], source_ptr[term_ptr[r + 1]]):
            count += (dense[source[i]] >= 0) != is_hub
    return count


@compiled
def list_outer_links(
    row_sink: Any,
    row_count: Any,
    term_ptr: Any,
    source_ptr: Any,
    source: Any,
    versions: Any,
    width_bytes: Any,
    dense: Any,
    hub: Any,
    value: Any,
    volume: Any,
) -> None:
    """Write the hub, the other value and the bytes of the flows that :func:`count_outer_links` counts."""
    count = 0
    for r in range(len(row_sink)):
        sink = dense[row_sink[r]]
        for i in range(source_ptr[term_ptr[r]], source_ptr[term_ptr[r + 1]]):
            s = source[i]
            if (dense[s] >= 0) == (sink >= 0):
                continue
            hub[count] = max(sink, dense[s])
            value[count] = row_sink[r] if sink < 0 else s
            volume[count] = flow_bytes(row_count[r], versions[s], width_bytes[s])
            count += 1


@compiled
def add_traffic(hub: Any, value: Any, volume: Any, group: Any, owner: Any, traffic: Any) -> None:
    """Add the bytes between hubs and other values to ``traffic`` int64[G, p], by groups and owners."""
    for i in range(len(hub)):
        traffic[group[hub[i]], owner[value[i]]] += volume[i]
