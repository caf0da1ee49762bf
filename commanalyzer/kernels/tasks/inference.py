"""Range mappers from the elements that each work item accessed.

A mapper *covers* accesses if it grants each work item what it accessed. Of those that cover, the one that
grants fewest elements in all is taken; of equals the first in the order one-to-one, slice, all, neighborhood,
fixed. Accesses of one buffer by several instructions share a mapper where that grants no more than one mapper
for each would (a row and a column do not), or is a neighborhood: it adds corners, which blocks of work items
have few of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from commanalyzer.kernels.tasks.accesses.buffers import coordinates
from commanalyzer.kernels.tasks.accesses.observer import Ints
from commanalyzer.kernels.tasks.mappers import RangeMapper

# Elements that are accessed, of those that a mapper grants, below which accesses whose addresses are no
# linear functions of the iterations are irregular. Clamped stencils access all that they are granted; a
# sparse matrix of band b with k entries per row k / (2 b + 1). At 1/4 denser bands become neighborhoods, at
# 1 any gap is irregular.
LEAST_FILL = 0.5
_NEAR = frozenset({"one-to-one", "neighborhood"})


@dataclass(frozen=True, slots=True)
class Accesses:
    """Accesses of one instruction, or of several that share a mapper, to one buffer."""

    item: Ints  # index of the work item, int64[dimensions of the range, n]
    element: Ints  # number of the element in the buffer, int64[n]
    is_linear: bool  # all addresses are linear functions of the iterations

    def joined(self, other: Accesses) -> Accesses:
        """Both together."""
        return Accesses(
            np.concatenate((self.item, other.item), axis=1),
            np.concatenate((self.element, other.element)),
            self.is_linear and other.is_linear,
        )


@dataclass(frozen=True, slots=True)
class Cover:
    """A mapper that covers accesses."""

    mapper: RangeMapper
    granted: int  # elements that it grants, summed over work items
    touched: int  # elements that were accessed, summed over work items
    # Per dimension of the buffer what its index is: ``item0-1..+1``, a number, ``*`` for others
    index: tuple[str, ...]

    @property
    def is_exact(self) -> bool:
        """Nothing is granted that is not accessed."""
        return self.granted == self.touched


def covers(parts: Sequence[Accesses], shape: tuple[int, ...]) -> tuple[tuple[int, ...], list[Cover]]:
    """Mappers of one buffer, few and tight, and the extents for which they hold.

    Work items in a line that go through a matrix from its first to its last element see it as a vector.
    """
    found = _covers(parts, shape)
    if len(shape) > 1 and all(len(part.item) == 1 for part in parts):
        vector = (int(np.prod(shape)),)
        as_vector = _covers(parts, vector)
        if sum(c.granted for c in as_vector) < sum(c.granted for c in found):
            return vector, as_vector
    return shape, found


def _covers(parts: Sequence[Accesses], shape: tuple[int, ...]) -> list[Cover]:
    groups: list[tuple[Accesses, Cover]] = []
    for part in parts:
        accesses, cover = part, tightest(part, shape)
        is_open = True
        while is_open:
            is_open = False
            for index, (others, known) in enumerate(groups):
                both = others.joined(accesses)
                joined = tightest(both, shape)
                is_near = {known.mapper.kind, cover.mapper.kind, joined.mapper.kind} <= _NEAR
                if joined.granted <= known.granted + cover.granted or is_near:
                    del groups[index]
                    accesses, cover, is_open = both, joined, True
                    break
        groups.append((accesses, cover))
    return [cover for _, cover in groups]


def tightest(accesses: Accesses, shape: tuple[int, ...]) -> Cover:
    """The mapper that covers accesses and grants least."""
    index = coordinates(accesses.element, shape)
    items = np.unique(accesses.item, axis=1)
    candidates = _constant(index, items, shape)
    if items.shape[1] == 1 or np.ptp(index, axis=1).any():  # the same element for all follows no work item
        candidates += _following(accesses.item, index, items, shape)
    order = ("one-to-one", "slice", "all", "neighborhood", "fixed")
    granted, mapper = min(candidates, key=lambda c: (c[0], order.index(c[1].kind)))
    pairs = np.unique(np.vstack((accesses.item, accesses.element)), axis=1)
    touched = pairs.shape[1]
    if not accesses.is_linear and touched < LEAST_FILL * granted:
        mapper = RangeMapper("irregular")
    return Cover(mapper, granted, touched, tuple(_text(c, accesses.item) for c in index))


def _constant(index: Ints, items: Ints, shape: tuple[int, ...]) -> list[tuple[int, RangeMapper]]:
    count = items.shape[1]
    box = tuple((int(c.min()), int(c.max()) + 1) for c in index)
    volume = int(np.prod([end - first for first, end in box]))
    whole = int(np.prod(shape))
    return [(count * whole, RangeMapper("all")), (count * volume, RangeMapper("fixed", box=box))]


def _following(item: Ints, index: Ints, items: Ints, shape: tuple[int, ...]) -> list[tuple[int, RangeMapper]]:
    """Mappers whose region moves with the work item."""
    dimensions, count = len(shape), items.shape[1]
    result: list[tuple[int, RangeMapper]] = []
    own = _own(item, range(dimensions))
    if np.array_equal(index, own):
        result.append((count, RangeMapper("one-to-one")))
    if dimensions > 1:
        for d in range(dimensions):
            others = [k for k in range(dimensions) if k != d]
            taken = _own(item, others if len(item) >= dimensions else range(len(others)))
            if np.array_equal(index[others], taken):
                result.append((count * shape[d], RangeMapper("slice", dimension=d)))
    radius = np.abs(index - own).max(axis=1)
    last = np.array(shape) - 1
    is_wide = (radius > 0) & (2 * radius >= last)  # the whole dimension for the items in the middle
    if np.any((radius > 0) & ~is_wide):
        radius = np.where(is_wide, last, radius)
        centre = _own(items, range(dimensions))
        low = np.clip(centre - radius[:, None], 0, last[:, None])
        high = np.clip(centre + radius[:, None], 0, last[:, None])
        granted = int(np.prod(high - low + 1, axis=0).sum())
        result.append((granted, RangeMapper("neighborhood", radius=tuple(radius.tolist()))))
    return result


def _own(item: Ints, dimensions: Sequence[int] | range) -> Ints:
    """Indices of the items in some dimensions; 0 in those that the range does not have."""
    zeros = np.zeros(item.shape[1], np.int64)
    return np.stack([item[d] if d < len(item) else zeros for d in dimensions])


def _text(index: Ints, item: Ints) -> str:
    if not np.ptp(index):
        return str(int(index[0]))
    best = ""
    for k, own in enumerate(item):
        offset = index - own
        low, high = int(offset.min()), int(offset.max())
        if low == high:
            return f"item{k}{low:+d}" if low else f"item{k}"
        # not much more than a point: a stencil, not a whole row
        if not best and 2 * (high - low) < np.ptp(index):
            best = f"item{k}{low:+d}..{high:+d}"
    return best or "*"
