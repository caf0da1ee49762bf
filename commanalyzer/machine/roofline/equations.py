"""Efficiency roofline: upper bound of parallel efficiency from communication (paper Section 5, Eq. 1 to 5).

What depends on p: T_o is the overhead of all nodes together, T_o = p T_p - T_1; that is how Eq. 1 follows
from E = T_1 / (p T_p). So C in Eq. 2 is what all p nodes send in the decomposition for p nodes, C = C(n, p),
and B_c is the bandwidth *per node* while all nodes communicate, B_c = B_c(p) (paper Figure 7): C / B_c is the
sum over nodes of the time that each of them spends sending. R is that of one node on the whole problem.

One function per equation. Symbols: C ``comm_bytes``, W ``work_flop``, R ``throughput``, B_c ``bandwidth``,
O_c ``overlap``, I_c ``intensity``, T_1 ``serial_s``, T_o ``overhead_s``, E ``efficiency``, p ``num_nodes``.
B_c is the effective bisection bandwidth. The equations raise ``MachineModelError`` for values out of range.

Least time that one node spends on its messages: the terms that the paper's Eq. 2 leaves out.

LogGP (Alexandrov et al., SPAA '95; LogP: Culler et al., PPoPP '93) describes a network by latency L,
processor overhead o per message, gap g between messages and gap per byte G = 1 / B. Here, as what a ping-pong
measures, L is the whole time of a small message from sender to receiver, both overheads included.

A node that in r rounds exchanges M messages (the more of sent and received) with S bytes (likewise), where a
round cannot start before the messages of the round before have come, spends at least

    r L           waiting for one message per round; the others of the round travel at the same time
    (M - r) g     since the further messages of a round leave or arrive at least g apart
    S / B         since its link carries B bytes per second in each direction; with exchanges that wait for
                  each other S is a sum over these phases

on the network, of which a share of at most O_c hides behind computation, and o (M_sent + M_received) of its
processor, which never hides. A reduction or a broadcast over f partners takes ceil(log2(f + 1)) latencies one
after another (binomial tree; recursive doubling takes as many for both together).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.errors import MachineModelError
from commanalyzer.foundation.quantities import (
    Bytes,
    BytesPerSecond,
    Dimensionless,
    Flop,
    FlopPerSecond,
    Seconds,
)
from commanalyzer.machine.parameters import MachineParameters, Reading


def efficiency(overhead_s: Seconds, serial_s: Seconds) -> Dimensionless:
    """Parallel efficiency E = 1 / (1 + T_o / T_1), T_o >= 0, T_1 > 0 (paper Eq. 1)."""
    _require_nonnegative(overhead_s, "overhead time")
    _require_positive(serial_s, "single-node time")
    return Dimensionless(1.0 / (1.0 + overhead_s / serial_s))


def serial_time(work_flop: Flop, throughput: FlopPerSecond) -> Seconds:
    """Single-node time T_1 = W / R, W >= 0, R > 0 of one node (paper Eq. 3)."""
    _require_nonnegative(work_flop, "work")
    _require_positive(throughput, "throughput")
    return Seconds(work_flop / throughput)


def efficiency_upper_bound(
    intensity: float, throughput: FlopPerSecond, bandwidth: BytesPerSecond, overlap: Dimensionless
) -> Dimensionless:
    """Upper bound of efficiency E_u = 1 / (1 + R I_c (1 - O_c) / B_c) (paper Eq. 4).

    I_c = C / W >= 0 is in bytes per operation of W; R > 0, B_c > 0, O_c in [0, 1).
    """
    _require_nonnegative(intensity, "communication intensity")
    _require_positive(throughput, "throughput")
    _require_positive(bandwidth, "bandwidth")
    _require(0.0 <= overlap < 1.0, "an overlap in [0, 1)", overlap)
    return Dimensionless(1.0 / (1.0 + throughput * intensity * (1.0 - overlap) / bandwidth))


def parallel_time_lower_bound(serial_s: Seconds, num_nodes: int, bound: Dimensionless) -> Seconds:
    """Lower bound of parallel time T_p,l = T_1 / (p E_u), T_1 >= 0, p >= 1, E_u in (0, 1] (paper Eq. 5)."""
    _require_nonnegative(serial_s, "single-node time")
    _require(num_nodes >= 1, "at least one node", num_nodes)
    _require(0.0 < bound <= 1.0, "an efficiency in (0, 1]", bound)
    return Seconds(serial_s / (num_nodes * bound))


def communication_intensity(comm_bytes: Bytes, work_flop: Flop) -> float:
    """Communication intensity I_c = C / W in bytes per operation of W (paper Section 5, before Eq. 4).

    Without work it is infinite, or 0 when nothing is communicated either.
    """
    _require_nonnegative(comm_bytes, "communication")
    _require_nonnegative(work_flop, "work")
    if not work_flop:
        return math.inf if comm_bytes else 0.0
    return comm_bytes / work_flop


def machine_bound(
    intensity: float,
    machine: MachineParameters,
    *,
    nodes: int | None = None,
    message_bytes: float | None = None,
) -> Dimensionless | None:
    """Eq. 4 with the bandwidth of a link; ``None`` when machine or intensity is not known (no work).

    Node count p and mean message size are for a machine whose overlap depends on them.
    """
    if machine.throughput is None or not math.isfinite(intensity):
        return None
    bandwidth = link_bandwidth(machine)
    if bandwidth is None:
        return None
    return efficiency_upper_bound(
        intensity,
        FlopPerSecond(machine.throughput.value),
        bandwidth,
        Dimensionless(overlap_at(machine, nodes, message_bytes).value),
    )


def link_bandwidth(machine: MachineParameters) -> BytesPerSecond | None:
    """B of one node's link, B/s: the largest measured B_c, that of the fewest nodes; ``None`` when not known.

    B_c(p) is what partners drawn at random get. Nodes that talk to few others near them get more, but no node
    moves more than its link carries: with B in it, Eq. 4 is a bound for every program; with B_c(p) it is what
    to expect of traffic between random partners.
    """
    found = machine.bandwidth
    if found is None:
        return None
    return BytesPerSecond(max(found.curve.values) if found.curve else found.value)


def bandwidth_at(machine: MachineParameters, nodes: int | None) -> Reading | None:
    """B_c(p) of long messages between random partners, B/s; ``None`` when it is not known.

    The time that each message takes however short it is belongs to the latency, so of a bandwidth that was
    measured over message sizes the longest counts.
    """
    found = machine.bandwidth
    if found is None:
        return None
    longest = found.curve.message_bytes[-1] if found.curve and found.curve.message_bytes else None
    return found.at(nodes=nodes, message_bytes=longest)


def overlap_at(machine: MachineParameters, nodes: int | None, message_bytes: float | None) -> Reading:
    """O_c of messages of that mean size, 0 when unknown: the bound then holds without overlap."""
    if machine.overlap is None:
        return Reading(0.0)
    return machine.overlap.at(nodes=nodes, message_bytes=message_bytes)


def _require(is_right: bool, expected: str, found: float) -> None:
    if not is_right:
        raise MachineModelError(f"expected {expected}, found {found}")


def _require_nonnegative(value: float, name: str) -> None:
    _require(0 <= value < math.inf, f"a {name} of 0 or more", value)


def _require_positive(value: float, name: str) -> None:
    _require(0 < value < math.inf, f"a positive {name}", value)


def crossing_time(crossing: Bytes, num_nodes: int, bandwidth: BytesPerSecond) -> Seconds:
    """Time that traffic needs to cross the middle of the network, 2 X (p - 1) / (p^2 B_c), seconds.

    While all p nodes exchange B_c with partners drawn at random, p / (2 (p - 1)) of the traffic p B_c crosses
    any given division of the nodes into halves: the network carries p^2 B_c / (2 (p - 1)) across. Traffic
    between all pairs alike, or between parts at random places, has X = C p / (2 (p - 1)) on average, which
    gives C / (p B_c), the paper's Eq. 2 per node. It is no bound: parts may be placed so that less crosses,
    and a network may carry more across than random partners use.

    ``crossing``: X, bytes between the halves in both directions; ``num_nodes``: p, >= 2; ``bandwidth``:
    B_c(p), effective bisection bandwidth per node, B/s.
    """
    return Seconds(2.0 * crossing * (num_nodes - 1) / (num_nodes**2 * bandwidth))


def phased_amount(sent: NDArray[np.int64], received: NDArray[np.int64]) -> NDArray[np.int64]:
    """int64[p], what passes a node's link one after another in phases that wait for each other.

    The link carries both directions at once, but only within a phase: sum over k of max(sent_k, received_k).
    Phase 0 receives 10 and sends 2, phase 1 sends 20 and receives 4: 10 + 20, where without phases max(2 +
    20, 10 + 4) would be enough.

    ``sent``: int64[K, p], of each phase (bytes or messages); ``received``: int64[K, p].
    """
    return np.asarray(np.maximum(sent, received).sum(axis=0))


def mean_crossing_bytes(comm_bytes: Bytes, num_nodes: int) -> Bytes:
    """Bytes that cross between the halves on average when parts are placed at random, C p / (2 (p - 1)).

    With it, :func:`crossing_time` is C / (p B_c), the paper's Eq. 2 per node; p >= 2.
    """
    return Bytes(comm_bytes * num_nodes / (2.0 * (num_nodes - 1)))


def collective_rounds(partners: int) -> int:
    """Messages one after another that reach, or collect from, f partners: ceil(log2(f + 1)).

    Reference: binomial tree, optimal when a node takes part in one message at a time (Karp et al., SPAA '93).
    """
    return math.ceil(math.log2(partners + 1))


def exposed_time(network_s: Seconds, processor_s: Seconds, overlap: Dimensionless) -> Seconds:
    """Exposed max((1 - O_c) network, processor), seconds: communication that does not hide (see Eq. 2)."""
    return Seconds(max((1.0 - overlap) * network_s, processor_s))
