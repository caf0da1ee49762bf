"""Home vertices from their definition: which words are the same place, and in which extent they are.

A word is a home when a value is stored to it or it is read, unless nobody stores to it and a wider value that
begins less than 16 bytes before it, in the same extent, covers it: then it is a part of that value.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from commanalyzer.recording.trace import Trace


class Extents:
    """The named pieces of memory of a recording; where several begin at one word, the longest counts."""

    def __init__(self, trace: Trace) -> None:
        found: dict[int, tuple[int, int]] = {}
        starts = trace.words_at(trace.extents["start"]).tolist()
        for row, (first, size) in enumerate(zip(starts, trace.extents["size"].tolist(), strict=True)):
            length = -(-size // trace.word_bytes)
            if length and (first not in found or length >= found[first][0]):
                found[first] = (length, row)
        self.word_bytes = trace.word_bytes
        self._first, self._found = sorted(found), found

    def row_of(self, word: int) -> int:
        """Row of the trace's extents that a word lies in, -1 for none."""
        before = bisect_right(self._first, word) - 1
        if before < 0:
            return -1
        length, row = self._found[self._first[before]]
        return row if word < self._first[before] + length else -1


class Homes:
    """Vertices of words.

    Attributes:
        home: Word of each memory vertex, increasing.
        width_bytes: Width of the widest value stored there; where none was, 8, or if what lies 4 bytes behind
            it (or 2, or 1, where words are bytes) in the extent is a home as well, so many.
    """

    def __init__(self, extents: Extents, stored: Iterable[tuple[int, int]], read: Iterable[int]) -> None:
        """Number the words that values of some width are stored to, and those that are read."""
        widest = dict.fromkeys(read, 0)
        for word, width in stored:
            widest[word] = max(width, widest.get(word, 0))
        extent = {word: extents.row_of(word) for word in widest}
        size = extents.word_bytes

        def is_beside(word: int, other: int) -> bool:
            return other in widest and extent[word] == extent[other] >= 0

        whole = {word: word for word in sorted(widest)}
        for word in [word for word, width in widest.items() if not width]:
            for distance in range(16 // size - 1, 0, -1):  # the nearest value wins
                if is_beside(word, word - distance) and widest[word - distance] > size * distance:
                    whole[word] = word - distance
        self.home = [word for word, of in whole.items() if word == of]
        number = {word: n for n, word in enumerate(self.home)}
        self.vertex = {word: number[of] for word, of in whole.items()}
        self.width_bytes = [widest[word] or 8 for word in self.home]
        for n, word in enumerate(self.home):
            for width in (4, 2, 1) if not widest[word] else ():
                behind = word + width // size
                if width >= size and behind in number and is_beside(word, behind):
                    self.width_bytes[n] = width

    def between(self, first: int, end: int) -> range:
        """Vertices of the homes from one word to before another."""
        return range(bisect_left(self.home, first), bisect_left(self.home, end))
