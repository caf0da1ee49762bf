"""Which of several decompositions is best: the least volume within the balance limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from commanalyzer.vcg.graph import Float64


@dataclass(frozen=True, slots=True)
class Cost:
    """What owners of all values cost.

    Attributes:
        comm_bytes: Bytes between parts.
        imbalance: Largest part's work over the mean, >= 1.
        work_flops: float64[V], work that is done where each value is owned.
    """

    comm_bytes: int
    imbalance: float
    work_flops: Float64


def best_of(comm_bytes: Sequence[int], imbalance: Sequence[float], allowed: float) -> int:
    """Return the position of the least volume among those that are balanced; the first on a tie.

    Where none is within the limit, volume and balance are weighed: the least product of both is best. A
    volume is not doubled for a hair of balance, nor balance given up for a hair of volume.

    Args:
        comm_bytes: Volumes, at least one.
        imbalance: Of each, largest part's work over the mean.
        allowed: Limit.
    """
    within = [i for i, value in enumerate(imbalance) if value <= allowed]
    if within:
        return min(within, key=lambda i: comm_bytes[i])
    return min(range(len(imbalance)), key=lambda i: comm_bytes[i] * imbalance[i])
