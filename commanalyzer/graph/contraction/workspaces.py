"""Which memory is a workspace: used for one element after the other, home of none.

Input: the graph of a first recording, in which every word is one vertex, and how many places values were
copied to. Output: the vertices whose words are workspaces, and the pieces of objects they cover, for a
second recording that gives each of their lifetimes a vertex of its own (``runtime_shim/src/lifetimes.c``).

A lifetime begins with a store that does not read the word. What tells are facts about a word and the data
that it is computed from, not about other arrays. Its lifetimes *differ*: one place in the code stored chains
with different sources there, none of them in more than a quarter of the lifetimes. Or its values are *copied*
to at least four places, each of which got versions of its own: its name then stands for the values of all
elements, and hides what differs. And it has no *companion*, a source that is renewed about as often as it is
(less than four times more or less often): a word of an array is renewed together with the words of the same
element that it is computed from, whatever else changes; a workspace is renewed once for each element.

What is made of loop counters alone differs in nothing: of such words, those are workspaces whose lifetimes
have different readers, none of a quarter of them.

Or it is computed from a workspace, and begins at least four times as many lifetimes as the data of one
element (gather, compute, compute, scatter: only the first level differs in the homes of its sources).

Where three quarters or twice of this find other words, that reading is recorded, too (:func:`readings`).

What is made again and again, in the same way, of nothing but what never changes, is no data of an element
either (:func:`made_again`): the factors of an elimination that each line of a grid does again, the table of
cosines that each row of a transform makes. The value is always the same, and whoever works on a line makes
it, as the program does. Constants that nothing computed may be flags, chosen by what the program found: they
only count where something is computed from them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from commanalyzer.graph.allocations import HEADER_BYTES, Allocations
from commanalyzer.graph.contraction import kernels
from commanalyzer.graph.storage.slices import chosen_rows, row_slices
from commanalyzer.graph.storage.store import AnyGraph, GraphStore, LargeGraph
from commanalyzer.graph.value_graph import (
    Bool,
    HomeKind,
    Int32,
    Int64,
    Rows,
    ValueGraph,
    count_of_source,
    order_by,
    sink_of_source,
)
from commanalyzer.recording.abi import EXTENT_GLOBAL, EXTENT_HEAP, EXTENT_STACK, PIECE, WORKSPACE
from commanalyzer.recording.instrument.sites import SiteTable
from commanalyzer.recording.trace import Trace

FACTOR = 4
"""How many times as often as the data of an element a workspace is renewed, at least.

A word that is renewed for two or three kinds of data may be an array of stages; with four it is hardly one.
Three takes three stages for elements, twice misses workspaces of up to seven: reported as doubt where it
matters. Two is no doubt: time schemes of two stages are common, and runs of two steps look like them.
"""


def made_again(graph: AnyGraph) -> tuple[Bool, Bool]:
    """bool[V], settled values begun :data:`FACTOR` times as often as what reads them; such not read."""
    made, unread, begun, source, sink = _settled(graph)
    rate, read = np.zeros(graph.num_vertices, np.int64), made[source] & ~(made | unread)[sink]
    np.maximum.at(rate, source[read], graph.versions[sink[read]])
    if read.any():
        start, order = order_by(sink, graph.num_vertices)
        least = -rate
        origins = np.argsort(least)[: np.count_nonzero(rate)]
        kernels.pass_on(start, source[order], origins, np.where(made, 0, -_NEVER), least)
        rate = -least
    return made & (rate > 0) & (begun >= FACTOR * rate), unread


def _settled(graph: AnyGraph) -> tuple[Bool, Bool, Int64, Int32, Int32]:
    """Return settled values and such that nobody reads, bool[V], how often each is begun, sources and sinks.

    No flows where no word is settled; else those that settled values have a part in. What begins a value
    makes the order; what goes on with it (a factor, by which all are divided in the end) has to be settled,
    too, and to happen once each time: steps in time are more. What is read less often than it is begun is a
    result of a loop that is only repeated.
    """
    v, is_fixed, none = graph.num_vertices, graph.versions <= 1, np.zeros(0, np.int32)
    missing, chain, goes_on, reads = np.zeros((4, v), np.int64)
    begun = graph.versions - graph.is_input  # in a region, all that is read was there before
    noted = kernels.Beginnings(begun, missing, chain, np.zeros(v, np.uint8), goes_on, reads)
    for rows in row_slices(graph):
        kernels.note_beginnings(rows, is_fixed, noted)
    made = (graph.home_object > 0) & (begun > 1) & (noted.chains <= 1) & ((goes_on == 0) | (goes_on == begun))
    while sum(kernels.drop_changing(rows, is_fixed, made) for rows in row_slices(graph)):
        pass  # in the order of the program most go at once
    if not (made & (missing == 0) & ~graph.is_register).any():
        return np.zeros_like(made), np.zeros_like(made), begun, none, none
    ends = []
    for rows in row_slices(graph):
        sink, row = sink_of_source(rows), rows.row_of_source()
        flow = np.flatnonzero(made[sink] | made[rows.source])
        ends.append((rows.source[flow], sink[flow], rows.row_accumulates[row[flow]]))
    source, sink, is_more = (np.concatenate(column) for column in zip(*ends, strict=True))
    start, order = order_by(source[~is_more], v)
    kernels.make_in_order(start, sink[~is_more][order], np.flatnonzero(made & (missing == 0)), made, missing)
    made &= missing == 0
    value, wrong = made.astype(np.int64), is_more & made[sink] & ~(is_fixed | made)[source]
    value[sink[wrong]] = 0
    start, order = order_by(source, v)
    kernels.pass_on(start, sink[order], np.unique(sink[wrong]), np.zeros(v, np.int64), value)
    made &= value > 0
    computed, needed = graph.work_flops > 0, np.zeros(v, np.bool_)
    needed[source[(made & computed)[sink]]] = True
    made &= computed | needed
    return made & (reads >= begun), made & (reads == 0), begun, source, sink


# Rows of the second recording per row of the first: a guard against states that escape detection. Few where
# the first may be the answer alone: a new row costs what 100 rounds of a loop do. Half: 0.6 of the cost.
MOST_ROWS, DOUBTFUL_ROWS, SPARE_ROWS = 64, 0.125, 1 << 20

_NEVER = np.iinfo(np.int64).max
_MEMORY = (int(HomeKind.GLOBAL), int(HomeKind.HEAP), int(HomeKind.STACK))


@dataclass(frozen=True, slots=True)
class _Contents:
    """What words held one after the other."""

    begun: Int64  # [V], how often something new began there
    differing: Int64  # [V], lifetimes that began with sources; all where most began without
    commonest: Int64  # [V], occurrences of the commonest chain in them
    reads_at_first: Bool  # [V], most lifetimes began with sources: only chains that begin them are contents

    @classmethod
    def of(cls, store: GraphStore, is_named: Bool | None = None, reads: Bool | None = None) -> _Contents:
        """Contents by vertex; chains that read what ``is_named`` after copied words hide what differs."""
        begun, sourced, first, any_ = (np.zeros(store.num_vertices, np.int64) for _ in range(4))
        for part in store.slices():
            sink, count, begins = part.row_sink, part.row_count, ~part.row_accumulates
            has_sources = np.diff(part.row_ptr) > 0
            if is_named is not None:
                has_sources &= ~_read_any(part, is_named)
            np.maximum.at(any_, sink[has_sources], count[has_sources])
            np.add.at(begun, sink[begins], count[begins])
            begins &= has_sources
            np.add.at(sourced, sink[begins], count[begins])
            np.maximum.at(first, sink[begins], count[begins])
        reads = 2 * sourced >= begun if reads is None else reads
        return cls(begun, np.where(reads, sourced, begun), np.where(reads, first, any_), reads)

    def varied(self, factor: int) -> Bool:
        """bool[V], no chain is more than one in ``factor`` lifetimes."""
        return np.asarray((self.commonest > 0) & (self.differing >= factor * self.commonest))


@dataclass(frozen=True, slots=True)
class _Words:
    """Vertices of a graph as far as it matters here."""

    is_word: Bool  # [V], the vertex is a word of named memory without named lifetimes
    is_defined: Bool  # [V], a row defines the vertex: a register value or a named lifetime
    is_lifetime: Bool  # [V], of these the lifetimes
    stored: Int64  # [V], how often something was stored there
    places: Int64  # [V], how many places its values were copied to
    # what :func:`_handed_on` found, by the copied words: most readings have the same
    handed: dict[bytes, tuple[Int64, Bool]] = field(init=False, default_factory=dict)

    @classmethod
    def of(cls, graph: LargeGraph, places: Int64 | None) -> _Words:
        """The vertices of ``graph``."""
        kinds = np.array([int(o.kind) for o in graph.objects] or [0], dtype=np.int64)
        in_memory = np.isin(kinds, _MEMORY)[graph.home_object]
        is_lifetime = graph.is_temporary
        return cls(
            is_word=np.asarray(in_memory & ~is_lifetime),
            is_defined=graph.is_register | is_lifetime,
            is_lifetime=is_lifetime,
            stored=np.asarray(graph.versions - graph.is_input),
            places=np.zeros(graph.num_vertices, np.int64) if places is None else places,
        )

    def copied(self, factor: int) -> Bool:
        """bool[V], values were copied to ``factor`` places, with a version for each."""
        return np.asarray(self.is_word & (self.places >= factor) & (self.stored >= self.places))


def readings(store: GraphStore, places: Int64 | None = None) -> tuple[Bool, Bool]:
    """Return bool[V] twice: words of workspaces without named lifetimes; the same by 3/4 or twice of FACTOR.

    ``places``: int64[V], how many places the values of a word were copied to; default is none.
    """
    find = _finder(store, places)
    likely, more, fewer = (find(factor) for factor in (FACTOR, 3 * FACTOR // 4, 2 * FACTOR))
    # words copied to a few places hide what others hold: not every reading is a part of the next
    return likely, max(likely, likely | more, likely & fewer, key=lambda m: np.count_nonzero(m ^ likely))


def filled_from_workspaces(store: GraphStore) -> Bool:
    """bool[V], words that are workspaces as well, as the ``store`` with the lifetimes of others shows.

    What is copied to a word has no version there before: a matrix that is multiplied in the memory of the
    library and then assigned.
    """
    return _finder(store, None)(FACTOR)


def _finder(store: GraphStore, places: Int64 | None) -> Callable[[int], Bool]:
    graph = LargeGraph(store)
    return partial(_found, graph, _Contents.of(store), _Words.of(graph, places))


def _found(graph: LargeGraph, contents: _Contents, words: _Words, factor: int) -> Bool:
    """bool[V], words of workspaces that no lifetimes are named of yet."""
    store = graph.store
    # made of loop counters alone: each has its place, and is copied on (``b = a`` behind ``a(i) = cell(i)``)
    alone = words.is_word & ~contents.reads_at_first & (contents.commonest == 0)
    is_made_alone = alone & (words.places >= factor) & (FACTOR * words.stored > words.places)
    turn = _read_in_turn(store, words.stored, alone & (words.stored >= factor), factor)
    copied = words.copied(factor) | is_made_alone
    if not (copied.any() or turn.any()) and not (words.is_word & contents.varied(factor)).any():
        return np.zeros(store.num_vertices, np.bool_)
    key = copied.tobytes()
    fresh, is_named = words.handed[key] = words.handed.get(key) or _handed_on(graph, words, copied)
    if copied.any():
        contents = _Contents.of(store, is_named, contents.reads_at_first)
    varied = words.is_word & contents.varied(factor)
    if varied.any():
        varied &= _differs(store, varied)
    period = _periods(graph, words, contents, (varied, copied & ~varied, is_named), fresh, factor)
    period = np.maximum.reduce((period, turn, is_made_alone))
    return _closed(graph, words, contents, period, factor)


def _differs(store: GraphStore, candidates: Bool) -> Bool:
    """bool[V], one place in the code stored chains with different sources there; only for ``candidates``."""
    num_sites = max(len(store.sites), 1)
    keys = [np.zeros(0, np.int64)]
    for part in store.slices():
        has_sources = np.diff(part.row_ptr) > 0
        rows = np.flatnonzero(has_sources & candidates[part.row_sink])
        keys.append(part.row_sink[rows].astype(np.int64) * num_sites + part.row_site[rows])
    distinct, count = np.unique(np.concatenate(keys), return_counts=True)
    result = np.zeros(len(candidates), np.bool_)
    result[distinct[count > 1] // num_sites] = True
    return result


def _read_in_turn(store: GraphStore, stored: Int64, candidates: Bool, factor: int) -> Int64:
    """int64[V], how often a value reads one of the ``candidates`` that others read in between; 0 for others.

    What is ``stored`` (int64[V], how often) in ``int at[3] = {i, j, k}`` differs in nothing that it is made
    of, but no reader has one in ``factor`` of its lifetimes. As many have to be read.
    """
    others, same, period = np.zeros((3, len(stored)), np.int64)
    for part in store.slices() if candidates.any() else ():
        flow = np.flatnonzero(candidates[part.source] & ~candidates[sink_of_source(part)])
        source, count = part.source[flow], count_of_source(part)[flow]
        is_rare = factor * count <= stored[source]
        np.add.at(others, source[is_rare], count[is_rare])
        np.add.at(same, source[~is_rare], count[~is_rare])
        np.maximum.at(period, source[is_rare], count[is_rare])
    return np.where((others > same) & (factor * others > stored), period, 0)


def _begun_in_one_place(store: GraphStore, candidates: Bool) -> Int64:
    """int64[V], the most lifetimes that one place in the code began in a word; 0 but for ``candidates``."""
    num_sites, keys, counts = max(len(store.sites), 1), [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for part in store.slices():
        rows = np.flatnonzero(candidates[part.row_sink] & ~part.row_accumulates)
        keys.append(part.row_sink[rows].astype(np.int64) * num_sites + part.row_site[rows])
        counts.append(part.row_count[rows])
    distinct, number = np.unique(np.concatenate(keys), return_inverse=True)
    begun, result = np.zeros(len(distinct), np.int64), np.zeros(len(candidates), np.int64)
    np.add.at(begun, number, np.concatenate(counts))
    np.maximum.at(result, distinct // num_sites, begun)
    return result


def _handed_on(graph: LargeGraph, words: _Words, copied: Bool) -> tuple[Int64, Bool]:
    """How often values are renewed, int64[V], 0 if not known; which have a copied word's name, bool[V].

    Words are renewed as often as they are stored to; versions that nobody reads (partial sums) do not count.
    Register values and lifetimes are as fresh as what they are computed from, but for the word that they are
    stored to (a sum in a register goes on with it). For copied words it is not known: their names stand for
    values of other words.
    """
    is_defined, reads = words.is_defined, np.zeros(graph.num_vertices, np.int64)
    home = np.full(graph.num_vertices, -1, np.int32)
    for part in graph.store.slices():
        np.add.at(reads, part.source, count_of_source(part))
        home[part.source] = sink_of_source(part)
    fresh = np.maximum(np.minimum(words.stored, reads), 1)
    fresh[is_defined | copied | _settled(graph)[0]] = 0  # what is always the same is no data of an element
    is_named = copied.copy()
    if not is_defined.any():
        return fresh, is_named
    for part in graph.store.slices():
        sink = sink_of_source(part)
        flow = np.flatnonzero(is_defined[sink] & (home[sink] != part.source))
        sink, source = sink[flow], part.source[flow]
        np.maximum.at(fresh, sink, fresh[source])
        is_named[sink[is_named[source]]] = True
    links, none = _links(graph, is_defined), np.zeros(len(fresh), np.int64)
    fresh = -_least(links, -fresh, none, np.flatnonzero(is_defined & (fresh > 0)))
    unnamed = _least(links, 1 - is_named.astype(np.int64), none, np.flatnonzero(is_defined & is_named))
    return fresh, unnamed == 0


def _periods(
    graph: LargeGraph, words: _Words, contents: _Contents, candidates: tuple[Bool, Bool, Bool],
    fresh: Int64, factor: int,
) -> Int64:  # fmt: skip
    """int64[V], how often the data of one element are renewed, for words without companions; 0 for others.

    Of several sources the geometric mean is typical: parameters are not renewed, some are workspaces.

    The values of a word that is copied to many places are known by its name everywhere: what is computed from
    these differs, although the chain is always the same. Such chains tell nothing about words that are known
    by other chains, and are all that tells about copied words.

    ``candidates``: bool[V] each, varied words, copied words, values that are named after copied words.
    ``fresh`` is int64[V], ``factor`` as :data:`FACTOR`.
    """
    varied, copied, is_named = candidates
    lifetimes = np.where(varied, contents.differing, words.stored)
    logarithm = np.zeros(len(fresh))
    others, apart, together = (np.zeros(len(fresh), np.int64) for _ in range(3))
    for every in graph.store.slices():
        part = chosen_rows(every, (varied | copied)[every.row_sink])
        sink, count, row = part.row_sink, part.row_count, part.row_of_source()
        has_name, goes_on = _read_any(part, is_named), part.row_accumulates
        of_varied = varied[sink] & ~has_name & ~(goes_on & contents.reads_at_first[sink])
        is_telling = of_varied | (~varied[sink] & copied[sink] & (has_name | goes_on))
        is_telling &= np.diff(part.row_ptr) > 0
        flow = np.flatnonzero(is_telling[row] & (fresh[part.source] > 0))
        row, other = row[flow], part.source[flow]
        renewed, stored = fresh[other], lifetimes[sink[row]]
        is_companion = (renewed * factor > stored) & (renewed < factor * stored)
        tells_period = ~is_companion & ~varied[other]
        np.add.at(logarithm, sink[row[tells_period]], np.log(renewed[tells_period]))
        np.add.at(others, sink[row[tells_period]], 1)
        has_companion = np.zeros(part.num_rows, np.bool_)
        has_companion[row[is_companion]] = True
        np.add.at(together, sink[is_telling & has_companion], count[is_telling & has_companion])
        np.add.at(apart, sink[is_telling & ~has_companion], count[is_telling & ~has_companion])
    # versions that only go on with a lifetime belong to its element as well
    per_element = np.where(varied, contents.commonest, 1) * words.stored
    per_element //= np.maximum(np.where(varied, contents.differing, words.places), 1)
    typical = np.exp(logarithm / np.maximum(others, 1)).astype(np.int64)
    period = np.maximum(np.maximum(typical, per_element), 1)
    return np.where((varied | copied) & (apart > 0) & (together <= apart), period, 0)


def _read_any(rows: Rows, chosen: Bool) -> Bool:
    """bool[R], whether a ``chosen`` (bool[V]) vertex is among the sources of each row."""
    result = np.zeros(rows.num_rows, np.bool_)
    result[rows.row_of_source()[chosen[rows.source]]] = True
    return result


def _links(graph: LargeGraph, chosen: Bool) -> tuple[Int64, NDArray[np.int32]]:
    """Flows between ``chosen`` (bool[V]) vertices: where those of each source begin; int32[F], sinks."""
    pairs = [np.zeros((2, 0), np.int32)]
    for part in graph.store.slices():
        sink = sink_of_source(part)
        flow = np.flatnonzero(chosen[part.source] & chosen[sink])
        pairs.append(np.stack((part.source[flow], sink[flow])))
    source, sink = np.concatenate(pairs, axis=1)
    start, order = order_by(source, graph.num_vertices)
    return start, sink[order]


def _least(links: tuple[Int64, NDArray[np.int32]], value: Int64, most: Int64, origins: Int64) -> Int64:
    """int64[V], the least value of any vertex that each can be reached from, or its own.

    In linear time, but for sorting: values are passed on in order, so each is final when it arrives.
    """
    result = value.copy()
    kernels.pass_on(*links, origins[np.argsort(value[origins], kind="stable")], most, result)
    return result


def _closed(graph: LargeGraph, words: _Words, contents: _Contents, period: Int64, factor: int) -> Bool:
    """bool[V], words with a period, and what is computed from them, through register values.

    Each passes on how often the data of one element are renewed; a word in which one place in the code begins
    ``factor`` times as many lifetimes held values of several elements. Those of several places may be stages.
    """
    if not (found := np.asarray(period > 0)).any():
        return found
    begun = _begun_in_one_place(graph.store, words.is_word & (contents.begun >= factor))
    # what was copied to many places began a lifetime for each, whatever its chains look like
    begun = np.maximum(begun, np.where(words.copied(factor), words.places, 0))
    most = np.where(words.is_word, begun // factor, 0)
    most[found | (words.is_defined & ~words.is_lifetime)] = _NEVER
    links = _links(graph, (most > 0) | found)
    reached = _least(links, np.where(found, period, _NEVER), most, np.flatnonzero(found))
    return np.asarray(words.is_word & (reached < _NEVER))


def places_copied_to(trace: Trace, graph: ValueGraph, sites: SiteTable) -> Int64:
    """Return int64[V], how many places the values of each word were copied to, if several."""
    if not len(trace.copies) or not graph.num_vertices:
        return np.zeros(graph.num_vertices, np.int64)
    word = trace.copies["word"].astype(np.int64)
    extents = trace.extents[trace.extents["size"] > 0]
    start = trace.words_at(extents["start"])
    order = np.lexsort((extents["size"], start))
    extents, start = extents[order], start[order]
    which = np.searchsorted(start, word, side="right") - 1
    extent = extents[np.maximum(which, 0)]
    within = trace.word_bytes * (word - start[np.maximum(which, 0)])
    inside = (which >= 0) & (within < extent["size"].astype(np.int64))
    offset = (within + extent["offset"].astype(np.int64))[inside]
    copied = np.stack([*(extent[inside][n].astype(np.int64) for n in ("kind", "object", "depth")), offset], 1)
    place = _places(graph, sites, trace)[graph.home_object]
    place[:, 3] += graph.home_offset
    both = np.concatenate([place, copied])
    keys, number = np.unique(np.ravel_multi_index(both.T, both.max(axis=0) + 1), return_inverse=True)
    places = np.zeros(len(keys), np.int64)
    places[number[len(place) :]] = trace.copies["places"][inside]
    return places[number[: len(place)]]


def workspace_pieces(graph: ValueGraph, mask: Bool, sites: SiteTable, trace: Trace) -> NDArray[np.void]:
    """Return the bytes of objects that the vertices in ``mask`` (bool[V]) cover, as the recorder reads them.

    A sorted array of :data:`commanalyzer.recording.abi.PIECE`. The rows of ``graph`` do not matter.
    """
    chosen = np.flatnonzero(mask)
    place = _places(graph, sites, trace)
    object_of = graph.home_object[chosen]
    pieces = np.zeros(len(chosen), PIECE)
    for name, column in (("kind", 0), ("object", 1), ("depth", 2)):
        pieces[name] = place[object_of, column]
    first = graph.home_offset[chosen] + place[object_of, 3]
    pieces["first"] = first
    pieces["last"] = first + np.maximum(graph.width_bytes[chosen], trace.word_bytes)
    pieces.sort(order=("kind", "object", "depth", "first"))
    return pieces


def write_workspaces(
    path: Path, store: GraphStore, mask: Bool, sites: SiteTable, trace: Trace,
    more: NDArray[np.void] | None = None, *, is_optional: bool = False,
) -> None:  # fmt: skip
    """Write the file that ``COMMANALYZER_WORKSPACE`` names, with ``more`` pieces.

    Optional recordings end if they are long.
    """
    pieces = workspace_pieces(store.vertices(), mask, sites, trace)
    pieces = pieces if more is None else np.unique(np.concatenate((pieces, more)))
    most = int((DOUBTFUL_ROWS if is_optional else MOST_ROWS) * store.num_rows) + SPARE_ROWS
    path.write_bytes(np.array((most, len(pieces), is_optional), dtype=WORKSPACE).tobytes() + pieces.tobytes())


def _places(graph: ValueGraph, sites: SiteTable, trace: Trace) -> Int64:
    """int64[objects, 4]: kind and number of the extent, depth, first byte of the object in it."""
    known: dict[tuple[HomeKind, str], tuple[int, int, int]] = {}
    for number, variable in enumerate(sites.globals):
        known[HomeKind.GLOBAL, variable.key] = (EXTENT_GLOBAL, number, 0)
    for number, block in Allocations(sites.allocations, trace).records():
        known[HomeKind.HEAP, block.key.partition("+")[0]] = (EXTENT_HEAP, number, 0)
    for number, frame in enumerate(sites.frames):
        for record in frame:
            known[HomeKind.STACK, record.key] = (EXTENT_STACK, number, record.offset)
    rows = []
    for item in graph.objects:
        key, _, start = item.key.partition("+")  # where it begins, if it is not what begins there
        extent, number, first = known.get((item.kind, key), (0, 0, 0))
        begin = int(start or HEADER_BYTES * (item.kind is HomeKind.HEAP))
        rows.append((extent, number, item.depth, first + begin))
    return np.array(rows, dtype=np.int64).reshape(-1, 4)
