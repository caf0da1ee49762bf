"""Work of each part: contributions to reductions where they are combined, the rest at the owner.

Which part combines a contribution is the counter's choice and depends on the owners; the work is therefore
attributed to values anew for every decomposition.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from commanalyzer.vcg.graph import Bool, Float64, Fold, Int32, Int64, ValueGraph
from commanalyzer.vcg.segments import row_of_term


@dataclass(frozen=True, slots=True)
class TermWork:
    """What of the work of a graph does not depend on owners; F terms have sources.

    Attributes:
        filled: int64[F], terms that another part than the sink's owner may compute.
        sink: int64[F], their sinks.
        share: float64[F], their work.
        rest: float64[V], work of each value beyond that.
    """

    filled: Int64
    sink: Int64
    share: Float64
    rest: Float64


def term_work(graph: ValueGraph) -> TermWork:
    """Return the work of the terms of ``graph``; without any work in the graph, one for each value."""
    if not graph.work_flops.sum() > 0:
        nothing = np.zeros(0, np.int64)
        return TermWork(nothing, nothing, nothing.astype(np.float64), np.ones(graph.num_vertices))
    times = graph.row_count.astype(np.float64)
    per_sink = np.bincount(graph.row_sink, times * np.maximum(np.diff(graph.term_ptr), 1), graph.num_vertices)
    row = row_of_term(graph)
    filled = np.flatnonzero((graph.row_fold != int(Fold.NONE))[row] & (np.diff(graph.source_ptr) > 0))
    sink = graph.row_sink[row[filled]].astype(np.int64)
    share = times[row[filled]] / np.maximum(per_sink[sink], 1.0) * graph.work_flops[sink]
    rest = np.maximum(graph.work_flops - np.bincount(sink, share, graph.num_vertices), 0.0)
    return TermWork(filled, sink, share, np.asarray(rest))


def work_by_value(
    graph: ValueGraph,
    work: TermWork,
    removed: Bool,
    part: Int32,
    num_parts: int,
    folded: tuple[Int32, Int32],
) -> Float64:
    """Return float64[V], floating-point operations that are done where each value is owned.

    Args:
        graph: Value graph.
        work: Its :func:`term_work`.
        removed: bool[V], hubs: they have no say in where a term is computed.
        part: int32[V], owners.
        num_parts: Number of parts p.
        folded: Sinks and parts that combine contributions to them; other terms are computed by the owner.
    """
    if not len(work.filled):
        idle = removed if not graph.work_flops.sum() > 0 else np.zeros(len(removed), np.bool_)
        return np.where(idle, 0.0, work.rest)
    source = _single_source(graph, work.filled, removed, part, num_parts)
    owner = part[np.maximum(source, 0)].astype(np.int64)
    pairs = folded[0].astype(np.int64) * num_parts + folded[1]
    combines = np.isin(work.sink * num_parts + owner, pairs) | removed[work.sink]
    where = np.where((source >= 0) & combines, source, work.sink)
    return np.asarray(work.rest + np.bincount(where, work.share, graph.num_vertices))


def _single_source(graph: ValueGraph, filled: Int64, removed: Bool, part: Int32, num_parts: int) -> Int64:
    """Return int64[F], a value of the part that owns all sources of a term but hubs, -1 if there is none."""
    owner = part[graph.source].astype(np.int64)
    hub = removed[graph.source]
    # Segments end where the next begin: those of all terms with sources are needed.
    some = np.flatnonzero(np.diff(graph.source_ptr) > 0)
    start = graph.source_ptr[some]
    least = np.minimum.reduceat(np.where(hub, num_parts, owner), start)
    most = np.maximum.reduceat(np.where(hub, -1, owner), start)
    value = np.maximum.reduceat(np.where(hub, -1, graph.source.astype(np.int64)), start)
    at = np.searchsorted(some, filled)
    return np.asarray(np.where(least == most, value, -1)[at])


def imbalance_of_work(work: Float64, part: Int32, num_parts: int) -> float:
    """Return the largest part's work over the mean, 1.0 is perfect.

    Args:
        work: float64[V], as :func:`work_by_value` attributes it.
        part: int32[V], owners.
        num_parts: Number of parts p.
    """
    load = np.bincount(part, work, num_parts)
    mean = float(load.mean())
    return float(load.max()) / mean if mean > 0 else 1.0
