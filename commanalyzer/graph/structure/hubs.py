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

Contraction of vertices that have no life of their own: value graph -> representative of every vertex.

Two kinds of vertices only carry something to one neighbour: *private registers* (named register values
with one consumer) and *single-use leaves* (read in one place, computed from nothing, written at most once:
a matrix entry). Merging them leaves the connectivity of the values that a program would distribute.
"""

from __future__ import annotations

import numpy as np

from commanalyzer.foundation.compiled import frozen
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.graph.contraction import kernels
from commanalyzer.graph.storage.slices import chosen_rows, joined_rows, row_slices
from commanalyzer.graph.storage.store import AnyGraph, stand_for
from commanalyzer.graph.structure.singletons import HIGH, count_neighbours, degree_centroid, distance_score
from commanalyzer.graph.value_graph import Bool, Int32, Int64, Rows
from commanalyzer.program.frontend.decisions import USES


def uses_of(graph: AnyGraph) -> kernels.Uses:
    """Pass over ``graph`` once."""
    v = graph.num_vertices
    private = graph.is_register | graph.is_temporary
    has_others, contributes, is_computed, is_counter = np.zeros((4, v), np.bool_)
    reader, fold_slice = np.full(v, -1, np.int32), np.full(v, -1, np.int32)
    entries = np.zeros(v, np.uint8)
    uses = kernels.Uses(reader, has_others, contributes, is_computed, is_counter, entries, fold_slice)
    for number, rows in enumerate(row_slices(graph)):
        kernels.note_uses(rows, number, private, uses)
    return uses


def merge_registers(graph: AnyGraph, uses: kernels.Uses) -> Int32:
    """Return int32[V], the vertex that each private register merges into, other vertices themselves.

    A register that is a term of a foldable row is left alone: it is a contribution, and the part that holds
    its operands may compute it, so it must not be glued to the sink.
    """
    own = np.arange(graph.num_vertices, dtype=np.int32)
    return np.where((uses.reader >= 0) & ~uses.has_others & ~uses.contributes, uses.reader, own)


def merge_leaves(graph: AnyGraph, uses: kernels.Uses, target: Int32) -> Int32:
    """Return ``target`` with every single-use leaf merged into a neighbour as well.

    In a row that does not fold, the leaf merges into the sink. In a term it merges into another operand
    (the entry ``A[i][j]`` into ``x[j]``), provided that operand enters the sink only once; a leaf that is
    alone in its term stays, because it *is* the contribution (the item of a histogram, the element of a
    sum). Of several operands, the first that is no leaf itself is chosen, else the first. Operands that enter
    the sink repeatedly (a factor of the whole sum) are no partner, or the sum would look as if it had only
    that one operand.
    """
    leaf = (uses.entries == 1) & ~uses.is_computed
    if leaf.any():
        leaf &= graph.versions - graph.is_input <= 1
    if not leaf.any():
        return target
    merged = target.copy()
    folds = bool((uses.fold_slice != kernels.NO_FOLD).any())
    size = graph.num_vertices if folds else 0
    times, latest = np.zeros(size, np.int32), np.full(size, -1, np.int32)
    scattered: list[Rows] = []
    for rows in row_slices(graph):
        wanted = np.zeros(rows.num_rows, np.bool_)
        kernels.point_leaves_to_sinks(rows, leaf, merged, wanted)
        if wanted.any():
            whole = wanted & (uses.fold_slice[rows.row_sink] != kernels.SEVERAL_SLICES)
            _point_to_operands(rows, whole, leaf, times, latest, merged)
            if (wanted & ~whole).any():
                scattered.append(chosen_rows(rows, wanted & ~whole))
    if scattered:
        joined = joined_rows(scattered)
        _point_to_operands(joined, np.ones(joined.num_rows, np.bool_), leaf, times, latest, merged)
    return merged


def _point_to_operands(
    rows: Rows, wanted: Bool, leaf: Bool, times: Int32, latest: Int32, merged: Int32
) -> None:
    """Set the targets of leaves in some rows, among which are all of their sinks with leaves."""
    chosen = np.flatnonzero(wanted)
    order = chosen[np.argsort(rows.row_sink[chosen], kind="stable")]
    kernels.point_leaves_to_operands(rows, order, leaf, times, latest, merged)


def representatives(target: Int32) -> Int32:
    """Return int32[V], the vertex that each vertex ends up in when merges are followed to their end.

    A cycle of merges (registers of a loop that only feed each other) is represented by its first vertex.
    """
    first = np.empty(len(target), dtype=np.int32)
    kernels.unite_targets(target, first)
    root = np.arange(len(target), dtype=np.int32)
    fixed = np.flatnonzero(target == root)
    root[first[fixed]] = fixed
    return root[first]


_MAX_ROUNDS = 16


def find_hubs(graph: AnyGraph, high: float = HIGH) -> Bool:
    """Return bool[V], hubs by the rule above, read only; a :class:`ConfigError` unless ``0 < high < 1``."""
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
    if not len(extreme):
        return extreme
    half = (degree[extreme] + 1) // 2
    larger = np.sort(degree[degree >= half.min()])
    population = len(larger) - np.searchsorted(larger, half)  # vertices with at least half of each degree
    return extreme[counter[extreme] | (degree[extreme] > population)]
