"""Divisions a programmer would write: arrays with shapes + process grid -> owner of every element.

Each dimension is cut into equal numbers of points, or where the work on them is shared evenly; arrays of the
same extents are cut at the same places. Points that are never computed (halos) do not count, they join
their neighbours.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np

from commanalyzer.division.regular.shapes import Shaped
from commanalyzer.foundation.compiled import frozen
from commanalyzer.graph.storage.store import AnyGraph
from commanalyzer.graph.value_graph import Bool, Float64, Int32, Int64


def process_grids(num_parts: int, dims: int) -> tuple[tuple[int, ...], ...]:
    """Return every way to write ``num_parts`` as a product of ``dims`` factors, in order."""
    if dims == 1:
        return ((num_parts,),)
    divisors = [d for d in range(1, num_parts + 1) if num_parts % d == 0]
    return tuple((d, *rest) for d in divisors for rest in process_grids(num_parts // d, dims - 1))


def surface(grid: tuple[int, ...], extents: tuple[int, ...]) -> float:
    """Return points beside cuts over all points: what a stencil would send, the first guess of the cost."""
    return sum((g - 1) / e for g, e in zip(grid, extents, strict=True))


def fits(grid: tuple[int, ...], extents: tuple[int, ...]) -> bool:
    """Whether every part gets at least one point."""
    return all(g <= e for g, e in zip(grid, extents, strict=True))


_Weight = Literal["points", "work", "followed"]
Spread = Literal["points", "work", "cyclic"]
"""Equal numbers of points in turn, equal shares of the work, or points dealt out one by one.

The latter to and fro: what rises or falls along a dimension, as the work on a triangle does, is the same for
all (reflected wrap mapping: Geist, Heath, in Hypercube Multiprocessors, SIAM 1986)."""


class Blocks:
    """Divisions of one family into blocks: what does not depend on the process grid is computed once.

    ``followed_flops`` (float64[V]) is work on each element with what follows it; on itself if not given.
    """

    def __init__(
        self, graph: AnyGraph, family: Sequence[Shaped], followed_flops: Float64 | None = None
    ) -> None:
        self._graph = graph
        self._followed_flops = graph.work_flops if followed_flops is None else followed_flops
        self.members = tuple(family)
        self.extents = family[0].extents
        ordered = sorted(family, key=lambda s: s.extents)
        self._groups = [(e, list(m)) for e, m in itertools.groupby(ordered, key=lambda s: s.extents)]
        self._along: dict[_Weight, tuple[Float64, ...]] = {}

    def cuts(
        self, grid: tuple[int, ...], spread: Spread = "points", sizes: tuple[int, ...] = ()
    ) -> tuple[Int64, ...]:
        """Return what each coordinate adds to the number of the part, for every extents of the family.

        Blocks of ``sizes`` points are dealt out in turn, whatever ``spread`` says; none to cut.
        """
        strides = np.cumprod((1, *grid[:0:-1]))[::-1]
        if sizes:
            blocks = [_in_turn(extents, grid, sizes) for extents, _ in self._groups]
        elif spread == "cyclic":
            blocks = [_to_and_fro(extents, grid) for extents, _ in self._groups]
        else:
            pairs = zip(self._groups, self._weights(spread), strict=True)
            dims = [(np.split(along, np.cumsum(extents)[:-1]), grid) for (extents, _), along in pairs]
            blocks = [np.concatenate(list(map(_cuts, *each))) for each in dims]
        each = zip(self._groups, blocks, strict=True)
        return tuple(frozen(np.repeat(strides, extents) * block, np.int64) for (extents, _), block in each)

    def _weights(self, weight: _Weight) -> tuple[Float64, ...]:
        """Weights of all coordinates, for every extents of the family."""
        if weight not in self._along:
            self._along[weight] = tuple(self._weights_along(e, m, weight) for e, m in self._groups)
        return self._along[weight]

    def grain(self, grid: tuple[int, ...]) -> float:
        """Return the work of the largest block over the mean that whole rows make.

        A block takes whole rows, as many as the heaviest ones would be for the mean; that is at most what one
        row more than the mean makes, so that a row with most of the work excuses nothing. Rows that nothing
        computes, such as halos, are none. Work is that on elements, or with all that follows them: boundary
        conditions make it uneven.
        """
        return max(self._grain(grid, self._weights(weight)[0]) for weight in ("work", "followed"))

    def _grain(self, grid: tuple[int, ...], weights: Float64) -> float:
        found = 1.0
        ends = np.cumsum(self._groups[0][0])[:-1]
        for count, along in zip(grid, np.split(weights, ends), strict=True):  # dimensions
            rows = along[along > 0] if along.any() else np.ones(len(along))
            if count == 1 or len(rows) < count:  # not cut, or some blocks are without work: no excuse
                continue
            mean, row = float(rows.mean()) * len(rows) / count, float(rows.max())
            whole = row * float(np.ceil(round(mean / row, 9))) / mean
            found *= min(whole, 1.0 + count / max(count, len(rows)))
        return found

    def owners(self, cuts: Sequence[Int64]) -> Int32:
        """Return int32[V], owner of each element for these cuts; -1 for all other values."""
        owner = np.full(self._graph.num_vertices, -1, np.int32)
        self.fill(cuts, owner)
        return owner

    def fill(
        self, cuts: Sequence[Int64], owner: Int32, first: int = 0, is_wanted: Bool | None = None
    ) -> None:
        """Write the owners of all elements to ``owner`` (int32[V]), those of block 0 as ``first``.

        With ``is_wanted`` (bool[V]), only those of some values.
        """
        for (extents, members), block in zip(self._groups, cuts, strict=True):
            along = np.split(block.astype(np.int32), np.cumsum(extents)[:-1])
            of_point = first + np.ravel(sum(np.ix_(*along)))
            for s in members:  # one step per array
                chosen = slice(None) if is_wanted is None else is_wanted[s.array.vertex]
                owner[s.array.vertex[chosen]] = of_point[s.points[chosen]]

    def points(self) -> Iterator[tuple[int, Shaped]]:
        """Yield the arrays, each with the number of its extents among :meth:`cuts`."""
        for number, (_, members) in enumerate(self._groups):
            for member in members:
                yield number, member

    def _weights_along(self, extents: tuple[int, ...], members: Sequence[Shaped], weight: _Weight) -> Float64:
        """Return the weights of all coordinates, dimension after dimension.

        Elements that change as often as others of their array weigh 1, halos 0. Where most coordinates of a
        dimension would weigh nothing, these are no halos (one array may be several, or larger than what is
        used of it): all with elements weigh the same.
        """
        graph, is_points = self._graph, weight == "points"
        value = {"points": graph.versions, "work": graph.work_flops, "followed": self._followed_flops}[weight]
        along, used = np.zeros(sum(extents)), np.zeros(sum(extents))
        for s in members:  # one step per array
            each = value[s.array.vertex].astype(np.float64)
            if is_points:
                each = (2 * each >= each.max(initial=0)).astype(np.float64)
                used += _along(s.on_points(np.ones(len(each))))
            along += _along(s.on_points(each))
        if is_points:
            ends = np.cumsum(extents)[:-1]
            for part, lines in zip(np.split(along, ends), np.split(used, ends), strict=True):  # dimensions
                if 2 * np.count_nonzero(part) < len(part):
                    part[:] = lines > 0
        return along


def _along(points: Float64) -> Float64:
    """Return sums over all points that share a coordinate, dimension after dimension."""
    axes = range(points.ndim)
    return np.concatenate([points.sum(axis=tuple(a for a in axes if a != d)) for d in axes])


def _in_turn(extents: tuple[int, ...], grid: tuple[int, ...], sizes: tuple[int, ...]) -> Int64:
    """Return the block of each coordinate where blocks of so many points are dealt out."""
    dims = zip(extents, grid, sizes, strict=True)
    return np.concatenate([np.arange(extent) // size % count for extent, count, size in dims])


def _to_and_fro(extents: tuple[int, ...], grid: tuple[int, ...]) -> Int64:
    """Return the block of each coordinate, dimension after dimension, where they are dealt out to and fro."""
    found = []
    for extent, count in zip(extents, grid, strict=True):
        turn, place = np.divmod(np.arange(extent), count)
        found.append(np.where(turn % 2 == 1, count - 1 - place, place))
    return np.concatenate(found)


def _cuts(work: Float64, count: int) -> Int64:
    """Return int64[extent], block of each point of one dimension: equal shares of ``work`` or points."""
    weight = work if work.sum() > 0 else np.ones(len(work))
    middle = (np.cumsum(weight) - 0.5 * weight) / weight.sum()
    block: Int64 = np.minimum(np.floor(middle * count + 1e-9), count - 1).astype(np.int64)
    return block


def grid_name(grid: tuple[int, ...]) -> str:
    """``4x4``."""
    return "x".join(map(str, grid))
