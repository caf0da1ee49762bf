"""Hubs of the ``volume`` model: value graph -> vertices that must not attract what they are connected to.

Placement of values is free, but a reduction must not pull its inputs to itself: a partitioner would sort a
histogram's items by bin, which no program can do before it knows the answer. Hubs are taken out before
partitioning and charged afterwards by what they really touch.

The rule, applied to the graph with private registers and single-use leaves contracted. Vertex v with d(v)
distinct neighbours is a hub if

1. it is extreme: ``1 - centroid / d(v) >= high`` (the paper's distance score; 0.9 means 10 times the
   centroid), and
2. it has more neighbours than there are vertices like it: ``d(v) > #{w : d(w) >= d(v) / 2}``; or it is a
   *counter*, a sink of pure counts, whose contributors chose it by their value (``SourceRole.ADDRESS``).

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
from commanalyzer.vcg import edge_kernels as kernels
from commanalyzer.vcg.contract import merge_leaves, merge_registers, representatives
from commanalyzer.vcg.edges import Neighbours, contracted_edges, distinct_edges, neighbours, undirected_degree
from commanalyzer.vcg.graph import Bool, Int64, SourceRole, ValueGraph
from commanalyzer.vcg.singletons import HIGH, degree_centroid, distance_score

_MAX_ROUNDS = 16


@dataclass(frozen=True, slots=True)
class Hubs:
    """Hubs of one value graph.

    Attributes:
        mask: bool[V], the vertex is a hub.
        degree: int64[V], contracted degree of each representative (0 for vertices merged into another).
        centroid: Degree centroid of the contracted graph before any hub was taken out.
    """

    mask: Bool
    degree: Int64
    centroid: float

    def __post_init__(self) -> None:
        self.mask.setflags(write=False)
        self.degree.setflags(write=False)

    @property
    def num_hubs(self) -> int:
        """Number of hubs."""
        return int(self.mask.sum())


def find_hubs(graph: ValueGraph, high: float = HIGH) -> Hubs:
    """Return the hubs of ``graph`` by the rule of this module.

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
    v = graph.num_vertices
    edges = distinct_edges(graph)
    root = representatives(merge_leaves(graph, edges, merge_registers(graph, edges)))
    adjacent = neighbours(contracted_edges(edges, root))
    degree = adjacent.degree
    centroid = degree_centroid(degree)
    mask = _peel(adjacent, _counters(graph), high)
    # A register merged into a hub is part of it only if it is a reduction itself, not one of many inputs.
    inner = mask[root] & (root != np.arange(v)) & graph.is_register
    if inner.any():
        mask |= inner & (distance_score(undirected_degree(edges), centroid) >= high)
    return Hubs(mask, degree, centroid)


def _counters(graph: ValueGraph) -> Bool:
    """Return bool[V], sinks of pure counts."""
    counter = np.zeros(graph.num_vertices, dtype=np.bool_)
    address = int(SourceRole.ADDRESS)
    kernels.mark_sinks_of_role(
        graph.row_sink, graph.term_ptr, graph.source_ptr, graph.source_role, address, counter
    )
    return counter


def _peel(adjacent: Neighbours, counter: Bool, high: float) -> Bool:
    """Return the hubs, found by taking out the most extreme ones and looking again."""
    degree = adjacent.degree.copy()
    mask = np.zeros(len(degree), dtype=np.bool_)
    for _ in range(_MAX_ROUNDS):
        extreme = distance_score(degree, max(degree_centroid(degree), 1.0)) >= high
        found = extreme & (counter | (degree > _population(degree)))
        if not found.any():
            break
        sources = (adjacent.edges.pointer, adjacent.edges.source)
        sinks = (adjacent.out_pointer, adjacent.sink)
        kernels.take_out(np.flatnonzero(found), *sources, *sinks, mask, degree)
    return mask


def _population(degree: Int64) -> Int64:
    """Return int64[V], how many vertices have at least half the degree of each vertex (itself included)."""
    fewer = np.concatenate(([0], np.cumsum(np.bincount(degree))))  # vertices of a degree below each number
    return (len(degree) - fewer[(degree + 1) // 2]).astype(np.int64)
