"""Maps ranks to hosts of a network: in order, at random, or partners near each other."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.machine.placement import Placement
from commanalyzer.machine.simulation.platforms import Platform
from commanalyzer.machine.simulation.routes import Topology, network_of

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
    from commanalyzer.division.libraries.metis_call import divide

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
