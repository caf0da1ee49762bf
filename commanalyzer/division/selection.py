"""Which of several decompositions is best: the least volume within the balance limit."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from threading import Lock
from typing import Generic, Protocol, TypeVar

import numpy as np

from commanalyzer.division.budget import SEARCH
from commanalyzer.division.regular.shapes import is_of_one_array
from commanalyzer.graph.value_graph import Bool, Float64, Int32

Entry = TypeVar("Entry")
_LATEST = 16


@dataclass(frozen=True, slots=True)
class Cost:
    """What owners of all values cost."""

    comm_bytes: int  # between parts, most likely
    imbalance: float  # largest part's work over the mean, >= 1
    find_work: Callable[[], Float64]  # () -> [V], work that is done where each value is owned; few ask for it
    low_bytes: int = 0  # at least so many, where the order of events decides

    def weighed(self, allowed: float) -> Cost:
        """What is compared of a division as even as its rows allow: bytes times work beyond ``allowed``."""
        if self.imbalance <= allowed:
            return self
        sent, least = (round(self.imbalance * b) for b in (self.comm_bytes, self.low_bytes))
        return replace(self, comm_bytes=sent, low_bytes=least, imbalance=1.0)


class Division(Protocol):
    """What is known of a counted division; see :class:`commanalyzer.result.results.Decomposition`."""

    @property
    def method(self) -> str: ...  # noqa: D102
    @property
    def best(self) -> bool: ...  # noqa: D102
    @property
    def grid(self) -> tuple[int, ...]: ...  # noqa: D102
    @property
    def comm_bytes(self) -> int: ...  # noqa: D102
    @property
    def imbalance(self) -> float: ...  # noqa: D102
    @property
    def is_balanced(self) -> bool: ...  # noqa: D102


SomeDivision = TypeVar("SomeDivision", bound=Division)


def cheapest(items: Iterable[SomeDivision]) -> SomeDivision | None:
    """Return the balanced division with the least bytes; where none is balanced, see :func:`best_of`."""
    found = list(items)
    excess = [1.0 if d.is_balanced else d.imbalance for d in found]
    return found[best_of([d.comm_bytes for d in found], excess, 1.0)] if found else None


def cheapest_regular(items: Iterable[SomeDivision]) -> SomeDivision | None:
    """Return the cheapest of those into blocks, slabs or cycles of arrays, as a programmer writes them."""
    return cheapest(sorted((d for d in items if d.grid), key=lambda d: " as " in d.method))


def headline(items: Iterable[SomeDivision]) -> SomeDivision:
    """Return what a programmer would write: the cheapest balanced division that is regular or of one array.

    A regular one wins where it sends nearly as little; where there is none, the best of all.
    """
    found, most = list(items), 0.0
    for _ in range(2):  # the second time with what is as even as the first
        written = [d for d in found if is_written(d) and (d.is_balanced or d.imbalance <= most)]
        least = min((d.comm_bytes for d in written), default=0)
        near = [d for d in written if d.grid and d.comm_bytes <= SEARCH.plain * least]
        those = near or written or [d for d in found if d.best]
        chosen = min(those, key=lambda d: (shown_bytes(d.method, d.comm_bytes), " as " in d.method))
        most = chosen.imbalance
    return chosen


def leading(items: Sequence[SomeDivision]) -> tuple[SomeDivision, ...]:
    """Return the headline of one node count and model, and the best if that is another with less bytes."""
    first, best = headline(items), next(d for d in items if d.best)
    return (first, best) if best.comm_bytes < first.comm_bytes else (first,)


def is_written(item: Division) -> bool:
    """Whether a programmer can write a division: blocks or cycles of arrays, or one array by a table."""
    is_rule = "=" in item.method and not item.method.endswith("refined")  # u=block:2x2
    return bool(item.grid) or is_of_one_array(item.method) or is_rule


def shown_bytes(method: str, comm_bytes: int) -> float:
    """Return the bytes of a regular division to compare.

    A shape that nothing shows has to save a little, and so has what leaves arrays of the shape to follow.
    """
    if ", others follow" in method and not is_of_one_array(method):
        return comm_bytes * SEARCH.apart
    return comm_bytes * (SEARCH.alike if " as " in method else 1.0)


def best_of(comm_bytes: Sequence[float], imbalance: Sequence[float], allowed: float) -> int:
    """Return the position of the least volume among those that are balanced; the first on a tie.

    Where none is within the limit, volume and balance are weighed: the least product of both is best. A
    volume is not doubled for a hair of balance, nor balance given up for a hair of volume.
    """
    within = [i for i, value in enumerate(imbalance) if value <= allowed]
    if within:
        return min(within, key=lambda i: comm_bytes[i])
    return min(range(len(imbalance)), key=lambda i: comm_bytes[i] * imbalance[i])


def evenness(found: Sequence[Division], limits: Sequence[float]) -> Bool:
    """Return bool[D], which divisions are within their limits: the least of these, or what whole rows cause.

    What only its rows excuse is not where a more even one sends as little by bytes times imbalance.
    """
    sent, imbalance = (np.array([getattr(d, name) for d in found]) for name in ("comm_bytes", "imbalance"))
    even, excused = imbalance <= np.asarray(limits), imbalance > min(limits)
    weighed = sent * np.where(excused, imbalance, 1.0)
    rival = even & np.array([is_written(d) for d in found])
    beaten = (imbalance[:, None] > imbalance) & (weighed[:, None] >= weighed) & rival
    return np.asarray(even & ~(excused & beaten.any(axis=1)), np.bool_)


def promising(comm_bytes: Sequence[int], imbalance: Sequence[float], allowed: float, far: float) -> list[int]:
    """Return positions by ascending volume, without those that no refinement brings near the best.

    Those are above ``far`` times the least volume within the limit; there is at least one.
    """
    within = [volume for volume, value in zip(comm_bytes, imbalance, strict=True) if value <= allowed]
    most = far * min(within, default=math.inf)
    order = sorted(range(len(comm_bytes)), key=lambda i: comm_bytes[i])
    return [i for i in order if comm_bytes[i] <= most]


class Latest(Generic[Entry]):
    """What is known of the latest owners, ``most_bytes`` together: they are counted to be compared and shown.

    Threads may use it at the same time. Owners are known by a digest, whichever array holds them.
    """

    def __init__(self, most_bytes: float = math.inf) -> None:
        self._lock = Lock()
        self._entries: OrderedDict[tuple[int, bytes], tuple[Entry, int]] = OrderedDict()
        self._most_bytes, self._nbytes = most_bytes, 0

    def find(self, part: Int32, num_parts: int) -> Entry | None:
        """Return what is known of ``part`` int32[V]."""
        key = _key(part, num_parts)
        with self._lock:
            return self._entries.get(key, (None, 0))[0]

    def note(self, part: Int32, num_parts: int, entry: Entry, nbytes: int = 0) -> None:
        """Remember ``entry`` of ``part`` int32[V], and forget that of the owners noted longest ago.

        Nothing is remembered that takes too much memory alone.
        """
        if nbytes > self._most_bytes:
            return
        key = _key(part, num_parts)
        with self._lock:
            _, before = self._entries.pop(key, (None, 0))
            self._entries[key] = entry, nbytes
            self._nbytes += nbytes - before
            while len(self._entries) > _LATEST or self._nbytes > self._most_bytes:
                _, (_, freed) = self._entries.popitem(last=False)
                self._nbytes -= freed


def _key(part: Int32, num_parts: int) -> tuple[int, bytes]:
    return num_parts, blake2b(np.ascontiguousarray(part).data).digest()
