"""Owners of all values: value graph + hubs -> partition that covers hubs too.

Hubs take no part in the partitioning and get their owner afterwards: the part that contributes to them or
reads them most. Hubs that are connected to each other (sum, count and centroid of a cluster) share one.

Owners in coded form: an analysis keeps those of every division, of large graphs a list takes gigabytes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from commanalyzer.division.refinement.refine import balance_weights
from commanalyzer.graph.storage.coding import Coded, encoded
from commanalyzer.graph.storage.store import AnyGraph, GraphStore
from commanalyzer.graph.value_graph import Bool, Float64, HomeObject, Int32, Int64


@dataclass(frozen=True, slots=True, eq=False)
class Owners:
    """Owner of each vertex; blocks of arrays take a few bytes."""

    coded: Coded
    least: int  # owner, 0 without vertices
    most: int  # owner, -1 without vertices

    @classmethod
    def of(cls, part: Int32) -> Owners:
        """Code ``part`` int32[V]."""
        return cls(encoded(part), int(part.min()) if len(part) else 0, int(part.max(initial=-1)))

    def expand(self) -> Int32:
        """int32[V], read-only; made anew in every call."""
        part = self.coded.expand(dtype=np.int32)
        part.setflags(write=False)
        return part


_OFFSET_BITS = 44  # of a byte in an object


def in_order(graph: AnyGraph, hubs: Bool, num_parts: int) -> Int32:
    """Return int32[V], equal shares of the work in the order of the values: what is always found."""
    weight = balance_weights(np.where(hubs, 0.0, graph.work_flops))
    middle = np.cumsum(weight) - weight / 2
    most = max(float(weight.sum()), 1e-300)
    return np.minimum(middle * (num_parts / most), num_parts - 1).astype(np.int32)


def owners_in(store: GraphStore, known: GraphStore, part: Int32) -> Int32:
    """Return int32[V], owners in ``store`` of the elements that have ``part`` (int32) in ``known``, else -1.

    Registers follow, as do private temporaries, but for those of a word that ``known`` has: they are with it.
    """
    numbers: dict[HomeObject, int] = {}
    places = []
    for is_known, each in ((True, known), (False, store)):
        graph = each.vertices()
        same = np.array([numbers.setdefault(o, len(numbers)) for o in graph.objects], np.int64)
        stays = np.flatnonzero(~(graph.is_register | (graph.is_temporary & is_known)))
        places.append((stays, (same[graph.home_object[stays]] << _OFFSET_BITS) + graph.home_offset[stays]))
    (mine, key), (wanted, place) = places
    owner = np.full(store.num_vertices, -1, np.int32)
    if len(mine):
        owner[wanted] = looked_up(key, part[mine], place)
    return owner


def looked_up(place: Int64, part: Int32 | Int64, wanted: Int64) -> Int32 | Int64:
    """Return the part of each wanted place, -1 where there is none; at least one place is known."""
    order = np.argsort(place, kind="stable")
    at = np.minimum(np.searchsorted(place[order], wanted), len(place) - 1)
    return np.where(place[order][at] == wanted, part[order][at], -1)


@dataclass(frozen=True, slots=True)
class HubTraffic:
    """Bytes between hubs and coarse vertices."""

    hub: Int64  # [H], vertices of the value graph
    group: Int64  # [H], label of hubs that flow into each other: they share an owner
    link_hub: Int64  # [L], number of the hub of each link
    link_vertex: Int64  # [L], coarse vertex of each link
    link_bytes: Int64  # [L]

    def owners(self, part: Int32, num_parts: int) -> Int32:
        """Return int32[H], for each hub the part with most bytes to and from its group, lowest on a tie.

        ``part`` is int32[N], of the coarse vertices.
        """
        traffic = self._traffic(part, self.group, int(self.group.max(initial=-1)) + 1, num_parts)
        return np.asarray(traffic.argmax(axis=1)[self.group], np.int32)

    def spread(
        self, owner: Int32, part: Int32, num_parts: int, work_flops: Float64, most_flops: float
    ) -> Int32:
        """Return int32[H], owners where no hub overloads a part: each is where there is room for its work.

        Those with most work choose first. Hubs that belong together move together, unless they have more work
        than the slack of a part. ``owner`` is int32[V], of all values, where their ``work_flops``
        (float64[V]) are done, ``part`` int32[N], of the coarse vertices; ``most_flops`` is work that a part
        may have.
        """
        count, own_work = len(self.group), work_flops[self.hub].astype(np.float64)
        together = np.bincount(self.group, own_work, count)
        slack = most_flops - float(work_flops.sum()) / num_parts
        group = np.where(together[self.group] > slack, count + np.arange(count), self.group)
        chosen, number = np.unique(group, return_inverse=True)
        work = np.bincount(number, own_work, len(chosen)).astype(np.float64)
        heavy = np.flatnonzero(work > 0)
        now = np.zeros(len(chosen), np.int32)
        now[number] = owner[self.hub]
        settled = np.ones(len(owner), np.bool_)
        settled[self.hub[np.isin(number, heavy)]] = False
        load = np.bincount(owner[settled], work_flops[settled], num_parts).astype(np.float64)
        traffic = self._traffic(part, number.astype(np.int64), len(chosen), num_parts)
        for i in heavy[np.argsort(-work[heavy], kind="stable")]:  # one step per group of hubs
            room, own = load + work[i] <= most_flops, now[i]
            most = np.where(room, traffic[i], -1)
            best = own if most[own] == most.max() else most.argmax()
            if not room.any():
                best = own if load[own] == load.min() else load.argmin()
            now[i] = best
            load[best] += work[i]
        return now[number]

    def _traffic(self, part: Int32, group: Int64, groups: int, num_parts: int) -> Int64:
        """Return int64[G, p], bytes between each group of hubs and the values of each part."""
        cell = group[self.link_hub] * num_parts + part[self.link_vertex]
        traffic = np.bincount(cell, self.link_bytes, groups * num_parts)
        return traffic.astype(np.int64).reshape(groups, num_parts)
