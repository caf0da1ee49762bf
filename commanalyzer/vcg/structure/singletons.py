"""Singleton detection as printed in the paper: value graph -> singletons and their kinds.

Used by the ``hpdc18`` model and for the size of the graph in the paper's unit (Table 2). The ``volume``
model uses :mod:`commanalyzer.vcg.structure.hubs` instead.

Reference: paper Section 4.2.1, Algorithm 3, Definitions 4.2 and 4.3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from enum import IntEnum

import numpy as np

from commanalyzer.errors import ConfigError, GraphInvariantError
from commanalyzer.foundation.compiled import frozen
from commanalyzer.vcg.graph import Bool, Float64, Int32, Int64, SourceRole, UInt8, ValueGraph
from commanalyzer.vcg.storage.large import AnyGraph
from commanalyzer.vcg.storage.slices import row_slices
from commanalyzer.vcg.structure import degree_kernels as kernels
from commanalyzer.vcg.structure.degrees import SINKS, SOURCES, count_neighbours
from commanalyzer.vcg.structure.edges import distinct_edges, undirected_degree

HIGH = 0.9
_PIECE = 1 << 20


class SingletonKind(IntEnum):
    """Which side of a vertex is extreme."""

    NONE = 0
    SOURCE = 1
    SINK = 2
    REDUCTION = 3


@dataclass(frozen=True, slots=True)
class Singletons:
    """Singletons of one value graph.

    Attributes:
        mask: bool[V], the vertex is a singleton.
        kind: uint8[V], :class:`SingletonKind`; ``NONE`` exactly where ``mask`` is false.
        score: float64[V], maximum of density and distance score, in [0, 1].
        degree: int64[V], number of distinct adjacent vertices.
        centroid: Degree centroid (Definition 4.2).
    """

    mask: Bool
    kind: UInt8
    score: Float64
    degree: Int64
    centroid: float

    def __post_init__(self) -> None:
        if not len(self.mask) == len(self.kind) == len(self.score) == len(self.degree):
            raise GraphInvariantError("singleton arrays differ in length")
        if np.any((self.kind != SingletonKind.NONE) != self.mask):
            raise GraphInvariantError("every singleton needs a kind and no other vertex may have one")
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, np.ndarray):
                value.setflags(write=False)


def degree_centroid(degree: Int32 | Int64) -> float:
    """Return min(mean, median) of the degrees of connected vertices (Definition 4.2).

    Departure: vertices without any neighbour are left out. They exchange nothing, and a program with many
    of them (initialised and never read) would otherwise have centroid 0 and every other vertex extreme.
    """
    total, connected = int(degree.sum(dtype=np.int64)), int(np.count_nonzero(degree))
    if connected == 0:
        return 0.0
    mean = total / connected
    times = np.zeros(2 * math.floor(mean) + 3, np.int64)  # if the last is in the middle, the mean is less
    kernels.count_degrees(frozen(degree, degree.dtype), times)
    middle = np.searchsorted(np.cumsum(times[1:]), [(connected - 1) // 2, connected // 2], side="right") + 1
    return float(min(mean, middle.sum() / 2))


def distance_score(degree: Int32 | Int64, centroid: float) -> Float64:
    """Return float64[V], ``1 - centroid / d(v)`` where d(v) exceeds the centroid, else 0 (Definition 4.3)."""
    score = np.zeros(len(degree), dtype=np.float64)
    far = degree > centroid
    score[far] = 1.0 - centroid / degree[far]
    return score


def find_singletons(graph: ValueGraph, high: float = HIGH) -> Singletons:
    """Return the singletons of ``graph`` and whether each is a source, a sink or a reduction.

    The same two scores, with the same centroid, are applied to the out-degree (readers) and to the
    in-degree (sources): an extreme out-degree makes a source, an extreme in-degree a sink, both a reduction;
    where neither side alone is extreme, the larger side decides.

    Args:
        graph: Value graph, usually with its registers dissolved.
        high: Score from which a vertex is a singleton, in (0, 1].

    Raises:
        ConfigError: If ``high`` lies outside (0, 1].

    Reference: paper Algorithm 3; Section 4.2.3 names the three kinds.
    """
    _check_threshold(high)
    v = graph.num_vertices
    edges = distinct_edges(graph)
    inward, outward = edges.in_degree, edges.out_degree
    degree = undirected_degree(edges)
    centroid = degree_centroid(degree)
    density = np.maximum(inward, outward) / max(v, 1)
    score = np.maximum(density, distance_score(degree, centroid))
    mask = score >= high
    kind = _classify(mask, inward, outward, centroid, high, v)
    return Singletons(mask, kind, score, degree, centroid)


def _check_threshold(high: float) -> None:
    if not 0.0 < high <= 1.0:
        raise ConfigError(f"singleton threshold must lie in (0, 1], found {high}", hint="the paper uses 0.9")


def _classify(
    mask: Bool,
    inward: Int32 | Int64,
    outward: Int32 | Int64,
    centroid: float,
    high: float,
    num_vertices: int,
) -> UInt8:
    v = max(num_vertices, 1)
    sink = np.maximum(inward / v, distance_score(inward, centroid)) >= high
    source = np.maximum(outward / v, distance_score(outward, centroid)) >= high
    undecided = ~sink & ~source
    source |= undecided & (outward >= inward)
    sink |= undecided & (inward > outward)
    kind = source * int(SingletonKind.SOURCE) + sink * int(SingletonKind.SINK)
    return np.where(mask, kind, int(SingletonKind.NONE)).astype(np.uint8)


def passes_on(graph: AnyGraph, chosen: Bool) -> bool:
    """Whether any of the ``chosen`` (bool[V]) vertices is both computed from others and read."""
    if not chosen.any():
        return False
    is_read, is_computed = np.zeros(len(chosen), np.bool_), np.zeros(len(chosen), np.bool_)
    for rows in row_slices(graph):
        is_read[rows.source] = True
        is_computed[rows.row_sink[np.diff(rows.row_ptr) > 0]] = True
    return bool((chosen & is_read & is_computed).any())


def paper_counts(graph: AnyGraph, high: float, gone: Bool) -> tuple[UInt8, int]:
    """Return uint8[V], the kind of each singleton, and the words of the graph without them, slice by slice.

    What :func:`find_singletons` finds in the dissolved graph. Sources that only address a count are no flows.

    Words are 2 per vertex and 2 per directed edge. Vertices that occur in no value-flow chain (index arrays,
    constants that nothing reads) do not count. A row that reads its own previous version adds the edge from
    the vertex to itself: ``12 n`` for the five-point stencil and ``16 n`` for the seven-point one.

    Args:
        graph: Value graph.
        high: Score from which a vertex is a singleton, in (0, 1].
        gone: bool[V], registers to leave out, none of which passes anything on.

    Raises:
        ConfigError: If ``high`` lies outside (0, 1].

    Reference: paper Algorithm 3, Table 2.
    """
    _check_threshold(high)
    left, address = ~gone, int(SourceRole.ADDRESS)
    v = int(np.count_nonzero(left))
    inward, outward, degree = (
        count_neighbours(graph, of=left, among=left, sides=sides, skipped_role=address)
        for sides in (SOURCES, SINKS, SOURCES | SINKS)
    )
    centroid = degree_centroid(degree)
    kind = np.zeros(graph.num_vertices, np.uint8)
    for first in range(0, len(kind), _PIECE):
        piece = slice(first, first + _PIECE)
        density = np.maximum(inward[piece], outward[piece]) / max(v, 1)
        mask = left[piece] & (np.maximum(density, distance_score(degree[piece], centroid)) >= high)
        kind[piece] = _classify(mask, inward[piece], outward[piece], centroid, high, v)
    left &= kind == int(SingletonKind.NONE)
    in_chain, loops = (inward > 0) | (outward > 0), np.zeros(len(kind), np.bool_)
    kept = inward
    if kind.any():
        kept = count_neighbours(graph, of=left, among=left, sides=SOURCES, skipped_role=address)
    for rows in row_slices(graph):
        loops[rows.row_sink[rows.row_accumulates]] = True
    edges = int(kept.sum(dtype=np.int64)) + int(np.count_nonzero(loops & left))
    return kind, 2 * int(np.count_nonzero((in_chain | loops) & left)) + 2 * edges
