"""Least time that one node spends on its messages: the terms that the paper's Eq. 2 leaves out.

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

from commanalyzer.foundation.quantities import Bytes, BytesPerSecond, Dimensionless, Seconds


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
