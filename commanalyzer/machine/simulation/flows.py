"""Time of a communication phase in a generated network, without SimGrid: its flow model in compiled loops.

SimGrid replays every rank as a thread, which takes minutes from some thousand ranks on. A phase in which all
receives are posted, all sends started and then awaited needs no threads: messages are flows that share links
by weighted max-min fairness, as in SimGrid's model, until each has been carried. Both agree within a few per
cent (``tests/e2e/test_flows.py``, workloads/ALLOCATIONS.md).

Reference: P. Velho et al., On the validity of flow-level TCP network models for grid and cloud simulations,
ACM TOMACS 23(4), 2013 (SimGrid's sharing: rates are inverse to latency plus weight-S per bandwidth of each
link).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from commanalyzer.machine.simulation.flow_kernels import finish_times
from commanalyzer.machine.simulation.platforms import MEMORY_BANDWIDTH, MEMORY_LATENCY_S, LinkParameters
from commanalyzer.machine.simulation.routes import Floats, Int64, Topology

# SimGrid's default network/weight-S of the SMPI model, bytes: what a link's bandwidth adds to the penalty.
_WEIGHT_BYTES = 8775.0
# Changes of the shares that lie within 2 % of the time so far are made together. Halved, twice the work.
PRECISION = 0.02


@dataclass(frozen=True, slots=True)
class Messages:
    """Messages of one phase, all started at once in the order of the arrays.

    Attributes:
        sender: int64[M], rank.
        receiver: int64[M], rank.
        size_bytes: int64[M].
    """

    sender: Int64
    receiver: Int64
    size_bytes: Int64

    def __post_init__(self) -> None:
        if not len(self.sender) == len(self.receiver) == len(self.size_bytes):
            raise ValueError("expected a sender, a receiver and a size of each message")


def phase_time(messages: Messages, rank_position: Int64, network: Topology, link: LinkParameters) -> float:
    """Seconds from the start of a phase to its end on the slowest rank.

    Args:
        messages: Of the phase.
        rank_position: int64[P], place of each rank in the network.
        network: Network.
        link: Its links; a rank takes ``message_overhead_s`` for each send and each receive, one by one.
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
