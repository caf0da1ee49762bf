"""Hubs of the ``volume`` model: value graph -> vertices that must not attract what they are connected to.

Placement of values is free, but a reduction must not pull its inputs to itself: a partitioner would sort a
histogram's items by bin, which no program can do before it knows the answer. Hubs are taken out before
partitioning and charged afterwards by what they really touch.

The rule, applied to the graph with private registers and single-use leaves contracted. Vertex v with d(v)
distinct neighbours is a hub if

1. it is extreme: ``1 - centroid / d(v) >= high`` (the paper's distance score; 0.9 means 10 times the
   centroid), and
2. it has more neighbours than there are vertices like it: ``d(v) > #{w : d(w) >= d(v) / 2}``; or it is a
   *counter*, a sink of pure counts, whose contributors chose it by their value (``SourceRole.ADDRESS``), or
   what all of these contribute (the charge of a particle).

Reason for 2: values of one population (mesh cells, vector elements, matrix entries) are connected to each
other or to a population of similar size, so none of them can have more neighbours than the population has
members. In a dense matrix-vector product x and y have degree n and there are 2n of them; with 10 entries
per row degrees are about 20 among 2n. A norm, a CG scalar, a parameter, a centroid is one of few and
touches many. The factor 2 keeps the largest member of an ordinary population from being compared only with
itself. Counters are exempt because bins may outnumber the items of a bin, and the index says that the items
were not placed by the program.

Rule and degrees are applied again after the hubs found so far are taken out, until nothing is found: the
membership of a K-means object is connected to all centroids only until these are gone.

Reference: paper Algorithm 3 with Definition 4.3 for the score; condition 2 and the contraction are
extensions.
"""

from __future__ import annotations

import numpy as np

from commanalyzer.foundation.compiled import frozen
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.graph.contraction.contract import merge_leaves, merge_registers, representatives, uses_of
from commanalyzer.graph.storage.large import AnyGraph, stand_for
from commanalyzer.graph.structure.degrees import count_neighbours
from commanalyzer.graph.structure.singletons import HIGH, degree_centroid, distance_score
from commanalyzer.graph.value_graph import Bool, Int32, Int64
from commanalyzer.program.frontend.decisions import USES

_MAX_ROUNDS = 16


def find_hubs(graph: AnyGraph, high: float = HIGH) -> Bool:
    """Return bool[V], the hubs of ``graph`` by the rule of this module; read only.

    Args:
        graph: Value graph with terms and registers.
        high: Score from which a degree is extreme, in (0, 1).

    Raises:
        ConfigError: If ``high`` lies outside (0, 1).
    """
    if not 0.0 < high < 1.0:
        raise ConfigError(
            f"hub threshold must lie in (0, 1), found {high}", hint="0.9 means 10 times the centroid"
        )
    uses = uses_of(graph)
    root = representatives(merge_leaves(graph, uses, merge_registers(graph, uses)))
    mask, centroid = _peel(graph, root, uses.is_counter, high)
    # a register merged into a hub is part of it only if it is a reduction itself, not one of many inputs
    inner = mask[root] & (root != np.arange(graph.num_vertices)) & graph.is_register
    if inner.any():
        mask |= inner & (distance_score(count_neighbours(graph, of=inner), centroid) >= high)
    return frozen(mask | stand_for(graph, *USES), np.bool_)


def _peel(graph: AnyGraph, root: Int32, counter: Bool, high: float) -> tuple[Bool, float]:
    """Return bool[V], hubs among the vertices that stand for others, and the degree centroid of all of these.

    They are found by taking out the most extreme ones and looking again.
    """
    degree = count_neighbours(graph, root)
    centroid = degree_centroid(degree)
    mask = np.zeros(len(degree), dtype=np.bool_)
    for _ in range(_MAX_ROUNDS):
        found = _found(degree, counter, high)
        if not len(found):
            break
        gone = np.zeros(len(degree), dtype=np.bool_)
        gone[found] = True
        mask |= gone
        degree[found] = 0
        degree -= count_neighbours(graph, root, of=~mask, among=gone)
    return mask, centroid


def _found(degree: Int32, counter: Bool, high: float) -> Int64:
    """Return the vertices that are hubs by condition 1 and 2 if these are the degrees."""
    centroid = max(degree_centroid(degree), 1.0)
    near = np.flatnonzero(degree > (1.0 - 1e-6) * centroid / (1.0 - high))
    extreme = near[distance_score(degree[near], centroid) >= high]
    return extreme[counter[extreme] | (degree[extreme] > _population(degree, degree[extreme]))]


def _population(degree: Int32, chosen: Int32) -> Int64:
    """Return int64[K], how many vertices have at least half of each of some degrees."""
    if not len(chosen):
        return np.zeros(0, np.int64)
    half = (chosen + 1) // 2
    larger = np.sort(degree[degree >= half.min()])
    return np.asarray(len(larger) - np.searchsorted(larger, half), dtype=np.int64)
