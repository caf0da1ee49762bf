"""Bounds of efficiency and time over node counts, what limits them, and what a better machine changes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat

import numpy as np

from commanalyzer.communication.matrix import Communication
from commanalyzer.foundation.errors import MachineModelError
from commanalyzer.foundation.quantities import (
    Bytes,
    BytesPerSecond,
    Dimensionless,
    Flop,
    FlopPerSecond,
    Seconds,
)
from commanalyzer.foundation.work import WorkUnit
from commanalyzer.machine.parameters import MachineParameters
from commanalyzer.machine.roofline.equations import (
    communication_intensity,
    crossing_time,
    efficiency,
    efficiency_upper_bound,
    exposed_time,
    parallel_time_lower_bound,
    serial_time,
)
from commanalyzer.machine.roofline.traffic import Network, NodeTraffic, Placement, network_at, node_traffic


@dataclass(frozen=True, slots=True)
class NodeTimes:
    """Least times of the busiest node, seconds."""

    computation_s: float  # T_1 / p
    latency_s: float  # r L of its own messages, or of the collectives where those take longer
    gap_s: float  # (M - r) g
    transfer_s: float  # S / B, or ``crossing_s`` where that is longer
    # Mean time of the traffic across the middle of the network with parts at random places; 0 for the best
    # placement, and on a machine whose bandwidth does not depend on the node count
    crossing_s: float
    collective_s: float  # time of the collectives (also in ``latency_s`` when it is what binds there)
    processor_s: float  # o times its messages
    exposed_s: float  # what of all this does not hide behind computation
    waiting_s: float = 0.0  # how much longer the node with the most work takes for that work alone

    @property
    def limit(self) -> str:
        """What takes most of the communication: the term to improve; ``nothing`` without communication."""
        if not self.exposed_s:
            return "nothing"
        own_s = self.latency_s + self.gap_s + self.transfer_s
        network_s = max(own_s, self.collective_s)
        if self.exposed_s == self.processor_s and self.processor_s >= network_s:
            return "message overhead"
        if network_s > own_s:
            return "collectives"
        link = "bisection bandwidth" if self.transfer_s == self.crossing_s else "bandwidth"
        terms = {link: self.transfer_s, "latency": self.latency_s, "message rate": self.gap_s}
        largest = max(terms, key=lambda name: terms[name])
        is_collective = largest == "latency" and self.latency_s == self.collective_s
        return "collectives" if is_collective else largest

    @property
    def binds(self) -> str:
        """What takes most of the node's time: ``computation``, :attr:`limit`, ``imbalance`` of work."""
        if self.waiting_s > self.exposed_s:
            return "imbalance"
        return "computation" if self.computation_s >= self.exposed_s else self.limit


@dataclass(frozen=True, slots=True)
class BoundPoint:
    """Bounds for one node count."""

    num_nodes: int  # p
    serial_s: float  # T_1, seconds
    # E_u of the paper's Eq. 4, for the decomposition with the least bytes: with the bandwidth of a link no
    # program that moves as many bytes is above it (with random placement it is ``expected_efficiency``)
    paper_efficiency: float
    # Eq. 4 with B_c(p), for the same: no bound but what to expect when nodes that talk to each other are at
    # random places
    expected_efficiency: float
    paper_method: str  # that decomposition
    paper_bytes: int  # C of ``paper_method``
    # Latency-aware bound of programs with a decomposition that was found, for the one where it is highest
    efficiency: float
    method: str  # that decomposition (with many messages another one than ``paper_method``)
    comm_bytes: int  # C of ``method``
    times: NodeTimes = field(repr=False)  # least times of its busiest node
    network: Network = field(repr=False)  # the machine at this node count

    @property
    def paper_time_s(self) -> float:
        """Least parallel time by the paper's Eq. 4 and 5, seconds."""
        return self._time_s(self.paper_efficiency)

    @property
    def time_s(self) -> float:
        """Least parallel time by the latency-aware bound (Eq. 5), seconds."""
        return self._time_s(self.efficiency)

    @property
    def speedup(self) -> float:
        """Greatest T_1 / T_p, p E by the latency-aware bound."""
        return self.num_nodes * self.efficiency

    def _time_s(self, bound: float) -> float:
        return parallel_time_lower_bound(Seconds(self.serial_s), self.num_nodes, Dimensionless(bound))


@dataclass(frozen=True, slots=True)
class BetterMachine:
    """A better machine and what it brings at one node count."""

    name: str  # what is better
    num_nodes: int  # p
    efficiency: float  # latency-aware bound then
    time_ratio: float  # least time then over the least time now


@dataclass(frozen=True, slots=True)
class ScalingBound:
    """Bounds over node counts."""

    machine: MachineParameters
    work_flop: int  # W
    points: tuple[BoundPoint, ...]  # by increasing node count
    changes: tuple[BetterMachine, ...]  # what better machines bring, by node count, then as in :data:`BETTER`
    # With ``random`` the numbers are those of the mean placement, not bounds of each one
    placement: Placement = "best"
    unit: WorkUnit = "flop"  # of W

    def __repr__(self) -> str:
        points = ", ".join(f"{100 * x.efficiency:.1f} % on {x.num_nodes}" for x in self.points)
        return f"ScalingBound({self.machine.name or 'machine'}, efficiency at most {points})"

    def largest(self, least_efficiency: float) -> BoundPoint | None:
        """Point of the most nodes whose latency-aware bound is at least that; ``None`` without any."""
        enough = [point for point in self.points if point.efficiency >= least_efficiency]
        return enough[-1] if enough else None

    def crossing_nodes(self, least_efficiency: float) -> float | None:
        """Node count between two points where the bound falls below ``least_efficiency``, interpolated.

        T_o / T_1 = 1 / E - 1 is taken as a power of p between neighbours. ``None`` when the last point is
        still above, or none is.
        """
        start = self.largest(least_efficiency)
        if start is None or start is self.points[-1]:
            return None
        after = self.points[self.points.index(start) + 1]
        low, high, wanted = (1.0 / e - 1.0 for e in (start.efficiency, after.efficiency, least_efficiency))
        if low <= 0.0:
            return None
        share = math.log(wanted / low) / math.log(high / low)
        return float(start.num_nodes * (after.num_nodes / start.num_nodes) ** share)


BETTER: Mapping[str, Mapping[str, float]] = {
    "2x bandwidth": {"bandwidth": 2.0, "link_bandwidth": 2.0},
    "half the latency": {"latency_s": 0.5, "overhead_s": 0.5, "gap_s": 0.5, "allreduce_s": 0.5},
    "2x faster nodes": {"throughput": 2.0},
}


def scaling_bound(
    work_flop: int,
    candidates: Iterable[tuple[str, Communication]],
    machine: MachineParameters,
    placement: Placement = "best",
    unit: WorkUnit = "flop",
    imbalances: Iterable[float] = repeat(1.0),
) -> ScalingBound:
    """Bounds for every node count of ``candidates``; a point for one node is added.

    ``work_flop``: W, > 0. ``candidates``: decompositions: name and communication; several per node count.
    ``imbalances``: of each, work of the node with the most over the mean; NaN where not known counts as 1.
    ``machine``: bandwidth and throughput must be known. ``placement``: parts that exchange much are close in
    the network (``best``: nothing but the links of the nodes limits them), or anywhere (``random``, as batch
    systems do it; of the mean placement: a lucky one may be faster). It matters where the bandwidth per node
    falls with the node count. ``unit``: of W; the throughput of the machine is in the same operations. Raises
    ``MachineModelError`` if the machine is incomplete or there is no work.
    """
    if work_flop <= 0:
        raise MachineModelError(
            "expected a program with operations on values, found none: it has no efficiency bound"
        )
    # Where all nodes together get the bandwidth that one gets alone, the middle is never in the way.
    is_contended = machine.bandwidth is not None and machine.bandwidth.curve is not None
    groups: dict[int, list[tuple[str, NodeTraffic]]] = {}
    for (name, communication), imbalance in zip(candidates, imbalances, strict=False):
        traffic = node_traffic(communication, placement if is_contended else None)
        traffic = replace(traffic, imbalance=imbalance if math.isfinite(imbalance) else 1.0)
        groups.setdefault(communication.num_parts, []).append((name, traffic))
    alone = Communication(np.zeros((1, 1), np.int64), np.zeros((1, 1), np.int64), 0, 0, collectives=())
    groups[1] = [("", node_traffic(alone))]
    ordered = [groups[p] for p in sorted(groups)]
    points = tuple(_point(work_flop, group, machine, placement, {}) for group in ordered)
    changes = tuple(
        BetterMachine(name, now.num_nodes, better.efficiency, better.time_s / now.time_s)
        for group, now in zip(ordered, points, strict=True)
        if now.num_nodes > 1
        for name, factors in BETTER.items()
        for better in (_point(work_flop, group, machine, placement, factors),)
    )
    return ScalingBound(machine, work_flop, points, changes, placement, unit)


def node_times(traffic: NodeTraffic, network: Network, serial_s: float) -> NodeTimes:
    """Least times of the busiest node in one decomposition."""
    steps_s = traffic.collective_steps * network.latency_s
    collective_s = steps_s
    if network.allreduce_s is not None:
        collective_s = traffic.collective_rounds * network.allreduce_s
    latency_s = np.maximum(traffic.rounds * network.latency_s, steps_s)
    gap_s = (traffic.messages - np.minimum(traffic.rounds, traffic.messages)) * network.gap_s
    transfer_s = traffic.node_bytes / network.link_bandwidth
    crossing_s = crossing_time(
        Bytes(traffic.crossing_bytes), traffic.num_nodes, BytesPerSecond(network.bandwidth)
    )
    transfer_s[-1] = max(transfer_s[-1], crossing_s)
    busiest = int(np.argmax(latency_s + gap_s + transfer_s))
    own = [float(term[busiest]) for term in (latency_s, gap_s, transfer_s)]
    processor_s = float((traffic.handled * network.overhead_s).max())
    network_s = Seconds(max(sum(own), collective_s))
    computation_s = serial_s / traffic.num_nodes
    exposed_s = exposed_time(network_s, Seconds(processor_s), Dimensionless(network.overlap))
    return NodeTimes(
        computation_s=computation_s,
        latency_s=own[0],
        gap_s=own[1],
        transfer_s=own[2],
        crossing_s=crossing_s,
        collective_s=collective_s,
        processor_s=processor_s,
        exposed_s=exposed_s,
        waiting_s=max((traffic.imbalance - 1.0) * computation_s - exposed_s, 0.0),
    )


def _point(
    work_flop: int,
    group: Sequence[tuple[str, NodeTraffic]],
    machine: MachineParameters,
    placement: Placement,
    factors: Mapping[str, float],
) -> BoundPoint:
    """The best that any of the decompositions allows, by either bound."""
    networks = [_scaled(network_at(machine, traffic), factors) for _, traffic in group]
    rated = [
        (*latency_aware(work_flop, traffic, network), name, traffic, network)
        for (name, traffic), network in zip(group, networks, strict=True)
    ]
    # Overlap, and with it Eq. 4, depends on the size of messages as well.
    papers = [_paper(work_flop, t, n, n.link_bandwidth) for (_, t), n in zip(group, networks, strict=True)]
    least = int(np.argmax(papers))
    expected = _paper(work_flop, group[least][1], networks[least], networks[least].bandwidth)
    bound, times, method, traffic, network = max(rated, key=lambda item: item[0])
    return BoundPoint(
        num_nodes=traffic.num_nodes,
        serial_s=serial_time(Flop(work_flop), FlopPerSecond(network.throughput)),
        paper_efficiency=expected if placement == "random" else papers[least],
        expected_efficiency=expected,
        paper_method=group[least][0],
        paper_bytes=round(group[least][1].comm_bytes),
        efficiency=bound,
        method=method,
        comm_bytes=round(traffic.comm_bytes),
        times=times,
        network=network,
    )


def _paper(work_flop: int, traffic: NodeTraffic, network: Network, bandwidth: float) -> float:
    """Eq. 4 with that bandwidth, B/s."""
    return efficiency_upper_bound(
        communication_intensity(Bytes(traffic.comm_bytes), Flop(work_flop)),
        FlopPerSecond(network.throughput),
        BytesPerSecond(bandwidth),
        Dimensionless(network.overlap),
    )


def latency_aware(work_flop: float, traffic: NodeTraffic, network: Network) -> tuple[float, NodeTimes]:
    """Bound that knows latency, times of the busiest node."""
    serial_s = serial_time(Flop(work_flop), FlopPerSecond(network.throughput))
    times = node_times(traffic, network, serial_s)
    # All others wait for the busiest node: with T_o = p times what it cannot hide, Eq. 1 gives the bound.
    return efficiency(Seconds(traffic.num_nodes * (times.exposed_s + times.waiting_s)), serial_s), times


def _scaled(network: Network, factors: Mapping[str, float]) -> Network:
    known = {name: getattr(network, name) for name in factors}
    return replace(network, **{name: v * factors[name] for name, v in known.items() if v is not None})
