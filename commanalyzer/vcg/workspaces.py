"""Which memory is a workspace: used for one element after the other, home of none.

Input: the graph of a first recording, in which every word is one vertex. Output: the vertices whose words
are workspaces, and the pieces of objects they cover, for a second recording that gives each of their
lifetimes a vertex of its own (``runtime_shim/src/workspace.c``).

Three facts of a word tell. It begins *more lifetimes* than the arrays of the program (a lifetime begins with
a store that does not read the word): arrays are rewritten once or a few times per time step, workspaces once
per element. Its lifetimes *differ*: chains with different sources were stored at the same place in the code.
Or it is computed from a workspace, and more often than any of the workspace's chains occurs, so that it saw
several of them (gather, compute, compute, scatter: only the first level differs in the homes of its sources).

These are ratios, which the beginning of a run tells as well as the whole one, if the program repeats itself.
Then the recorder finds them by the same criteria (``runtime_shim/src/survey.c``) and the first recording
ends; no graph is built of it. The graph of the second recording, which is whole, is asked whether it bears
out what its beginning told (:func:`workspaces_confirmed`).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from commanalyzer.abi.trace_layout import EXTENT_GLOBAL, EXTENT_HEAP, EXTENT_STACK, PIECE, WORKSPACE
from commanalyzer.instrument.sites import ObjectRecord, SiteTable
from commanalyzer.trace.reader import Trace
from commanalyzer.vcg.allocations import Allocations
from commanalyzer.vcg.coding import read_only
from commanalyzer.vcg.graph import Bool, HomeKind, Int32, Int64, ValueGraph
from commanalyzer.vcg.large import LargeGraph
from commanalyzer.vcg.slices import AnyRows
from commanalyzer.vcg.store import GraphStore

LIFETIMES_FACTOR = 4
"""How many times more lifetimes than the median of the rewritten words make a workspace."""

# Rows of the second recording per row of the first: a guard against states that escape detection.
MOST_ROWS = 64
SPARE_ROWS = 1 << 20

_NEVER = np.iinfo(np.int64).max
_MEMORY = (int(HomeKind.GLOBAL), int(HomeKind.HEAP), int(HomeKind.STACK))


@dataclass(frozen=True, slots=True)
class _Contents:
    """What words held one after the other.

    Attributes:
        lifetimes: int64[W], how often something new began there.
        commonest: int64[W], occurrences of the commonest chain with sources.
    """

    lifetimes: Int64
    commonest: Int64

    @classmethod
    def of(cls, store: GraphStore, word: Int32, is_temporary: Bool) -> _Contents:
        """Contents by word.

        Args:
            store: Graph.
            word: int32[V], number of the word that a vertex lives in.
            is_temporary: bool[V], a lifetime of a word: all its versions count.
        """
        from commanalyzer.vcg.workspace_kernels import add_contents

        size = int(word.max(initial=-1)) + 1
        lifetimes, commonest = np.zeros(size, np.int64), np.zeros(size, np.int64)
        for part in store.row_summaries():
            add_contents(
                *(part.row_sink, part.row_count, part.row_accumulates, part.has_sources),
                *(word, is_temporary, lifetimes, commonest),
            )
        return cls(lifetimes, commonest)

    def eligible(self, usual: int) -> Bool:
        """bool[W], there are enough lifetimes."""
        return np.asarray(self.lifetimes >= LIFETIMES_FACTOR * max(usual, 1))

    def varied(self) -> Bool:
        """bool[W], no chain is more than half of the lifetimes."""
        return np.asarray(2 * self.commonest <= self.lifetimes)


def find_workspaces(store: GraphStore) -> Bool:
    """Return bool[V], the vertex is a word of a workspace.

    Args:
        store: Graph of a recording without named lifetimes; expanded slice by slice.
    """
    if not _may_be_eligible(store):
        return np.zeros(store.num_vertices, np.bool_)
    graph = LargeGraph(store)
    in_memory, word = _in_memory(graph), np.arange(graph.num_vertices, dtype=np.int32)
    contents = _Contents.of(store, word, graph.is_temporary)
    usual = _usual_rewrites(contents.lifetimes[in_memory], _stored(graph, in_memory))
    eligible = in_memory & contents.eligible(usual)
    return _found(graph, eligible, contents, word, np.zeros(len(word), np.bool_))


def workspaces_confirmed(store: GraphStore) -> bool:
    """Return whether a whole run bears out the workspaces that were found in its beginning.

    No other memory may look like a workspace, by the same criteria. And those that were taken for workspaces
    must still begin many lifetimes that differ; versions of one lifetime count as well, because a recording
    without named lifetimes would not tell them apart.

    Args:
        store: Graph of the whole run in which the lifetimes of those words are named.
    """
    graph = LargeGraph(store)
    temporary = graph.is_temporary
    is_home = _in_memory(graph) & ~temporary
    word, homes, words = _words(graph, is_home, temporary)
    contents = _Contents.of(store, word, temporary)
    named = slice(homes, homes + words)
    stored = np.concatenate([_stored(graph, is_home), np.zeros(words, np.int64)])
    eligible = contents.eligible(_usual_rewrites(contents.lifetimes[: named.stop], stored))
    del stored
    if not np.all((eligible & contents.varied())[named]):
        return False
    # a word with one chain saw one lifetime of what the chain reads
    has_chains = (contents.commonest > 0) & (contents.commonest < contents.lifetimes)
    others = is_home & (eligible & has_chains)[word]
    return not (others.any() and (_found(graph, others, contents, word, temporary) & ~temporary).any())


def _words(graph: LargeGraph, is_home: Bool, temporary: Bool) -> tuple[Int32, int, int]:
    """Return int32[V], the word of each vertex, how many are homes and how many have named lifetimes.

    Homes come first, then words with named lifetimes; all other values share a last one, which tells nothing.
    """
    from commanalyzer.vcg.workspace_kernels import number_words

    word = np.empty(graph.num_vertices, np.int32)
    homes, words = number_words(graph.home_object, graph.home_offset, is_home, temporary, word)
    return word, int(homes), int(words)


def _found(graph: LargeGraph, eligible: Bool, contents: _Contents, word: Int32, known: Bool) -> Bool:
    """bool[V], eligible vertices whose words are workspaces, and those that are ``known`` to be."""
    found = eligible & contents.varied()[word]
    if found.any():
        found &= _differs(graph.store, found)
    found |= known
    if not found.any():
        return found
    return _closed(graph, eligible, found, contents, word)


def _may_be_eligible(store: GraphStore) -> bool:
    """Whether any word was stored to often enough, without looking at the rows.

    Lifetimes begin with stores, and where words are rewritten at all, they usually are twice or more.
    """
    graph = LargeGraph(store)
    return bool(np.any(_stored(graph, _in_memory(graph)) >= 2 * LIFETIMES_FACTOR))


def _in_memory(graph: LargeGraph) -> Bool:
    """bool[V], the home is memory of the program."""
    kinds = np.array([int(o.kind) for o in graph.objects] or [0], dtype=np.int64)
    return np.asarray(np.isin(kinds, _MEMORY)[graph.home_object])


def _stored(graph: LargeGraph, chosen: Bool) -> Int64:
    """int64, stores to the words of the chosen (bool[V]) vertices."""
    return np.asarray(graph.versions[chosen] - graph.is_input[chosen])


def _has_sources(part: AnyRows) -> Bool:
    """bool[R], the row has any."""
    return np.asarray(np.diff(part.source_ptr[part.term_ptr]) > 0)


def _usual_rewrites(lifetimes: Int64, stored: Int64) -> int:
    """How often the words that are rewritten at all usually are."""
    rewrites = np.where(lifetimes > 1, lifetimes, stored)
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


def _closed(graph: LargeGraph, eligible: Bool, found: Bool, contents: _Contents, word: Int32) -> Bool:
    """Add what is computed from workspaces, through register values, until nothing changes.

    Every word of a workspace and every register value computed from one passes on how often the commonest of
    its contents occurs at most; a word that begins more lifetimes than that must have seen several contents.
    """
    from commanalyzer.vcg.workspace_kernels import pass_on

    lifetimes, commonest, is_register = contents.lifetimes, contents.commonest, graph.is_register
    reach = np.full(len(found), _NEVER)
    reach[found] = commonest[word[found]]
    while True:
        passed = np.full(len(found), _NEVER)
        for part in graph.store.slices():
            pass_on(part.row_sink, part.term_ptr, part.source_ptr, part.source, read_only(reach), passed)
        fresh = np.flatnonzero(eligible & ~found)
        fresh = fresh[lifetimes[word[fresh]] > passed[fresh]]
        found[fresh] = True
        reach[fresh] = np.minimum(commonest[word[fresh]], passed[fresh])
        deeper = (is_register | found) & (passed < reach)
        if not deeper.any() and not len(fresh):
            return found
        reach[deeper] = passed[deeper]


def workspace_pieces(graph: ValueGraph, mask: Bool, sites: SiteTable, trace: Trace) -> NDArray[np.void]:
    """Return the bytes of objects that the vertices in ``mask`` cover, as the recorder reads them.

    Args:
        graph: The graph that ``mask`` is about; its rows do not matter.
        mask: bool[V].
        sites: Site table of the module that was recorded.
        trace: That recording.

    Returns:
        Sorted array of :data:`commanalyzer.abi.trace_layout.PIECE`.
    """
    chosen = np.flatnonzero(mask)
    place = _places(graph, sites, trace)
    object_of = graph.home_object[chosen]
    pieces = np.zeros(len(chosen), PIECE)
    for name, column in (("kind", 0), ("object", 1), ("depth", 2)):
        pieces[name] = place[object_of, column]
    first = graph.home_offset[chosen] + place[object_of, 3]
    pieces["first"] = first
    pieces["last"] = first + np.maximum(graph.width_bytes[chosen], 4)
    pieces.sort(order=("kind", "object", "depth", "first"))
    return pieces


def write_workspaces(path: Path, store: GraphStore, mask: Bool, sites: SiteTable, trace: Trace) -> None:
    """Write the file that ``COMMANALYZER_WORKSPACE`` names; arguments as :func:`workspace_pieces`."""
    pieces = workspace_pieces(store.vertices(), mask, sites, trace)
    header = np.array((MOST_ROWS * store.num_rows + SPARE_ROWS, len(pieces)), dtype=WORKSPACE)
    path.write_bytes(header.tobytes() + pieces.tobytes())


def read_workspaces(path: Path) -> NDArray[np.void]:
    """The pieces in a file that :func:`write_workspaces` or the recorder wrote."""
    return np.fromfile(path, PIECE, offset=WORKSPACE.itemsize)


def write_site_widths(path: Path, sites: SiteTable) -> None:
    """Write the file that ``COMMANALYZER_PREFIX`` names: the width of the values of each site, bytes."""
    path.write_bytes(bytes(site.width_bytes for site in sites.sites))


def _places(graph: ValueGraph, sites: SiteTable, trace: Trace) -> Int64:
    """int64[objects, 4]: kind and number of the extent, depth, first byte of the object in it."""
    known: dict[tuple[HomeKind, str], tuple[int, int, int]] = {}

    def note(kind: HomeKind, extent: int, records: list[ObjectRecord]) -> None:
        for number, record in enumerate(records):
            known[kind, record.key] = (extent, number, 0)

    note(HomeKind.GLOBAL, EXTENT_GLOBAL, sites.globals)
    for number, record in Allocations(sites.allocations, trace).records():
        known[HomeKind.HEAP, record.key] = (EXTENT_HEAP, number, record.offset)
    for number, frame in enumerate(sites.frames):
        for record in frame:
            known[HomeKind.STACK, record.key] = (EXTENT_STACK, number, record.offset)
    rows = []
    for item in graph.objects:
        extent, number, offset = known.get((item.kind, item.key), (0, 0, 0))
        rows.append((extent, number, item.depth, offset))
    return np.array(rows, dtype=np.int64).reshape(-1, 4)
