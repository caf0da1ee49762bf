"""Guess of what divisions of arrays cost: some nets of a hypergraph, asked about the arrays alone.

A vertex of the hypergraph lies where the element of an array is that *leads* it: it stands for that element,
or for a private value or a term that is computed beside it. Vertices that nothing leads are taken to lie
wherever they cost nothing, as they will when they follow. So the guess is a lower bound of the metric, but
for what leads differently in the end, and it takes a fraction of a millisecond.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from commanalyzer.division.libraries.hypergraph import Hypergraph
from commanalyzer.division.owners import HubTraffic
from commanalyzer.division.refinement import kernels
from commanalyzer.division.refinement.refine import balance_weights
from commanalyzer.foundation.compiled import frozen
from commanalyzer.graph.storage.slices import row_slices
from commanalyzer.graph.storage.store import AnyGraph
from commanalyzer.graph.value_graph import Bool, Float64, Int32, Int64, pointer_from_counts, row_of_term

_MOST_PINS = 200_000  # of the nets that are asked; as many as a tenth of it still rank divisions alike
_SEED = 1
_PAIRS = 1024  # of a slice of the rows: they tell what a cut does to all of them


def leaders(vertex: Int32 | Int64, anchor: Int32, is_element: Bool, num_vertices: int) -> Int64:
    """Return int64[N], the element of an array (``is_element``, bool[V]) that leads each vertex, -1 for none.

    Each value is in a ``vertex`` (int[V], -1 for none) and follows its ``anchor`` (int32[V]).
    """
    lead = np.full(num_vertices, -1, np.int64)
    own = np.flatnonzero((vertex >= 0) & is_element)
    lead[vertex[own]] = own
    following = np.flatnonzero((vertex >= 0) & is_element[anchor])
    lead[vertex[following]] = anchor[following]  # not what is laid beside it
    return lead


def led_work(
    anchor: Int32, is_element: Bool, vertex: Int32, work_flops: Float64, coarse_flops: Float64
) -> Float64:
    """Return float64[V], work on each value with what follows it; where hubs have most, on what makes them.

    Values follow their ``anchor`` (int32[V]), elements of arrays are ``is_element`` (bool[V]). Work is that
    of values (float64[V]) and of each coarse ``vertex`` (int32[V], -1 for hubs), in which that of hubs was
    spread.
    """
    n = len(coarse_flops)
    work = np.bincount(anchor, work_flops, len(anchor)).astype(np.float64)
    more = coarse_flops - np.bincount(np.where(vertex < 0, n, vertex), work, n + 1)[:n]
    taken = np.flatnonzero(is_element & (vertex >= 0))
    if more.sum() > work[taken].sum():
        work[taken] += (more / np.maximum(np.bincount(vertex[taken], minlength=n), 1))[vertex[taken]]
    return work


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums of products."""

    comm_bytes: int  # of one number for each of them
    is_factor: Bool  # [V], values that are multiplied with others in them, and are no such sums
    pairs: Int32  # [2, N], the first and the last factor of some of their terms


def find_sums(graph: AnyGraph) -> Sums:
    """Return what folds terms of several operands each."""
    is_factor, is_sum = np.zeros((2, graph.num_vertices), np.bool_)
    pairs = [np.zeros((2, 0), np.int32)]
    for rows in row_slices(graph):
        operands, row = np.diff(rows.source_ptr), row_of_term(rows)
        is_product = (operands > 1) & (rows.row_fold[row] > 0)
        is_sum[rows.row_sink[row[is_product]]] = True
        is_factor[rows.source[np.repeat(is_product, operands)]] = True
        some = np.flatnonzero(is_product)
        some = some[:: max(1, len(some) // _PAIRS)]
        pairs.append(rows.source[np.stack((rows.source_ptr[some], rows.source_ptr[some + 1] - 1))])
    comm_bytes = int(graph.width_bytes[is_sum].astype(np.int64).sum())
    return Sums(comm_bytes, is_factor & ~is_sum, np.concatenate(pairs, axis=1))


def with_hubs(nets: Hypergraph, traffic: HubTraffic, net_bytes: Int64) -> Hypergraph:
    """Return ``nets`` with those of hubs, which cost ``net_bytes`` (int64[H]) for each part more.

    What most vertices have to do with costs the same however they are divided; sums of rows do not. Of many
    hubs, some stand for all: they shall not leave less room for the other nets.
    """
    size = np.bincount(traffic.link_hub, minlength=len(net_bytes))
    chosen = (size > 1) & (2 * size <= nets.num_vertices) & (net_bytes > 0)
    share = min(1.0, _MOST_PINS / max(int(size[chosen].sum()), 1))
    chosen &= np.random.default_rng(_SEED).random(len(size)) < share
    order = np.lexsort((traffic.link_vertex, traffic.link_hub))
    pin = traffic.link_vertex[order[chosen[traffic.link_hub[order]]]]
    return replace(
        nets,
        net_pointer=np.append(nets.net_pointer, nets.num_pins + np.cumsum(size[chosen])),
        pin=np.append(nets.pin, pin),
        net_bytes=np.append(nets.net_bytes, np.ceil(net_bytes[chosen] / share).astype(np.int64)),
    )


class Sketch:
    """Some nets of a hypergraph.

    Each vertex is led by a value (``lead``, int64[N], -1 for none). Work lies where values
    lead (``work_flops``, float64[V]), by the hypergraph if not given. Values ``value`` (int64[S]) lead
    vertices of these nets, ``work`` (float64[V]) is what each value leads.
    """

    def __init__(
        self,
        hypergraph: Hypergraph,
        lead: Int64,
        num_values: int,
        work_flops: Float64 | None = None,
    ) -> None:
        h = hypergraph
        share = min(1.0, _MOST_PINS / max(h.num_pins, 1))
        self._share = share
        asked = np.random.default_rng(_SEED).random(h.num_nets) < share
        pins = np.repeat(asked, np.diff(h.net_pointer))
        leading = lead[h.pin[pins]]
        net = np.repeat(np.cumsum(asked) - 1, np.diff(h.net_pointer))[pins]
        known = leading >= 0
        slot = np.full(num_values, -1, np.int32)
        slot[leading[known]] = 0
        self.value = np.flatnonzero(slot >= 0)
        slot[self.value] = np.arange(len(self.value))
        self.slot = slot
        self._pin = frozen(slot[leading[known]], np.int64)
        counts = np.bincount(net[known], minlength=int(asked.sum()))
        self._pointer = frozen(pointer_from_counts(counts.astype(np.int64)), np.int64)
        self._net_bytes = frozen(h.net_bytes[asked], np.int64)
        led = lead >= 0
        own = np.bincount(lead[led], balance_weights(h.work_flops)[led], num_values)
        self.work = np.asarray(own if work_flops is None else work_flops, np.float64)

    def comm_bytes(self, part: Int32, num_parts: int) -> int:
        """Return about how many bytes lie between parts; ``part`` int32[S], -1 for anywhere."""
        nets = self._pointer, self._pin, self._net_bytes
        return int(kernels.connectivity(*nets, frozen(part, np.int64), num_parts) / self._share)
