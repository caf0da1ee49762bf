"""Which of several decompositions is best: the least volume within the balance limit."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from threading import Lock

import numpy as np

from commanalyzer.vcg.graph import Float64, Int32
from commanalyzer.vcg.slices import Sliceable

_LATEST = 16


@dataclass(frozen=True, slots=True)
class Cost:
    """What owners of all values cost.

    Attributes:
        comm_bytes: Bytes between parts.
        imbalance: Largest part's work over the mean, >= 1.
        find_work: () -> float64[V], work that is done where each value is owned; few ask for it.
    """

    comm_bytes: int
    imbalance: float
    find_work: Callable[[], Float64]

    @property
    def work_flops(self) -> Float64:
        """float64[V], work that is done where each value is owned."""
        return self.find_work()


# What owners of all values cost among so many parts; rows among which are all that join several.
RowCounter = Callable[[Int32, int, Sliceable], Cost]


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


def promising(comm_bytes: Sequence[int], imbalance: Sequence[float], allowed: float, far: float) -> list[int]:
    """Return positions by ascending volume, without those that no refinement brings near the best.

    Args:
        comm_bytes: Volumes, at least one.
        imbalance: Of each, largest part's work over the mean.
        allowed: Limit.
        far: Times the least volume within the limit: what is above it is left out.
    """
    within = [volume for volume, value in zip(comm_bytes, imbalance, strict=True) if value <= allowed]
    most = far * min(within, default=math.inf)
    order = sorted(range(len(comm_bytes)), key=lambda i: comm_bytes[i])
    return [i for i in order if comm_bytes[i] <= most]


class KnownCosts:
    """What the latest owners cost: candidates are counted to be shown, to be compared and to be refined.

    Threads may use it at the same time. Owners are known by a digest, whichever array holds them.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._costs: OrderedDict[tuple[int, bytes], Cost] = OrderedDict()

    def find(self, part: Int32, num_parts: int) -> Cost | None:
        """Return the cost of ``part`` int32[V] as far as it is known."""
        with self._lock:
            return self._costs.get(_key(part, num_parts))

    def note(self, part: Int32, num_parts: int, cost: Cost) -> None:
        """Remember the cost of ``part`` int32[V], and forget that of the owners noted longest ago."""
        key = _key(part, num_parts)
        with self._lock:
            self._costs[key] = cost
            self._costs.move_to_end(key)
            while len(self._costs) > _LATEST:
                self._costs.popitem(last=False)


def _key(part: Int32, num_parts: int) -> tuple[int, bytes]:
    return num_parts, blake2b(np.ascontiguousarray(part).data).digest()
