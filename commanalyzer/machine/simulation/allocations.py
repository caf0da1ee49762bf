"""Campaigns on generated networks: the phases of :mod:`.phase_campaign`, simulated.

The same points as on a real machine; time is that of :mod:`commanalyzer.machine.simulation.flows`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from commanalyzer.machine.measuring.phase_campaign import CampaignPoint, pattern_of
from commanalyzer.machine.placement import Placement, on_nodes
from commanalyzer.machine.simulation.flows import Messages, phase_time
from commanalyzer.machine.simulation.platforms import LinkParameters
from commanalyzer.machine.simulation.routes import Int64, Network

_FRAGMENT_NODES = 8


def allocated(network: Network, num_nodes: int, number: int) -> Int64:
    """int64[N], places of an allocation: the first nodes of the network, or fragments of eight nodes.

    Args:
        network: Network.
        num_nodes: N.
        number: 0 for consecutive nodes; others are different random fragments, as a busy machine gives.
    """
    if number == 0 or network.num_hosts // _FRAGMENT_NODES * _FRAGMENT_NODES < num_nodes:
        return np.arange(num_nodes)
    random = np.random.default_rng([number, num_nodes])
    count = -(-num_nodes // _FRAGMENT_NODES)
    chosen = np.sort(random.permutation(network.num_hosts // _FRAGMENT_NODES)[:count])
    return np.asarray((chosen[:, None] * _FRAGMENT_NODES + np.arange(_FRAGMENT_NODES)).ravel()[:num_nodes])


def pattern_messages(point: CampaignPoint) -> Messages:
    """Messages of one phase of a campaign."""
    pattern = pattern_of(point)
    turn, rank = np.nonzero(pattern.targets >= 0)
    return Messages(rank, pattern.targets[turn, rank], np.full(len(rank), point.message_bytes))


def simulated_campaign(
    points: Sequence[CampaignPoint],
    network: Network,
    link: LinkParameters,
    allocations: Sequence[int] = (0, 1),
) -> Iterator[tuple[Messages, Placement, float]]:
    """Messages, placement and time (seconds) of every point in every allocation.

    Args:
        points: Of the campaign.
        network: Network with enough nodes.
        link: Its links.
        allocations: Numbers of :func:`allocated`.
    """
    for point in points:
        messages = pattern_messages(point)
        for number in allocations:
            place = allocated(network, point.num_nodes, number)
            placement = on_nodes(point.num_nodes, point.ranks_per_node, position=place)
            yield messages, placement, phase_time(messages, placement.rank_position, network, link)
