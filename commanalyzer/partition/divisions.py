"""The best regular divisions: families of arrays + number of parts -> owners in blocks, judged by counting.

All shapes that the arrays may have and the process grids with little surface are tried. One division is kept
for each number of cut dimensions (slabs, columns, cubes), and the cheaper one that is less balanced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from commanalyzer.partition.grids import block_owners, fits, grid_name, process_grids, surface
from commanalyzer.partition.selection import Cost, best_of
from commanalyzer.partition.shapes import Shaped
from commanalyzer.vcg.graph import Int32, ValueGraph

_MOST_GRIDS = 12  # process grids per family
_MANY_COUNTS = 20_000_000  # flows times parts; above it, few grids
_FEW_GRIDS = 3
_NEARLY = 1.1  # times the least bytes by a guess, which is hardly that wrong: what is above is not the best
_FEW = 2  # grids with least surface that are tried in several ways


@dataclass(frozen=True, slots=True)
class Division:
    """Arrays in blocks, everything else beside them.

    Attributes:
        name: ``blocks 4x4``, ``slabs 16``; the shape is added where arrays may have several.
        cut_dims: Number of dimensions that are divided.
        part: int32[V], owners of all values.
        cost: What it costs.
        given: Returns int32[V], owners of the elements, -1 for values that follow.
    """

    name: str
    cut_dims: int
    part: Int32
    cost: Cost
    given: Callable[[], Int32]


@dataclass(frozen=True, slots=True)
class Cut:
    """Where to cut the arrays of a family; the same list for graphs of all sizes.

    Attributes:
        name: See :class:`Division`.
        members: Arrays that are cut; all other values follow.
        grid: Number of blocks along each dimension.
        by_work: Into equal shares of the work, not of the points.
    """

    name: str
    members: Sequence[Shaped]
    grid: tuple[int, ...]
    by_work: bool

    @property
    def cut_dims(self) -> int:
        """Number of dimensions that are divided."""
        return sum(g > 1 for g in self.grid)


def promising_grids(extents: tuple[int, ...], num_parts: int, most: int) -> list[tuple[int, ...]]:
    """Return process grids by ascending surface, at most ``most``, and slabs along the slowest dimension."""
    grids = [g for g in process_grids(num_parts, len(extents)) if fits(g, extents)]
    grids.sort(key=lambda g: (surface(g, extents), g))
    slabs = [g for g in grids if g[0] == num_parts]
    return list(dict.fromkeys(grids[:most] + slabs))


def grids_to_try(num_flows: int, num_parts: int) -> int:
    """Return how many process grids of a family are tried, by the size of what has to be counted."""
    return _MOST_GRIDS if num_flows * num_parts <= _MANY_COUNTS else _FEW_GRIDS


def promising_cuts(
    families: Sequence[Sequence[Shaped]], num_parts: int, most_grids: int = _MOST_GRIDS
) -> Iterator[Cut]:
    """Yield the cuts of all families into ``num_parts`` blocks, on at most ``most_grids`` grids of each."""
    shapes = [len(family[0].extents) for family in families]
    for family in sorted(families, key=lambda f: len(f[0].extents)):
        extents = family[0].extents
        among = f" of {grid_name(extents)}" if shapes.count(len(extents)) > 1 else ""
        for rank, grid in enumerate(promising_grids(extents, num_parts, most_grids)):
            name = f"blocks {grid_name(grid)}" if len(grid) > 1 else f"slabs {num_parts}"
            for members, remark in variants(family, rank):
                for by_work in (False, True):
                    text = f"{name}{among}{remark}{' by work' if by_work else ''}"
                    yield Cut(text, members, grid, by_work)


def divisions(
    graph: ValueGraph,
    families: Sequence[Sequence[Shaped]],
    num_parts: int,
    most_grids: int,
    complete: Callable[[Int32], tuple[Int32, Cost]],
) -> Iterator[Division]:
    """Yield every promising division; those that give the same owners once.

    Args:
        graph: Value graph.
        families: Arrays with shapes.
        num_parts: Number of parts p.
        most_grids: Process grids per family.
        complete: int32[V] with -1 for values that follow -> owners of all values and their cost.
    """
    seen: set[bytes] = set()
    for cut in promising_cuts(families, num_parts, most_grids):
        given = partial(block_owners, graph, cut.members, cut.grid, by_work=cut.by_work)
        owners = given()
        key = owners.tobytes()
        if key not in seen:
            seen.add(key)
            yield Division(cut.name, cut.cut_dims, *complete(owners), given)


def variants(family: Sequence[Shaped], rank: int) -> list[tuple[Sequence[Shaped], str]]:
    """All arrays of a family; on the best grids also without those of several values per point.

    The entries of a sparse matrix may only look like so many per point, because their number is a multiple.
    """
    single = [s for s in family if s.components == 1]
    if rank >= _FEW or not 0 < len(single) < len(family):
        return [(family, "")]
    return [(family, ""), (single, ", entries follow")]


def best_divisions(found: Iterable[Division], allowed: float) -> list[Division]:
    """Return the best division for each number of cut dimensions, and the least volume if it is another.

    Args:
        found: All divisions.
        allowed: Limit of the largest part's work over the mean.
    """
    items = list(found)
    costs = [(d.cost.comm_bytes, d.cost.imbalance) for d in items]
    return [items[i] for i in best_by_dims([d.cut_dims for d in items], costs, allowed)]


def best_by_dims(cut_dims: Sequence[int], costs: Sequence[tuple[int, float]], allowed: float) -> list[int]:
    """Return positions: the best for each number of cut dimensions, and the least volume if it is another.

    Args:
        cut_dims: Number of cut dimensions of each division.
        costs: Its bytes and its imbalance.
        allowed: Limit of the imbalance.
    """
    chosen: list[int] = []
    for dims in sorted(set(cut_dims)):  # of equal ones, the simplest is first
        places = [i for i, cut in enumerate(cut_dims) if cut == dims]
        volumes, imbalances = zip(*(costs[i] for i in places), strict=True)
        best = places[best_of(volumes, imbalances, allowed)]
        least = places[int(np.argmin(volumes))]
        chosen += [best] if costs[least][0] == costs[best][0] else [best, least]
    return chosen


def best_counted(
    cut_dims: Sequence[int],
    guessed: Sequence[tuple[int, float]],
    allowed: float,
    count: Callable[[Sequence[int]], Sequence[tuple[int, float]]],
    *,
    is_rough: bool = False,
) -> list[int]:
    """Return positions as :func:`best_by_dims` does, by counting those that may come near the cheapest.

    Where one of a number of cut dimensions may, the first of these is counted, too: the guess is worst where
    blocks are no whole tiles. Those whose bytes the guess does not tell apart are one, whichever is best
    balanced. Where none may, the best by the guess stands for them; if the guess ``is_rough``, it is counted
    against that first one.

    Args:
        cut_dims: Number of cut dimensions of each division; of equal ones, that with least surface is first.
        guessed: Its bytes and its imbalance, roughly.
        allowed: Limit of the imbalance.
        count: Positions -> bytes and imbalance of each.
        is_rough: Whether the guess is not nearly exact, as the bytes between coarse vertices are not.
    """
    near = _NEARLY * min((comm_bytes for comm_bytes, _ in guessed), default=0)
    chosen: list[int] = []
    for dims in sorted(set(cut_dims)):
        places = [i for i, cut in enumerate(cut_dims) if cut == dims]
        promising = [i for i in places if guessed[i][0] <= near]
        volumes, excess = zip(*(guessed[i] for i in places), strict=True)
        likeliest = places[best_of(volumes, excess, allowed)]
        if is_rough and not promising:
            promising = [likeliest]
        promising = _told_apart({places[0], *promising}, guessed, allowed) if promising else [likeliest]
        if len(promising) == 1:
            chosen += promising
        else:
            costs = count(promising)
            chosen += [promising[i] for i in best_by_dims([dims] * len(costs), costs, allowed)]
    return chosen


def _told_apart(places: Iterable[int], guessed: Sequence[tuple[int, float]], allowed: float) -> list[int]:
    """Return one of ``places`` for each number of bytes: the first that is balanced, or what is nearly so."""
    alike: dict[int, list[int]] = {}
    for i in sorted(places):
        alike.setdefault(guessed[i][0], []).append(i)
    return sorted(min(group, key=lambda i: max(guessed[i][1], allowed)) for group in alike.values())
