"""Columns of integers in coded form: patterns that repeat with strides, and literals as narrow as they fit.

A column that a loop nest made takes a few bytes: its innermost loop is one block, the tables of blocks are
coded by the same code, level by level. Irregular stretches take as many bytes as the differences of their
entries. What a block is says :mod:`commanalyzer.vcg.storage.coding_kernels`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from commanalyzer.errors import GraphInvariantError
from commanalyzer.vcg.room import Room
from commanalyzer.vcg.storage.spill import Bytes, Spill

Entry = TypeVar("Entry", bound=np.generic)
Int64 = NDArray[np.int64]
UInt8 = NDArray[np.uint8]
Hints: TypeAlias = tuple[Int64, Int64]
"""Entries at which patterns may begin, in increasing order, and their widths."""

_SMALL = 32  # entries of tables that are not coded any further
_ENTRY_BYTES = 4
_DECODED = (np.dtype(np.int64), np.dtype(np.int32), np.dtype(np.uint8))  # decoded to directly
_NARROW = ((np.int8, 1 << 7), (np.int16, 1 << 15), (np.int32, 1 << 31))


@dataclass(frozen=True, slots=True)
class Coded:
    """A coded column.

    Attributes:
        length: Number of entries.
        width: Per block: entries of its pattern, 0 for literals.
        repeat: Per block: repetitions of the pattern, or number of literals.
        start: Per block its first pattern, or the base of its literals.
        stride: Per block how much each entry of the pattern advances, or the bits of its literals.
        literal: uint8, literals of all blocks.
    """

    length: int
    width: Table
    repeat: Table
    start: Table
    stride: Table
    literal: UInt8

    @property
    def tables(self) -> tuple[Table, ...]:
        """Tables of blocks, in the order of the attributes."""
        return self.width, self.repeat, self.start, self.stride

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays together."""
        return self.literal.nbytes + sum(table.nbytes for table in self.tables)


Table: TypeAlias = "Coded | NDArray[np.signedinteger]"


@dataclass(frozen=True, slots=True)
class Blocks:
    """Patterns that are known, between the entries of a piece of a column.

    Attributes:
        before: int64[B], entries of the piece before each, increasing.
        width: int64[B], entries of its pattern.
        repeat: int64[B], repetitions of it.
        start: int64, first pattern of each, one after the other.
        stride: int64, how much each entry of the pattern advances.
    """

    before: Int64
    width: Int64
    repeat: Int64
    start: Int64
    stride: Int64

    @classmethod
    def none(cls) -> Blocks:
        """No blocks."""
        return cls(*(np.zeros(0, np.int64) for _ in range(5)))

    @classmethod
    def constant(cls, values: NDArray[np.generic]) -> Blocks:
        """One block for equal ``values``."""
        one, none = np.ones(1, np.int64), np.zeros(1, np.int64)
        return cls(none, one, one * len(values), values[:1].astype(np.int64), none)

    @property
    def columns(self) -> tuple[Int64, Int64, Int64, Int64, Int64]:
        """All columns, for kernels."""
        return self.before, self.width, self.repeat, self.start, self.stride

    @property
    def length(self) -> int:
        """Entries of all blocks."""
        return int(self.width @ self.repeat)


class Scratch:
    """Arrays for the coding of one piece after the other: fresh memory costs more than the coding."""

    def __init__(self) -> None:
        self._words = np.empty((5, 0), np.int64)
        self._literal = np.empty(0, np.uint8)

    def arrays(self, count: int, known: int) -> tuple[Int64, tuple[Int64, Int64, Int64, Int64, UInt8]]:
        """Return int64[count] for the entries, and the results of ``encode``; valid until the next call.

        Args:
            count: Number of entries.
            known: Number of starts of the blocks that are known.
        """
        if count + known >= self._words.shape[1]:
            self._words = np.empty((5, count + known + 1), np.int64)
        if 8 * count + 8 > len(self._literal):
            self._literal = np.empty(8 * count + 8, np.uint8)
        x, *tables = self._words
        width, repeat, start, stride = tables
        return x[:count], (width, repeat, start, stride, self._literal)


@dataclass(slots=True)
class ColumnWriter:
    """Codes a column bit by bit.

    Attributes:
        spill: Where literals go.
        entry_bytes: About what an entry costs as a literal: says from which length on patterns pay.
        scratch: Where pieces are worked on; several writers may share it.
    """

    spill: Spill
    entry_bytes: int = _ENTRY_BYTES
    scratch: Scratch = field(default_factory=Scratch)
    _length: int = 0
    _tables: tuple[list[NDArray[np.signedinteger]], ...] = field(
        default_factory=lambda: tuple([] for _ in range(4))
    )
    _literal: Bytes | None = None
    _finished: Coded | None = None

    @property
    def length(self) -> int:
        """Entries so far."""
        return self._length

    def append(
        self, values: NDArray[np.generic], hints: Hints | None = None, *, known: Blocks | None = None
    ) -> None:
        """Append ``values`` (integers or booleans) and what is ``known`` between them.

        Patterns of width 1 need no hints.
        """
        from commanalyzer.vcg.storage.coding_kernels import encode

        if known is None:
            known = Blocks.none()
            if _is_constant(values):
                known, values, hints = Blocks.constant(values), values[:0], None
        x, out = self.scratch.arrays(len(values), len(known.start))
        x[:] = values
        found = hints if hints is not None else _no_hints()
        blocks, starts, size = encode(read_only(x), found, known.columns, self.entry_bytes, out)
        for pieces, table, count in zip(self._tables, out[:4], (blocks, blocks, starts, starts), strict=True):
            pieces.append(_narrowed(table[:count]))
        if self._literal is None:
            self._literal = self.spill.bytes()
        self._literal.append(out[4][:size])
        self._length += len(x) + known.length

    def finish(self) -> Coded:
        """The coded column; nothing may be appended any more."""
        if self._finished is not None:
            return self._finished
        tables = [np.concatenate(pieces) if pieces else np.zeros(0, np.int8) for pieces in self._tables]
        literal = np.zeros(0, np.uint8) if self._literal is None else self._literal.finish()
        width, repeat, start, stride = _coded_tables(tables)
        self._finished = Coded(self._length, width, repeat, start, stride, literal)
        return self._finished


def periods(key: Int64, *ends: Int64, room: Room | None = None) -> list[Hints]:
    """Hints for entries of items that come again, for several columns.

    Args:
        key: int64[n], kind of each item: those of one kind are expected to alternate regularly with others.
        ends: int64[n], entries of a column up to the end of each item.
        room: Where they go; default is memory of their own.
    """
    from commanalyzer.vcg.storage.hint_kernels import find_lags, find_next

    room = room or Room()
    next_item = room.words("next item", len(key))
    find_next(read_only(key), next_item)
    result = []
    for number, end in enumerate(ends):
        at, lag = (room.words(f"{name} {number}", len(key)) for name in ("at", "lag"))
        count = find_lags(next_item, read_only(end), at, lag)
        result.append((at[:count], lag[:count]))
    return result


def merged(first: Hints, second: Hints, room: Room | None = None) -> Hints:
    """Both hints, in order; ``room`` as for :func:`periods`."""
    from commanalyzer.vcg.storage.hint_kernels import merge_hints

    room, size = room or Room(), len(first[0]) + len(second[0])
    at, lag = room.words("merged at", size), room.words("merged lag", size)
    merge_hints(first, second, at, lag)
    return at, lag


def encoded(values: NDArray[np.generic], hints: Hints | None = None) -> Coded:
    """``values`` coded at once, in memory."""
    writer = ColumnWriter(Spill())
    writer.append(values, hints)
    return writer.finish()


@dataclass(frozen=True, slots=True)
class Reader:
    """A coded column ready for expanding any range of it."""

    coded: Coded
    _tables: tuple[Int64, Int64, Int64, Int64]
    _places: tuple[Int64, Int64, Int64]

    @classmethod
    def of(cls, coded: Coded) -> Reader:
        """Expand the tables of ``coded``.

        Raises:
            GraphInvariantError: If they contradict each other: the file is damaged.
        """
        from commanalyzer.vcg.storage.coding_kernels import place_blocks

        width, repeat, start, stride = (_expanded(table) for table in coded.tables)
        blocks = len(width)
        entry_at, start_at, byte_at = (np.zeros(blocks + 1, np.int64) for _ in range(3))
        consistent = len(repeat) == blocks and len(start) == len(stride)
        if consistent:
            needed = place_blocks(width, repeat, stride, coded.length, entry_at, start_at, byte_at)
            consistent = (*needed, int(entry_at[-1])) == (len(start), len(coded.literal), coded.length)
        if not consistent:
            raise GraphInvariantError("coded column is inconsistent: its blocks do not make up its entries")
        tables = read_only(width), read_only(repeat), read_only(start), read_only(stride)
        return cls(coded, tables, (read_only(entry_at), read_only(start_at), read_only(byte_at)))

    def fill(self, out: NDArray[np.generic], low: int = 0) -> None:
        """Write entries ``low`` to ``low + len(out) - 1`` to ``out``, converted to its type."""
        self.fill_ranges(out, np.full(1, low), np.full(1, len(out)))

    def fill_ranges(
        self, out: NDArray[np.generic], low: Int64, count: Int64, *, is_sum: bool = False
    ) -> None:
        """Write ranges of entries to ``out``, one behind the other, converted to its type.

        Args:
            out: As long as all ranges together.
            low: int64[n], first entry of each range, ascending.
            count: int64[n], entries of each range.
            is_sum: Write the sum of all entries up to each instead.
        """
        from commanalyzer.vcg.storage.decode_kernels import decode

        literal, target = read_only(self.coded.literal), out
        if out.dtype == np.bool_:
            target = out.view(np.uint8)
        elif out.dtype not in _DECODED:
            target = np.empty(len(out), np.int64)
        decode(*self._tables, literal, *self._places, read_only(low), read_only(count), is_sum, target)
        if target.dtype != out.dtype and out.dtype != np.bool_:
            out[:] = target

    def bounds(self) -> tuple[int, int]:
        """Least and greatest entry, 0 and -1 if there is none; takes as long as the column has bytes.

        Raises:
            GraphInvariantError: If patterns run over: no column that was written does.
        """
        from commanalyzer.vcg.storage.decode_kernels import bounds

        if not self.coded.length:
            return 0, -1
        runs_over, least, most = bounds(*self._tables, read_only(self.coded.literal), *self._places)
        if runs_over:
            raise GraphInvariantError("coded column is inconsistent: a pattern exceeds 64 bits")
        return int(least), int(most)

    def expand(self, low: int = 0, high: int | None = None) -> Int64:
        """int64[high - low], entries ``low`` to ``high - 1``."""
        out = np.empty((self.coded.length if high is None else high) - low, np.int64)
        self.fill(out, low)
        return out


def read_only(array: NDArray[Entry]) -> NDArray[Entry]:
    """``array``, read-only: kernels are compiled once, not also for arrays that may be written."""
    view = array.view()
    view.setflags(write=False)
    return view


def _is_constant(values: NDArray[np.generic]) -> bool:
    """Many entries, and all are equal; looks at all of them only where the first and the last are."""
    return len(values) > _SMALL and values[0] == values[-1] and bool(np.all(values == values[0]))


def _no_hints() -> Hints:
    return np.zeros(0, np.int64), np.zeros(0, np.int64)


def _expanded(table: Table) -> Int64:
    return Reader.of(table).expand() if isinstance(table, Coded) else np.ascontiguousarray(table, np.int64)


def _narrowed(values: Int64) -> NDArray[np.signedinteger]:
    """A copy in the narrowest signed type."""
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    for kind, limit in _NARROW:
        if -limit <= low and high < limit:
            return values.astype(kind)
    return values.copy()


def _coded_tables(tables: list[NDArray[np.signedinteger]]) -> list[Table]:
    """Tables of a column, each coded itself where that makes it smaller."""
    width, repeat = tables[0].astype(np.int64), tables[1].astype(np.int64)
    if len(tables[2]) <= _SMALL:
        return list(tables)
    key = width * 1_000_003 + repeat
    ends = np.arange(1, len(width) + 1), np.cumsum(np.maximum(width, 1))
    of_blocks, of_starts = periods(key, *ends)
    hints = (of_blocks, of_blocks, of_starts, of_starts)
    coded = (encoded(table, hint) for table, hint in zip(tables, hints, strict=True))
    return [c if 2 * c.nbytes < table.nbytes else table for c, table in zip(coded, tables, strict=True)]
