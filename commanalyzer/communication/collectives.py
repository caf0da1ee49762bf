"""Hub values of a decomposition: what real programs move by collectives, apart from the rest.

A hub (a centroid, a norm, a parameter) is exchanged with most parts. In the matrix its owner is the centre of
a star, which is right for the volume, but no program sends p - 1 messages one after another: trees share
them. Latency models need the two kinds of traffic apart.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from commanalyzer.communication.charges import Charges, Transfers
from commanalyzer.communication.matrix import Collective, Communication
from commanalyzer.communication.totals import GraphTotals
from commanalyzer.vcg.graph import Bool, Int32
from commanalyzer.vcg.large import AnyGraph, homes_of


def with_collectives(
    communication: Communication,
    charges: Charges,
    graph: AnyGraph,
    hubs: Bool,
    totals: GraphTotals | None = None,
) -> Communication:
    """``communication`` that also says what of it belongs to hubs.

    Args:
        communication: Communication of ``charges``.
        charges: Every transfer of the decomposition.
        graph: The graph that was charged.
        hubs: bool[V], hub values.
        totals: Totals of ``graph``; computed if not given.
    """
    found = (
        *_collectives("bcast", charges.expand, charges.expand.sender, graph, hubs),
        *_collectives("reduce", charges.fold, charges.fold.receiver, graph, hubs),
    )
    if not found:
        return replace(communication, collectives=())
    peers = Charges(
        charges.num_parts,
        charges.expand.chosen(~hubs[charges.expand.value]),
        charges.fold.chosen(~hubs[charges.fold.value]),
    ).communication(graph, totals)
    return replace(
        communication, collectives=found, peer_bytes=peers.comm_bytes, peer_messages=peers.messages
    )


def _collectives(
    kind: Literal["bcast", "reduce"], item: Transfers, root: Int32, graph: AnyGraph, hubs: Bool
) -> list[Collective]:
    """One collective per array (or register) and root: all its values travel together."""
    mine = hubs[item.value]
    if not np.any(mine):
        return []
    value, low = item.value[mine], item.low[mine]
    key = np.stack((homes_of(graph, value).astype(np.int64), root[mine].astype(np.int64)))
    groups, group = np.unique(key, axis=1, return_inverse=True)
    group = group.reshape(-1)
    size = groups.shape[1]
    rounds = np.zeros(size, dtype=np.int64)
    np.maximum.at(rounds, group, low)
    total = np.zeros(size, dtype=np.int64)
    np.add.at(total, group, low * item.width_bytes[mine])
    partners = np.zeros(size, dtype=np.int64)
    # A transfer is one (value, partner): as many transfers of a value as it has partners.
    per_value = np.bincount(value, minlength=graph.num_vertices)
    np.maximum.at(partners, group, per_value[value])
    columns = (groups[0], groups[1], partners, rounds, total)
    return [
        Collective(kind, graph.objects[home].name, owner, most, times, moved)
        for home, owner, most, times, moved in zip(*(c.tolist() for c in columns), strict=True)
    ]
