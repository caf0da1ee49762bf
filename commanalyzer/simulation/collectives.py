"""Charges of a decomposition -> messages between pairs of nodes, and collective operations for hub values.

A hub value (a norm, a time step, centroids, a parameter) is read or contributed to by most nodes. As single
messages of its owner it would take p - 1 latencies in a row; a program uses a collective operation.

    read by most nodes                         bcast from the owner
    contributed to by most nodes               reduce to the owner
    both                                       allreduce
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from commanalyzer.communication.charges import Charges, Transfers
from commanalyzer.communication.matrix import Communication
from commanalyzer.simulation.schedule import Collective
from commanalyzer.vcg.graph import Bool, Int32, Int64, ValueGraph

_MOST = 0.5  # of the other nodes


@dataclass(frozen=True, slots=True)
class Traffic:
    """What a decomposition sends.

    Attributes:
        messages: Point-to-point part.
        collectives: Operations of all nodes.
    """

    messages: Communication
    collectives: tuple[Collective, ...] = ()


def split_hubs(graph: ValueGraph, charges: Charges, hubs: Bool) -> Traffic:
    """Separate hub values that most nodes touch from what pairs of nodes send each other.

    Args:
        graph: The graph that was charged.
        charges: All transfers of a decomposition.
        hubs: bool[V].
    """
    p = charges.num_parts
    objects = np.unique(graph.home_object[hubs])
    readers = {
        int(o): _operation(graph, charges.expand, charges.expand.receiver, hubs, o, p) for o in objects
    }
    givers = {int(o): _operation(graph, charges.fold, charges.fold.sender, hubs, o, p) for o in objects}
    found = [item for o in readers for item in _collectives(readers[o], givers[o])]
    rest = Charges(
        p,
        _without(charges.expand, _of(graph, hubs, [o for o, item in readers.items() if item])),
        _without(charges.fold, _of(graph, hubs, [o for o, item in givers.items() if item])),
    )
    return Traffic(rest.communication(graph), tuple(found))


@dataclass(frozen=True, slots=True)
class _Operation:
    owner: int
    size_bytes: int
    count: int


def _operation(
    graph: ValueGraph, items: Transfers, others: Int32, hubs: Bool, home: int, p: int
) -> _Operation | None:
    """The collective that carries the transfers of an object's hub values; ``None`` if few nodes take part.

    Args:
        graph: The charged graph.
        items: Its transfers of one kind.
        others: int32[K], the end of each transfer that is not the owner.
        hubs: bool[V].
        home: Object.
        p: Node count.
    """
    mine = hubs[items.value] & (graph.home_object[items.value] == home)
    if len(np.unique(others[mine])) < max(1, _MOST * (p - 1)):
        return None
    amount = items.low[mine] * items.width_bytes[mine]
    owner = np.where(others[mine] == items.sender[mine], items.receiver[mine], items.sender[mine])
    count = max(int(items.low[mine].max()), 1)
    most = int(np.bincount(others[mine], weights=amount).max())
    if not most:
        return None
    return _Operation(int(np.bincount(owner, weights=amount).argmax()), -(-most // count), count)


def _collectives(read: _Operation | None, given: _Operation | None) -> list[Collective]:
    if read is None and given is None:
        return []
    if given is None and read is not None:
        return [Collective("bcast", read.owner, read.size_bytes, read.count)]
    if read is None and given is not None:
        return [Collective("reduce", given.owner, given.size_bytes, given.count)]
    assert read is not None and given is not None
    both = min(read.count, given.count)
    found = [Collective("allreduce", read.owner, max(read.size_bytes, given.size_bytes), both)]
    if read.count > both:
        found.append(Collective("bcast", read.owner, read.size_bytes, read.count - both))
    if given.count > both:
        found.append(Collective("reduce", given.owner, given.size_bytes, given.count - both))
    return found


def _of(graph: ValueGraph, hubs: Bool, objects: list[int]) -> Bool:
    """bool[V], hubs that live in one of the objects."""
    return hubs & np.isin(graph.home_object, np.asarray(objects, dtype=np.int64))


def _without(items: Transfers, removed: Bool) -> Transfers:
    kept: Int64 = np.flatnonzero(~removed[items.value])
    return Transfers(
        items.value[kept],
        items.sender[kept],
        items.receiver[kept],
        items.low[kept],
        items.high[kept],
        items.width_bytes[kept],
    )
