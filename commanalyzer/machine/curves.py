"""Machine parameters that depend on the node count or the message size: tables and their interpolation."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from commanalyzer.foundation.errors import MachineModelError


@dataclass(frozen=True, slots=True)
class Reading:
    """A parameter read off at some node count and message size.

    Attributes:
        value: In the unit of the parameter.
        is_extrapolated: The point lies outside the measured range; ``value`` is that of its nearest end.
    """

    value: float
    is_extrapolated: bool = False


@dataclass(frozen=True, slots=True)
class Curve:
    """Values over node counts, over message sizes, or over both.

    Attributes:
        nodes: Node counts p, increasing; empty when the values do not depend on it.
        message_bytes: Message sizes, bytes, increasing; empty when the values do not depend on it.
        values: One per point; with both axes row by row, ``len(nodes)`` rows of ``len(message_bytes)``.

    Raises:
        MachineModelError: If there is no axis, an axis does not increase from above zero, or the number of
            values differs.
    """

    nodes: tuple[float, ...]
    message_bytes: tuple[float, ...]
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.nodes and not self.message_bytes:
            raise MachineModelError("expected nodes or message_bytes beside values, found neither")
        _check_axis(self.nodes, "nodes")
        _check_axis(self.message_bytes, "message_bytes")
        expected = max(len(self.nodes), 1) * max(len(self.message_bytes), 1)
        if len(self.values) != expected:
            raise MachineModelError(f"expected {expected} values, found {len(self.values)}", where="values")

    def at(self, nodes: float | None, message_bytes: float | None) -> Reading | None:
        """Value there, linear in the logarithm of each axis; ``None`` when an axis has no coordinate.

        Outside the points the nearest end is taken, and the reading says so.
        """
        if (self.nodes and nodes is None) or (self.message_bytes and message_bytes is None):
            return None
        row = _place(self.nodes, nodes)
        column = _place(self.message_bytes, message_bytes)
        width = max(len(self.message_bytes), 1)
        low, high = (
            _between(
                self.values[index * width + column.low], self.values[index * width + column.high], column
            )
            for index in (row.low, row.high)
        )
        return Reading(_between(low, high, row), row.is_outside or column.is_outside)


@dataclass(frozen=True, slots=True)
class _Place:
    """Position on an axis: between the points ``low`` and ``high``, ``share`` of the way."""

    low: int = 0
    high: int = 0
    share: float = 0.0
    is_outside: bool = False


def _place(axis: Sequence[float], x: float | None) -> _Place:
    if not axis or x is None:
        return _Place()
    if x <= axis[0]:
        return _Place(is_outside=x < axis[0])
    last = len(axis) - 1
    if x >= axis[last]:
        return _Place(last, last, is_outside=x > axis[last])
    high = bisect_right(axis, x)
    share = math.log(x / axis[high - 1]) / math.log(axis[high] / axis[high - 1])
    return _Place(high - 1, high, share)


def _between(low: float, high: float, place: _Place) -> float:
    return low + (high - low) * place.share


def _check_axis(axis: Sequence[float], name: str) -> None:
    if any(not (math.isfinite(x) and x > 0) for x in axis):
        raise MachineModelError(f"expected positive numbers, found {list(axis)}", where=name)
    if any(b <= a for a, b in pairwise(axis)):
        raise MachineModelError(f"expected increasing numbers, found {list(axis)}", where=name)
