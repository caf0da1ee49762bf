"""Hub values of a decomposition: what real programs move by collectives, apart from the rest.

A hub (a centroid, a norm, a parameter) is exchanged with most parts. In the matrix its owner is the centre of
a star, which is right for the volume, but no program sends p - 1 messages one after another: trees share
them. Latency models need the two kinds of traffic apart.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from commanalyzer.communication.charges import Charges
from commanalyzer.communication.matrix import Collective, Communication
from commanalyzer.communication.messages.exchanges import Exchanges
from commanalyzer.communication.messages.transfers import Transfers
from commanalyzer.graph.storage.store import AnyGraph, values_of
from commanalyzer.graph.value_graph import Bool, Int32


def with_collectives(
    communication: Communication, charges: Charges, exchanges: Exchanges, graph: AnyGraph, hubs: Bool
) -> Communication:
    """``communication`` that also says what of it belongs to ``hubs`` (bool[V]), apart in ``exchanges``."""
    if not exchanges.is_hub.any():
        return replace(communication, collectives=())
    found = (
        *_collectives("bcast", charges.expand, charges.expand.sender, graph, hubs),
        *_collectives("reduce", charges.fold, charges.fold.receiver, graph, hubs),
    )
    peers = exchanges.chosen(~exchanges.is_hub).communication()
    return replace(
        communication, collectives=found, peer_bytes=peers.comm_bytes, peer_messages=peers.messages
    )


def _collectives(
    kind: Literal["bcast", "reduce"], item: Transfers, root: Int32, graph: AnyGraph, hubs: Bool
) -> list[Collective]:
    """One collective per array (or register) and root: all its values travel together."""
    mine = np.flatnonzero(hubs[item.value])
    value, most = item.value[mine], int(root.max(initial=0)) + 1
    key = values_of(graph, "home_object", value).astype(np.int64) * most + root[mine]
    groups, group = np.unique(key, return_inverse=True)
    rounds, total, partners = (np.zeros(len(groups), dtype=np.int64) for _ in range(3))
    np.maximum.at(rounds, group, item.count[mine])
    np.add.at(total, group, item.item_bytes[mine])
    # A transfer is one (value, partner): as many transfers of a value as it has partners.
    _, number, per_value = np.unique(value, return_inverse=True, return_counts=True)
    np.maximum.at(partners, group, per_value[number])
    columns = (c.tolist() for c in (*np.divmod(groups, most), partners, rounds, total))
    return [Collective(kind, graph.objects[home].name, *rest) for home, *rest in zip(*columns, strict=True)]
