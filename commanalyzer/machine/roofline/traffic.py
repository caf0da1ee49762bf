"""What the nodes exchange in one decomposition, as the latency-aware bound needs it.

The machine at one node count and message size: plain numbers, read off its parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from commanalyzer.communication.matrix import Collective, Communication
from commanalyzer.foundation.errors import MachineModelError
from commanalyzer.foundation.quantities import Bytes
from commanalyzer.machine.parameters import MachineParameters, Parameter, Reading
from commanalyzer.machine.roofline.equations import (
    bandwidth_at,
    collective_rounds,
    link_bandwidth,
    mean_crossing_bytes,
    overlap_at,
    phased_amount,
)

Float = NDArray[np.float64]
Placement = Literal["best", "random"]


@dataclass(frozen=True, slots=True)
class NodeTraffic:
    """Least that the nodes have to exchange, for each node and, as the last entry, for the mean node.

    The mean node carries its share of the hub values as well; of the others they are left out, because a tree
    may put them on any node. Where hubs were not told apart there is only the mean node.
    """

    num_nodes: int  # p
    comm_bytes: float  # C, all bytes
    mean_message_bytes: float | None  # C over all messages; ``None`` without messages
    # [k], the more of sent and received bytes S; where phases of a step wait for each other, their sum over
    # the phases
    node_bytes: Float
    rounds: Float  # [k], rounds r that wait for the answer to the round before; each phase is one
    messages: Float  # [k], the more of sent and received messages M, likewise
    handled: Float  # [k], sent and received messages together
    crossing_bytes: float  # X, bytes between the halves of the network; 0 when it is not contended
    collective_rounds: int  # rounds in which hub values are reduced and spread again
    collective_partners: int  # most partners f of a hub value
    collective_bytes: float  # bytes of one such round at one node
    imbalance: float = 1.0  # work of the node with the most over the mean

    @property
    def collective_steps(self) -> int:
        """Messages one after another that all collective rounds take."""
        return self.collective_rounds * collective_rounds(self.collective_partners)

    def summary(self) -> dict[str, float]:
        """Numbers of :data:`SUMMARY`: the mean node, and of the others the one with the most bytes.

        Among equals it is the one with the most messages. Another node may need longer for its messages: then
        the summary still gives a bound, but a lower one.
        """
        own = range(len(self.node_bytes) - 1)
        key = [(self.node_bytes[i], self.messages[i], self.rounds[i]) for i in own]
        busiest = max(key, default=(0.0, 0.0, 0.0))
        found = (
            *busiest, self.rounds[-1], self.handled[:-1].max(initial=0.0),
            self.collective_rounds, self.collective_partners, self.collective_bytes,
        )  # fmt: skip
        return {name: float(value) for name, value in zip(SUMMARY, found, strict=True)}


SUMMARY = (
    *("node_bytes", "node_messages", "node_rounds", "mean_rounds", "handled_messages"),
    *("collective_rounds", "collective_partners", "collective_bytes"),
)


def summarised_traffic(
    num_nodes: int, comm_bytes: float, messages: float, summary: Mapping[str, float]
) -> NodeTraffic:
    """Traffic of which only C, all messages (0 if not known) and a summary are known, as from laws.

    What of :data:`SUMMARY` is missing is 0; the rounds of the mean node and the ``imbalance`` of work are 1.
    """
    mean = messages / num_nodes
    known = {name: summary.get(name, 0.0) for name in SUMMARY}
    rounds = summary.get("mean_rounds", 1.0)
    return NodeTraffic(
        num_nodes=num_nodes,
        comm_bytes=comm_bytes,
        mean_message_bytes=comm_bytes / messages if messages else None,
        node_bytes=np.array([known["node_bytes"], comm_bytes / num_nodes]),
        rounds=np.array([known["node_rounds"], min(rounds, mean)]),
        messages=np.array([known["node_messages"], mean]),
        handled=np.array([known["handled_messages"], 2.0 * mean]),
        crossing_bytes=0.0,
        collective_rounds=round(known["collective_rounds"]),
        collective_partners=round(known["collective_partners"]),
        collective_bytes=known["collective_bytes"],
        imbalance=summary.get("imbalance", 1.0),
    )


def node_traffic(communication: Communication, placement: Placement | None = "best") -> NodeTraffic:
    """Traffic per node of ``communication``.

    ``placement``: how parts are placed in the network: at random places the mean traffic crosses its middle;
    at the best ones none need to. ``None`` when it is not contended.

    Rounds: ``messages`` counts how often the values of one array travel from i to j. Where j answers, each
    round waits for the one before, so min(messages(i, j), messages(j, i)) latencies pass one after another; a
    stream in one direction passes in a single one. The same holds for reductions and broadcasts. Where the
    phases of a step are known, every step waits once per phase.
    """
    p = communication.num_parts
    collectives = communication.collectives
    if collectives is None:
        peer_bytes = peer_messages = np.zeros((0, 0), dtype=np.int64)
        pairs = communication.messages
    else:
        peer_bytes = _peers(communication.peer_bytes, communication.comm_bytes)
        pairs = peer_messages = _peers(communication.peer_messages, communication.messages)
    total, mean = communication.total_bytes, communication.total_messages / p
    rounds = np.maximum(_rounds(pairs), _phase_rounds(communication))
    steps, partners, collective_bytes = _collective_rounds(collectives or ())
    return NodeTraffic(
        num_nodes=p,
        comm_bytes=total,
        mean_message_bytes=communication.mean_message_bytes,
        node_bytes=_with_mean(_passing(peer_bytes, communication.phase_bytes), total / p),
        rounds=_with_mean(rounds[: len(peer_messages)], min(float(rounds.mean()), mean)),
        messages=_with_mean(_passing(peer_messages, communication.phase_messages), mean),
        handled=_with_mean(peer_messages.sum(axis=0) + peer_messages.sum(axis=1), 2.0 * mean),
        crossing_bytes=mean_crossing_bytes(Bytes(total), p) if placement == "random" and p > 1 else 0.0,
        collective_rounds=steps,
        collective_partners=partners,
        collective_bytes=collective_bytes,
    )


def _peers(own: NDArray[np.int64] | None, everything: NDArray[np.int64]) -> NDArray[np.int64]:
    return everything if own is None else own


def _passing(matrix: NDArray[np.int64], phases: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """int64[p], the more of sent and received; what is in no phase may fill the gaps of the phases."""
    busier = np.asarray(np.maximum(matrix.sum(axis=0), matrix.sum(axis=1)))
    if phases is None or not len(matrix):
        return busier
    return np.asarray(np.maximum(busier, phased_amount(phases.sum(axis=2), phases.sum(axis=1))))


def _phase_rounds(communication: Communication) -> NDArray[np.int64]:
    """int64[p], sum over the phases of the most messages with any other part; 0 without phases."""
    phases = communication.phase_messages
    if phases is None:
        return np.zeros(communication.num_parts, dtype=np.int64)
    both = np.maximum(phases, phases.transpose(0, 2, 1))
    return np.asarray(both.max(axis=2).sum(axis=0))


def _rounds(messages: NDArray[np.int64]) -> NDArray[np.int64]:
    """int64[p], most rounds of each part with any other."""
    answered = np.minimum(messages, messages.T).max(axis=1)
    linked = (messages + messages.T).max(axis=1) > 0
    return np.asarray(np.maximum(answered, linked))


def _with_mean(nodes: NDArray[np.int64], mean: float) -> Float:
    return np.append(nodes.astype(np.float64), mean)


def _collective_rounds(collectives: Sequence[Collective]) -> tuple[int, int, float]:
    """Rounds that wait for each other, most partners, and bytes per round.

    A reduction whose result is spread waits for the one before. One that is not (the checksum at the end) is
    waited for once, and a value that is only spread (a parameter) not at all: every node may know it already.
    Arrays are taken to share rounds, as everywhere in messages.
    """
    reduced = [c for c in collectives if c.kind == "reduce"]
    if not reduced:
        return 0, 0, 0.0
    most = max(c.rounds for c in reduced)
    spread = max((c.rounds for c in collectives if c.kind == "bcast"), default=0)
    per_node = sum(c.comm_bytes / c.partners for c in reduced)
    return max(min(most, spread), 1), max(c.partners for c in reduced), per_node / most


@dataclass(frozen=True, slots=True)
class Network:
    """Numbers of the bounds for one node count."""

    throughput: float  # R of one node, Flop/s
    bandwidth: float  # B_c(p), effective bisection bandwidth per node, B/s: what random partners get
    # B, what one node's link carries when nothing else is in its way, B/s: the largest measured B_c (that of
    # the fewest nodes)
    link_bandwidth: float
    overlap: float  # O_c, in [0, 1)
    latency_s: float = 0.0  # L, 0 when unknown
    overhead_s: float = 0.0  # o, 0 when unknown
    gap_s: float = 0.0  # g, 0 when unknown
    # Measured time of one round of collectives; ``None`` when unknown: it is then ceil(log2(f + 1)) latencies
    allreduce_s: float | None = None
    # Names of the parameters that were not measured at this node count or message size
    extrapolated: tuple[str, ...] = ()


def network_at(machine: MachineParameters, traffic: NodeTraffic) -> Network:
    """Numbers of ``machine`` for ``traffic``; ``MachineModelError`` without bandwidth or throughput."""
    p, size = traffic.num_nodes, traffic.mean_message_bytes
    bandwidth, link = bandwidth_at(machine, p), link_bandwidth(machine)
    if bandwidth is None or link is None or machine.throughput is None:
        missing = [name for name in ("bandwidth", "throughput") if getattr(machine, name) is None]
        raise MachineModelError(
            f"expected a machine with bandwidth and throughput, found no {' and no '.join(missing)}",
            hint=f"give {' and '.join(f'--{name}' for name in missing)}, or --machine NAME|FILE",
        )
    small = {name: _read(getattr(machine, name), p, None) for name in ("latency", "message_overhead", "gap")}
    overlap = overlap_at(machine, p, size)
    readings: dict[str, Reading | None] = {"bandwidth": bandwidth, "overlap": overlap, **small}
    if traffic.collective_rounds:
        partners = traffic.collective_partners + 1
        readings["allreduce"] = _read(machine.allreduce, partners, traffic.collective_bytes)
    allreduce = readings.get("allreduce")
    return Network(
        throughput=_value(_read(machine.throughput, p, None)),
        bandwidth=bandwidth.value,
        link_bandwidth=link,
        overlap=overlap.value,
        latency_s=_value(small["latency"]),
        overhead_s=_value(small["message_overhead"]),
        gap_s=_value(small["gap"]),
        allreduce_s=None if allreduce is None else allreduce.value,
        extrapolated=tuple(name for name, r in readings.items() if r is not None and r.is_extrapolated),
    )


def _read(parameter: Parameter | None, nodes: int, message_bytes: float | None) -> Reading | None:
    """Reading there; a time that was measured over message sizes is that of the smallest unless one is given.

    What longer messages take more belongs to the bandwidth.
    """
    if parameter is None:
        return None
    curve = parameter.curve
    if message_bytes is None and curve is not None and curve.message_bytes:
        message_bytes = curve.message_bytes[0]
    return parameter.at(nodes=nodes, message_bytes=message_bytes)


def _value(reading: Reading | None) -> float:
    return 0.0 if reading is None else reading.value
