"""The flow model beside SimGrid's replay of the same phase."""

import numpy as np

from bench.flow_model import phase_time
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.machine.measuring.phase_campaign import CampaignPoint
from commanalyzer.machine.placement import Placement, on_nodes
from commanalyzer.machine.simulation.platforms import LinkParameters, Platform, make_platform
from commanalyzer.machine.simulation.routes import Int64, Messages, Topology, network_of, placed
from commanalyzer.machine.simulation.schedule import joined, replay, transfers
from commanalyzer.scaling.allocations.campaign import pattern_messages
from commanalyzer.scaling.allocations.workload import Halo

LINK = LinkParameters(bandwidth=1e9, latency_s=2e-6, throughput=4e9, message_overhead_s=3e-7)
NODES, PROCESSES = 32, 2
_TIMEOUT_S = 300.0
_FRAGMENT_NODES = 8


def allocated(network: Topology, num_nodes: int, number: int) -> Int64:
    """int64[N], places of an allocation: the first nodes of the network, or fragments of eight nodes.

    Number 0 is consecutive nodes; others are different random fragments, as a busy machine gives.
    """
    if number == 0 or network.num_hosts // _FRAGMENT_NODES * _FRAGMENT_NODES < num_nodes:
        return np.arange(num_nodes)
    random = np.random.default_rng([number, num_nodes])
    count = -(-num_nodes // _FRAGMENT_NODES)
    chosen = np.sort(random.permutation(network.num_hosts // _FRAGMENT_NODES)[:count])
    return np.asarray((chosen[:, None] * _FRAGMENT_NODES + np.arange(_FRAGMENT_NODES)).ravel()[:num_nodes])


def replayed_phase(messages: Messages, placement: Placement, platform: Platform) -> float:
    """Seconds of one phase by SimGrid: all receives posted, all sends started, then awaited.

    Raises:
        ConfigError: If there is no SimGrid.
    """
    turn = np.zeros_like(messages.sender)
    sent = transfers(messages.sender, messages.receiver, turn, messages.size_bytes)
    traces = joined(placement.num_ranks, sent)
    actions = replay(placed(platform, placement), traces, _TIMEOUT_S)
    return max(action.end_s for action in actions)


def ratio(topology: str, messages: Messages, number: int) -> float:
    """Time of the flow model over SimGrid's, on 32 nodes x 2 processes of a network of 64."""
    platform = make_platform(topology, 2 * NODES, LINK)
    network = network_of(platform)
    placement = on_nodes(NODES, PROCESSES, position=allocated(network, NODES, number))
    mine = phase_time(messages, placement.rank_position, network, LINK)
    return mine / replayed_phase(messages, placement, platform)


def comparison() -> str:
    """Table of ratios, or why there is none."""
    sizes = (64, 4096, 262144)
    ranks = NODES * PROCESSES
    halo = Halo((64, 64, 64), 8, 1, "all").messages(ranks)
    lines = [
        "| network | " + " | ".join(f"shift {s} B | ring {s} B" for s in sizes) + " | halo, 26 neighbours |",
        "| --- |" + " --- |" * (2 * len(sizes) + 1),
    ]
    try:
        for topology in ("star", "fat-tree", "torus", "dragonfly", "hypercube"):
            cells = [
                ratio(topology, pattern_messages(CampaignPoint(NODES, PROCESSES, 4, size, pattern)), 1)
                for size in sizes
                for pattern in ("shift", "ring")
            ]
            cells.append(ratio(topology, halo, 1))
            lines.append(f"| {topology} | {' | '.join(f'{cell:.3f}' for cell in cells)} |")
    except ConfigError:
        return "SimGrid was not installed."
    return "\n".join(lines)
