"""Which memory is a workspace: used for one element after the other, home of none.

Input: the graph of a first recording, in which every word is one vertex. Output: the vertices whose words
are workspaces, and the pieces of objects they cover, for a second recording that gives each of their
lifetimes a vertex of its own (``runtime_shim/src/workspace.c``).

Three facts of a word tell. It begins *more lifetimes* than the arrays of the program (a lifetime begins with
a store that does not read the word): arrays are rewritten once or a few times per time step, workspaces once
per element. Its lifetimes *differ*: chains with different sources were stored at the same place in the code.
Or it is computed from a workspace, and more often than any of the workspace's chains occurs, so that it saw
several of them (gather, compute, compute, scatter: only the first level differs in the homes of its sources).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from commanalyzer.abi.trace_layout import EXTENT_GLOBAL, EXTENT_HEAP, EXTENT_STACK, PIECE, WORKSPACE
from commanalyzer.instrument.sites import ObjectRecord, SiteTable
from commanalyzer.vcg.graph import Bool, HomeKind, Int64, ValueGraph
from commanalyzer.vcg.naming import BLOCK_HEADER_BYTES
from commanalyzer.vcg.segments import sink_of_source
from commanalyzer.vcg.store import GraphStore

LIFETIMES_FACTOR = 4
"""How many times more lifetimes than the median of the rewritten words make a workspace."""

# Rows of the second recording per row of the first: a guard against states that escape detection.
MOST_ROWS = 64
SPARE_ROWS = 1 << 20

_NEVER = np.iinfo(np.int64).max
_MEMORY = (int(HomeKind.GLOBAL), int(HomeKind.HEAP), int(HomeKind.STACK))


def find_workspaces(store: GraphStore) -> Bool:
    """Return bool[V], the vertex is a word of a workspace.

    Args:
        store: Graph of a recording without named lifetimes; expanded slice by slice.
    """
    vertices = store.vertices()
    v = vertices.num_vertices
    kinds = np.array([int(o.kind) for o in vertices.objects] or [0], dtype=np.int64)
    in_memory = np.isin(kinds, _MEMORY)[vertices.home_object]
    lifetimes, commonest = np.zeros(v, np.int64), np.zeros(v, np.int64)
    for part in store.slices():
        begins, has_sources = ~part.row_accumulates, _has_sources(part)
        lifetimes += np.bincount(part.row_sink[begins], part.row_count[begins], v).astype(np.int64)
        np.maximum.at(commonest, part.row_sink[has_sources], part.row_count[has_sources])
    usual = _usual_rewrites(vertices, in_memory, lifetimes)
    eligible = in_memory & (lifetimes >= LIFETIMES_FACTOR * usual) & (lifetimes >= LIFETIMES_FACTOR)
    found = eligible & (2 * commonest <= lifetimes)
    if found.any():
        found &= _differs(store, found)
    if not found.any():
        return found
    return _closed(store, vertices.is_register, eligible, found, lifetimes, commonest)


def _has_sources(part: ValueGraph) -> Bool:
    """bool[R], the row has any."""
    return np.asarray(np.diff(part.source_ptr[part.term_ptr]) > 0)


def _usual_rewrites(vertices: ValueGraph, in_memory: Bool, lifetimes: Int64) -> int:
    """How often the words that are rewritten at all usually are."""
    stored = vertices.versions - vertices.is_input
    rewrites = np.where(lifetimes > 1, lifetimes, stored)[in_memory]
    rewrites = rewrites[rewrites > 1]
    return int(np.median(rewrites)) if len(rewrites) else 1


def _differs(store: GraphStore, candidates: Bool) -> Bool:
    """bool[V], one place in the code stored chains with different sources there; only for ``candidates``."""
    num_sites = max(len(store.sites), 1)
    keys = [np.zeros(0, np.int64)]
    for part in store.slices():
        rows = np.flatnonzero(_has_sources(part) & candidates[part.row_sink])
        keys.append(part.row_sink[rows].astype(np.int64) * num_sites + part.row_site[rows])
    distinct, count = np.unique(np.concatenate(keys), return_counts=True)
    result = np.zeros(len(candidates), np.bool_)
    result[distinct[count > 1] // num_sites] = True
    return result


def _closed(
    store: GraphStore, is_register: Bool, eligible: Bool, found: Bool, lifetimes: Int64, commonest: Int64
) -> Bool:
    """Add what is computed from workspaces, through register values, until nothing changes.

    Every word of a workspace and every register value computed from one passes on how often the commonest of
    its contents occurs at most; a word that begins more lifetimes than that must have seen several contents.
    """
    reach = np.where(found, commonest, _NEVER)
    while True:
        passed = np.full(len(found), _NEVER)
        for part in store.slices():
            np.minimum.at(passed, sink_of_source(part), reach[part.source])
        fresh = eligible & ~found & (lifetimes > passed)
        found = found | fresh
        reach[fresh] = np.minimum(commonest[fresh], passed[fresh])
        deeper = (is_register | found) & (passed < reach)
        if not deeper.any() and not fresh.any():
            return found
        reach[deeper] = passed[deeper]


def workspace_pieces(graph: ValueGraph, mask: Bool, sites: SiteTable) -> NDArray[np.void]:
    """Return the bytes of objects that the vertices in ``mask`` cover, as the recorder reads them.

    Args:
        graph: The graph that ``mask`` is about; its rows do not matter.
        mask: bool[V].
        sites: Site table of the module that was recorded.

    Returns:
        Sorted array of :data:`commanalyzer.abi.trace_layout.PIECE`.
    """
    chosen = np.flatnonzero(mask)
    place = _places(graph, sites)
    object_of = graph.home_object[chosen]
    pieces = np.zeros(len(chosen), PIECE)
    for name, column in (("kind", 0), ("object", 1), ("depth", 2)):
        pieces[name] = place[object_of, column]
    first = graph.home_offset[chosen] + place[object_of, 3]
    pieces["first"] = first
    pieces["last"] = first + np.maximum(graph.width_bytes[chosen], 4)
    pieces.sort(order=("kind", "object", "depth", "first"))
    return pieces


def write_workspaces(path: Path, store: GraphStore, mask: Bool, sites: SiteTable) -> None:
    """Write the file that ``COMMANALYZER_WORKSPACE`` names; arguments as :func:`workspace_pieces`."""
    pieces = workspace_pieces(store.vertices(), mask, sites)
    header = np.array((MOST_ROWS * store.num_rows + SPARE_ROWS, len(pieces)), dtype=WORKSPACE)
    path.write_bytes(header.tobytes() + pieces.tobytes())


def _places(graph: ValueGraph, sites: SiteTable) -> Int64:
    """int64[objects, 4]: kind and number of the extent, depth, first byte of the object in it."""
    known: dict[tuple[HomeKind, str], tuple[int, int, int]] = {}

    def note(kind: HomeKind, extent: int, records: list[ObjectRecord]) -> None:
        for number, record in enumerate(records):
            known[kind, record.key] = (extent, number, 0)

    note(HomeKind.GLOBAL, EXTENT_GLOBAL, sites.globals)
    note(HomeKind.HEAP, EXTENT_HEAP, sites.allocations)
    for number, frame in enumerate(sites.frames):
        for record in frame:
            known[HomeKind.STACK, record.key] = (EXTENT_STACK, number, record.offset)
    rows = []
    for item in graph.objects:
        extent, number, offset = known.get((item.kind, item.key), (0, 0, 0))
        rows.append((extent, number, item.depth, offset + BLOCK_HEADER_BYTES * (item.kind is HomeKind.HEAP)))
    return np.array(rows, dtype=np.int64).reshape(-1, 4)
