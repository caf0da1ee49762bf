"""Links that messages take in generated networks: the routes that SimGrid takes on the platforms.

Every directed link has a number; a route is a row of such numbers, -1 behind its end:

    star, fat tree, dragonfly    up(host), links between switches, down(host)
    torus, hypercube             up(host), steps in dimension order the short way round, down(host)

Where both ways round a torus are equally long, the one whose next node has the smaller number is taken, as
SimGrid's shortest paths do.

Reference: D-mod-k routing of fat trees: E. Zahavi, D-Mod-K routing, CCIT report 776, 2010 (a message to host
t goes up to spine t mod k); minimal routing of dragonflies: J. Kim et al., ISCA 2008.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.machine.simulation.platforms import Platform, topology_sides

Int64 = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Topology:
    """A generated network."""

    topology: str
    # Numbers that make it up, see :class:`~commanalyzer.machine.simulation.platforms.Platform`
    sides: tuple[int, ...]

    @property
    def num_hosts(self) -> int:
        """Nodes of the network."""
        return math.prod(self.sides)

    @property
    def units(self) -> tuple[int, ...]:
        """Nodes of each level of neighbourhood, smallest first: of a switch, then of a group or plane.

        Of a hypercube: subcubes of an eighth of its dimensions steps, as cabinets hold them (8 and 64 nodes).
        """
        if self.topology == "star":
            return ()
        if self.topology == "fat-tree":
            return (self.sides[1],)
        if self.topology == "dragonfly":
            return self.sides[2], self.sides[1] * self.sides[2]
        if self.topology == "hypercube":
            return tuple(unit for unit in (8, 64) if unit < self.num_hosts)
        return tuple(math.prod(self.sides[:k]) for k in range(1, len(self.sides)))

    @property
    def link_factors(self) -> Floats:
        """float64[L], bandwidth of each link over that of a node's."""
        hosts = np.ones(2 * self.num_hosts)
        if self.topology == "star":
            return hosts
        if self.topology == "fat-tree":
            leaves, spines = self.sides
            return np.concatenate((hosts, np.ones(2 * leaves * spines)))
        if self.topology == "dragonfly":
            groups, routers, per_router = self.sides
            local = np.full(groups * routers * routers, float(-(-per_router // 2)))
            between = np.full(groups * groups, float(-(-routers * per_router // groups)))
            return np.concatenate((hosts, local, between))
        return np.concatenate((hosts, np.ones(2 * len(self.sides) * self.num_hosts)))

    def routes(self, source: Int64, target: Int64) -> Int64:
        """int64[F, links], the directed links of each message between nodes; none where both are the same."""
        ends = source, self.num_hosts + target
        found = np.stack((ends[0], *self._inner(source, target), ends[1]), axis=1)
        found[source == target] = -1
        return found

    def steps(self, routes: Int64) -> Int64:
        """int64[F], links of each route that take time: all of them, but interfaces of a torus take none."""
        links = (routes >= 0).sum(axis=1)
        return np.asarray(np.maximum(links - 2, 0) if self._is_direct else links)

    def latency_s(self, routes: Int64, wire_s: float) -> Floats:
        """float64[F], time of an empty message on each route.

        ``wire_s`` is the time between neighbouring nodes (two links; one step of a torus), seconds.
        """
        return np.asarray(self.steps(routes) * (wire_s if self._is_direct else wire_s / 2))

    @property
    def _is_direct(self) -> bool:
        """Nodes are linked to each other, not to switches."""
        return self.topology in ("torus", "hypercube")

    def _inner(self, source: Int64, target: Int64) -> list[Int64]:
        first = 2 * self.num_hosts
        if self.topology == "star":
            return []
        if self.topology == "fat-tree":
            return _tree_links(source, target, self.sides, first)
        if self.topology == "dragonfly":
            return _dragonfly_links(source, target, self.sides, first)
        return _torus_links(source, target, self.sides, first)


def network_of(platform: Platform) -> Topology:
    """Network of a generated platform; ``ConfigError`` if the platform was read from a file."""
    if not platform.sides:
        raise ConfigError(
            "expected a generated platform, whose routes are known, found a file", where=platform.name
        )
    return Topology(platform.name, platform.sides)


def make_network(topology: str, num_hosts: int) -> Topology:
    """Smallest network with at least ``num_hosts`` nodes; ``ConfigError`` as :func:`topology_sides`."""
    return Topology(topology, topology_sides(topology, num_hosts))


def _tree_links(source: Int64, target: Int64, sides: tuple[int, ...], first: int) -> list[Int64]:
    leaves, per_leaf = sides
    here, there, spine = source // per_leaf, target // per_leaf, target % per_leaf
    up = first + here * per_leaf + spine
    down = first + leaves * per_leaf + there * per_leaf + spine
    return [np.where(here == there, -1, up), np.where(here == there, -1, down)]


def _dragonfly_links(source: Int64, target: Int64, sides: tuple[int, ...], first: int) -> list[Int64]:
    groups, routers, per_router = sides
    (from_group, at), (to_group, end) = (np.divmod(host // per_router, routers) for host in (source, target))
    crosses = from_group != to_group

    def local(group: Int64, a: Int64, b: Int64) -> Int64:
        return np.where(a == b, -1, first + (group * routers + a) * routers + b)

    # Router g of a group has the link to group g; it ends at the router that has the way back.
    leave = np.where(crosses, local(from_group, at, to_group % routers), -1)
    between = np.where(crosses, first + groups * routers * routers + from_group * groups + to_group, -1)
    arrive = local(to_group, np.where(crosses, from_group % routers, at), end)
    return [leave, between, arrive]


def _torus_links(source: Int64, target: Int64, sides: tuple[int, ...], first: int) -> list[Int64]:
    count, here, found = math.prod(sides), source.copy(), []
    stride = 1
    for dimension, side in enumerate(sides):
        at, end = here // stride % side, target // stride % side
        forward, backward = (end - at) % side, (at - end) % side
        ahead = (forward < backward) | ((forward == backward) & ((at + 1) % side < (at - 1) % side))
        if side == 2:
            ahead = np.ones(len(source), dtype=np.bool_)
        left = np.where(ahead, forward, backward)
        step = np.where(ahead, 1, -1)
        for _ in range(side // 2):
            moves = left > 0
            link = first + (2 * dimension + ahead) * count + here
            found.append(np.where(moves, link, -1))
            now = here // stride % side
            here = np.where(moves, here + ((now + step) % side - now) * stride, here)
            left = left - moves
        stride *= side
    return found
