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
from commanalyzer.partition import kernels
from commanalyzer.partition.affinity import Affinity, build_affinity
from commanalyzer.partition.metis import DEFAULT_IMBALANCE, Objective, Partition, partition
from commanalyzer.vcg.graph import Bool, Float64, Int32, Int64, ValueGraph
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


def spread_hubs(
    graph: ValueGraph, hubs: Bool, owner: Int32, num_parts: int, work_flops: Float64, most: float
) -> Int32:
    """Return owners where no hub overloads a part: each goes to the best part that has room for its work.

    Those with most work choose first. Hubs that belong together move together, unless they have more work
    than the slack of a part.

    Args:
        graph: Value graph.
        hubs: bool[V].
        owner: int32[V], owners of all values.
        num_parts: Number of parts p.
        work_flops: float64[V], work where each value is owned.
        most: Work that a part may have.
    """
    group = _hub_groups(graph, hubs)
    together = np.bincount(group, np.where(hubs, work_flops, 0.0), graph.num_vertices)
    slack = most - float(work_flops.sum()) / num_parts
    group = np.where(together[group] > slack, graph.num_vertices + np.arange(graph.num_vertices), group)
    chosen, number = np.unique(group[hubs], return_inverse=True)
    work = np.bincount(number, work_flops[hubs], len(chosen)).astype(np.float64)
    heavy = np.flatnonzero(work > 0)
    if not len(heavy):
        return owner
    dense = np.full(graph.num_vertices, -1, np.int64)
    dense[hubs] = number
    traffic = np.zeros((len(chosen), num_parts), np.int64)
    key, volume = _traffic(graph, hubs, owner, dense, num_parts)
    np.add.at(traffic, np.divmod(key, num_parts), volume)
    now = np.zeros(len(chosen), np.int32)
    now[number] = owner[hubs]
    moves = np.isin(number, heavy)
    settled = np.ones(graph.num_vertices, np.bool_)
    settled[np.flatnonzero(hubs)[moves]] = False
    load = np.bincount(owner[settled], work_flops[settled], num_parts).astype(np.float64)
    order = heavy[np.argsort(-work[heavy], kind="stable")]
    kernels.settle(order, work, traffic, load, most, now)
    result = owner.copy()
    result[hubs] = now[number]
    return result


def _hub_owners(graph: ValueGraph, hubs: Bool, owner: Int32, num_parts: int) -> Int32:
    """Return int32[V], meaningful for hubs: the part with most bytes to and from the hub's group."""
    group = _hub_groups(graph, hubs)
    key, volume = _traffic(graph, hubs, owner, group, num_parts)
    choice = np.zeros(graph.num_vertices, dtype=np.int32)
    if len(key):
        chosen, part = _heaviest(key, volume, num_parts)
        choice[chosen] = part
    return choice[group]


def _traffic(
    graph: ValueGraph, hubs: Bool, owner: Int32, group: Int64, num_parts: int
) -> tuple[Int64, Int64]:
    """Return pairs (group times p plus part), with repetitions, and the bytes that flow between them."""
    sink, source = sink_of_source(graph), graph.source
    volume = np.minimum(count_of_source(graph), np.maximum(graph.versions[source], 1))
    volume = volume * graph.width_bytes[source]
    into, out = hubs[sink] & ~hubs[source], hubs[source] & ~hubs[sink]
    key = np.concatenate(
        (
            group[sink[into]] * num_parts + owner[source[into]],
            group[source[out]] * num_parts + owner[sink[out]],
        )
    )
    return key, np.concatenate((volume[into], volume[out]))


def _hub_groups(graph: ValueGraph, hubs: Bool) -> Int64:
    """Return int64[V], label of the set of hubs that flow into each other."""
    v = len(hubs)
    sink, source = sink_of_source(graph), graph.source
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
