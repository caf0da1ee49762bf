"""Who exchanges with whom in a measurement: random perfect matchings and random rings.

Every rank computes the same patterns from the same seed, so that no rank has to be told.

Reference:
    Effective bisection bandwidth by random matchings: Hoefler, Schneider, Lumsdaine, "Multistage switches
    are not crossbars", CLUSTER 2008. Random rings: paper Section 5.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

IDLE = -1

Ranks = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ExchangePattern:
    """Rounds in which every rank sends to one rank and receives from one.

    Attributes:
        name: What the pattern is called in results.
        targets: int64[rounds, ranks], the rank that each rank sends to, ``IDLE`` for none.
        sources: int64[rounds, ranks], the rank that each rank receives from, ``IDLE`` for none.
    """

    name: str
    targets: Ranks
    sources: Ranks

    def __post_init__(self) -> None:
        if self.targets.shape != self.sources.shape or self.targets.ndim != 2:
            raise ValueError(f"expected two equal tables, found {self.targets.shape}, {self.sources.shape}")
        self.targets.setflags(write=False)
        self.sources.setflags(write=False)

    @property
    def num_rounds(self) -> int:
        """Rounds of the pattern."""
        return len(self.targets)


def random_matchings(num_ranks: int, num_rounds: int, seed: int) -> ExchangePattern:
    """Random perfect matchings: partners send to each other in both directions.

    With an odd number of ranks, another one is idle in each round.

    Args:
        num_ranks: Ranks, at least 2.
        num_rounds: Independent matchings.
        seed: Seed of the random choices.
    """
    order = _permutations(num_ranks, num_rounds, seed)
    pairs = order[:, : num_ranks - num_ranks % 2]
    rounds = np.arange(num_rounds)[:, None]
    partners = np.full((num_rounds, num_ranks), IDLE, dtype=np.int64)
    partners[rounds, pairs[:, 0::2]] = pairs[:, 1::2]
    partners[rounds, pairs[:, 1::2]] = pairs[:, 0::2]
    return ExchangePattern("matching", partners, partners.copy())


def random_rings(num_ranks: int, num_rounds: int, seed: int) -> ExchangePattern:
    """Random rings through all ranks: each sends to its successor, receives from its predecessor.

    Args:
        num_ranks: Ranks, at least 2.
        num_rounds: Independent rings.
        seed: Seed of the random choices.
    """
    order = _permutations(num_ranks, num_rounds, seed)
    rounds = np.arange(num_rounds)[:, None]
    successors = np.empty((num_rounds, num_ranks), dtype=np.int64)
    successors[rounds, order] = np.roll(order, -1, axis=1)
    predecessors = np.empty_like(successors)
    predecessors[rounds, order] = np.roll(order, 1, axis=1)
    return ExchangePattern("ring", successors, predecessors)


def shifts(num_ranks: int, num_rounds: int, stride: int) -> ExchangePattern:
    """Neighbours at growing distances: in round 0 to r + stride, then to r - stride, r + 2 stride, ...

    Args:
        num_ranks: Ranks, at least 2.
        num_rounds: Messages of each rank.
        stride: Ranks between neighbours: with one node's ranks, neighbours are on the next node.
    """
    number = np.arange(num_rounds)
    offset = (number // 2 + 1) * np.where(number % 2 == 0, stride, -stride)
    ranks = np.arange(num_ranks, dtype=np.int64)
    targets, sources = ((ranks + sign * offset[:, None]) % num_ranks for sign in (1, -1))
    itself = targets == ranks
    return ExchangePattern("shift", np.where(itself, IDLE, targets), np.where(itself, IDLE, sources))


def rank_counts(num_ranks: int) -> tuple[int, ...]:
    """Rank counts to measure at: powers of two up to ``num_ranks``, and ``num_ranks`` itself."""
    powers = [1 << k for k in range(1, num_ranks.bit_length()) if 1 << k <= num_ranks]
    return tuple(sorted({*powers, num_ranks}))


def _permutations(num_ranks: int, num_rounds: int, seed: int) -> Ranks:
    if num_ranks < 2 or num_rounds < 1:
        raise ValueError(f"expected 2 ranks and 1 round or more, found {num_ranks} and {num_rounds}")
    ranks = np.broadcast_to(np.arange(num_ranks, dtype=np.int64), (num_rounds, num_ranks))
    return np.random.default_rng([seed, num_ranks]).permuted(ranks, axis=1)
