"""Contraction of vertices that have no life of their own: value graph -> representative of every vertex.

Two kinds of vertices only carry something to one neighbour: *private registers* (named register values
with one consumer) and *single-use leaves* (read in one place, computed from nothing, written at most once:
a matrix entry). Merging them leaves the connectivity of the values that a program would distribute.
"""

from __future__ import annotations

import numpy as np

from commanalyzer.vcg import contract_kernels as kernels
from commanalyzer.vcg.edges import Edges, order_by
from commanalyzer.vcg.graph import Bool, Int64, ValueGraph


def merge_registers(graph: ValueGraph, edges: Edges) -> Int64:
    """Return int64[V], the vertex that each private register merges into, other vertices themselves.

    A register that is a term of a foldable row is left alone: it is a contribution, and the part that holds
    its operands may compute it, so it must not be glued to the sink.
    """
    v = graph.num_vertices
    target = np.arange(v, dtype=np.int64)
    contributes = np.zeros(v, dtype=np.bool_)
    kernels.mark_sources_of_folds(graph.row_fold, graph.term_ptr, graph.source_ptr, graph.source, contributes)
    private = (graph.is_register | graph.is_temporary) & (edges.out_degree == 1) & ~contributes
    kernels.point_to_readers(edges.pointer, edges.source, private, target)
    return target


def merge_tasks(graph: ValueGraph, target: Int64, removed: Bool, most_share: float) -> Int64:
    """Return ``target`` with register values and temporaries that feed each other merged.

    What is computed between reading arrays and writing them is one *task* (the work on one element): nobody
    divides it among nodes, and there are many private values in it. A task is a connected component of the
    private values. Values that link everything (a running sum) are not private: a component that holds more
    than ``most_share`` of all vertices is taken apart into those that do not need the links of reductions,
    and left alone where that does not help.

    Args:
        graph: Value graph.
        target: int64[V], merges so far.
        removed: bool[V], vertices that take no part.
        most_share: Largest share of a task.
    """
    v = graph.num_vertices
    private = (graph.is_register | graph.is_temporary) & ~removed
    merged = target.copy()
    first = np.empty(v, dtype=np.int64)
    for with_folds in (True, False):
        kernels.unite_flows(
            graph.row_sink,
            graph.row_fold,
            graph.term_ptr,
            graph.source_ptr,
            graph.source,
            private,
            with_folds,
            first,
        )
        size = np.bincount(first, minlength=v)[first]
        chosen = private & (size <= max(most_share * v, 2)) & (size > 1)
        merged[chosen] = first[chosen]
        private &= ~chosen
    return merged


def merge_leaves(graph: ValueGraph, edges: Edges, target: Int64) -> Int64:
    """Return ``target`` with every single-use leaf merged into a neighbour as well.

    In a row that does not fold, the leaf merges into the sink. In a term it merges into another operand
    (the entry ``A[i][j]`` into ``x[j]``), provided that operand enters the sink only once; a leaf that is
    alone in its term stays, because it *is* the contribution (the item of a histogram, the element of a
    sum). Of several operands, the first that is no leaf itself is chosen, else the first. Operands that enter
    the sink repeatedly (a factor of the whole sum) are no partner, or the sum would look as if it had only
    that one operand.
    """
    v = graph.num_vertices
    entries = np.bincount(graph.source, minlength=v)
    written = graph.versions - graph.is_input
    leaf = (entries == 1) & (edges.in_degree == 0) & (written <= 1)
    merged = target.copy()
    columns = (graph.row_sink, graph.row_fold, graph.term_ptr, graph.source_ptr, graph.source)
    kernels.point_leaves_to_sinks(*columns, leaf, merged)
    if graph.row_fold.any():
        _, rows = order_by(graph.row_sink, v)
        kernels.point_leaves_to_operands(rows, *columns, leaf, merged)
    return merged


def representatives(target: Int64) -> Int64:
    """Return int64[V], the vertex that each vertex ends up in when merges are followed to their end.

    A cycle of merges (registers of a loop that only feed each other) is represented by its first vertex.
    """
    first = np.empty(len(target), dtype=np.int64)
    kernels.unite_targets(target, first)
    root = np.arange(len(target), dtype=np.int64)
    fixed = np.flatnonzero(target == root)
    root[first[fixed]] = fixed
    return root[first]
