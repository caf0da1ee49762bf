"""Home vertices from their definition: which words are the same place, and in which extent they are.

A word is a home when a value is stored to it or it is read, unless nobody stores to it and a wider value that
begins less than 16 bytes before it, in the same extent, covers it: then it is a part of that value.
"""

from dataclasses import dataclass

import numpy as np

from commanalyzer.recording.trace import Trace
from tests.reference.arrays import Int32, Int64, UInt8


class Extents:
    """The named pieces of memory of a recording; where several begin at one word, the longest counts."""

    def __init__(self, trace: Trace) -> None:
        found: dict[int, tuple[int, int]] = {}
        for row, extent in enumerate(trace.extents):
            first = int(trace.words_at(extent["start"]))
            length = -(-int(extent["size"]) // trace.word_bytes)
            if length and (first not in found or length >= found[first][0]):
                found[first] = (length, row)
        self.word_bytes = trace.word_bytes
        self._first = np.array(sorted(found), np.int64)
        pairs = [found[first] for first in sorted(found)]
        self._length = np.array([length for length, _ in pairs], np.int64)
        self._row = np.array([row for _, row in pairs], np.int64)

    def row_of(self, words: Int64) -> Int64:
        """Row of the trace's extents that each word lies in, -1 for none."""
        if not len(self._first):
            return np.full(len(words), -1, np.int64)
        before = np.searchsorted(self._first, words, side="right") - 1
        inside = (before >= 0) & (words < self._first[before] + self._length[before])
        return np.where(inside, self._row[before], -1)


@dataclass(frozen=True, slots=True)
class WordIndex:
    """Vertex numbers of words.

    Attributes:
        word: int64[W], all words that occur, increasing.
        vertex: int32[W], the memory vertex that each is, or is a part of.
        home: int64[M], word of each memory vertex, increasing.
        width_bytes: uint8[M], width of the widest value stored there; where none was, 8, or if what lies 4
            bytes behind it (or 2, or 1, where words are bytes) in the extent is a home as well, so many.
    """

    word: Int64
    vertex: Int32
    home: Int64
    width_bytes: UInt8

    def vertex_of(self, words: Int64) -> Int32:
        """Vertex of each of some words that occur."""
        return np.asarray(self.vertex[np.searchsorted(self.word, words)])


def number_homes(extents: Extents, sinks: Int64, width_bytes: Int64, read: Int64) -> WordIndex:
    """Number the homes.

    Args:
        sinks: int64, words that values are stored to.
        width_bytes: int64, width of each of these values.
        read: int64, words that are read.
    """
    word = np.unique(np.concatenate((sinks, read)))
    extent, widest = extents.row_of(word), np.zeros(len(word), np.int64)
    np.maximum.at(widest, np.searchsorted(word, sinks), width_bytes)
    whole = np.arange(len(word))
    for distance in range(16 // extents.word_bytes - 1, 0, -1):  # the nearest value wins
        other = np.searchsorted(word, word - distance)
        is_there = (word[other] == word - distance) & (extent[other] == extent) & (extent >= 0)
        covered = is_there & (widest == 0) & (widest[other] > extents.word_bytes * distance)
        whole[covered] = other[covered]
    is_home = whole == np.arange(len(word))
    number = np.cumsum(is_home) - 1
    home, width = word[is_home], widest[is_home]
    inside, unknown = extent[is_home], width == 0
    width[unknown] = 8
    for size in (4, 2, 1):
        other = np.searchsorted(home, home + size // extents.word_bytes).clip(max=len(home) - 1)
        follows = (
            (home[other] == home + size // extents.word_bytes) & (inside >= 0) & (inside[other] == inside)
        )
        width[unknown & follows & (size >= extents.word_bytes)] = size
    return WordIndex(word, number[whole].astype(np.int32), home, width.astype(np.uint8))
