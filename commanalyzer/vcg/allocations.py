"""Paths of allocations as the recorder numbers them: what the user calls the blocks of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from commanalyzer.instrument.sites import ObjectRecord
from commanalyzer.ir.addresses import Root, joined_name
from commanalyzer.ir.allocators import joined_key
from commanalyzer.ir.holders import RESULT, Holder


class Allocations:
    """The paths of one recording.

    Args:
        calls: Calls that paths consist of, as the instrumented module numbers them.
        contexts: Paths of several calls, of :data:`commanalyzer.abi.trace_layout.CONTEXT`.
    """

    def __init__(self, calls: Sequence[ObjectRecord], contexts: NDArray[np.void]) -> None:
        self._calls = calls
        self._outer = [int(n) for n in contexts["outer"]]
        self._last = [int(n) for n in contexts["call"]]

    def __len__(self) -> int:
        return len(self._calls) + len(self._last)

    def key(self, number: int) -> str:
        """Stable identification of a path."""
        first, *others = (call.key for call in self._path(number))
        for key in others:
            first = joined_key(first, key)
        return first

    def record(self, number: int) -> ObjectRecord:
        """What the blocks that a path allocates are, with the name that the user gives them."""
        path = list(self._path(number))
        return replace(_named(path), key=self.key(number))

    def records(self) -> Iterator[ObjectRecord]:
        """What each path allocates, in the order of their numbers."""
        return map(self.record, range(len(self)))

    def _path(self, number: int) -> Iterator[ObjectRecord]:
        """Calls of a path, the outermost first."""
        if number >= len(self._calls):
            yield from self._path(self._outer[number - len(self._calls)])
            number = self._last[number - len(self._calls)]
        yield self._calls[number]


def _named(path: Sequence[ObjectRecord]) -> ObjectRecord:
    """The allocation with the name that the outermost frame with one gives it, else its own description."""
    found, inner, whole = path[-1], "", -1
    where = min(found.holders, default=RESULT)
    has_name = False
    for call in reversed(path):
        holder = call.holders.get(where, Holder())
        if holder.root is Root.VARIABLE:
            name = _name(holder, whole, inner)
            return replace(found, name=name, function=holder.function, place=holder.place)
        if holder.seen or (holder.root is Root.PARAMETER and inner):
            name = joined_name(holder.seen, inner)
            found = replace(found, name=name, function=holder.function, place=holder.place)
            has_name = True
        elif not has_name:
            found = replace(found, name=call.name, function=call.function, place=call.place)
        if holder.root is Root.UNKNOWN:
            break
        inner, whole = _name(holder, whole, inner), holder.whole
        where = RESULT if holder.root is Root.RESULT else holder.index
    return found


def _name(holder: Holder, whole: int, inner: str) -> str:
    """Name of a member, or of the block itself, of an object of type ``whole`` that a holder has."""
    if not holder.names:
        return inner
    if not inner:
        return holder.names[-1][1]
    return dict(reversed(holder.names)).get(whole, holder.names[0][1]) + inner
