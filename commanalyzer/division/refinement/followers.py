"""Values that follow others: owners of some values -> owners of all, beside what they exchange bytes with.

Coarse vertices place what follows only as finely as they are themselves, and where a program's arrays differ
in order, they hold values of many parts. Here every value is asked for itself, in passes over all flows:
those whose neighbours have owners go where most of their bytes go, then those beside these.

Of each value only the part that leads and its lead are kept, whatever the number of parts: the part with more
than half of the bytes always wins (Boyer and Moore, MJRTY, 1981, with weights); where no part has that many,
one of those with many does. The compiled pass works on::

    anchor[v]      the value whose owner v gets
    owner[v]       of an anchor: its part, or ~i if it is the free anchor number i
    leader[i]      part that leads at the free anchor i, -1 before anything is known
    lead_bytes[i]  by how many bytes
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.division.coarsening.link_kernels import flow_bytes
from commanalyzer.foundation.compiled import compiled_in_place
from commanalyzer.graph.storage.large import AnyGraph
from commanalyzer.graph.storage.slices import row_slices
from commanalyzer.graph.value_graph import Int32

_MOST_ROUNDS = 16


def beside_neighbours(graph: AnyGraph, vertex: Int32, anchor: Int32, given: Int32, otherwise: Int32) -> Int32:
    """Return int32[V], owners of all values: given ones, and for others where most of their bytes go.

    Args:
        graph: Value graph.
        vertex: int32[V], -1 for hubs, which have no say.
        anchor: int32[V], values that follow the same one have one owner.
        given: int32[V], owners, -1 for values that follow.
        otherwise: int32[V], owners of what exchanges bytes with no value that has an owner.
    """
    owner = given.copy()
    free = np.flatnonzero((given < 0) & (anchor == np.arange(len(given), dtype=np.int32)))
    owner[free] = ~np.arange(len(free), dtype=np.int32)
    leader, lead_bytes = np.full(len(free), -1, np.int32), np.zeros(len(free), np.int64)
    versions, width_bytes = graph.versions, graph.width_bytes
    for _ in range(_MOST_ROUNDS):
        for piece in row_slices(graph):
            _poll(piece, versions, width_bytes, vertex, anchor, owner, leader, lead_bytes)
        settled = np.flatnonzero((owner[free] < 0) & (leader >= 0))
        if not len(settled):
            break
        owner[free[settled]] = leader[settled]
    part = np.where(vertex >= 0, owner[anchor], np.int32(-1))
    np.copyto(part, given, where=given >= 0)
    np.copyto(part, otherwise, where=part < 0)
    return part


@compiled_in_place
def _poll(
    rows: Any, versions: Any, width: Any, vertex: Any, anchor: Any, owner: Any, leader: Any, lead_bytes: Any
) -> None:
    """Let the flows of a slice between an anchor with a part and a free one vote for the part of the latter.

    ``leader`` and ``lead_bytes`` change.
    """
    for r in range(len(rows.row_sink)):
        sink = rows.row_sink[r]
        if vertex[sink] < 0:
            continue
        here = owner[anchor[sink]]
        for i in range(rows.source_ptr[rows.term_ptr[r]], rows.source_ptr[rows.term_ptr[r + 1]]):
            s = rows.source[i]
            there = owner[anchor[s]]
            if vertex[s] < 0 or (here < 0) == (there < 0):
                continue
            volume = flow_bytes(rows.row_count[r], versions[s], width[s])
            free, part = (~here, there) if here < 0 else (~there, here)
            if leader[free] == part:
                lead_bytes[free] += volume
            elif lead_bytes[free] >= volume:
                lead_bytes[free] -= volume
            else:
                leader[free] = part
                lead_bytes[free] = volume - lead_bytes[free]
