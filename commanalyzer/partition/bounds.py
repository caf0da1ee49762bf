"""Provable lower bounds on communication, where the structure of the program is recognised in its graph.

*Matrix product*: each of n^2 sums has n terms of two factors. A part that computes n^3 / p products touches
at least 3 (n^3 / p)^(2/3) elements of the three matrices (Loomis-Whitney); all parts together own 3 n^2 of
them. Over all parts: 3 n^2 (p^(1/3) - 1) words.

*Grid*: each point is computed from its neighbours along every axis. A part of s = n^d / p points that fills
no line receives a point on each line that it touches, at least s^((d-1)/d) in one direction; one that fills
lines along an axis receives at least n^(d-1) (1 - 1/p). Over all parts and each round but the first, whose
values may lie anywhere: n^(d-1) min(p^(1/d), p - 1) words. Where points are computed from another array, the
part may own other places there; then each point must also be computed from its own place, or the places fall
apart into two colours of a chequerboard that need nothing of each other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from commanalyzer.partition.regular.shapes import Shaped
from commanalyzer.vcg.graph import Bool, Float64, Fold, Int64
from commanalyzer.vcg.storage.large import AnyGraph
from commanalyzer.vcg.storage.slices import AnyRows, row_slices
from commanalyzer.vcg.structure.segments import sink_of_source

_MOST = 0.95  # of the points inside have all neighbours
_PRODUCT_SOURCE = "Irony, Toledo, Tiskin, J. Parallel Distrib. Comput. 64(9), 2004"
_GRID_SOURCE = "Loomis, Whitney, Bull. Amer. Math. Soc. 55, 1949"


@dataclass(frozen=True, slots=True)
class Structure:
    """What was recognised.

    Attributes:
        kind: ``product`` or ``grid``.
        edge: n, points or elements along each axis.
        dims: Axes of the grid, 2 for matrices.
        rounds: How often every value is computed.
        width_bytes: Bytes per value.
    """

    kind: str
    edge: int
    dims: int
    rounds: int
    width_bytes: int

    @property
    def source(self) -> str:
        """Where the bound is proved."""
        return _PRODUCT_SOURCE if self.kind == "product" else _GRID_SOURCE

    def bound_bytes(self, num_parts: int) -> int:
        """Return bytes that no division into ``num_parts`` equal parts stays below."""
        n, p, d = self.edge, num_parts, self.dims
        if self.kind == "product":
            words = 3.0 * n * n * (p ** (1.0 / 3.0) - 1.0)
        else:
            words = n ** (d - 1) * min(p ** (1.0 / d), p - 1.0)
        return math.floor(float(words) * self.rounds * self.width_bytes)


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
    uses = np.zeros(graph.num_vertices, np.int64)
    for piece in row_slices(graph):
        chosen = _is_sum(piece)
        per_term = np.diff(piece.source_ptr)
        if not bool(np.all(per_term[np.repeat(chosen, np.diff(piece.term_ptr))] == 2)):
            return None
        per_row = np.diff(piece.source_ptr[piece.term_ptr])
        uses += np.bincount(piece.source[np.repeat(chosen, per_row)], minlength=graph.num_vertices)
    factors = np.flatnonzero(uses)
    if len(factors) != 2 * n * n or not bool(np.all(uses[factors] == n)):
        return None
    return Structure("product", n, 2, count, int(graph.width_bytes[factors].min()))


def _is_sum(rows: AnyRows) -> Bool:
    """bool[R], rows of more than two summands."""
    return np.asarray((rows.row_fold == int(Fold.SUM)) & (np.diff(rows.term_ptr) > 2))


def _grid(graph: AnyGraph, family: Sequence[Shaped]) -> Structure | None:
    """A stencil on a square or cube: points inside are computed from both neighbours along every axis."""
    extents = family[0].extents
    dims = len(extents)
    if dims < 2 or len(set(extents)) != 1 or any(s.extents != extents or s.components > 1 for s in family):
        return None
    index = np.full(graph.num_vertices, -1, family[0].array.index.dtype)
    array = np.full(graph.num_vertices, -1, np.int32)
    for number, shaped in enumerate(family):  # one step per array
        index[shaped.array.vertex] = shaped.array.index
        array[shaped.array.vertex] = number
    steps = [extents[0] ** k for k in range(dims)]
    directions = np.zeros(graph.num_vertices, np.int16)
    own = 1 << 2 * dims  # from the same place
    for piece in row_slices(graph):
        sink, source = sink_of_source(piece), piece.source
        are_points = (index[sink] >= 0) & (index[source] >= 0)
        apart = np.where(are_points, index[source] - index[sink], 0)
        directions[sink[are_points & (apart == 0)]] |= own
        for number, step in enumerate([*steps, *(-s for s in steps)]):  # one step per direction
            directions[sink[apart == step]] |= 1 << number
    inside = np.flatnonzero(directions & (own - 1) == own - 1)
    if len(np.unique(array[inside])) > 1 and not bool(np.all(directions[inside] & own)):
        return None
    places = np.zeros(int(index.max(initial=0)) + 1, np.bool_)
    places[index[inside]] = True
    points = int(places.sum())
    edge = round(points ** (1.0 / dims)) if points else 0
    if edge < 3 or edge**dims != points or edge < _MOST * (extents[0] - 2):
        return None
    rounds = np.bincount(index[inside], _rounds(graph)[inside])
    return Structure("grid", edge, dims, int(rounds[index[inside]].min()) - 1, _width(graph, inside))


def _rounds(graph: AnyGraph) -> Float64:
    """Return float64[V], how often each value is computed from others; initial values need no neighbour."""
    times = np.zeros(graph.num_vertices)
    for rows in row_slices(graph):
        computed = np.diff(rows.source_ptr[rows.term_ptr]) > 1
        times += np.bincount(rows.row_sink[computed], rows.row_count[computed], graph.num_vertices)
    return times


def _width(graph: AnyGraph, vertices: Int64) -> int:
    return int(graph.width_bytes[vertices].min())
