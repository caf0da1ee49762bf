"""Owner maps: from the owners of a program's arrays to the owners of all values of its graph."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from commanalyzer.graph.value_graph import Int32, Int64, ValueGraph, sink_of_source

WORD = 8


def owners_of_values(graph: ValueGraph, arrays: Mapping[int, NDArray[np.int64]], parts: int) -> Int32:
    """Owners int32[V] where the elements of some arrays have given owners.

    A value elsewhere (matrix entry, workspace, named register) goes where most of the values are that it is
    computed from or that are computed from it; this spreads from the arrays. What is left goes to part 0.

    Args:
        graph: Value graph.
        arrays: int64[elements], owner of each 8-byte element, by the number of the object.
        parts: Number of parts.
    """
    part = np.full(graph.num_vertices, -1, dtype=np.int32)
    for number, owner in arrays.items():
        mine = np.flatnonzero(graph.home_object == number)
        part[mine] = owner[graph.home_offset[mine] // WORD]
    ends = sink_of_source(graph.rows).astype(np.int64), graph.rows.source.astype(np.int64)
    return np.maximum(spread(part, parts, *both_ways(*ends)), 0).astype(np.int32)


def both_ways(sink: Int64, source: Int64) -> tuple[Int64, Int64]:
    return np.concatenate((sink, source)), np.concatenate((source, sink))


def spread(part: Int32, parts: int, one: Int64, other: Int64) -> Int32:
    """Owners where those without one go to most of the ``other`` ends of their flows, again and again."""
    part = part.copy()
    while True:
        votes = np.flatnonzero((part[one] < 0) & (part[other] >= 0))
        if not len(votes):
            return part
        count = np.bincount(one[votes] * parts + part[other[votes]], minlength=len(part) * parts)
        table = count.reshape(len(part), parts)
        chosen = np.flatnonzero(table.any(axis=1))
        part[chosen] = table[chosen].argmax(axis=1)
