"""Distances between elements of arrays, by sorting lists of all flows: what the tallies must agree with."""

from __future__ import annotations

from collections import Counter

import numpy as np

from commanalyzer.vcg.graph import Int32, Int64, ValueGraph
from commanalyzer.vcg.structure.segments import sink_of_source

_LAGS = 4
Tally = dict[tuple[int, int], int]
"""Array and distance -> how often."""


def steps(graph: ValueGraph, index: Int32, size: Int64, owner: Int32) -> Tally:
    """Distances between elements and what they are computed from, in arrays of the same size."""
    sink, source = sink_of_source(graph.rows), graph.rows.source
    read = size[owner[source]]
    alike = (size[owner[sink]] == read) & (read > 0)
    sink, source = sink[alike], source[alike]
    apart, other = np.abs(index[sink].astype(np.int64) - index[source]), owner[source] != owner[sink]
    return _counted(
        np.concatenate((owner[sink], owner[source[other]])), np.concatenate((apart, apart[other]))
    )


def gaps(graph: ValueGraph, index: Int32, owner: Int32) -> Tally:
    """Distances between elements of one array that are read together."""
    source = graph.rows.source
    entry = np.flatnonzero(owner[source] >= 0)
    row = graph.rows.row_of_source()[entry]
    order = np.lexsort((index[source[entry]], owner[source[entry]], row))
    row, entry = row[order], entry[order]
    array, place = owner[source[entry]], index[source[entry]].astype(np.int64)
    of, apart = [], []
    for lag in range(1, _LAGS + 1):
        same = (row[lag:] == row[:-lag]) & (array[lag:] == array[:-lag])
        of.append(array[lag:][same])
        apart.append((place[lag:] - place[:-lag])[same])
    return _counted(np.concatenate(of), np.concatenate(apart))


def _counted(array: Int32, distance: Int64) -> Tally:
    pairs = zip(array.tolist(), distance.tolist(), strict=True)
    return dict(Counter((a, d) for a, d in pairs if d > _LAGS))
