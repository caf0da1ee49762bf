"""Where the ranks of a program run: hosts in order, random ones, or partners near each other."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from commanalyzer.errors import ConfigError
from commanalyzer.simulation.platforms import Platform

Placement = Literal["order", "random", "near"]
PLACEMENTS: tuple[Placement, ...] = get_args(Placement)
_STARTS = 8


def place(platform: Platform, placement: Placement, seed: int, comm_bytes: NDArray[np.int64]) -> Platform:
    """The platform with its hosts in the order of the ranks.

    Args:
        platform: Network.
        placement: ``order``: rank i on host i. ``random``: on random hosts, as a batch system may do.
            ``near``: such that bytes times links is small.
        seed: Of what is random.
        comm_bytes: int64[p, p], bytes from rank to rank.

    Raises:
        ConfigError: If there are fewer hosts than ranks, or nothing is known of the network's distances.
    """
    count = len(platform.hosts)
    if len(comm_bytes) > count:
        raise ConfigError(
            f"expected a platform of at least {len(comm_bytes)} hosts, found {count}", where=platform.name
        )
    if placement == "order":
        return platform
    random = np.random.default_rng(seed)
    if placement == "random":
        return _reordered(platform, random.permutation(count))
    return _reordered(platform, near_hosts(host_distances(platform), comm_bytes, random))


def near_hosts(
    distances: NDArray[np.int64], comm_bytes: NDArray[np.int64], random: np.random.Generator
) -> NDArray[np.int64]:
    """int64[N], a host for each rank and, behind them, the hosts that are left over.

    A quadratic assignment problem: the best of several heuristic solutions, the order as it is among them.

    Args:
        distances: int64[N, N], links between hosts.
        comm_bytes: int64[p, p], p <= N.
        random: Source of starting points.

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


def host_distances(platform: Platform) -> NDArray[np.int64]:
    """int64[N, N], links between the hosts of a generated platform, in its own order.

    Raises:
        ConfigError: If the platform was read from a file.
    """
    host = np.arange(len(platform.hosts))
    if platform.name == "star":
        return _nested(host, (), (2,))
    if platform.name == "fat-tree":
        return _nested(host, (platform.sides[-1],), (2, 4))
    if platform.name == "dragonfly":
        _, routers, per_router = platform.sides
        # The router of the global link may be another one at either end: 3 to 5 links between groups.
        return _nested(host, (per_router, per_router * routers), (2, 3, 5))
    if platform.name == "torus":
        return _torus(host, platform.sides)
    raise ConfigError(
        "expected a generated platform for a placement near partners, found a file", where=platform.name
    )


def _nested(host: NDArray[np.int64], sizes: tuple[int, ...], links: tuple[int, ...]) -> NDArray[np.int64]:
    """Links by the smallest block of consecutive hosts that two hosts share."""
    found = np.full((len(host), len(host)), links[-1])
    for size, count in reversed(list(zip(sizes, links, strict=False))):
        block = host // size
        found[block[:, None] == block[None, :]] = count
    np.fill_diagonal(found, 0)
    return found


def _torus(host: NDArray[np.int64], sides: tuple[int, ...]) -> NDArray[np.int64]:
    """Steps on the shortest way round in each direction; the first side is that of neighbouring numbers."""
    found = np.zeros((len(host), len(host)), dtype=np.int64)
    rest = host
    for side in sides:
        rest, place_in_side = np.divmod(rest, side)
        apart = np.abs(place_in_side[:, None] - place_in_side[None, :])
        found += np.minimum(apart, side - apart)
    return found


def _reordered(platform: Platform, order: NDArray[np.int64]) -> Platform:
    return replace(platform, hosts=tuple(platform.hosts[k] for k in order.tolist()))
