"""Singleton detection as printed in the paper: value graph -> singletons and their kinds.

Used by the ``hpdc18`` model and for the size of the graph in the paper's unit (Table 2). The ``volume``
model uses :mod:`commanalyzer.graph.structure.hubs` instead.

Reference: paper Section 4.2.1, Algorithm 3, Definitions 4.2 and 4.3.

Numbers of distinct neighbours: value graph -> degrees, without a list of all edges.

The neighbours of a block of vertices are listed at a time. Which slices of rows a block needs is noted while
ends are counted: where vertices are numbered as the program passes over them, few slices are looked at twice.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.compiled import compiled, compiled_in_place, frozen
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.foundation.flows import SourceRole
from commanalyzer.graph.storage.slices import row_slices
from commanalyzer.graph.storage.store import AnyGraph
from commanalyzer.graph.value_graph import Bool, Float64, Int32, Rows, UInt8

SOURCES, SINKS = 1, 2  # what neighbours are to the vertex whose they are
_OF, _AMONG = 1, 2  # marks: neighbours of the vertex are counted; the vertex counts as a neighbour
BLOCK_ENDS = 1 << 24
"""Ends of flows that are listed at once, at least."""

_MOST_BLOCKS = 8  # where all vertices are in all slices, each block costs a pass
_CHUNKS = 1024  # of vertices: what is noted of a slice
_NO_ROLE = 255


def count_neighbours(
    graph: AnyGraph,
    root: Int32 | None = None,
    *,
    of: Bool | None = None,
    among: Bool | None = None,
    sides: int = SOURCES | SINKS,
    skipped_role: int = _NO_ROLE,
) -> Int32:
    """Return int32[V], distinct neighbours of each vertex.

    Vertices are merged into their ``root`` (int32[V], default: themselves). Counted are, on the ``sides``
    that are asked for, the neighbours ``of`` some vertices (bool[V], 0 for others) ``among`` some (bool[V]);
    sources of the ``skipped_role`` are no flows.

    Time O(S) for S flows and up to 8 passes more over them; memory 21 bytes per vertex beside a block.
    """
    v = graph.num_vertices
    stands = np.arange(v, dtype=np.int32) if root is None else root
    every = np.ones(v, np.bool_)
    marks = (every if of is None else of) * np.uint8(_OF)
    marks |= (every if among is None else among) * np.uint8(_AMONG)
    rule = _Rule(skipped_role, frozen(stands, np.int32), frozen(marks, np.uint8), sides)
    ends, bits, touched = np.zeros(v, np.uint32), max(v // _CHUNKS, 1).bit_length(), list[Bool]()
    for rows in row_slices(graph):
        touched.append(np.zeros(_CHUNKS, np.bool_))
        note_ends(rows, rule, _RowBlock(0, v, ends, np.empty(0, np.int32)), bits, touched[-1])
    count, seen = np.zeros(v, np.int32), np.full(v, -1, np.int32)
    total, first = np.cumsum(ends, dtype=np.int64), 0
    most = max(BLOCK_ENDS, int(total[-1:].sum()) // _MOST_BLOCKS)
    while first < v:
        before = int(total[first] - ends[first])
        last = max(int(np.searchsorted(total, before + most, side="right")), first + 1)
        block, found = ends[first:last], np.empty(int(total[last - 1]) - before, np.int32)
        place = np.cumsum(block, dtype=np.uint32) - block
        wanted = np.array([t[first >> bits : ((last - 1) >> bits) + 1].any() for t in touched])
        for rows in row_slices(graph, wanted=wanted if len(found) else np.zeros_like(wanted)):
            note_ends(rows, rule, _RowBlock(first, last, place, found), bits, touched[0])
        count_distinct(place, found, first, seen, count)
        first = last
    return count


class _Rule(NamedTuple):
    """Which ends of flows count."""

    skipped_role: int  # of sources that are no flows
    root: Int32  # [V], vertex that stands for each
    marks: UInt8  # [V], whether its neighbours are counted, and whether it counts as one
    sides: int  # whether sources, sinks or both do


class _RowBlock(NamedTuple):
    """Vertices whose neighbours are listed."""

    first: int
    last: int  # the one behind them
    place: NDArray[np.uint32]  # where the next end of each goes; moves
    found: Int32  # ends; empty if they are only counted


@compiled_in_place
def note_ends(rows: Rows, rule: _Rule, block: _RowBlock, chunk_bits: int, is_touched: Bool) -> None:
    """List the other ends of vertices of a block, or count them and mark chunks of vertices with any.

    Each end of a flow is noted for the other where the rule says so.
    """
    (skipped_role, root, marks, sides), (first, last, place, found) = rule, block
    for r in range(len(rows.row_sink)):
        v = root[rows.row_sink[r]]
        takes = (sides & SOURCES) != 0 and (marks[v] & _OF) != 0 and first <= v < last
        gives = (sides & SINKS) != 0 and (marks[v] & _AMONG) != 0
        if not (takes or gives):
            continue
        for i in range(rows.source_ptr[rows.term_ptr[r]], rows.source_ptr[rows.term_ptr[r + 1]]):
            u = root[rows.source[i]]
            if u == v or rows.source_role[i] == skipped_role:
                continue
            mark = marks[u]
            if takes and mark & _AMONG:
                if len(found):
                    found[place[v - first]] = u
                else:
                    is_touched[v >> chunk_bits] = True
                place[v - first] += 1
            if gives and first <= u < last and mark & _OF:
                if len(found):
                    found[place[u - first]] = v
                else:
                    is_touched[u >> chunk_bits] = True
                place[u - first] += 1


@compiled
def count_distinct(place: NDArray[np.uint32], found: Int32, first: int, seen: Int32, count: Int32) -> None:
    """Write how many different ends the vertices from ``first`` on have, whose lists end at ``place``.

    ``seen``: for each vertex the last one whose list it was seen in, -1 before.
    """
    begin = 0
    for k in range(len(place)):
        v, distinct = first + k, 0
        for i in range(begin, place[k]):
            if seen[found[i]] != v:
                seen[found[i]] = v
                distinct += 1
        count[v] = distinct
        begin = place[k]


HIGH = 0.9
_ADDRESS = int(SourceRole.ADDRESS)
_PIECE = 1 << 20


class SingletonKind(IntEnum):
    """Which side of a vertex is extreme."""

    NONE = 0
    SOURCE = 1
    SINK = 2
    REDUCTION = 3


def degree_centroid(degree: Int32) -> float:
    """Return min(mean, median) of the degrees of connected vertices (Definition 4.2).

    Departure: vertices without any neighbour are left out. They exchange nothing, and a program with many
    of them (initialised and never read) would otherwise have centroid 0 and every other vertex extreme.
    """
    connected = degree[degree > 0]
    return float(min(connected.mean(), np.median(connected))) if len(connected) else 0.0


def distance_score(degree: Int32, centroid: float) -> Float64:
    """Return float64[V], ``1 - centroid / d(v)`` where d(v) exceeds the centroid, else 0 (Definition 4.3)."""
    score = np.zeros(len(degree), dtype=np.float64)
    far = degree > centroid
    score[far] = 1.0 - centroid / degree[far]
    return score


def find_singletons(graph: AnyGraph, high: float = HIGH) -> UInt8:
    """Return uint8[V], the :class:`SingletonKind` of each vertex: a source, a sink, a reduction, or none.

    The same two scores, with the same centroid, are applied to the out-degree (readers) and to the
    in-degree (sources): an extreme out-degree makes a source, an extreme in-degree a sink, both a reduction;
    where neither side alone is extreme, the larger side decides. Sources that only address a count are no
    flows. Registers of ``graph`` are usually dissolved. ``high`` is the score from which a vertex is a
    singleton; a :class:`ConfigError` if it lies outside (0, 1].

    Reference: paper Algorithm 3; Section 4.2.3 names the three kinds.
    """
    return _kinds(graph, high, np.ones(graph.num_vertices, np.bool_))[0]


def _kinds(graph: AnyGraph, high: float, left: Bool) -> tuple[UInt8, Int32, Int32]:
    """Return the kind, in-degree and out-degree of each vertex in the graph of those that are ``left``."""
    if not 0.0 < high <= 1.0:
        raise ConfigError(f"singleton threshold must lie in (0, 1], found {high}", hint="the paper uses 0.9")
    inward, outward, degree = (
        count_neighbours(graph, of=left, among=left, sides=sides, skipped_role=_ADDRESS)
        for sides in (SOURCES, SINKS, SOURCES | SINKS)
    )
    centroid, v = degree_centroid(degree), max(int(np.count_nonzero(left)), 1)
    kind = np.zeros(graph.num_vertices, np.uint8)
    for first in range(0, len(kind), _PIECE):
        piece = slice(first, first + _PIECE)
        into, out = inward[piece], outward[piece]
        score = np.maximum(np.maximum(into, out) / v, distance_score(degree[piece], centroid))
        sink = np.maximum(into / v, distance_score(into, centroid)) >= high
        source = np.maximum(out / v, distance_score(out, centroid)) >= high
        undecided = ~sink & ~source
        source |= undecided & (out >= into)
        sink |= undecided & (into > out)
        found = source * int(SingletonKind.SOURCE) + sink * int(SingletonKind.SINK)
        kind[piece] = np.where(left[piece] & (score >= high), found, int(SingletonKind.NONE))
    return kind, inward, outward


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

    Singletons are what :func:`find_singletons` finds in the dissolved graph, by the same ``high``: ``gone``,
    bool[V], are registers to leave out, none of which passes anything on.

    Words are 2 per vertex and 2 per directed edge. Vertices that occur in no value-flow chain (index arrays,
    constants that nothing reads) do not count. A row that reads its own previous version adds the edge from
    the vertex to itself: ``12 n`` for the five-point stencil and ``16 n`` for the seven-point one.

    Reference: paper Algorithm 3, Table 2.
    """
    left = ~gone
    kind, inward, outward = _kinds(graph, high, left)
    left &= kind == int(SingletonKind.NONE)
    in_chain, loops = (inward > 0) | (outward > 0), np.zeros(len(kind), np.bool_)
    kept = inward
    if kind.any():
        kept = count_neighbours(graph, of=left, among=left, sides=SOURCES, skipped_role=_ADDRESS)
    for rows in row_slices(graph):
        loops[rows.row_sink[rows.row_accumulates]] = True
    edges = int(kept.sum(dtype=np.int64)) + int(np.count_nonzero(loops & left))
    return kind, 2 * int(np.count_nonzero((in_chain | loops) & left)) + 2 * edges
