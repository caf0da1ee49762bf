"""Which memory is a workspace: used for one element after the other, home of none.

Input: the graph of a first recording, in which every word is one vertex, and how many places values were
copied to. Output: the vertices whose words are workspaces, and the pieces of objects they cover, for a second
recording that gives each of their lifetimes a vertex of its own (``runtime_shim/src/workspace.c``).

A lifetime begins with a store that does not read the word. What tells are facts about a word and the data
that it is computed from, not about other arrays. Its lifetimes *differ*: one place in the code stored chains
with different sources there, none of them in more than a quarter of the lifetimes. Or its values are *copied*
to at least four places, each of which got versions of its own. And it has no *companion*: what it is computed
from is renewed at most a quarter as often as it is. A word of an array is renewed together with the words of
the same element that it is computed from, whatever else changes; a workspace is renewed once for each element.

Or it is computed from a workspace, and begins at least four times as many lifetimes as the data of one
element (gather, compute, compute, scatter: only the first level differs in the homes of its sources).

The number four is a matter of taste: where half or twice of it finds other words, both readings are recorded.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from commanalyzer.abi.hooks import ADDRESS_MASK
from commanalyzer.abi.trace_layout import EXTENT_GLOBAL, EXTENT_HEAP, EXTENT_STACK, PIECE, WORKSPACE
from commanalyzer.instrument.sites import ObjectRecord, SiteTable
from commanalyzer.trace.reader import Trace
from commanalyzer.vcg.graph import Bool, HomeKind, Int64, ValueGraph
from commanalyzer.vcg.large import LargeGraph
from commanalyzer.vcg.naming import BLOCK_HEADER_BYTES
from commanalyzer.vcg.slices import AnyRows
from commanalyzer.vcg.store import GraphStore

FACTOR = 4
"""How many times as often as the data of an element a workspace is renewed, at least.

A word that is renewed for two or three kinds of data in turn may be an array of stages; with four elements it
is hardly one. Half of it takes stages for elements, twice of it misses workspaces of up to seven elements:
where that makes a difference, it is reported as doubt (:func:`doubtful_workspaces`).
"""

# Rows of the second recording per row of the first: a guard against states that escape detection.
MOST_ROWS = 64
SPARE_ROWS = 1 << 20

_NEVER = np.iinfo(np.int64).max
_MEMORY = (int(HomeKind.GLOBAL), int(HomeKind.HEAP), int(HomeKind.STACK))


@dataclass(frozen=True, slots=True)
class _Contents:
    """What words held one after the other.

    Attributes:
        is_word: bool[V], the vertex is a word of named memory; most other columns are about these only.
        is_defined: bool[V], a row defines the vertex: a register value or a named lifetime.
        stored: int64[V], how often something was stored there.
        begun: int64[V], how often something new began there.
        differing: int64[V], lifetimes that began with sources; all where most began without.
        commonest: int64[V], occurrences of the commonest chain in them.
        reads_at_first: bool[V], most lifetimes began with sources: only chains that begin them are contents.
        places: int64[V], how many places its values were copied to.
    """

    is_word: Bool
    is_defined: Bool
    stored: Int64
    begun: Int64
    differing: Int64
    commonest: Int64
    reads_at_first: Bool
    places: Int64

    @classmethod
    def of(cls, graph: LargeGraph, places: Int64 | None) -> _Contents:
        """Contents by vertex."""
        from commanalyzer.vcg.workspace_kernels import add_contents

        size = graph.num_vertices
        begun, sourced, first, any_ = (np.zeros(size, np.int64) for _ in range(4))
        for part in graph.store.row_summaries():
            add_contents(
                *(part.row_sink, part.row_count, part.row_accumulates, part.has_sources),
                *(begun, sourced, first, any_),
            )
        stored = np.asarray(graph.versions - graph.is_input)
        reads_at_first = 2 * sourced >= begun
        return cls(
            is_word=_in_memory(graph) & ~graph.is_temporary,
            is_defined=graph.is_register | graph.is_temporary,
            stored=stored,
            begun=begun,
            differing=np.where(reads_at_first, sourced, begun),
            commonest=np.where(reads_at_first, first, any_),
            reads_at_first=reads_at_first,
            places=np.zeros(size, np.int64) if places is None else places,
        )

    def varied(self, factor: int) -> Bool:
        """bool[V], no chain is more than one in ``factor`` lifetimes."""
        return np.asarray(
            self.is_word & (self.commonest > 0) & (self.differing >= factor * self.commonest)
        )

    def copied(self, factor: int) -> Bool:
        """bool[V], values were copied to ``factor`` places, with a version for each."""
        return np.asarray(self.is_word & (self.places >= factor) & (self.stored >= self.places))


def find_workspaces(store: GraphStore, places: Int64 | None = None, factor: int = FACTOR) -> Bool:
    """Return bool[V], the vertex is a word of a workspace that no lifetimes are named of yet.

    Args:
        store: Graph of a recording; expanded slice by slice.
        places: int64[V], how many places the values of a word were copied to; default is none.
        factor: What :data:`FACTOR` says.
    """
    none = np.zeros(store.num_vertices, np.bool_)
    graph = LargeGraph(store)
    contents = _Contents.of(graph, places)
    varied = contents.varied(factor)
    if varied.any():
        varied &= _differs(store, varied)
    copied = contents.copied(factor) & ~varied
    candidates = varied | copied
    if not candidates.any():
        return none
    period = _periods(graph, contents, candidates, copied, factor)
    found = np.asarray(period > 0)
    return _closed(graph, contents, found, period, factor) if found.any() else none


def doubtful_workspaces(store: GraphStore, places: Int64 | None = None) -> tuple[Bool, Bool]:
    """Return bool[V] twice: words that are workspaces beyond doubt, and all that may be."""
    possible = find_workspaces(store, places, FACTOR // 2)
    return (find_workspaces(store, places, 2 * FACTOR) if possible.any() else possible), possible


def _in_memory(graph: LargeGraph) -> Bool:
    """bool[V], the home is memory of the program."""
    kinds = np.array([int(o.kind) for o in graph.objects] or [0], dtype=np.int64)
    return np.asarray(np.isin(kinds, _MEMORY)[graph.home_object])


def _has_sources(part: AnyRows) -> Bool:
    """bool[R], the row has any."""
    return np.asarray(np.diff(part.source_ptr[part.term_ptr]) > 0)


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


def _periods(
    graph: LargeGraph, contents: _Contents, candidates: Bool, copied: Bool, factor: int
) -> Int64:
    """int64[V], how often the data of one element are renewed, for candidates without companions; 0 for others.

    Data are renewed as often as their words; what a register value or a lifetime is computed from counts for it.
    Of several sources the geometric mean is typical: parameters are not renewed, some are workspaces themselves.
    """
    from commanalyzer.vcg.workspace_kernels import note_companions

    fresh = _freshness(graph, contents)
    lifetimes = np.where(copied, contents.stored, contents.differing)
    logarithm = np.zeros(len(fresh))
    others, apart, together = (np.zeros(len(fresh), np.int64) for _ in range(3))
    for part in graph.store.slices():
        note_companions(
            *(part.row_sink, part.row_count, part.row_accumulates, part.term_ptr, part.source_ptr, part.source),
            *(candidates, copied, contents.reads_at_first & ~copied, lifetimes, fresh, factor),
            *(logarithm, others, apart, together),
        )
    # versions that only go on with a lifetime belong to its element as well
    per_element = np.where(copied, 1, contents.commonest) * contents.stored
    per_element //= np.maximum(np.where(copied, contents.places, contents.differing), 1)
    typical = np.exp(logarithm / np.maximum(others, 1)).astype(np.int64)
    period = np.maximum(np.maximum(typical, per_element), 1)
    return np.where(candidates & (apart > 0) & (together <= apart), period, 0)


def _freshness(graph: LargeGraph, contents: _Contents) -> Int64:
    """int64[V], how often values, or what they are computed from through named values, are renewed.

    As often as they are stored, but versions that nobody reads (partial sums) do not count.
    """
    from commanalyzer.vcg.workspace_kernels import add_reads, note_freshness

    is_defined, reads = contents.is_defined, np.zeros(graph.num_vertices, np.int64)
    for part in graph.store.slices():
        add_reads(part.row_sink, part.row_count, part.term_ptr, part.source_ptr, part.source, reads)
    fresh = np.where(is_defined, 0, np.maximum(np.minimum(contents.stored, reads), 1))
    if not is_defined.any():
        return fresh
    for part in graph.store.slices():
        note_freshness(part.row_sink, part.term_ptr, part.source_ptr, part.source, is_defined, fresh)
    links = _Links.of(graph, is_defined)
    return -links.least(-fresh, np.zeros(len(fresh), np.int64), np.flatnonzero(is_defined & (fresh > 0)))


@dataclass(frozen=True, slots=True)
class _Links:
    """Flows from some vertices to some, by their source.

    Attributes:
        start: int64[V + 1], first flow of each vertex.
        sink: int32[F].
    """

    start: Int64
    sink: NDArray[np.int32]

    @classmethod
    def of(cls, graph: LargeGraph, chosen: Bool) -> _Links:
        """The flows between ``chosen`` (bool[V]) vertices."""
        from commanalyzer.vcg.workspace_kernels import count_links, place_links

        start = np.zeros(graph.num_vertices + 1, np.int64)
        for part in graph.store.slices():
            count_links(part.row_sink, part.term_ptr, part.source_ptr, part.source, chosen, start)
        np.cumsum(start, out=start)
        sink, end = np.empty(int(start[-1]), np.int32), start[:-1].copy()
        for part in graph.store.slices():
            place_links(part.row_sink, part.term_ptr, part.source_ptr, part.source, chosen, end, sink)
        return cls(start, sink)

    def least(self, value: Int64, most: Int64, origins: Int64) -> Int64:
        """int64[V], the least value of any vertex that each can be reached from, or its own.

        In linear time, but for sorting: values are passed on in their order, so each is final when it arrives.

        Args:
            value: int64[V].
            most: int64[V], vertices take and pass on no value above this.
            origins: int64, vertices whose values are passed on.
        """
        from commanalyzer.vcg.workspace_kernels import pass_on

        result = value.copy()
        pass_on(self.start, self.sink, origins[np.argsort(value[origins], kind="stable")], most, result)
        return result


def _closed(graph: LargeGraph, contents: _Contents, found: Bool, period: Int64, factor: int) -> Bool:
    """Add what is computed from workspaces, through register values.

    Each passes on how often the data of one element are renewed; a word that begins ``factor`` times as many
    lifetimes held values of several elements.
    """
    most = np.where(contents.is_word, contents.begun // factor, 0)
    most[found | (contents.is_defined & ~graph.is_temporary)] = _NEVER
    links = _Links.of(graph, (most > 0) | found)
    reached = links.least(np.where(found, period, _NEVER), most, np.flatnonzero(found))
    return np.asarray(contents.is_word & (reached < _NEVER))


def places_copied_to(trace: Trace, graph: ValueGraph, sites: SiteTable) -> Int64:
    """Return int64[V], how many places the values of each word were copied to, if several.

    Args:
        trace: Recording.
        graph: Vertices of its graph.
        sites: Site table of the module that was recorded.
    """
    result = np.zeros(graph.num_vertices, np.int64)
    if not len(trace.copies):
        return result
    word = trace.copies["word"].astype(np.int64)
    extents = np.asarray(trace.extents)
    start = ((extents["start"] & np.uint64(ADDRESS_MASK)) >> np.uint64(2)).astype(np.int64)
    order = np.lexsort((extents["size"], start))
    extents, start = extents[order], start[order]
    which = np.searchsorted(start, word, side="right") - 1
    extent = extents[np.maximum(which, 0)]
    within = 4 * (word - start[np.maximum(which, 0)])
    inside = (which >= 0) & (within < extent["size"].astype(np.int64))
    offset = (within + extent["offset"].astype(np.int64))[inside]
    copied = np.stack([*(extent[inside][n].astype(np.int64) for n in ("kind", "object", "depth")), offset], 1)
    place = _places(graph, sites)[graph.home_object]
    place[:, 3] += graph.home_offset
    keys, number = np.unique(np.concatenate([place, copied]), axis=0, return_inverse=True)
    places = np.zeros(len(keys), np.int64)
    number = number.reshape(-1)
    places[number[len(place) :]] = trace.copies["places"][inside]
    return places[number[: len(place)]]


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
