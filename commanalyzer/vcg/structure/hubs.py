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

from dataclasses import dataclass

import numpy as np

from commanalyzer.errors import ConfigError
from commanalyzer.foundation.compiled import frozen
from commanalyzer.frontend.decisions import USES
from commanalyzer.vcg.contraction.contract import merge_leaves, merge_registers, representatives, uses_of
from commanalyzer.vcg.graph import Bool, Int32, Int64
from commanalyzer.vcg.storage.large import AnyGraph, stand_for
from commanalyzer.vcg.structure.degrees import bound_neighbours, count_neighbours
from commanalyzer.vcg.structure.singletons import HIGH, degree_centroid, distance_score

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
    root, counter = _contracted(graph)
    peeled = _peel_by_bounds(graph, root, counter, high)
    mask = None if peeled is None else _with_registers(graph, root, peeled, high)
    if mask is None:
        mask = _with_registers(graph, root, _peel(graph, root, counter, high), high)
    assert mask is not None  # exact degrees leave nothing open
    return frozen(mask | stand_for(graph, *USES), np.bool_)


@dataclass(frozen=True, slots=True)
class _Peeled:
    """Hubs among the vertices that stand for others.

    Attributes:
        mask: bool[V].
        centroids: What the degree centroid of all vertices, hubs included, lies between.
    """

    mask: Bool
    centroids: tuple[float, float]


def _with_registers(graph: AnyGraph, root: Int32, peeled: _Peeled, high: float) -> Bool | None:
    """Return bool[V], hubs with the registers that are part of one; ``None`` where the centroid is too vague.

    A register merged into a hub is part of it only if it is a reduction itself, not one of many inputs.
    """
    inner = peeled.mask[root] & (root != np.arange(graph.num_vertices)) & graph.is_register
    if not inner.any():
        return peeled.mask
    degree = count_neighbours(graph, of=inner)
    most, least = (inner & (distance_score(degree, centroid) >= high) for centroid in peeled.centroids)
    return peeled.mask | least if np.array_equal(least, most) else None


def _contracted(graph: AnyGraph) -> tuple[Int32, Bool]:
    """Return int32[V], the vertex that stands for each one, and bool[V], counters."""
    uses = uses_of(graph)
    target = merge_leaves(graph, uses, merge_registers(graph, uses))
    return representatives(target), uses.is_counter


def _peel_by_bounds(graph: AnyGraph, root: Int32, counter: Bool, high: float) -> _Peeled | None:
    """Return what :func:`_peel` does if bounds of the degrees are enough to tell, else ``None``.

    In most programs no degree is anywhere near where it would matter.
    """
    mask, centroids = np.zeros(len(root), dtype=np.bool_), list[tuple[float, float]]()
    for _ in range(_MAX_ROUNDS):
        least, most = bound_neighbours(graph, root, ~mask)
        centroids.append((degree_centroid(least), degree_centroid(most)))
        sure = _found(least, most, centroids[-1][1], counter, high)
        if len(sure) != len(_found(most, least, centroids[-1][0], counter, high)):
            return None
        if not len(sure):
            break
        mask[sure] = True
    return _Peeled(mask, centroids[0])


def _peel(graph: AnyGraph, root: Int32, counter: Bool, high: float) -> _Peeled:
    """Return the hubs, found by taking out the most extreme ones and looking again."""
    degree = count_neighbours(graph, root)
    centroid = degree_centroid(degree)
    mask = np.zeros(len(degree), dtype=np.bool_)
    for _ in range(_MAX_ROUNDS):
        found = _found(degree, degree, degree_centroid(degree), counter, high)
        if not len(found):
            break
        gone = np.zeros(len(degree), dtype=np.bool_)
        gone[found] = True
        mask |= gone
        degree[found] = 0
        degree -= count_neighbours(graph, root, of=~mask, among=gone)
    return _Peeled(mask, (centroid, centroid))


def _found(degree: Int32, others: Int32, centroid: float, counter: Bool, high: float) -> Int64:
    """Return the vertices that are hubs by condition 1 and 2 if these are their degrees, those of ``others``.

    More are found the higher the degrees are, the lower those of others and the centroid.
    """
    centroid = max(centroid, 1.0)
    near = np.flatnonzero(degree > (1.0 - 1e-6) * centroid / (1.0 - high))
    extreme = near[distance_score(degree[near], centroid) >= high]
    return extreme[counter[extreme] | (degree[extreme] > _population(others, degree[extreme]))]


def _population(degree: Int32, chosen: Int32) -> Int64:
    """Return int64[K], how many vertices have at least half of each of some degrees."""
    if not len(chosen):
        return np.zeros(0, np.int64)
    half = (chosen + 1) // 2
    larger = np.sort(degree[degree >= half.min()])
    return np.asarray(len(larger) - np.searchsorted(larger, half), dtype=np.int64)
