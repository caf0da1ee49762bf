"""Time of a communication phase in a generated network, without SimGrid: its flow model in compiled loops.

SimGrid replays every rank as a thread, which takes minutes from some thousand ranks on. A phase in which all
receives are posted, all sends started and then awaited needs no threads: messages are flows that share links
by weighted max-min fairness, as in SimGrid's model, until each has been carried. Both agree within a few per
cent (``tests/e2e/test_allocations.py``, workloads/ALLOCATIONS.md).

Reference: P. Velho et al., On the validity of flow-level TCP network models for grid and cloud simulations,
ACM TOMACS 23(4), 2013 (SimGrid's sharing: rates are inverse to latency plus weight-S per bandwidth of each
link).
"""

from __future__ import annotations

import numpy as np

from commanalyzer.foundation.compiled import compiled
from commanalyzer.machine.simulation.platforms import MEMORY_BANDWIDTH, MEMORY_LATENCY_S, LinkParameters
from commanalyzer.machine.simulation.routes import Floats, Int64, Messages, Topology

# Links that are full at nearly the same share are full together: rates are 1 % off at most. Halved, twice
# the work; without it, a network in which every link has another load takes a round per link.
_TOGETHER = 0.01
_NEVER = np.inf


@compiled
def shared_rates(  # noqa: C901 loops over links and flows
    routes: Int64, active: Int64, count: Floats, penalty: Floats, capacity: Floats, rate: Floats
) -> None:
    """Weighted max-min fair rates of the active flows, by progressive filling, into ``rate``.

    ``routes``: int64[F, K], links of each flow, -1 behind the last one. ``active``: int64[A], flows that
    share now. ``count``: float64[F], equal messages in each flow. ``penalty``: float64[F]; a message gets a
    rate proportional to 1 / penalty. ``capacity``: float64[L], bandwidth of links, B/s. ``rate``: float64[F],
    of one message, B/s.
    """
    left = capacity.copy()
    demand = np.zeros(len(capacity))
    waiting = active.copy()
    number = len(waiting)
    for k in range(number):
        flow = waiting[k]
        rate[flow] = 0.0
        for link in routes[flow]:
            if link < 0:
                break
            demand[link] += count[flow] / penalty[flow]
    while number > 0:
        level = _NEVER
        for link in range(len(left)):
            if demand[link] > 1e-30:
                level = min(level, left[link] / demand[link])
        if level == _NEVER:
            return
        limit = level * (1.0 + _TOGETHER)
        kept = 0
        full = np.zeros(len(left), dtype=np.bool_)
        for link in range(len(left)):
            full[link] = demand[link] > 1e-30 and left[link] <= limit * demand[link]
        for k in range(number):
            flow = waiting[k]
            stops = False
            for link in routes[flow]:
                if link < 0 or stops:
                    break
                stops = full[link]
            if not stops:
                waiting[kept] = flow
                kept += 1
                continue
            rate[flow] = level / penalty[flow]
            for link in routes[flow]:
                if link < 0:
                    break
                demand[link] -= count[flow] / penalty[flow]
                left[link] = max(left[link] - count[flow] * rate[flow], 0.0)
        for link in range(len(left)):
            if full[link]:
                demand[link] = 0.0
        if kept == number:
            return
        number = kept


@compiled
def finish_times(
    routes: Int64,
    begin_s: Floats,
    size_bytes: Floats,
    count: Floats,
    penalty: Floats,
    capacity: Floats,
    precision: float,
) -> Floats:
    """float64[F], when the last byte of each flow is there, seconds.

    ``routes``: int64[F, K]; ``begin_s``: float64[F], when the first byte arrives: flows take no bandwidth
    before; ``size_bytes``: float64[F], of one message; ``count``: float64[F], equal messages in each flow;
    ``penalty``: float64[F]; ``capacity``: float64[L], B/s; ``precision``: flows that end within this share of
    the time since the last change end together.
    """
    flows = len(size_bytes)
    order = np.argsort(begin_s)
    left = size_bytes.copy()
    end_s = begin_s.copy()
    rate = np.zeros(flows)
    active = np.empty(flows, dtype=np.int64)
    number, following = 0, 0
    now = 0.0
    while number > 0 or following < flows:
        if number == 0:
            now = begin_s[order[following]]
        while following < flows and begin_s[order[following]] <= now * (1.0 + 1e-12):
            flow = order[following]
            following += 1
            if left[flow] > 0.0:
                active[number] = flow
                number += 1
        if number == 0:
            continue
        shared_rates(routes, active[:number], count, penalty, capacity, rate)
        step = _NEVER
        for k in range(number):
            step = min(step, left[active[k]] / rate[active[k]])
        reach = max(step * (1.0 + precision), step + precision * now)
        if following < flows:
            reach = min(reach, begin_s[order[following]] - now)
        kept = 0
        for k in range(number):
            flow = active[k]
            needs = left[flow] / rate[flow]
            if needs <= reach * (1.0 + 1e-12):
                end_s[flow] = now + needs
            else:
                left[flow] -= reach * rate[flow]
                active[kept] = flow
                kept += 1
        number = kept
        now += reach
    return end_s


# SimGrid's default network/weight-S of the SMPI model, bytes: what a link's bandwidth adds to the penalty.
_WEIGHT_BYTES = 8775.0
# Changes of the shares that lie within 2 % of the time so far are made together. Halved, twice the work.
PRECISION = 0.02


def phase_time(messages: Messages, rank_position: Int64, network: Topology, link: LinkParameters) -> float:
    """Seconds from the start of a phase to its end on the slowest rank.

    ``rank_position``: int64[P], place of each rank in the network. A rank takes ``message_overhead_s`` of
    ``link`` for each send and each receive, one by one.
    """
    if not len(messages.sender):
        return 0.0
    overhead_s = link.message_overhead_s
    turn = _number_within(messages.sender)
    source, target = rank_position[messages.sender], rank_position[messages.receiver]
    inside = source == target
    arrival = np.empty(len(source))
    sent_s = (turn + 1) * overhead_s
    arrival[inside] = sent_s[inside] + MEMORY_LATENCY_S + messages.size_bytes[inside] / MEMORY_BANDWIDTH
    outside = ~inside
    if outside.any():
        arrival[outside] = _network_arrivals(
            source[outside], target[outside], turn[outside], messages.size_bytes[outside], network, link
        )
    # A rank takes its messages in one by one, as they arrive: the last one when those before are done.
    order = np.lexsort((arrival, messages.receiver))
    receiver = messages.receiver[order]
    behind = _number_behind(receiver)
    return float((arrival[order] + (behind + 1) * overhead_s).max())


def _network_arrivals(
    source: Int64, target: Int64, turn: Int64, size_bytes: Int64, network: Topology, link: LinkParameters
) -> Floats:
    """float64[M], arrival of each message; equal ones between the same nodes are one flow."""
    key = np.stack((source, target, turn, size_bytes), axis=1)
    flows, inverse, count = np.unique(key, axis=0, return_inverse=True, return_counts=True)
    routes = _left_aligned(network.routes(flows[:, 0], flows[:, 1]))
    latency_s = network.latency_s(routes, link.wire_s)
    capacity = network.link_factors * link.bandwidth
    weight = np.where(routes >= 0, _WEIGHT_BYTES / capacity[routes], 0.0).sum(axis=1)
    begin_s = (flows[:, 2] + 1) * link.message_overhead_s + latency_s
    end_s = finish_times(
        routes,
        begin_s,
        flows[:, 3].astype(np.float64),
        count.astype(np.float64),
        latency_s + weight,
        capacity,
        PRECISION,
    )
    return np.asarray(end_s[inverse.ravel()])


def _left_aligned(routes: Int64) -> Int64:
    """The routes without gaps, as wide as the longest."""
    order = np.argsort(routes < 0, axis=1, kind="stable")
    width = int((routes >= 0).sum(axis=1).max(initial=1))
    return np.ascontiguousarray(np.take_along_axis(routes, order, axis=1)[:, :width])


def _number_within(rank: Int64) -> Int64:
    """int64[M], how many messages of the same rank come before each."""
    order = np.argsort(rank, kind="stable")
    ordered = rank[order]
    found = np.empty(len(rank), dtype=np.int64)
    found[order] = np.arange(len(rank)) - np.searchsorted(ordered, ordered)
    return found


def _number_behind(rank: Int64) -> Int64:
    """int64[M], how many messages of the same rank come after each; ranks are in order."""
    last = np.searchsorted(rank, rank, side="right") - 1
    return np.asarray(last - np.arange(len(rank)))
