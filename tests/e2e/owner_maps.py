"""Owner maps: from the owners of a program's arrays to the owners of all values of its graph."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from commanalyzer.vcg.graph import Int32, Int64, ValueGraph
from commanalyzer.vcg.segments import sink_of_source

WORD = 8


def owners_of_values(graph: ValueGraph, arrays: Mapping[int, NDArray[np.int64]], parts: int) -> Int32:
    """Owners int32[V] where the elements of some arrays have given owners.

    Values elsewhere (matrix entries, named registers) go where most of their known readers are, values
    without known readers where most of their known sources are, and what is left to part 0.

    Args:
        graph: Value graph.
        arrays: int64[elements], owner of each 8-byte element, by the number of the object.
        parts: Number of parts.
    """
    part = np.full(graph.num_vertices, -1, dtype=np.int64)
    for number, owner in arrays.items():
        mine = np.flatnonzero(graph.home_object == number)
        part[mine] = owner[graph.home_offset[mine] // WORD]
    sink, source = sink_of_source(graph), graph.source
    for _ in range(graph.num_vertices):
        before = int(np.count_nonzero(part < 0))
        _follow(part, source, sink, parts)
        if np.count_nonzero(part < 0) == before:
            _follow(part, sink, source, parts)
        if np.count_nonzero(part < 0) == before:
            break
    return np.maximum(part, 0).astype(np.int32)


def _follow(part: Int64, value: Int64 | Int32, other: Int64 | Int32, parts: int) -> None:
    """Give values without an owner that of most of the others that they are linked to."""
    votes = np.flatnonzero((part[value] < 0) & (part[other] >= 0))
    count = np.bincount(value[votes] * parts + part[other[votes]], minlength=len(part) * parts)
    table = count.reshape(len(part), parts)
    chosen = np.flatnonzero(table.any(axis=1))
    part[chosen] = table[chosen].argmax(axis=1)
