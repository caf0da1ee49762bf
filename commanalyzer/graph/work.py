"""Work of every vertex: the operations of its sites, each kind by its weight."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from commanalyzer.foundation.work import Operations, WorkWeights
from commanalyzer.graph.storage.store import GraphStore
from commanalyzer.graph.value_graph import Array, Float64, Int64, Site
from commanalyzer.recording.instrument.sites import SiteRecord, SiteTable
from commanalyzer.recording.trace import Trace

RowColumns = Callable[[tuple[str, ...]], Iterator[tuple[Array, ...]]]


def sites_of(trace: Trace, table: SiteTable) -> tuple[Site, ...]:
    """Return the sites of a program, with the operations that a run of it did for their values."""
    counters = np.asarray(trace.block_counters).astype(np.int64)
    return tuple(_site(s, counters) for s in table.sites)


def _site(record: SiteRecord, counters: Int64) -> Site:
    done = sum((cost.times(int(counters[c])) for c, cost in record.cost_terms), Operations())
    return Site(
        *(record.function.lstrip("@"), record.place.file, record.place.line, record.kind, record.width_bytes),
        *(record.fold, done.flops, done.integer, done.memory, record.loop),
    )


def weights_in_use(sites: tuple[Site, ...], weights: WorkWeights) -> WorkWeights:
    """Return the weights that hold for a program with these sites (:meth:`WorkWeights.applied`)."""
    return weights.applied(sum((s.operations for s in sites), Operations()))


def vertex_work(
    row_columns: RowColumns, sites: tuple[Site, ...], num_vertices: int, weights: WorkWeights
) -> Float64:
    """Return float64[V], the work of each site shared among its values by the terms that each took.

    ``row_columns`` yields columns of all rows, by name; ``weights`` are those that the user said.
    """
    used = weights_in_use(sites, weights)
    site_work = np.array([used.of(s.operations) for s in sites] or [0], dtype=np.float64)
    per_site, work = np.zeros(len(site_work)), np.zeros(num_vertices)
    for site, count, terms in row_columns(("row_site", "row_count", "row_terms")):
        np.add.at(per_site, site, (count * np.maximum(terms, 1)).astype(np.float64))
    rate = np.divide(site_work, per_site, out=np.zeros_like(site_work), where=per_site > 0)
    for sink, site, count, terms in row_columns(("row_sink", "row_site", "row_count", "row_terms")):
        np.add.at(work, sink, count * np.maximum(terms, 1) * rate[site])
    return work


def with_weights(store: GraphStore, weights: WorkWeights) -> GraphStore:
    """Return the same graph with the work of its vertices by other weights."""
    return store.with_work(vertex_work(store.row_columns, store.sites, store.num_vertices, weights))
