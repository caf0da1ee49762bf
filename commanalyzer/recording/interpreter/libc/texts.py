"""Texts that show numbers of the program: their words refer to the values, as copies do."""

from __future__ import annotations

from commanalyzer.foundation.flows import SourceRole
from commanalyzer.recording.interpreter.memory import Memory
from commanalyzer.recording.interpreter.shadow import touched_words
from commanalyzer.recording.interpreter.values import NO_LABELS, Home, Labels


class Texts:
    """Remembers what texts show.

    Args:
        memory: Memory of the program.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._several: dict[Home, Labels] = {}  # stands for several values in one text

    def show(self, address: int, size: int, labels: Labels) -> None:
        """A text was written that shows the values ``labels`` (none: characters only)."""
        if not address or not size:
            return
        words = touched_words(address, size)
        self._memory.own(address, size)
        if not labels:
            return
        home = next(iter(labels))
        if len(labels) > 1:
            home = Home("text", "text", 0, len(self._several))
            self._several[home] = dict.fromkeys(labels, SourceRole.DATA)
        for word in words:
            self._memory.set_value_at(word, home)

    def shown(self, address: int, size: int) -> Labels:
        """Values that a text shows."""
        if not address or not size:
            return NO_LABELS
        for word in touched_words(address, size):
            home = self._memory.value_at(word)
            if home in self._several:
                return self._several[home]
            if home != self._memory.own_home(word):
                return {home: SourceRole.DATA}
        return NO_LABELS
