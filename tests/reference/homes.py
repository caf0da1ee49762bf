"""Home vertices: which words are the same place, and what that place is called.

Input: words of a trace. Output: :class:`WordIndex` (vertex number of every word) and names for vertices.
Words are numbered densely through the named extents of program memory, so that numbering takes table look-ups
instead of sorting.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from commanalyzer.abi.hooks import ADDRESS_MASK
from commanalyzer.trace.reader import Trace

UInt64 = NDArray[np.uint64]
Int64 = NDArray[np.int64]
Int32 = NDArray[np.int32]
Bool = NDArray[np.bool_]

_DENSE_LIMIT = 1 << 28  # words of named memory (1 GiB) that are numbered without looking which are used
_BLOCK_BITS = 12  # words per block of larger memory
_GAP = 4  # dense numbers between extents: no value reaches from one into the next


@dataclass(frozen=True, slots=True)
class DenseWords:
    """Dense numbers for words.

    Attributes:
        starts: int64[E], first word of each range, increasing; named extents and, between them, single
            words that belong to none.
        base: int64[E], dense number of the first word of each range.
        size: Number of dense numbers.
        extent: int64[E], row of the trace's extents, -1 for unnamed words.
    """

    starts: Int64
    base: Int64
    size: int
    extent: Int64

    def number(self, words: Int64) -> Int64:
        """Dense number of each word."""
        which = np.searchsorted(self.starts, words, side="right") - 1
        return np.asarray(self.base[which] + (words - self.starts[which]))

    def range_of(self, dense: Int64) -> Int64:
        """Range that each dense number belongs to."""
        return np.asarray(np.searchsorted(self.base, dense, side="right") - 1)

    def word(self, dense: Int64) -> Int64:
        """Word of each dense number."""
        which = self.range_of(dense)
        return np.asarray(self.starts[which] + (dense - self.base[which]))


def index_words(trace: Trace, word_chunks: list[Int64]) -> DenseWords:
    """Dense numbering of the trace's extents and of all words outside of them.

    Args:
        trace: Recording.
        word_chunks: Every word that occurs, in arrays of any size.
    """
    extents = np.asarray(trace.extents)
    starts = ((extents["start"] & np.uint64(ADDRESS_MASK)) >> np.uint64(2)).astype(np.int64)
    lengths = ((extents["size"] + np.uint64(3)) >> np.uint64(2)).astype(np.int64)
    order = np.lexsort((lengths, starts))
    starts, lengths, number = starts[order], lengths[order], order.astype(np.int64)
    kept = np.ones(len(starts), bool)
    kept[:-1] = starts[1:] != starts[:-1]  # of empty and equal ones the largest
    kept &= lengths > 0
    starts, lengths, number = starts[kept], lengths[kept], number[kept]
    outside = _outside(starts, lengths, word_chunks)
    if int(lengths.sum()) > _DENSE_LIMIT:
        starts, lengths, number = _touched(starts, lengths, number, word_chunks)
    all_starts = np.concatenate([starts, outside])
    all_lengths = np.concatenate([lengths, np.ones(len(outside), np.int64)])
    all_numbers = np.concatenate([number, np.full(len(outside), -1)])
    order = np.argsort(all_starts, kind="stable")
    all_starts, all_lengths, all_numbers = all_starts[order], all_lengths[order], all_numbers[order]
    base = np.cumsum(all_lengths + _GAP) - all_lengths
    size = int(base[-1] + all_lengths[-1] + _GAP) if len(base) else _GAP
    return DenseWords(all_starts, base, size, all_numbers)


def _touched(
    starts: Int64, lengths: Int64, number: Int64, word_chunks: list[Int64]
) -> tuple[Int64, Int64, Int64]:
    """Extents cut down to the blocks in which words occur: programs may use huge ranges sparsely.

    Neighbouring blocks stay one range, so that no value is cut.
    """
    per_extent = 1 << (44 - _BLOCK_BITS)
    keys = []
    for words in word_chunks:
        which = np.searchsorted(starts, words, side="right") - 1
        inside = (which >= 0) & (words < starts[which] + lengths[which])
        which, words = which[inside], words[inside]
        keys.append(np.unique(which * per_extent + ((words - starts[which]) >> _BLOCK_BITS)))
    blocks = np.unique(np.concatenate(keys))
    first = np.flatnonzero(np.concatenate(([True], np.diff(blocks) != 1)))
    counts = np.diff(np.concatenate((first, [len(blocks)])))
    which, offset = np.divmod(blocks[first], per_extent)
    offset <<= _BLOCK_BITS
    length = np.minimum(counts << _BLOCK_BITS, lengths[which] - offset)
    return starts[which] + offset, length, number[which]


def _outside(starts: Int64, lengths: Int64, word_chunks: list[Int64]) -> Int64:
    """Sorted, distinct words in no extent."""
    found = []
    for words in word_chunks:
        if not len(starts):
            found.append(np.unique(words))
            continue
        which = np.searchsorted(starts, words, side="right") - 1
        inside = (which >= 0) & (words < starts[which] + lengths[which])
        if not inside.all():
            found.append(np.unique(words[~inside]))
    return np.unique(np.concatenate(found)) if found else np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class WordIndex:
    """Vertex numbers of words.

    Attributes:
        dense: Dense numbering.
        vertex: int32[dense.size], vertex of each dense number, -1 for words that are no home.
        home: int64[M], dense number of each memory vertex, increasing.
        width_bytes: uint8[M], width of the widest value stored there, 0 if none was.
    """

    dense: DenseWords
    vertex: Int32
    home: Int64
    width_bytes: NDArray[np.uint8]


def number_homes(
    dense: DenseWords, sinks: Int64, sink_width_bytes: Int64, source_chunks: list[Int64]
) -> WordIndex:
    """Number the homes among the words that occur.

    A word that nobody stores to and that is covered by a wider value is a part of that value.

    Args:
        dense: Dense numbering.
        sinks: int64, dense numbers of words that values are stored to.
        sink_width_bytes: int64, width of each of these values.
        source_chunks: Dense numbers of words that are read.
    """
    width = np.zeros(dense.size, np.uint8)
    for size in np.unique(sink_width_bytes):  # increasing: the widest value wins
        width[sinks[sink_width_bytes == size]] = size
    is_home = width > 0
    for words in source_chunks:
        is_home[words] = True
    part_of = np.zeros(dense.size, np.int8)
    unstored = np.flatnonzero(is_home & (width == 0))
    for distance in (1, 2, 3):
        covered = unstored[width[unstored - distance] > 4 * distance]
        part_of[covered[part_of[covered] == 0]] = distance
    is_home &= part_of == 0
    home = np.flatnonzero(is_home)
    vertex = np.full(dense.size, -1, np.int32)
    vertex[home] = np.arange(len(home), dtype=np.int32)
    parts = np.flatnonzero(part_of)
    vertex[parts] = vertex[parts - part_of[parts]]
    return WordIndex(dense, vertex, home, width[home])


def home_widths(index: WordIndex) -> NDArray[np.uint8]:
    """uint8[M], width of every memory vertex.

    An input that was never stored has no store that tells its width. Its neighbours do: 8 bytes when the next
    home is two words away, 4 otherwise.
    """
    width = index.width_bytes.copy()
    unknown = np.flatnonzero(width == 0)
    distance = np.diff(index.home, append=index.home[-1:] + 2)
    width[unknown] = np.where(distance[unknown] == 1, 4, 8)
    return width
