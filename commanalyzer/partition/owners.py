"""Owners of all values: value graph + hubs -> partition that covers hubs too.

Hubs take no part in the partitioning and get their owner afterwards: the part that contributes to them or
reads them most. Hubs that are connected to each other (sum, count and centroid of a cluster) share one.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from commanalyzer.compiled import frozen
from commanalyzer.errors import PartitionError
from commanalyzer.partition import owner_kernels as kernels
from commanalyzer.partition.affinity import Affinity, build_affinity
from commanalyzer.partition.kernels import settle
from commanalyzer.partition.metis import DEFAULT_IMBALANCE, Objective, Partition, partition
from commanalyzer.vcg.graph import Bool, Float64, Int32, Int64, ValueGraph

_FEW_LINKS = 4096


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
    group, own = _hub_groups(graph, hubs), np.arange(graph.num_vertices)
    together = np.bincount(group[hubs], work_flops[hubs], graph.num_vertices)
    slack = most - float(work_flops.sum()) / num_parts
    group = np.where(together[group] > slack, graph.num_vertices + own, group)
    chosen, number = np.unique(group[hubs], return_inverse=True)
    work = np.bincount(number, work_flops[hubs], len(chosen)).astype(np.float64)
    heavy = np.flatnonzero(work > 0)
    if not len(heavy):
        return owner
    dense = np.full(graph.num_vertices, -1, np.int32)
    dense[hubs] = number
    traffic = _traffic(graph, owner, dense, len(chosen), num_parts)
    now = np.zeros(len(chosen), np.int32)
    now[number] = owner[hubs]
    moves = np.isin(number, heavy)
    settled = np.ones(graph.num_vertices, np.bool_)
    settled[np.flatnonzero(hubs)[moves]] = False
    load = np.bincount(owner[settled], work_flops[settled], num_parts).astype(np.float64)
    order = heavy[np.argsort(-work[heavy], kind="stable")]
    settle(order, work, traffic, load, most, now)
    result = owner.copy()
    result[hubs] = now[number]
    return result


def _hub_owners(graph: ValueGraph, hubs: Bool, owner: Int32, num_parts: int) -> Int32:
    """Return int32[V], meaningful for hubs: the part with most bytes to and from the hub's group.

    The lowest part on a tie.
    """
    group = _hub_groups(graph, hubs)
    dense = np.where(hubs, group, -1).astype(np.int32)
    traffic = _traffic(graph, owner, dense, int(group.max()) + 1, num_parts)
    return np.asarray(traffic.argmax(axis=1)[group], np.int32)


def _traffic(graph: ValueGraph, owner: Int32, dense: Int32, groups: int, num_parts: int) -> Int64:
    """Return int64[G, p], bytes between each group of hubs and the values of each part.

    Args:
        graph: Value graph.
        owner: int32[V], owners of the values that are no hubs.
        dense: int32[V], group of each hub, -1 for other values.
        groups: Number of groups G.
        num_parts: Number of parts p.
    """
    traffic = np.zeros((groups, num_parts), np.int64)
    kernels.add_traffic(
        *(graph.row_sink, graph.row_count, graph.term_ptr, graph.source_ptr, graph.source),
        *(graph.versions, graph.width_bytes, frozen(owner, np.int32), frozen(dense, np.int32), traffic),
    )
    return traffic


def _hub_groups(graph: ValueGraph, hubs: Bool) -> Int64:
    """Return int64[V], label of the set of hubs that flow into each other; 0 for other values."""
    count = int(np.count_nonzero(hubs))
    group = np.zeros(graph.num_vertices, np.int64)
    if count == 0:
        return group
    dense = np.full(graph.num_vertices, -1, np.int32)
    dense[hubs] = np.arange(count)
    flows = graph.row_sink, graph.term_ptr, graph.source_ptr, graph.source, frozen(dense, np.int32)
    one, other = np.empty(_FEW_LINKS, np.int32), np.empty(_FEW_LINKS, np.int32)
    links = kernels.list_hub_links(*flows, one, other)
    if links > len(one):
        one, other = np.empty(links, np.int32), np.empty(links, np.int32)
        kernels.list_hub_links(*flows, one, other)
    ends = one[:links], other[:links]
    linked = coo_array((np.ones(links, np.int8), ends), shape=(count, count))
    _, group[hubs] = connected_components(linked, directed=False)
    return group
