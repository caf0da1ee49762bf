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
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.machine.placement import Placement
from commanalyzer.machine.simulation.platforms import Platform, topology_sides

Int64 = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Messages:
    """Messages of one phase, int64[M] each, all started at once in the order of the arrays."""

    sender: Int64
    receiver: Int64
    size_bytes: Int64

    def __post_init__(self) -> None:
        if not len(self.sender) == len(self.receiver) == len(self.size_bytes):
            raise ValueError("expected a sender, a receiver and a size of each message")


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


HostOrder = Literal["order", "random", "near"]
_STARTS = 8


def place(platform: Platform, order: HostOrder, seed: int, comm_bytes: NDArray[np.int64]) -> Platform:
    """The platform with its hosts in the order of the ranks, one rank per host.

    ``order``: rank i on host i; ``random``: on random hosts, as a batch system may do; ``near``: such that
    bytes times links is small. ``comm_bytes``: int64[p, p], bytes from rank to rank. Raises ``ConfigError``
    if there are fewer hosts than ranks, or nothing is known of the network's distances.
    """
    count = len(platform.hosts)
    if len(comm_bytes) > count:
        raise ConfigError(
            f"expected a platform of at least {len(comm_bytes)} hosts, found {count}", where=platform.name
        )
    if order == "order":
        return platform
    random = np.random.default_rng(seed)
    if order == "random":
        position = random.permutation(count)
    else:
        position = near_hosts(network_distances(network_of(platform), count), comm_bytes, random)
    return placed(platform, Placement(np.arange(count), position))


def placed(platform: Platform, placement: Placement) -> Platform:
    """The platform with one host per rank, that of its node; several ranks may share one."""
    return replace(platform, hosts=tuple(platform.hosts[k] for k in placement.rank_position.tolist()))


def near_placement(
    distances: NDArray[np.int64], comm_bytes: NDArray[np.int64], ranks_per_node: int, seed: int
) -> Placement:
    """Ranks that exchange much on one node, nodes that exchange much near each other.

    METIS divides the graph of the ranks, int64[P, P] bytes from rank to rank, P = N times ``ranks_per_node``,
    into nodes of equal size; these are mapped as in :func:`near_hosts`.
    """
    count, random = len(distances), np.random.default_rng(seed)
    node = _equal_groups(comm_bytes, count, ranks_per_node, seed)
    between = np.zeros((count, count), dtype=np.int64)
    np.add.at(between, (node[:, None], node[None, :]), comm_bytes)
    np.fill_diagonal(between, 0)
    return Placement(node, near_hosts(distances, between, random))


def _equal_groups(comm_bytes: NDArray[np.int64], num_groups: int, size: int, seed: int) -> NDArray[np.int64]:
    """int64[P], groups of exactly ``size`` ranks: parts of METIS, the surplus moved to parts with room."""
    if num_groups == 1 or size == 1:
        return np.arange(num_groups * size) // size
    from commanalyzer.division.libraries.metis import divide

    both = comm_bytes + comm_bytes.T
    row, column = np.nonzero(both)
    starts = np.searchsorted(row, np.arange(len(both) + 1))
    # Weights of 32 bits: relative to the largest, at least 1.
    weights = np.maximum(both[row, column] * 1_000_000 // max(int(both.max()), 1), 1)
    ones = np.ones(len(both), dtype=np.int64)
    part = divide(num_groups, starts, column, ones, weights, {"seed": seed}).astype(np.int64)
    order = np.argsort(part, kind="stable")
    place_in_part = np.arange(len(part)) - np.searchsorted(part[order], part[order])
    full = np.bincount(part, minlength=num_groups)
    surplus = order[place_in_part >= size]
    room = np.repeat(np.arange(num_groups), np.maximum(size - full, 0))
    part[surplus] = room[: len(surplus)]
    return part


def near_hosts(
    distances: NDArray[np.int64], comm_bytes: NDArray[np.int64], random: np.random.Generator
) -> NDArray[np.int64]:
    """int64[N], a host for each rank and, behind them, the hosts that are left over.

    A quadratic assignment problem: the best of several heuristic solutions, the order as it is among them.

    ``distances``: int64[N, N], links between hosts; ``comm_bytes``: int64[p, p], p <= N.

    Reference: J. T. Vogelstein et al., Fast approximate quadratic programming for graph matching, PLOS ONE
    10(4), 2015; improved by exchanging pairs.
    """
    from scipy.optimize import quadratic_assignment

    count, p = len(distances), len(comm_bytes)
    apart = distances[~np.eye(count, dtype=np.bool_)]
    if not len(apart) or apart.min() == apart.max():
        return np.arange(count)  # all hosts are equally near
    flow = np.zeros((count, count))
    flow[:p, :p] = (comm_bytes + comm_bytes.T) / max(int(comm_bytes.max()), 1)
    found = [np.arange(count)]
    for _ in range(_STARTS):
        options = {"P0": "randomized", "rng": random}
        found.append(quadratic_assignment(flow, distances, method="faq", options=options).col_ind)
    improved = []
    for start in found:
        options = {"partial_guess": np.column_stack((np.arange(count), start)), "rng": random}
        improved.append(quadratic_assignment(flow, distances, method="2opt", options=options))
    best = min(improved, key=lambda result: float(result.fun))
    return np.asarray(best.col_ind, dtype=np.int64)


def network_distances(network: Topology, count: int) -> NDArray[np.int64]:
    """int64[N, N], links between the first ``count`` hosts of a network."""
    source, target = (index.ravel() for index in np.indices((count, count)))
    return network.steps(network.routes(source, target)).reshape(count, count)
