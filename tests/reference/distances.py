"""Distances between elements of arrays, by sorting lists of all flows: what the tallies must agree with."""

from __future__ import annotations

import numpy as np

from commanalyzer.vcg.graph import Int32, Int64, ValueGraph
from commanalyzer.vcg.segments import sink_of_source

_LAGS = 4


def steps(graph: ValueGraph, index: Int32, size: Int64, owner: Int32) -> dict[int, int]:
    """Distances between elements and what they are computed from, in arrays of the same size."""
    sink, source = sink_of_source(graph), graph.source
    read = size[owner[source]]
    alike = (size[owner[sink]] == read) & (read > 0)
    return _counted(np.abs(index[sink[alike]].astype(np.int64) - index[source[alike]]))


def gaps(graph: ValueGraph, index: Int32, owner: Int32) -> dict[int, int]:
    """Distances between elements of one array that are read together."""
    source = graph.source
    entry = np.flatnonzero(owner[source] >= 0)
    row = graph.row_of_source()[entry]
    order = np.lexsort((index[source[entry]], owner[source[entry]], row))
    row, entry = row[order], entry[order]
    array, place = owner[source[entry]], index[source[entry]].astype(np.int64)
    apart = []
    for lag in range(1, _LAGS + 1):
        same = (row[lag:] == row[:-lag]) & (array[lag:] == array[:-lag])
        apart.append((place[lag:] - place[:-lag])[same])
    return _counted(np.concatenate(apart))


def _counted(distance: Int64) -> dict[int, int]:
    distinct, times = np.unique(distance[distance > _LAGS], return_counts=True)
    return dict(zip(distinct.tolist(), times.tolist(), strict=True))
