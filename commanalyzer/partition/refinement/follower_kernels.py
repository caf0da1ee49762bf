"""A compiled pass that asks values which part they exchange most bytes with.

anchor[v]      the value whose owner v gets
owner[v]       of an anchor: its part, or ~i if it is the free anchor number i
leader[i]      part that leads at the free anchor i, -1 before anything is known
lead_bytes[i]  by how many bytes
"""

from __future__ import annotations

from typing import Any

from commanalyzer.foundation.compiled import compiled_in_place
from commanalyzer.partition.coarsening.link_kernels import flow_bytes


@compiled_in_place
def poll(
    rows: Any, versions: Any, width: Any, vertex: Any, anchor: Any, owner: Any, leader: Any, lead_bytes: Any
) -> None:
    """Let the flows of a slice between an anchor with a part and a free one vote for the part of the latter.

    Rows of the slice, versions and bytes of the vertices, and coarse vertices, which are -1 for hubs; the
    rest is described above. ``leader`` and ``lead_bytes`` change.
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
