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


def best_of(comm_bytes: Sequence[int], imbalance: Sequence[float], allowed: float, tolerance: float) -> int:
    """Return the position of the least volume among those that are balanced; the first on a tie.

    Where none is within the limit, those count as balanced that are within the tolerance of the most balanced
    one: a volume is not given away for a hair of balance.

    Args:
        comm_bytes: Volumes, at least one.
        imbalance: Of each, largest part's work over the mean.
        allowed: Limit.
        tolerance: For example 0.03.
    """
    least = min(imbalance)
    limit = allowed if least <= allowed else least * (1.0 + tolerance)
    within = [i for i, value in enumerate(imbalance) if value <= limit]
    return min(within, key=lambda i: comm_bytes[i])
