"""Lower bounds on communication, where the structure of the program is recognised in its graph.

They hold for every division whose parts have at most the allowed work, and assume that what is computed again
has read what is new: a chain tells how often it was followed, not in which order.

*Matrix product*: each of n^2 sums has n terms of two factors. A part that computes m products touches at
least 3 m^(2/3) elements of the three matrices (Loomis-Whitney); all parts together own 3 n^2 of them.

*Grid*: each of N = n^d points is computed from all that are at most r steps along the axes away. Of sets of s
points, the fewest points are at most a step from those that are next to the corner, ball after ball (B.
Bollobas, I. Leader, J. Combin. Theory A 56, 1991); the layers of points at equal distance from a corner match
each other, so between two balls the number grows at least evenly. Let g(s) be that number. A part gets words
for points outside or, where contributions are summed up, for k of its own points; its other points need only
what it has or gets, so g(s - k) <= s + words - k, and words >= s - g^-1(s), r times. Where points are
computed from another array, a part may own other places there; then each point must also be computed from its
own place, or the places fall apart into two colours of a chequerboard that need nothing of each other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import product

import numpy as np

from commanalyzer.division.refinement.refine import balance_weights
from commanalyzer.division.regular.grids import process_grids
from commanalyzer.division.regular.shapes import Shaped
from commanalyzer.foundation.flows import Fold
from commanalyzer.graph.storage.slices import row_slices
from commanalyzer.graph.storage.store import AnyGraph
from commanalyzer.graph.value_graph import Bool, Float64, Int64, Rows, count_of_source, sink_of_source

_MOST = 0.95  # of the points inside have all neighbours
_REACH = {2: 2, 3: 1}  # steps that are looked for, by dimensions: of more, each table takes 4 bytes per value
_PRODUCT_SOURCE = "Irony, Toledo, Tiskin, J. Parallel Distrib. Comput. 64(9), 2004"
_GRID_SOURCE = "Bollobas, Leader, J. Combin. Theory A 56, 1991; if what is computed again reads what is new"


@dataclass(frozen=True, slots=True)
class Structure:
    """What was recognised."""

    kind: str  # ``product`` or ``grid``
    edge: int  # n, points or elements along each axis; of a grid, those with all neighbours
    dims: int  # axes of the grid, 2 for matrices
    rounds: int  # how often values that are new have to be read
    width_bytes: int  # per value
    reach: int = 1  # steps to the farthest neighbour of a point
    arrays: int = 1  # that the points are elements of
    extent: int = 0  # of these arrays along each axis
    # [N], work of each point over that of the program; of a product as a whole
    shares: Float64 = field(default_factory=lambda: np.ones(1), compare=False)

    @property
    def source(self) -> str:
        """Where the bound is proved."""
        return _PRODUCT_SOURCE if self.kind == "product" else _GRID_SOURCE

    def bound_bytes(self, num_parts: int, allowed: float) -> int:
        """Return bytes that no division stays below whose parts have ``allowed`` times the mean work."""
        words = self._product_words if self.kind == "product" else self._grid_words
        return math.floor(max(words(allowed / num_parts), 0.0) * self.rounds * self.width_bytes)

    def usual_bytes(self, num_parts: int) -> int:
        """Return bytes of blocks, as nearly cubes as ``num_parts`` allows: faces cross every cut.

        The ends of a grid count as cuts, too: whether they meet, as in periodic domains, is not looked at.
        """
        is_product, grids = self.kind == "product", process_grids(num_parts, self.dims)
        face = self.edge**2 if is_product else 2 * self.reach * self.extent ** (self.dims - 1)
        cuts = min(sum(n - is_product for n in grid if n > 1) for grid in grids)
        return cuts * face * self.rounds * self.width_bytes

    def _product_words(self, share: float) -> float:
        """Words for parts with at most ``share`` of the work."""
        parts = float(self.shares.sum()) / share
        return float(3.0 * self.edge**2 * (parts ** (1.0 / 3.0) - 1.0))

    def _grid_words(self, share: float) -> float:
        layers = reduce(np.convolve, [np.ones(self.edge)] * self.dims)
        ball = np.cumsum(layers)
        inner = np.concatenate(([0.0], ball[:-1]))
        most = float(np.searchsorted(np.cumsum(np.sort(self.shares)), share * (1.0 + 1e-9), side="right"))
        for _ in range(self.arrays > 1):  # a part may have more points of one array and fewer of the other
            most += self._border(np.array([max(most, 1.0)]), ball, inner)[0]
        sizes = np.append(ball[ball < most], max(most, 1.0))
        per_point = self._border(sizes, ball, inner) / sizes
        return float(per_point.min()) * ball[-1] if most < ball[-1] else 0.0

    def _border(self, sizes: Float64, ball: Float64, inner: Float64) -> Float64:
        """Words that sets of these sizes get: s - g^-1(s), r times."""
        left = sizes
        for _ in range(self.reach):
            left = np.interp(left, ball, inner)
        return np.asarray(sizes - left)


def recognise(graph: AnyGraph, families: Sequence[Sequence[Shaped]]) -> Structure | None:
    """Return the structure of the program's main computation, ``None`` if it is none of the known ones."""
    return _product(graph) or next((g for f in families if (g := _grid(graph, f)) is not None), None)


def _product(graph: AnyGraph) -> Structure | None:
    """A matrix product: n^2 rows of n terms, each of two factors, all equally often."""
    lengths, counts, sums = set[int](), set[int](), 0
    for piece in row_slices(graph):
        chosen = _is_sum(piece)
        lengths.update(np.unique(np.diff(piece.term_ptr)[chosen]).tolist())
        counts.update(np.unique(piece.row_count[chosen]).tolist())
        sums += int(chosen.sum())
        if len(lengths) > 1 or len(counts) > 1:
            return None
    if not sums or sums != min(lengths) ** 2:
        return None
    n, count = min(lengths), min(counts)
    uses, is_sum = np.zeros(graph.num_vertices, np.int64), np.zeros(graph.num_vertices, np.bool_)
    for piece in row_slices(graph):
        chosen = _is_sum(piece)
        per_term = np.diff(piece.source_ptr)
        if not bool(np.all(per_term[np.repeat(chosen, np.diff(piece.term_ptr))] == 2)):
            return None
        per_row = np.diff(piece.source_ptr[piece.term_ptr])
        uses += np.bincount(piece.source[np.repeat(chosen, per_row)], minlength=graph.num_vertices)
        is_sum[piece.row_sink[chosen]] = True
    factors = np.flatnonzero(uses)
    if len(factors) != 2 * n * n or not bool(np.all(uses[factors] == n)):
        return None
    count = min(count, int(_needed(graph)[is_sum].min()))
    rounds, work = min(count, int(graph.versions[factors].min())), balance_weights(graph.work_flops)
    shares = np.array([work[is_sum].sum() / work.sum()])
    return Structure("product", n, 2, rounds, int(graph.width_bytes[factors].min()), shares=shares)


def _is_sum(rows: Rows) -> Bool:
    """bool[R], rows of more than two summands."""
    return np.asarray((rows.row_fold == int(Fold.SUM)) & (np.diff(rows.term_ptr) > 2))


def _grid(graph: AnyGraph, family: Sequence[Shaped]) -> Structure | None:
    """A stencil on a square or cube: points inside are computed from both neighbours along every axis."""
    extents = family[0].extents
    dims = len(extents)
    if dims not in _REACH or len({*extents}) != 1:
        return None
    if any(s.extents != extents or s.components > 1 for s in family):
        return None
    index = np.full(graph.num_vertices, -1, np.int64)
    array = np.full(graph.num_vertices, -1, np.int32)
    for number, shaped in enumerate(family):  # one step per array
        index[shaped.array.vertex] = shaped.array.index
        array[shaped.array.vertex] = number
    steps = _steps(extents[0], dims)
    seen, times, made = _reads(graph, index, list(steps))
    near = sum(1 << number for number, far in enumerate(steps.values()) if far == 1)
    inside = np.flatnonzero(seen & near == near)
    if len(np.unique(array[inside])) > 1 and not bool(np.all(seen[inside] >> len(steps))):
        return None
    points = np.unique(index[inside])
    edge = round(len(points) ** (1.0 / dims))
    if edge < 3 or edge**dims != len(points) or edge < _MOST * (extents[0] - 2):
        return None
    everywhere = (1 << len(steps)) - 1
    reach = max(steps.values()) if bool(np.all(seen[inside] & everywhere == everywhere)) else 1
    # What is there before, from outside or as a constant, may lie anywhere.
    is_new = np.minimum(times - (graph.versions > made), made).clip(0)
    is_point, size = index >= 0, int(index.max()) + 1
    rounds = [
        np.bincount(index[is_point], new[is_point], size)[np.intersect1d(points, points + step)].min()
        for new, (step, far) in zip(is_new, steps.items(), strict=True)
        if far <= reach
    ]
    work = balance_weights(graph.work_flops)
    shares = np.asarray(np.bincount(index[inside], work[inside] / work.sum(), size)[points], np.float64)
    arrays, width = len(np.unique(array[inside])), int(graph.width_bytes[inside].min())
    found = Structure("grid", edge, dims, int(min(rounds)), width, reach, arrays, extents[0], shares)
    return found if found.rounds else None


def _steps(edge: int, dims: int) -> dict[int, int]:
    """Differences of the numbers of elements that are near, each with its steps along axes."""
    ways = product(range(-_REACH[dims], _REACH[dims] + 1), repeat=dims)
    lengths = {sum(w * edge**k for k, w in enumerate(way)): sum(map(abs, way)) for way in ways}
    return {step: far for step, far in lengths.items() if 0 < far <= _REACH[dims]}


def _needed(graph: AnyGraph) -> Int64:
    """int64[V], how often a sum is needed: terms of rounds in between may be combined and sent once."""
    rounds = graph.is_input.astype(np.int64)
    reads = np.ones(graph.num_vertices, np.int64)
    for piece in row_slices(graph):
        starts = ~piece.row_accumulates
        np.add.at(rounds, piece.row_sink[starts], piece.row_count[starts])
        np.maximum.at(reads, piece.source, count_of_source(piece))
    return np.maximum(rounds, reads)


def _reads(graph: AnyGraph, index: Int64, steps: Sequence[int]) -> tuple[Int64, Int64, Int64]:
    """Return which neighbours each value is computed from, int64[V]: a bit per step, the next for itself.

    And int64[steps, V], most rounds of a value that reads the value from so far; int64[V], versions that are
    computed from others.
    """
    seen = np.zeros(graph.num_vertices, np.int64)
    times = np.zeros((len(steps), graph.num_vertices), np.int32)
    made, needed = np.zeros(graph.num_vertices, np.int64), _needed(graph)
    for piece in row_slices(graph):
        entries = np.diff(piece.source_ptr[piece.term_ptr])
        often = np.where(piece.row_accumulates, needed[piece.row_sink], piece.row_count)
        often = np.minimum(often, piece.row_count)
        computed = (entries > 0) | piece.row_accumulates
        np.add.at(made, piece.row_sink[computed], piece.row_count[computed])
        sink, source, count = sink_of_source(piece), piece.source, np.repeat(often, entries)
        are_points = (index[sink] >= 0) & (index[source] >= 0)
        apart = np.where(are_points, index[source] - index[sink], np.iinfo(np.int64).max)
        for number, step in enumerate(steps):  # one pass per neighbour
            here = apart == step
            seen[sink[here]] |= 1 << number
            np.maximum.at(times[number], source[here], count[here])
        seen[sink[apart == 0]] |= 1 << len(steps)
        seen[piece.row_sink[piece.row_accumulates]] |= 1 << len(steps)
    return seen, times.astype(np.int64), made
