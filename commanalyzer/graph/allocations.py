"""Paths of allocations as the recorder numbers them: what the user calls the blocks of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise

import numpy as np

from commanalyzer.program.ir.allocators import joined_key
from commanalyzer.program.ir.names.addresses import RESULT, Holder, Root, joined_name
from commanalyzer.program.ir.names.debug_info import is_library
from commanalyzer.program.ir.names.source_text import UserFrame
from commanalyzer.recording.abi import EXTENT_BLOCK
from commanalyzer.recording.instrument.sites import ObjectRecord
from commanalyzer.recording.trace import Trace

HEADER_BYTES = 16  # of heap blocks; what the recorder does not know of begins behind the first one
_ELEMENT_BYTES = 8


@dataclass(frozen=True, slots=True)
class Layout:
    """The objects that one path allocates, in its own address space."""

    # byte at which each begins: of blocks that are arrays of their own; several may be one object
    starts: tuple[int, ...] = (HEADER_BYTES,)
    sizes: tuple[int, ...] = (0,)  # bytes of each, 0 when only extents know
    row: int = 0  # bytes from each block to the next, where equal blocks are one object; else 0
    is_one_block: bool = False  # the path allocated a single block

    @classmethod
    def of(cls, blocks: np.void, listed: Sequence[tuple[int, int]] = ()) -> Layout:
        """The objects among blocks (:data:`commanalyzer.recording.abi.BLOCKS`).

        ``listed`` has the first byte and the bytes of the first ones.

        Several blocks of one path are the rows of one array, the nodes of a list, or the few fields that a
        loop allocates. They are fields when there are fewer than a square of one block's elements has rows:
        along such a short dimension nobody divides an array. With twice or half as many, other slender arrays
        are called ``a[3]`` instead of ``a``; where their rows are is known in both cases. Few blocks of which
        none is larger than the one before are fields, too: the levels of a grid. Those that grow may be a
        container's.
        """
        first, size, period, count = (int(blocks[name]) for name in ("first", "size", "period", "count"))
        if count == 1:
            return cls((first,), (size,), is_one_block=True)
        if count and are_fields(count, size):
            if len(listed) == count and (period or all(a >= b for (_, a), (_, b) in pairwise(listed))):
                return cls(tuple(start for start, _ in listed), tuple(n for _, n in listed))
            if period:
                return cls(tuple(range(first, first + count * period, period)), (size,) * count)
        return cls((first or HEADER_BYTES,), row=period)


def are_fields(count: int, size: int) -> bool:
    """Blocks of one path are arrays of their own; see :meth:`Layout.of`."""
    return count * count < size // _ELEMENT_BYTES


class Allocations:
    """The paths of one recording; they consist of ``calls``, as the instrumented module numbers these."""

    def __init__(self, calls: Sequence[ObjectRecord], trace: Trace) -> None:
        self._calls = calls
        self._outer = [int(n) for n in trace.contexts["outer"]]
        self._last = [int(n) for n in trace.contexts["call"]]
        listed: dict[int, list[tuple[int, int]]] = {}
        for extent in trace.extents[trace.extents["kind"] == EXTENT_BLOCK]:  # some blocks of each path
            listed.setdefault(int(extent["object"]), []).append((int(extent["start"]), int(extent["offset"])))
        self._layouts = [Layout.of(blocks, listed.get(n, ())) for n, blocks in enumerate(trace.blocks)]

    def layout(self, number: int) -> Layout:
        """Objects of a path."""
        return self._layouts[number] if number < len(self._layouts) else Layout()

    def named(self, number: int) -> ObjectRecord:
        """What a path makes, with the name that the user gives it."""
        return named_path(list(self._path(number)))

    def head(self, number: int) -> ObjectRecord:
        """What lies at the beginning of a block with several arrays, with the name that the user gives that.

        ``u`` of ``double *pool = malloc(...), *u = pool, *v = pool + n``: of several names the last one.
        """
        path = list(self._path(number))
        holders = [{where: holder.last for where, holder in call.holders.items()} for call in path]
        found = named_path([replace(call, holders=h) for call, h in zip(path, holders, strict=True)])
        others = [h for call in path for h in call.holders.values() if h.other == found.name]
        return replace(found, place=others[0].other_place) if others else found

    def record(self, number: int, which: int) -> ObjectRecord:
        """One of the objects that a path allocates, with the name that the user gives it.

        The key consists of those of the calls, and of the first byte where the path has others before that.
        """
        path, layout = list(self._path(number)), self.layout(number)
        key = reduce(joined_key, (call.key for call in path))
        start, size, found = layout.starts[which], layout.sizes[which], named_path(path)
        name = f"{found.name}[{which}]" if len(layout.starts) > 1 else found.name
        key = key if start == HEADER_BYTES else f"{key}+{start}"
        strides = (layout.row,) if layout.row else found.strides
        return replace(found, key=key, name=name, offset=start, size_bytes=size, strides=strides)

    def members(self, number: int) -> tuple[ObjectRecord, ...]:
        """Members of the structure that a path allocates, if it allocates a single one."""
        whole, is_one = self.record(number, 0), self.layout(number).is_one_block
        return whole.members if is_one and whole.size_bytes == whole.record_bytes else ()

    def records(self) -> Iterator[tuple[int, ObjectRecord]]:
        """All objects, with the number of their path."""
        for number in range(len(self._calls) + len(self._last)):
            for which in range(len(self.layout(number).starts)):
                yield number, self.record(number, which)

    def _path(self, number: int) -> Iterator[ObjectRecord]:
        """Calls of a path, the outermost first."""
        if number >= len(self._calls):
            yield from self._path(self._outer[number - len(self._calls)])
            number = self._last[number - len(self._calls)]
        yield self._calls[number]


def named_path(path: Sequence[ObjectRecord]) -> ObjectRecord:
    """The allocation with the name that the outermost frame with one gives it, else its own description."""
    found, inner, whole, where = path[-1], "", -1, None
    has_name, is_result = False, True
    frames = list[UserFrame]()
    for call in reversed(path):
        frames += call.frames
        holder = call.holders.get(min(call.holders, default=RESULT) if where is None else where, Holder())
        if is_result:  # the first pointer that is kept is that to the block; others lead to it
            found = replace(found, record_bytes=holder.record_bytes, strides=holder.strides)
            found = replace(found, parts=holder.parts)
            is_result = holder.root is Root.RESULT and not any(inside for _, inside in holder.names)
        if holder.root is Root.VARIABLE:
            name = _name(holder, whole, inner)
            found = replace(found, name=name, function=holder.function, place=holder.place)
            return _placed(found, frames)
        if holder.seen or (holder.root is Root.PARAMETER and inner):
            name = joined_name(holder.seen, inner)
            found = replace(found, name=name, function=holder.function, place=holder.place)
            found = _placed(found, frames)
            has_name = True
        elif not has_name:
            found = replace(found, name=call.name, function=call.function, place=call.place)
        # What the library keeps somewhere is where its caller says: the rows of a vector of vectors.
        if holder.root is Root.UNKNOWN and (has_name or not is_library(found.place.file)):
            break
        inner, whole = _name(holder, whole, inner), holder.whole
        where = {Root.RESULT: RESULT, Root.UNKNOWN: None}.get(holder.root, holder.index)
    return found


def _placed(found: ObjectRecord, frames: Sequence[UserFrame]) -> ObjectRecord:
    """The array at the statement that makes it, where it is known.

    That is the innermost call, on the path to the allocation, whose line mentions the member or variable
    that holds the block (``x = allocate(n);`` in a constructor). Where the line of none does, it is the
    outermost call of the function that the variable belongs to (``grab(&x, n)``, ``x`` on another line).
    """
    own = [frame for frame in frames if frame.function == found.function][-1:] or frames[-1:]
    is_member = any(separator in found.name for separator in ".%")
    candidates = frames if is_member or not found.function else own
    chosen = next((frame for frame in candidates if frame.mentions(found.name)), own[0] if own else None)
    return replace(found, function=chosen.function, place=chosen.place) if chosen else found


def _name(holder: Holder, whole: int, inner: str) -> str:
    """Name of a member, or of the block itself, of an object of type ``whole`` that a holder has."""
    if not holder.names:
        return inner
    if not inner:
        return holder.names[-1][1]
    return dict(reversed(holder.names)).get(whole, holder.names[0][1]) + inner
