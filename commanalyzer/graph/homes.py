"""Home vertices: which words are the same place.

Input: the tables of a trace. Output: :class:`Homes`, the vertex number of every word. Words are numbered
densely through the named extents of program memory, so that numbering takes table look-ups instead of
sorting.

Names for vertices: the variable, allocation or register that each home belongs to.

Arrays that lie in one object: members of a structure, and pieces of a block that pointers were set to.

``double *u = pool, *v = pool + n * n;`` and allocators that cut what they return from one block: the
recorder notes where a pointer to a piece was made (an extent of kind :data:`EXTENT_PART` without bytes). A
piece reaches to the next one. It is an array of its own if no loop of the analysed region runs across its
beginning: what reads or stores on both sides of it in one go sees one array, of which the pointer is a view.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple

import numpy as np

from commanalyzer.graph.allocations import Allocations, are_fields
from commanalyzer.graph.reading.tables import CHUNK, Tables
from commanalyzer.graph.value_graph import Bool, HomeKind, HomeObject, Int32, Int64, UInt8
from commanalyzer.program.ir.names.addresses import source_name
from commanalyzer.recording.abi import EXTENT_GLOBAL, EXTENT_HEAP, EXTENT_PART, EXTENT_STACK, WORD_MASK
from commanalyzer.recording.instrument.sites import ObjectRecord, SiteTable
from commanalyzer.recording.trace import Trace

_DENSE_LIMIT = 1 << 28  # words of named memory (1 GiB) that are numbered without looking which are used
_BLOCK_BITS = 12  # words per block of larger memory
_MOST_BYTES = 16  # of a value: ranges are so far apart that none reaches from one into the next
_BELOW, _ABOVE = -(1 << 62), 1 << 62  # sentinels


@dataclass(frozen=True, slots=True)
class Ranges:
    """Dense numbers for words. Range 0 is an empty sentinel."""

    # [E + 2], first word of each range, increasing; named extents and, between them, single words that belong
    # to none; the last one is a sentinel
    starts: Int64
    length: Int64  # [E + 1], words of each range
    base: Int64  # [E + 1], dense number of the first word of each range
    extent: Int64  # [E + 1], row of the trace's extents, -1 for unnamed words
    size: int  # number of dense numbers

    @classmethod
    def of(cls, starts: Int64, lengths: Int64, extent: Int64, word_bytes: int, block_bits: int = 0) -> Ranges:
        """Ranges in any order; with ``block_bits``, blocks are numbered instead of words."""
        gap = _MOST_BYTES // word_bytes
        order = np.argsort(starts, kind="stable")
        starts, lengths, extent = starts[order], lengths[order], extent[order]
        numbers = (lengths >> block_bits) + gap
        base = np.cumsum(numbers) - (lengths >> block_bits)
        return cls(
            np.concatenate([[_BELOW], starts, [_ABOVE]]).astype(np.int64),
            np.concatenate([[0], lengths]).astype(np.int64),
            np.concatenate([[0], base]).astype(np.int64),
            np.concatenate([[-1], extent]).astype(np.int64),
            int(numbers.sum()) + gap,
        )

    def number(self, words: Int64) -> Int64:
        """Dense number of words that lie in ranges."""
        which = np.searchsorted(self.starts, words, side="right") - 1
        return np.asarray(self.base[which] + (words - self.starts[which]))

    def range_of(self, dense: Int64) -> Int64:
        """Range that each dense number belongs to."""
        return np.asarray(np.searchsorted(self.base, dense, side="right") - 1)

    def word(self, dense: Int64) -> Int64:
        """Word of each dense number."""
        which = self.range_of(dense)
        return np.asarray(self.starts[which] + (dense - self.base[which]))


@dataclass(frozen=True, slots=True)
class Homes:
    """Vertex numbers of words."""

    ranges: Ranges
    # [ranges.size], vertex of each dense number, -1 for words that are no home, less for parts of one
    # (``-1 - distance``)
    vertex: Int32
    width: UInt8  # [ranges.size], width of the widest value stored there, 0 if none was
    count: int  # number of memory vertices; they are numbered in the order of their words
    word_bytes: int  # bytes of a word

    def widths(self) -> Iterator[tuple[Int64, UInt8]]:
        """Yield dense numbers of homes, some at a time, and the width of the widest value stored there.

        An input that was never stored has no store that tells its width; its neighbours do: as many bytes
        as lie before the next home, if these are 4 (or 2, or 1, where words are bytes), else 8.
        """
        for first in range(0, len(self.vertex), CHUNK):
            home = first + np.flatnonzero(self.vertex[first : first + CHUNK] >= 0)
            width = self.width[home]
            unknown = np.flatnonzero(width == 0)
            width[unknown] = 8
            for size in (size for size in (4, 2, 1) if size >= self.word_bytes):
                width[unknown[self.vertex[home[unknown] + size // self.word_bytes] >= 0]] = size
            yield home, width


def find_homes(trace: Trace, tables: Tables, site_width: Int64, variables: Sequence[ObjectRecord]) -> Homes:
    """Number the homes among all words that are stored to or read, but for literals, which are no values.

    ``site_width``: width of the values of each site, bytes; ``variables``: the global ones.
    """
    starts, lengths, extent = _named_extents(trace)
    is_large = int(lengths.sum()) > _DENSE_LIMIT
    shift = _BLOCK_BITS if is_large else 0
    word_bytes = trace.word_bytes
    ranges = Ranges.of(starts, lengths, extent, word_bytes, shift)
    width, is_read, outside = _marked(tables, ranges, site_width, shift, word_bytes)
    if is_large:
        starts, lengths, extent = _touched(ranges, (width > 0) | is_read)
    if is_large or len(outside):
        ranges = Ranges.of(
            np.append(starts, outside),
            np.append(lengths, np.ones(len(outside), np.int64)),
            np.append(extent, np.full(len(outside), -1)),
            word_bytes,
        )
        width, is_read, _ = _marked(tables, ranges, site_width, 0, word_bytes)
    extents, is_constant = trace.extents, np.array([v.is_constant for v in variables] or [False])
    is_global = extents["kind"] == EXTENT_GLOBAL
    is_literal = is_global & is_constant[np.where(is_global, extents["object"], 0)]
    for r in np.flatnonzero(np.append(is_literal, False)[ranges.extent]).tolist():  # one step per table
        is_read[ranges.base[r] : ranges.base[r] + ranges.length[r]] = False
    vertex = _numbered(width, is_read, word_bytes)
    return Homes(ranges, vertex, width, int(vertex.max(initial=-1)) + 1, word_bytes)


def _numbered(width: UInt8, is_read: Bool, word_bytes: int) -> Int32:
    """Return ``vertex`` of :class:`Homes`.

    A word that nobody stores to and that is covered by a wider value is a part of that value.
    """
    is_home, distance = (width > 0) | is_read, np.zeros(len(width), np.uint8)
    for words in range(_MOST_BYTES // word_bytes - 1, 0, -1):  # the nearest one counts
        distance[words:][(width[words:] == 0) & (width[:-words] > word_bytes * words)] = words
    is_home &= distance == 0
    vertex = np.cumsum(is_home, dtype=np.int32)
    vertex -= 1
    vertex[~is_home] = -1
    is_part = is_read & (distance > 0)
    vertex[is_part] -= distance[is_part]
    return vertex


def _named_extents(trace: Trace) -> tuple[Int64, Int64, Int64]:
    """First words, lengths in words and numbers of the extents that differ, in order."""
    extents = np.asarray(trace.extents)
    starts = trace.words_at(extents["start"])
    lengths = -(-extents["size"].astype(np.int64) // trace.word_bytes)
    order = np.lexsort((lengths, starts))
    starts, lengths, number = starts[order], lengths[order], order.astype(np.int64)
    kept = np.ones(len(starts), bool)
    kept[:-1] = starts[1:] != starts[:-1]  # of empty and equal ones the largest
    kept &= lengths > 0
    return starts[kept], lengths[kept], number[kept]


def _marked(
    tables: Tables, ranges: Ranges, site_width: Int64, shift: int, word_bytes: int
) -> tuple[UInt8, Bool, Int64]:
    """Widths stored and what is read, per dense number or block; distinct words in no range."""
    from commanalyzer.graph.reading.trace_kernels import CACHED, mark

    width, is_read = np.zeros(ranges.size, np.uint8), np.zeros(ranges.size, np.bool_)
    places = ranges.starts, ranges.length, ranges.base, shift, word_bytes
    row_of = np.full(int(tables.names.max(initial=-1)) + 1, -1, np.int64)  # that labels call by each name
    row_of[tables.names] = np.arange(len(tables.names))
    known, cache = (tables.heads, row_of, site_width, places), np.zeros(CACHED + 1, np.int64)
    outside = np.zeros(0, np.int64)
    for chunk in tables.chunks():
        words = np.empty(len(chunk.heads) + len(chunk.label), np.int64)
        rows, state = (chunk.heads, chunk.label, chunk.end), (cache, words)
        found = mark(rows, *known, (is_read.view(np.uint8), width), state)
        outside = np.union1d(outside, words[:found])
    return width, is_read, outside


def _touched(ranges: Ranges, is_touched: Bool) -> tuple[Int64, Int64, Int64]:
    """Extents cut down to the blocks in which words occur: programs may use huge ranges sparsely.

    Neighbouring blocks stay one range, so that no value is cut.
    """
    blocks = np.flatnonzero(is_touched)
    first = np.flatnonzero(np.diff(blocks, prepend=-2) != 1)  # gaps separate the ranges
    counts = np.diff(np.append(first, len(blocks)))
    which = ranges.range_of(blocks[first])
    offset = (blocks[first] - ranges.base[which]) << _BLOCK_BITS
    length = np.minimum(counts << _BLOCK_BITS, ranges.length[which] - offset)
    return ranges.starts[which] + offset, length, ranges.extent[which]


class _Piece(NamedTuple):
    """Where a pointer into an object was set to, byte of the object, and the path that made it."""

    start: int
    path: int


def parts_of(
    sites: SiteTable, trace: Trace, allocations: Allocations, tables: Tables
) -> dict[tuple[int, int], tuple[ObjectRecord, ...]]:
    """Arrays in the objects of a recording, in order, by kind and number of the extent."""
    found = {(EXTENT_GLOBAL, n): record.members for n, record in enumerate(sites.globals) if record.parts}
    noted = trace.extents[trace.extents["kind"] == EXTENT_PART]
    if not len(noted):
        return found
    address = noted["start"].astype(np.int64)
    crossed = _crossed(np.unique(trace.words_at(noted["start"])), tables)
    pieces: dict[tuple[int, int], list[_Piece]] = {}
    for place, piece in _pieces(trace, address, noted["object"].astype(np.int64), crossed, allocations):
        pieces.setdefault(place, []).append(piece)
    for (kind, number), made in pieces.items():
        if kind == EXTENT_HEAP and allocations.layout(number).is_one_block:
            whole, own = allocations.record(number, 0), allocations.head(number)
        elif kind == EXTENT_GLOBAL and not sites.globals[number].parts:
            whole = own = sites.globals[number]
        else:
            continue
        key = whole.key.partition("+")[0]
        found[kind, number] = tuple(_arrays(whole, own, key, made, allocations))
    return found


def _pieces(
    trace: Trace, address: Int64, path: Int64, crossed: Int64, allocations: Allocations
) -> Iterator[tuple[tuple[int, int], _Piece]]:
    """Pieces that no loop runs across, with kind and number of the extents that they lie in."""
    extents = trace.extents[trace.extents["size"] > 0]
    extents = extents[np.argsort(extents["start"], kind="stable")]
    start = extents["start"].astype(np.int64)
    which = np.searchsorted(start, address, side="right") - 1
    within = address - start[which]
    is_known = (which >= 0) & (within < extents["size"].astype(np.int64)[which])
    is_crossed = np.isin(trace.words_at(address), crossed)
    rows = [n for n in np.unique(path[is_crossed]).tolist() if not allocations.named(n).is_piece]
    is_known &= ~is_crossed & ~np.isin(path, rows)  # what else points to rows of one array is none
    for n in np.flatnonzero(is_known).tolist():  # one step per pointer in the source and block
        extent = extents[which[n]]
        piece = _Piece(int(within[n]) + int(extent["offset"]), int(path[n]))
        yield (int(extent["kind"]), int(extent["object"])), piece


def _arrays(
    whole: ObjectRecord, own: ObjectRecord, key: str, made: Sequence[_Piece], allocations: Allocations
) -> Iterator[ObjectRecord]:
    """The arrays of one object: what lies in front of the first piece, and the pieces."""
    end = whole.offset + whole.size_bytes
    first = {piece.start: piece for piece in reversed(made) if whole.offset <= piece.start < end}
    pieces = _joined([first[start] for start in sorted(first)], end)
    bounds = [piece.start for piece in pieces] + [end]
    if pieces and bounds[0] > whole.offset:
        size = bounds[0] - whole.offset
        yield replace(own, key=f"{key}+{whole.offset}", offset=whole.offset, size_bytes=size)
    paths = [piece.path for piece in pieces]
    for n, piece in enumerate(pieces):
        record = allocations.named(piece.path)
        name = f"{record.name}[{paths[:n].count(piece.path)}]" if paths.count(piece.path) > 1 else record.name
        is_rest = record.is_piece and bounds[n + 1] == end  # the end of a pool, used or not
        size = 0 if is_rest else bounds[n + 1] - piece.start
        yield replace(record, key=f"{key}+{piece.start}", name=name, offset=piece.start, size_bytes=size)


def _joined(pieces: list[_Piece], end: int) -> list[_Piece]:
    """Pieces in order; those that one path made side by side are the rows of one array, but for fields."""
    bounds = [piece.start for piece in pieces] + [end]
    result, at = list[_Piece](), 0
    for _, run in groupby(pieces, key=lambda piece: piece.path):
        members = list(run)
        sizes = np.diff(bounds[at : at + len(members) + 1])
        at += len(members)
        result += members if are_fields(len(members), int(sizes.min())) else members[:1]
    return result


def _crossed(bounds: Int64, tables: Tables) -> Int64:
    """Those of some words (int64, increasing) that loops of the analysed region run across.

    A loop runs across a word if it reads or computes words in front of it and behind it, by the same
    instruction. Constants that are written say nothing: programs clear whole blocks.
    """
    changes = np.zeros(len(bounds) + 1, np.int64)
    for low, high in _spans(tables):
        np.add.at(changes, np.searchsorted(bounds, low, side="right"), 1)
        np.add.at(changes, np.searchsorted(bounds, high, side="right"), -1)
    return bounds[np.cumsum(changes)[:-1] > 0]


def _spans(tables: Tables) -> Iterator[tuple[Int64, Int64]]:
    """First and last words, int64[n] each, of what instructions touch in runs of loops."""
    is_counted = tables.cells[:, 1] > 0
    groups = tables.groups[is_counted[tables.groups[:, 0]] & (tables.groups[:, 3] >> 32 == 0)]
    width = groups[:, 3]
    each = np.repeat(np.arange(len(groups)), width)
    run = groups[each, 1] + np.arange(len(each)) - np.repeat(np.cumsum(width) - width, width)
    begin = tables.runs[run, 0] & WORD_MASK
    last = begin + tables.runs[run, 1] * (groups[each, 2] - 1)
    yield np.minimum(begin, last), np.maximum(begin, last)
    touched = tables.touched()
    touched = touched[np.argsort(touched[:, 0], kind="stable")]
    first = np.flatnonzero(np.diff(touched[:, 0], prepend=-1))
    if len(first):
        yield np.minimum.reduceat(touched[:, 1], first), np.maximum.reduceat(touched[:, 2], first)


_NO_END = 1 << 62
_ELEMENT_BYTES = 8


def name_homes(names: Names, ranges: Ranges, trace: Trace, dense: Int64) -> tuple[Int64, Int64]:
    """Object numbers and byte offsets of words, int64[n] each; new objects are added to ``names``.

    ``dense``: int64[n], dense numbers of the words, increasing.
    """
    object_of, offset = np.zeros(len(dense), np.int64), np.empty(len(dense), np.int64)
    bounds = np.append(np.searchsorted(dense, ranges.base), len(dense))
    for which in np.flatnonzero(np.diff(bounds)).tolist():  # one step per extent
        here = slice(bounds[which], bounds[which + 1])
        shift = int(ranges.starts[which] - ranges.base[which])
        number = int(ranges.extent[which])
        if number < 0:
            offset[here] = (dense[here] + shift) * trace.word_bytes
            continue
        extent = trace.extents[number]
        shift -= int(trace.words_at(extent["start"]))
        within = offset[here]
        np.multiply(dense[here], trace.word_bytes, out=within)
        within += trace.word_bytes * shift + int(extent["offset"])
        numbers, shifts = names.resolve(extent, within)
        object_of[here] = numbers
        within -= shifts
    return object_of, offset


class Names:
    """Numbers objects in order of first use."""

    def __init__(self, sites: SiteTable, trace: Trace, tables: Tables) -> None:
        self._sites = sites
        self._allocations = Allocations(sites.allocations, trace)
        self._parts = parts_of(sites, trace, self._allocations, tables)
        self._numbers: dict[tuple[int, int, int, int], int] = {}
        self.objects: list[HomeObject] = [HomeObject(HomeKind.UNKNOWN, "other memory")]

    def resolve(self, extent: np.void, within: Int64) -> tuple[Int64 | int, Int64 | int]:
        """Object numbers and their first byte, for byte offsets ``within`` an extent's object.

        One number for all where the extent is one object.
        """
        kind, number = int(extent["kind"]), int(extent["object"])
        members = self._allocations.members(number) if kind == EXTENT_HEAP else ()
        if not (parts := members or self._parts.get((kind, number), ())):
            return self._of_whole(extent, within)
        starts = np.array([part.offset for part in parts])
        sizes = np.array([part.size_bytes or _NO_END for part in parts])
        which = np.searchsorted(starts, within, side="right") - 1
        which[within >= starts[which] + sizes[which]] = -1
        numbers, shifts = np.empty(len(within), np.int64), np.empty(len(within), np.int64)
        for n in np.unique(which).tolist():  # one step per array
            here = which == n
            if n < 0:
                numbers[here], shifts[here] = self._of_whole(extent, within[here])
                continue
            home = HomeKind.HEAP if kind == EXTENT_HEAP else HomeKind.GLOBAL
            size = parts[n].size_bytes or int(within[here].max()) + _ELEMENT_BYTES - parts[n].offset
            numbers[here] = self._number((kind, number, -1 - n, 0), home, parts[n], size)
            shifts[here] = parts[n].offset
        return numbers, shifts

    def _of_whole(self, extent: np.void, within: Int64) -> tuple[Int64 | int, Int64 | int]:
        """The same for objects that no arrays lie in."""
        kind, number, depth = int(extent["kind"]), int(extent["object"]), int(extent["depth"])
        if kind == EXTENT_GLOBAL:
            record = self._sites.globals[number]
            return self._number((kind, number, 0, 0), HomeKind.GLOBAL, record, record.size_bytes), 0
        if kind == EXTENT_HEAP:
            return self._of_heap(number, within, int(extent["offset"]) + int(extent["size"]))
        assert kind == EXTENT_STACK
        records = self._sites.frames[number]
        offsets = np.array([r.offset for r in records], dtype=np.int64)
        which = np.searchsorted(offsets, within, side="right") - 1
        numbers = np.zeros(len(records), np.int64)
        for i in np.unique(which).tolist():  # one step per variable
            size = records[i].size_bytes or int(extent["size"])  # of arrays of variable length
            numbers[i] = self._number((kind, number, i, depth), HomeKind.STACK, records[i], size, depth)
        return numbers[which], offsets[which]

    def _of_heap(self, path: int, within: Int64, end: int) -> tuple[Int64 | int, Int64 | int]:
        """The same for blocks that a path of calls allocates; ``end`` is the end of the extent."""
        layout = self._allocations.layout(path)
        starts = np.array(layout.starts, np.int64)
        which = np.maximum(np.searchsorted(starts, within, side="right") - 1, 0)
        numbers = np.zeros(len(starts), np.int64)
        for block in np.unique(which).tolist():  # one step per array
            known, size = (EXTENT_HEAP, path, block, 0), layout.sizes[block] or end - layout.starts[block]
            numbers[block] = self._number(known, HomeKind.HEAP, self._allocations.record(path, block), size)
        return numbers[which], starts[which]

    def registers(self, is_register: Bool) -> Int64:
        """int64[sites], object numbers of the register values of sites, 0 for others."""
        result = np.zeros(len(is_register), np.int64)
        for site in np.flatnonzero(is_register).tolist():
            record = self._sites.sites[site]
            name = "return" if record.kind == "exit" else record.variable or "unnamed value"
            key = f"{record.function}/{record.result}"
            entry = ObjectRecord(key, name, record.source, record.place)
            result[site] = self._number((0, site, 0, 0), HomeKind.REGISTER, entry, record.width_bytes)
        return result

    def _number(
        self, key: tuple[int, int, int, int], kind: HomeKind, record: ObjectRecord, size: int, depth: int = 0
    ) -> int:
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.objects)
            name = record.name if depth == 0 else f"{record.name} (depth {depth})"
            place, function = record.place, source_name(record.function)
            known = kind, name, function, place.file, place.line, size, record.key, depth
            self.objects.append(HomeObject(*known, record.strides, record.record_bytes))
        elif size > self.objects[number].size_bytes:
            self.objects[number] = replace(self.objects[number], size_bytes=size)
        return number
