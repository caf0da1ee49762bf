"""Owner maps: from the owners of a program's arrays to the owners of all values of its graph."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from commanalyzer.graph.value_graph import Int32, ValueGraph, sink_of_source

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
    part = np.full(graph.num_vertices, -1, dtype=np.int64)
    for number, owner in arrays.items():
        mine = np.flatnonzero(graph.home_object == number)
        part[mine] = owner[graph.home_offset[mine] // WORD]
    sink, source = sink_of_source(graph.rows).astype(np.int64), graph.rows.source.astype(np.int64)
    one, other = np.concatenate((sink, source)), np.concatenate((source, sink))
    while True:
        votes = np.flatnonzero((part[one] < 0) & (part[other] >= 0))
        if not len(votes):
            return np.maximum(part, 0).astype(np.int32)
        count = np.bincount(one[votes] * parts + part[other[votes]], minlength=len(part) * parts)
        table = count.reshape(len(part), parts)
        chosen = np.flatnonzero(table.any(axis=1))
        part[chosen] = table[chosen].argmax(axis=1)
