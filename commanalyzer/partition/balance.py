"""Work of each part: contributions to reductions where they are combined, the rest at the owner."""

from __future__ import annotations

import numpy as np

from commanalyzer.vcg.graph import Bool, Float64, Fold, Int32, Int64, ValueGraph
from commanalyzer.vcg.segments import row_of_term


def work_by_part(
    graph: ValueGraph, removed: Bool, part: Int32, num_parts: int, folded: tuple[Int32, Int32]
) -> Float64:
    """Return float64[p], floating-point operations of each part; without any in the graph, values.

    Args:
        graph: Value graph.
        removed: bool[V], hubs: they have no say in where a term is computed.
        part: int32[V], owners.
        num_parts: Number of parts p.
        folded: Sinks and parts that combine contributions to them; other terms are computed by the owner.
    """
    if not graph.work_flops.sum() > 0:
        return np.bincount(part[~removed], minlength=num_parts).astype(np.float64)
    row = row_of_term(graph)
    times = graph.row_count.astype(np.float64)
    per_sink = np.bincount(graph.row_sink, times * np.maximum(np.diff(graph.term_ptr), 1), graph.num_vertices)
    sink = graph.row_sink[row]
    share = times[row] / np.maximum(per_sink[sink], 1.0) * graph.work_flops[sink]
    pairs = folded[0].astype(np.int64) * num_parts + folded[1]
    where = _computed_at(graph, removed, part, row, num_parts, pairs)
    away = np.bincount(sink, share, graph.num_vertices)
    rest = np.maximum(graph.work_flops - away, 0.0)
    return np.asarray(np.bincount(where, share, num_parts) + np.bincount(part, rest, num_parts))


def _computed_at(
    graph: ValueGraph, removed: Bool, part: Int32, row: Int64, num_parts: int, pairs: Int64
) -> Int64:
    """Return int64[T], the part that computes each term: that of all its operands if it combines them."""
    where = part[graph.row_sink[row]].astype(np.int64)
    foldable = (graph.row_fold != int(Fold.NONE))[row]
    filled = np.flatnonzero(np.diff(graph.source_ptr) > 0)
    if len(filled):
        owner = part[graph.source].astype(np.int64)
        hub = removed[graph.source]
        start = graph.source_ptr[filled]
        least = np.minimum.reduceat(np.where(hub, num_parts, owner), start)
        most = np.maximum.reduceat(np.where(hub, -1, owner), start)
        sink = graph.row_sink[row[filled]].astype(np.int64)
        combines = np.isin(sink * num_parts + least, pairs) | removed[sink]
        alone = (least == most) & foldable[filled] & combines
        where[filled[alone]] = least[alone]
    return where


def imbalance_of_work(load: Float64) -> float:
    """Return the largest part's work over the mean, 1.0 is perfect."""
    mean = float(load.mean()) if len(load) else 0.0
    return float(load.max()) / mean if mean > 0 else 1.0
