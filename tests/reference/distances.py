"""Distances between elements of arrays, by sorting lists of all flows: what the tallies must agree with."""

from collections import Counter

import numpy as np

from commanalyzer.graph.value_graph import Int32, Int64, ValueGraph

_LAGS = 4
Tally = dict[tuple[int, int], int]
"""Array and distance -> how often."""


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
