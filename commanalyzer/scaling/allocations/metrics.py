"""Metrics of a communication phase under a placement (paper Section 3.2).

======  ======================================================================================
metric  meaning
======  ======================================================================================
S       mean size of a message, bytes
M       mean number of messages that a process sends
PT      process traffic: bytes that a process sends, the mean over processes
N       nodes
PPN     processes per node
NT      node traffic: bytes that a node sends to other nodes, of the busiest node
NI      node injection: messages that a node sends to other nodes, of the busiest node
V       bytes between nodes, all together
VI      messages between nodes, all together
LT      link traffic: bytes on the busiest link, over its bandwidth relative to a node's (the *congestion* of
        a mapping, T. Hoefler, M. Snir, ICS 2011); only where routes are known
D       most links that a message crosses (*dilation* of the mapping); only where routes are known
======  ======================================================================================

Beside them the number of occupied neighbourhoods of each level of the network (SW switches, R racks, ...), by
the names of the machine file. S, M and PT count messages between processes of one node, too; NT, NI, V and VI
do not. The paper does not say whether NT and NI are those of a mean or of the busiest node; where all nodes
send alike, as in its benchmark, they agree. The busiest one ends a phase.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from commanalyzer.machine.phase_times import Unit
from commanalyzer.machine.placement import Placement
from commanalyzer.machine.simulation.flows import Messages
from commanalyzer.machine.simulation.routes import Network
from commanalyzer.scaling.laws.terms import Floats

TRAFFIC = ("S", "M", "PT", "N", "PPN", "NT", "NI", "V", "VI")
ROUTED = ("LT", "D")
_NAMES = ("U1", "U2", "U3")


def phase_metrics(
    messages: Messages,
    placement: Placement,
    units: Sequence[Unit] = (),
    network: Network | None = None,
) -> dict[str, float]:
    """Metrics of one phase.

    Args:
        messages: Of the phase.
        placement: Of its processes.
        units: Neighbourhoods of the network.
        network: Routes of the network, where they are known.
    """
    size = messages.size_bytes.astype(np.float64)
    source, target = placement.node[messages.sender], placement.node[messages.receiver]
    between = source != target
    total, count, ranks = float(size.sum()), len(size), placement.num_ranks
    node_bytes = np.bincount(source[between], size[between], placement.num_nodes)
    node_messages = np.bincount(source[between], minlength=placement.num_nodes)
    found = {
        "S": total / max(count, 1),
        "M": count / ranks,
        "PT": total / ranks,
        "N": float(placement.num_nodes),
        "PPN": float(placement.ranks_per_node),
        "NT": float(node_bytes.max(initial=0.0)),
        "NI": float(node_messages.max(initial=0)),
        "V": float(node_bytes.sum()),
        "VI": float(node_messages.sum()),
    }
    found |= shape(placement, units)
    if network is not None:
        found |= _routed(messages, placement, between, network)
    return found


def shape(placement: Placement, units: Sequence[Unit]) -> dict[str, float]:
    """Occupied neighbourhoods of each level."""
    return {unit.name: float(len(np.unique(placement.position // unit.nodes))) for unit in units}


def units_of(network: Network, names: Sequence[str] = _NAMES) -> tuple[Unit, ...]:
    """Neighbourhoods of a generated network: U1 the smallest."""
    return tuple(Unit(name, nodes) for name, nodes in zip(names, network.units, strict=False))


def in_columns(rows: Sequence[Mapping[str, float]]) -> dict[str, Floats]:
    """float64[n] of each metric that all rows have."""
    names = [name for name in rows[0] if all(name in row for row in rows)] if rows else []
    return {name: np.array([row[name] for row in rows], dtype=np.float64) for name in names}


def _routed(
    messages: Messages,
    placement: Placement,
    between: np.ndarray[tuple[int, ...], np.dtype[np.bool_]],
    network: Network,
) -> dict[str, float]:
    place = placement.rank_position
    pairs, inverse = np.unique(
        np.stack((place[messages.sender[between]], place[messages.receiver[between]])),
        axis=1,
        return_inverse=True,
    )
    size = np.bincount(inverse.ravel(), messages.size_bytes[between], pairs.shape[1])
    routes = network.routes(pairs[0], pairs[1])
    factors = network.link_factors
    used = routes >= 0
    load = np.bincount(routes[used], np.broadcast_to(size[:, None], routes.shape)[used], len(factors))
    return {
        "LT": float((load / factors).max(initial=0.0)),
        "D": float(network.steps(routes).max(initial=0)),
    }
