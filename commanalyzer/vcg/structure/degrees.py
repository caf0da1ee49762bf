"""Numbers of distinct neighbours: value graph -> degrees, without a list of all edges.

The neighbours of a block of vertices are listed at a time. Which slices of rows a block needs is noted while
ends are counted: where vertices are numbered as the program passes over them, few slices are looked at twice.
"""

from __future__ import annotations

import numpy as np

from commanalyzer.foundation.compiled import frozen
from commanalyzer.vcg.graph import Bool, Int32
from commanalyzer.vcg.storage.large import AnyGraph
from commanalyzer.vcg.storage.slices import row_slices
from commanalyzer.vcg.structure import degree_kernels as kernels

SOURCES, SINKS = kernels.SOURCES, kernels.SINKS
BLOCK_ENDS = 1 << 24
"""Ends of flows that are listed at once, at least."""

_MOST_BLOCKS = 8  # where all vertices are in all slices, each block costs a pass
_CHUNKS = 1024  # of vertices: what is noted of a slice
_NO_ROLE = 255


def count_neighbours(
    graph: AnyGraph,
    root: Int32 | None = None,
    *,
    of: Bool | None = None,
    among: Bool | None = None,
    sides: int = SOURCES | SINKS,
    skipped_role: int = _NO_ROLE,
) -> Int32:
    """Return int32[V], distinct neighbours of each vertex.

    Args:
        graph: Value graph.
        root: int32[V], vertex that each one is merged into; None for itself.
        of: bool[V], vertices whose neighbours are counted, 0 for others; None for all.
        among: bool[V], neighbours that count; None for all.
        sides: Whether sources, sinks or both are neighbours.
        skipped_role: Role of sources that are no flows.

    Time O(S) for S flows and up to 8 passes more over them; memory 21 bytes per vertex beside a block.
    """
    v = graph.num_vertices
    stands = np.arange(v, dtype=np.int32) if root is None else root
    every = np.ones(v, np.bool_)
    marks = (every if of is None else of) * np.uint8(kernels.OF)
    marks |= (every if among is None else among) * np.uint8(kernels.AMONG)
    rule = (skipped_role, frozen(stands, np.int32), frozen(marks, np.uint8), sides)
    ends, bits, touched = np.zeros(v, np.uint32), max(v // _CHUNKS, 1).bit_length(), list[Bool]()
    for rows in row_slices(graph):
        touched.append(np.zeros(_CHUNKS, np.bool_))
        kernels.note_ends(rows, *rule, 0, v, ends, np.empty(0, np.int32), bits, touched[-1])
    count, seen = np.zeros(v, np.int32), np.full(v, -1, np.int32)
    total, first = np.cumsum(ends, dtype=np.int64), 0
    most = max(BLOCK_ENDS, int(total[-1:].sum()) // _MOST_BLOCKS)
    while first < v:
        before = int(total[first] - ends[first])
        last = max(int(np.searchsorted(total, before + most, side="right")), first + 1)
        block, found = ends[first:last], np.empty(int(total[last - 1]) - before, np.int32)
        place = np.cumsum(block, dtype=np.uint32) - block
        wanted = np.array([t[first >> bits : ((last - 1) >> bits) + 1].any() for t in touched])
        for rows in row_slices(graph, wanted=wanted if len(found) else np.zeros_like(wanted)):
            kernels.note_ends(rows, *rule, first, last, place, found, bits, touched[0])
        kernels.count_distinct(place, found, first, seen, count)
        first = last
    return count
