"""Home vertices: which words are the same place.

Input: the tables of a trace. Output: :class:`Homes`, the vertex number of every word. Words are numbered
densely through the named extents of program memory, so that numbering takes table look-ups instead of
sorting.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from commanalyzer.graph.reading.tables import CHUNK, Tables
from commanalyzer.graph.value_graph import Bool, Int32, Int64, UInt8
from commanalyzer.recording.abi import EXTENT_GLOBAL
from commanalyzer.recording.instrument.sites import ObjectRecord
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
