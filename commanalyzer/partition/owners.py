"""Owners of all values: value graph + hubs -> partition that covers hubs too.

Hubs take no part in the partitioning and get their owner afterwards: the part that contributes to them or
reads them most. Hubs that are connected to each other (sum, count and centroid of a cluster) share one.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from commanalyzer.errors import PartitionError
from commanalyzer.partition.affinity import Affinity, build_affinity
from commanalyzer.partition.metis import DEFAULT_IMBALANCE, Objective, Partition, partition
from commanalyzer.vcg.graph import Bool, Int32, Int64, ValueGraph
from commanalyzer.vcg.segments import count_of_source, group_starts, sink_of_source


def partition_values(
    graph: ValueGraph,
    hubs: Bool,
    num_parts: int,
    *,
    objective: Objective = "cut",
    seed: int = 1,
    imbalance: float = DEFAULT_IMBALANCE,
) -> Partition:
    """Return owners for every value of ``graph``: METIS for ordinary values, the rule above for hubs.

    Args:
        graph: Value graph.
        hubs: bool[V], vertices that must not attract others (hubs or singletons).
        num_parts: Number of parts p.
        objective: See :func:`~commanalyzer.partition.metis.partition`.
        seed: Seed of the partitioner.
        imbalance: Allowed excess of the largest part.

    Raises:
        PartitionError: If there are fewer ordinary values than parts, or METIS fails.
    """
    affinity = build_affinity(graph, hubs)
    core = partition(affinity.adjacency, num_parts, objective=objective, seed=seed, imbalance=imbalance)
    return extend_to_hubs(graph, hubs, affinity, core)


def extend_to_hubs(graph: ValueGraph, hubs: Bool, affinity: Affinity, core: Partition) -> Partition:
    """Return ``core``, a partition of the affinity graph, carried over to all values and hubs.

    Raises:
        PartitionError: If ``core`` is not a partition of this affinity graph.
    """
    if len(core.part) != affinity.adjacency.num_vertices:
        raise PartitionError(
            f"expected a partition of {affinity.adjacency.num_vertices} vertices, found {len(core.part)}"
        )
    owner = np.zeros(graph.num_vertices, dtype=np.int32)
    owner[~hubs] = core.part[affinity.vertex[~hubs]]
    if hubs.any():
        owner[hubs] = _hub_owners(graph, hubs, owner, core.num_parts)[hubs]
    return replace(core, part=owner)


def _hub_owners(graph: ValueGraph, hubs: Bool, owner: Int32, num_parts: int) -> Int32:
    """Return int32[V], meaningful for hubs: the part with most bytes to and from the hub's group."""
    sink, source = sink_of_source(graph), graph.source
    group = _hub_groups(hubs, sink, source)
    volume = np.minimum(count_of_source(graph), np.maximum(graph.versions[source], 1))
    volume = volume * graph.width_bytes[source]
    into, out = hubs[sink] & ~hubs[source], hubs[source] & ~hubs[sink]
    key = np.concatenate(
        (
            group[sink[into]] * num_parts + owner[source[into]],
            group[source[out]] * num_parts + owner[sink[out]],
        )
    )
    choice = np.zeros(graph.num_vertices, dtype=np.int32)
    if len(key):
        chosen, part = _heaviest(key, np.concatenate((volume[into], volume[out])), num_parts)
        choice[chosen] = part
    return choice[group]


def _hub_groups(hubs: Bool, sink: Int32, source: Int32) -> Int64:
    """Return int64[V], label of the set of hubs that flow into each other."""
    v = len(hubs)
    inner = hubs[sink] & hubs[source]
    links = coo_array((np.ones(int(inner.sum()), dtype=np.int8), (sink[inner], source[inner])), shape=(v, v))
    _, label = connected_components(links, directed=False)
    return np.asarray(label, dtype=np.int64)


def _heaviest(key: Int64, volume: Int64, num_parts: int) -> tuple[Int64, Int32]:
    """Return the groups that occur and the part with most volume of each (the lowest part on a tie)."""
    order = np.argsort(key, kind="stable")
    start = group_starts(key[order])
    total = np.add.reduceat(volume[order], start)
    group, part = np.divmod(key[order][start], num_parts)
    best = np.lexsort((part, -total, group))
    first = best[group_starts(group[best])]
    return group[first], part[first].astype(np.int32)
