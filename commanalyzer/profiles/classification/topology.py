"""Topology of a communication pattern: relative sources of all ranks -> grid of ranks and place in it.

A pattern is regular on a grid if one set D of steps explains it: every rank receives from exactly those of
its neighbours at the steps in D that the grid has (a mesh ends at its borders, a torus does not).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Flags = NDArray[np.bool_]
Index = NDArray[np.int64]
MOST_DIMENSIONS = 3


@dataclass(frozen=True, slots=True, eq=False)
class Topology:
    """A regular pattern.

    Attributes:
        kind: ``none``, ``all-to-all``, ``ring``, ``mesh`` or ``torus``.
        extents: Ranks along each dimension, the slowest one first.
        lower: bool[P, dimensions], something is received from a lower place along the dimension.
        upper: Likewise, from a higher one.
    """

    kind: str
    extents: tuple[int, ...]
    lower: Flags
    upper: Flags

    @property
    def text(self) -> str:
        """For people: ``mesh 3 x 3``."""
        return f"{self.kind} {' x '.join(map(str, self.extents))}" if self.extents else self.kind


def find_topology(receives: Flags) -> Topology | None:
    """Topology of a pattern, the one with the fewest dimensions and the most cubic; ``None`` if irregular.

    Args:
        receives: bool[P, P], rank (row) receives from rank (column).
    """
    count = len(receives)
    nothing = np.zeros((count, 0), dtype=bool)
    if not receives.any():
        return Topology("none", (), nothing, nothing)
    if count > 2 and (receives | np.eye(count, dtype=bool)).all():
        return Topology("all-to-all", (), nothing, nothing)
    for dimensions in range(1, MOST_DIMENSIONS + 1):
        for extents in sorted(_extents(count, dimensions), key=lambda e: (sum(e), e)):
            for wraps in (False, True):
                found = _on_grid(receives, extents, wraps)
                if found is not None:
                    return found
    return None


def _extents(count: int, dimensions: int) -> Iterator[tuple[int, ...]]:
    if dimensions == 1:
        yield (count,)
        return
    for extent in range(2, count // 2 + 1):
        if count % extent == 0:
            yield from ((extent, *rest) for rest in _extents(count // extent, dimensions - 1) if rest[0] > 1)


def _on_grid(receives: Flags, extents: Sequence[int], wraps: bool) -> Topology | None:
    """The pattern on this grid, ``None`` if no set of steps explains it."""
    places = np.stack(np.unravel_index(np.arange(len(receives)), extents), axis=1)
    steps = places[None, :, :] - places[:, None, :]  # [rank, source, dimension]
    sizes = np.array(extents)
    if wraps:
        if (sizes < 3).any():
            return None  # both neighbours of a dimension are the same rank: a mesh
        steps = (steps + 1) % sizes - 1
    near = (np.abs(steps) <= 1).all(axis=2) & ~np.eye(len(receives), dtype=bool)
    if (receives & ~near).any():
        return None
    code = ((steps + 1) * 3 ** np.arange(len(extents))).sum(axis=2)
    used = np.zeros(3 ** len(extents), dtype=bool)
    used[code[receives]] = True
    if not (receives == (near & used[np.where(near, code, 0)])).all():
        return None
    lower = (receives[:, :, None] & (steps == -1)).any(axis=1)
    upper = (receives[:, :, None] & (steps == 1)).any(axis=1)
    kind = ("ring" if len(extents) == 1 else "torus") if wraps else "mesh"
    return Topology(kind, tuple(extents), lower, upper)


def place_names(topology: Topology, dimensions: int, *, directed: bool) -> list[str]:
    """What each rank is on the grid.

    ``corner``, ``edge``, ``face`` or ``interior`` (in one dimension ``end`` or ``inner``), by the number of
    dimensions with neighbours on both sides. ``directed`` tells the sides apart (``first``, ``inner``,
    ``last``; ``corner (-, +)`` has lower neighbours only in the first dimension, higher ones only in the
    second).

    Args:
        topology: Of the run.
        dimensions: Of the grids of all runs; two ranks are a grid of any number of them.
        directed: Tell the sides apart.
    """
    own = topology.lower.shape[1]
    if topology.kind not in ("mesh",) or not own:
        return ["every"] * len(topology.lower)
    both = (topology.lower & topology.upper).sum(axis=1)
    names = {
        1: ("end", "inner"),
        2: ("corner", "edge", "interior"),
        3: ("corner", "edge", "face", "interior"),
    }[dimensions]
    plain = [names[n] for n in both.tolist()]
    if not directed:
        return plain
    sides = np.where(topology.lower & topology.upper, "*", np.where(topology.lower, "-", "+"))
    if own == 1:
        return [{"+": "first", "*": "inner", "-": "last"}[side] for side in sides[:, 0].tolist()]
    return [
        name if name == "interior" else f"{name} ({', '.join(row)})"
        for name, row in zip(plain, sides.tolist(), strict=True)
    ]
