"""Owners of all values: value graph + hubs -> partition that covers hubs too.

Hubs take no part in the partitioning and get their owner afterwards: the part that contributes to them or
reads them most. Hubs that are connected to each other (sum, count and centroid of a cluster) share one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from commanalyzer.errors import PartitionError
from commanalyzer.foundation.compiled import frozen
from commanalyzer.partition import owner_kernels as kernels
from commanalyzer.partition.libraries.affinity import Affinity, build_affinity
from commanalyzer.partition.libraries.metis import Objective, Partition, partition
from commanalyzer.partition.refinement.kernels import settle
from commanalyzer.partition.refinement.refine import balance_weights
from commanalyzer.request import DEFAULT_IMBALANCE
from commanalyzer.vcg.graph import Bool, Float64, Int32, Int64, ValueGraph
from commanalyzer.vcg.storage.large import AnyGraph

_FEW_LINKS = 4096


def in_order(graph: AnyGraph, hubs: Bool, num_parts: int) -> Int32:
    """Return int32[V], equal shares of the work in the order of the values: what is always found."""
    weight = balance_weights(np.where(hubs, 0.0, graph.work_flops))
    middle = np.cumsum(weight) - weight / 2
    most = max(float(weight.sum()), 1e-300)
    return np.minimum(middle * (num_parts / most), num_parts - 1).astype(np.int32)


@dataclass(frozen=True, slots=True)
class HubLinks:
    """What hubs exchange, whoever owns the values: found once, asked for every partition.

    Attributes:
        mask: bool[V], vertices that must not attract others (hubs or singletons).
        group: int64[H], label of the hubs that flow into each other.
        hub: int32[L], hub of each flow between a hub and another value, numbered in order.
        value: int32[L], the other value.
        volume: int64[L], bytes.
    """

    mask: Bool
    group: Int64
    hub: Int32
    value: Int32
    volume: Int64

    def traffic(self, owner: Int32, group: Int64, groups: int, num_parts: int) -> Int64:
        """Return int64[G, p], bytes between each group of hubs and the values of each part.

        Args:
            owner: int32[V], owners of the values that are no hubs.
            group: int64[H], group of each hub.
            groups: Number of groups G.
            num_parts: Number of parts p.
        """
        traffic = np.zeros((groups, num_parts), np.int64)
        links = self.hub, self.value, self.volume
        kernels.add_traffic(*links, frozen(group, np.int64), frozen(owner, np.int32), traffic)
        return traffic


def find_hub_links(graph: ValueGraph, hubs: Bool) -> HubLinks:
    """Return the flows of the vertices in ``hubs``, bool[V]."""
    count = int(np.count_nonzero(hubs))
    if count == 0:
        nothing = np.zeros(0, np.int32)
        return HubLinks(hubs, np.zeros(0, np.int64), nothing, nothing, np.zeros(0, np.int64))
    dense = np.full(graph.num_vertices, -1, np.int32)
    dense[hubs] = np.arange(count)
    dense = frozen(dense, np.int32)
    size = kernels.count_outer_links(graph.row_sink, graph.term_ptr, graph.source_ptr, graph.source, dense)
    hub, value, volume = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int64)
    kernels.list_outer_links(
        *(graph.row_sink, graph.row_count, graph.term_ptr, graph.source_ptr, graph.source),
        *(graph.versions, graph.width_bytes, dense, hub, value, volume),
    )
    return HubLinks(hubs, _hub_groups(graph, dense, count), hub, value, volume)


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
        objective: See :func:`~commanalyzer.partition.libraries.metis.partition`.
        seed: Seed of the partitioner.
        imbalance: Allowed excess of the largest part.

    Raises:
        PartitionError: If there are fewer ordinary values than parts, or METIS fails.
    """
    affinity = build_affinity(graph, hubs)
    core = partition(affinity.adjacency, num_parts, objective=objective, seed=seed, imbalance=imbalance)
    return extend_to_hubs(find_hub_links(graph, hubs), affinity, core)


def extend_to_hubs(links: HubLinks, affinity: Affinity, core: Partition) -> Partition:
    """Return ``core``, a partition of the affinity graph, carried over to all values and hubs.

    Raises:
        PartitionError: If ``core`` is not a partition of this affinity graph.
    """
    if len(core.part) != affinity.adjacency.num_vertices:
        raise PartitionError(
            f"expected a partition of {affinity.adjacency.num_vertices} vertices, found {len(core.part)}"
        )
    owner = np.zeros(len(links.mask), dtype=np.int32)
    owner[~links.mask] = core.part[affinity.vertex[~links.mask]]
    if len(links.group):
        owner[links.mask] = _hub_owners(links, owner, core.num_parts)
    return replace(core, part=owner)


def spread_hubs(links: HubLinks, owner: Int32, num_parts: int, work_flops: Float64, most: float) -> Int32:
    """Return owners where no hub overloads a part: each goes to the best part that has room for its work.

    Those with most work choose first. Hubs that belong together move together, unless they have more work
    than the slack of a part.

    Args:
        links: Hubs and their flows.
        owner: int32[V], owners of all values.
        num_parts: Number of parts p.
        work_flops: float64[V], work where each value is owned.
        most: Work that a part may have.
    """
    hubs, count = links.mask, len(links.group)
    if not count:
        return owner
    own_work = work_flops[hubs].astype(np.float64)
    together = np.bincount(links.group, own_work, count)
    slack = most - float(work_flops.sum()) / num_parts
    group = np.where(together[links.group] > slack, count + np.arange(count), links.group)
    chosen, number = np.unique(group, return_inverse=True)
    work = np.bincount(number, own_work, len(chosen)).astype(np.float64)
    heavy = np.flatnonzero(work > 0)
    if not len(heavy):
        return owner
    traffic = links.traffic(owner, number.astype(np.int64), len(chosen), num_parts)
    now = np.zeros(len(chosen), np.int32)
    now[number] = owner[hubs]
    moves = np.isin(number, heavy)
    settled = np.ones(len(owner), np.bool_)
    settled[np.flatnonzero(hubs)[moves]] = False
    load = np.bincount(owner[settled], work_flops[settled], num_parts).astype(np.float64)
    order = heavy[np.argsort(-work[heavy], kind="stable")]
    settle(order, work, traffic, load, most, now)
    result = owner.copy()
    result[hubs] = now[number]
    return result


def _hub_owners(links: HubLinks, owner: Int32, num_parts: int) -> Int32:
    """Return int32[H], for each hub the part with most bytes to and from its group; the lowest on a tie."""
    traffic = links.traffic(owner, links.group, int(links.group.max()) + 1, num_parts)
    return np.asarray(traffic.argmax(axis=1)[links.group], np.int32)


def _hub_groups(graph: ValueGraph, dense: Int32, count: int) -> Int64:
    """Return int64[H], label of the set of hubs that flow into each other; ``dense`` numbers the hubs."""
    flows = graph.row_sink, graph.term_ptr, graph.source_ptr, graph.source, dense
    one, other = np.empty(_FEW_LINKS, np.int32), np.empty(_FEW_LINKS, np.int32)
    links = kernels.list_hub_links(*flows, one, other)
    if links > len(one):
        one, other = np.empty(links, np.int32), np.empty(links, np.int32)
        kernels.list_hub_links(*flows, one, other)
    ends = one[:links], other[:links]
    linked = coo_array((np.ones(links, np.int8), ends), shape=(count, count))
    return np.asarray(connected_components(linked, directed=False)[1], np.int64)
