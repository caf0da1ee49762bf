"""Where ranks run: on which node of an allocation, and where each of these nodes is in the network.

    rank --node--> node of the allocation --position--> place in the network

Measurements read it off the hosts of a job, simulations and models of allocations choose it. Places in the
network are counted so that neighbouring numbers are near each other: nodes of a switch, then of a rack.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Int64 = NDArray[np.int64]
Order = Literal["blocks", "round-robin"]
_NUMBER = re.compile(r"[0-9]+")
_MOST = 1 << 31


@dataclass(frozen=True, slots=True)
class Placement:
    """Ranks on nodes, nodes in a network.

    Raises ``ValueError`` if a rank is on no node, or two nodes are at the same place.
    """

    node: Int64  # [P], node of each rank, 0 ... N - 1
    position: Int64  # [N], place of each node in the network, all different

    def __post_init__(self) -> None:
        if len(self.node) and not 0 <= self.node.min() <= self.node.max() < len(self.position):
            raise ValueError(f"expected nodes 0 to {len(self.position) - 1} of ranks, found others")
        if len(np.unique(self.position)) != len(self.position) or np.any(self.position < 0):
            raise ValueError("expected another place in the network for each node")
        self.node.setflags(write=False)
        self.position.setflags(write=False)

    @property
    def num_ranks(self) -> int:
        """P."""
        return len(self.node)

    @property
    def num_nodes(self) -> int:
        """N."""
        return len(self.position)

    @property
    def ranks_per_node(self) -> int:
        """PPN, of the fullest node."""
        return int(np.bincount(self.node).max(initial=0))

    @property
    def rank_position(self) -> Int64:
        """int64[P], place of each rank's node in the network."""
        return np.asarray(self.position[self.node])


def on_nodes(
    num_nodes: int, ranks_per_node: int, order: Order = "blocks", position: Int64 | None = None
) -> Placement:
    """Equally many ranks on every node.

    ``blocks``: consecutive ranks fill a node; ``round-robin``: rank r on node r mod N. ``position``:
    int64[N], places of the nodes; the first ones of the network if left out.
    """
    rank = np.arange(num_nodes * ranks_per_node)
    node = rank // ranks_per_node if order == "blocks" else rank % num_nodes
    return Placement(node, np.arange(num_nodes) if position is None else position)


def of_hosts(hosts: Sequence[str]) -> Placement:
    """Placement of a job from the name of each rank's host.

    Places are the last numbers in the names (``nid00017``: 17), for names of nodes count through racks and
    switches nearly everywhere; where these are not all different, the order of the sorted names.
    """
    names = sorted(set(hosts), key=_natural)
    index = {name: k for k, name in enumerate(names)}
    numbers = [_NUMBER.findall(name) for name in names]
    last = [int(found[-1]) if found else -1 for found in numbers]
    is_number = len(set(last)) == len(last) and -1 not in last
    position = last if is_number and max(last, default=0) < _MOST else range(len(names))
    return Placement(
        np.array([index[name] for name in hosts], dtype=np.int64), np.array(position, dtype=np.int64)
    )


def _natural(name: str) -> tuple[tuple[bool, int, str], ...]:
    """Key by which ``node-9`` comes before ``node-10``."""
    parts = re.split(r"([0-9]+)", name)
    return tuple((k % 2 == 1, int(part) if k % 2 else 0, part) for k, part in enumerate(parts))
