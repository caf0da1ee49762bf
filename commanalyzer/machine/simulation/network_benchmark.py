"""Effective bandwidth and latency of a simulated platform, measured on it by replayed benchmarks.

Method as on a real machine: random perfect matchings in which every pair exchanges messages in both
directions at the same time.

Reference: T. Hoefler, T. Schneider, A. Lumsdaine, Multistage switches are not crossbars: effects of static
routing in high-performance networks, Cluster 2008 (effective bisection bandwidth).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.machine.simulation.platforms import Platform
from commanalyzer.machine.simulation.schedule import Int64
from commanalyzer.machine.simulation.smpirun import Action, replay
from commanalyzer.machine.simulation.traces import joined, point_to_point

MESSAGE_BYTES = 1_000_000
MATCHINGS = 50
_LONG_MESSAGE_BYTES = 1_000_000_000


def random_matchings(num_ranks: int, count: int, seed: int) -> Int64:
    """int64[count, p], partner of every rank in each of ``count`` random perfect matchings.

    With an odd number of ranks one of them, another one in each matching, has itself as partner.
    """
    random = np.random.default_rng(seed)
    order = random.permuted(np.tile(np.arange(num_ranks), (count, 1)), axis=1)
    even = num_ranks - num_ranks % 2
    swapped = order.copy()
    swapped[:, 0:even:2], swapped[:, 1:even:2] = order[:, 1:even:2], order[:, 0:even:2]
    partner = np.empty_like(order)
    np.put_along_axis(partner, order, swapped, axis=1)
    return partner


def matching_bandwidth(
    platform: Platform,
    num_ranks: int,
    *,
    seed: int,
    timeout_s: float,
    count: int = MATCHINGS,
    message_bytes: int = MESSAGE_BYTES,
) -> float:
    """Effective bisection bandwidth per node, B/s: message size over mean time of all ranks and matchings.

    Args:
        platform: Network.
        num_ranks: Ranks on its first hosts, >= 2.
        seed: Of the matchings.
        timeout_s: Wall-clock limit, seconds.
        count: Matchings.
        message_bytes: Size of the messages.

    Raises:
        ConfigError: If there are fewer than two ranks, or no SimGrid.
        TargetRunError: If the simulation failed.
    """
    if num_ranks < 2:
        raise ConfigError(f"expected at least two nodes to measure a network, found {num_ranks}")
    partner = random_matchings(num_ranks, count, seed)
    turn, rank = np.nonzero(partner != np.arange(num_ranks))
    times = _exchange_times(platform, num_ranks, turn, rank, partner[turn, rank], message_bytes, timeout_s)
    return message_bytes / float(times.mean())


def pair_bandwidth(platform: Platform, *, timeout_s: float) -> float:
    """Bandwidth per node, B/s, when the first two hosts exchange messages and all others are silent.

    Nothing that a program does is faster where all nodes send at once and links are alike.

    Raises:
        ConfigError: If there is no SimGrid, or one host only.
        TargetRunError: If the simulation failed.
    """
    return matching_bandwidth(
        platform, 2, seed=0, timeout_s=timeout_s, count=1, message_bytes=_LONG_MESSAGE_BYTES
    )


def one_way_latency(platform: Platform, *, timeout_s: float) -> float:
    """Time of an empty message from the first host to the second, seconds.

    Raises:
        ConfigError: If there is no SimGrid, or one host only.
        TargetRunError: If the simulation failed.
    """
    traces = ["0 init\n0 send 1 0 0 6\n0 finalize\n", "1 init\n1 recv 0 0 0 6\n1 finalize\n"]
    return max(action.end_s for action in replay(platform, traces, timeout_s))


def _exchange_times(
    platform: Platform,
    num_ranks: int,
    turn: Int64,
    rank: Int64,
    partner: Int64,
    message_bytes: int,
    timeout_s: float,
) -> NDArray[np.float64]:
    """float64[N], time that each rank takes in each turn that it has partners in.

    In a turn, which a barrier begins, every rank exchanges a message with each of its partners.
    """
    size = np.full(len(rank), message_bytes)
    key, count = np.unique(turn * num_ranks + rank, return_counts=True)
    wait_turn, wait_rank = np.divmod(key, num_ranks)
    turns = np.arange(int(turn.max()) + 1)
    barrier_rank = np.tile(np.arange(num_ranks), len(turns))
    barrier_turn = np.repeat(turns, num_ranks)
    steps = (len(barrier_rank), len(rank), len(rank), len(wait_rank))
    traces = joined(
        num_ranks,
        np.concatenate((barrier_rank, rank, rank, wait_rank)),
        (np.concatenate((barrier_turn, turn, turn, wait_turn)), np.repeat(np.arange(4), steps)),
        np.concatenate(
            (
                np.full(len(barrier_rank), "barrier"),
                point_to_point("irecv", partner, size),
                point_to_point("isend", partner, size),
                np.char.add("waitall ", (2 * count).astype(np.str_)),
            )
        ),
    )
    return _times(replay(platform, traces, timeout_s), num_ranks)


def _times(actions: list[Action], num_ranks: int) -> NDArray[np.float64]:
    """From the end of each barrier to that of the rank's wait after it."""
    found = []
    for rank in range(num_ranks):
        mine = [action for action in actions if action.rank == rank]
        ends = np.array([action.end_s for action in mine])
        waits = np.array([k for k, action in enumerate(mine) if action.kind == "waitall"], dtype=np.int64)
        starts = np.array([k for k, action in enumerate(mine) if action.kind == "barrier"], dtype=np.int64)
        if len(waits):
            found.append(ends[waits] - ends[starts[np.searchsorted(starts, waits) - 1]])
    return np.concatenate(found)
