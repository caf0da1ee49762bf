"""Columns of integers in pieces that a library compresses (Blosc: shuffled bits, Zstandard).

The entries of a piece are kept as narrow as they fit above the smallest one; those of more than a byte as
differences, which loops repeat. A piece of equal entries takes no bytes beside its line in the table.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise, starmap
from typing import TypeVar

import blosc
import numpy as np
from numpy.typing import DTypeLike, NDArray

from commanalyzer.foundation.compiled import compiled_in_place
from commanalyzer.foundation.errors import GraphInvariantError
from commanalyzer.graph.storage.spill import Bytes, Spill
from commanalyzer.graph.value_graph import Array, Int64, Rows, UInt8


@compiled_in_place
def reduce(values: Array, base: int, is_difference: bool, out: Array) -> None:
    """Write how much each of ``values`` is above ``base``, or the one before, to ``out``, modulo its type."""
    before = base
    for i in range(len(values)):
        out[i] = values[i] - before
        if is_difference:
            before = values[i]


@compiled_in_place
def restore(
    values: Array, base: int, mask: int, is_difference: bool, low: int, is_sum: bool, out: Array
) -> None:
    """Write entries ``low`` to ``low + len(out) - 1`` of a piece that :func:`reduce` made to ``out``.

    ``values`` is the piece, unsigned, ``mask`` has all bits of an entry of it. With ``is_sum``, the sum of
    all entries from ``low`` up to each is written instead.
    """
    above: int | np.int64 = 0 * base
    if is_difference:
        for i in range(low):
            above += np.int64(values[i])
    total: int | np.int64 = 0 * base
    for i in range(len(out)):
        entry = np.int64(values[low + i])
        above = (above + entry if is_difference else entry) & mask
        total = total + base + above if is_sum else base + above
        out[i] = total


@compiled_in_place
def copy_sources(rows: Rows, term: Int64, source: Array, source_role: Array) -> None:
    """Copy the sources of each ``term``."""
    at = 0
    for t in term:
        for i in range(rows.source_ptr[t], rows.source_ptr[t + 1]):
            source[at], source_role[at] = rows.source[i], rows.source_role[i]
            at += 1


Entry = TypeVar("Entry", bound=np.generic)

PIECE = 1 << 20
"""Most entries of a piece."""
_LEVEL = 5
_KINDS = {0: np.uint8, 1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}  # by bytes of an entry
_DECODED = (np.dtype(np.int64), np.dtype(np.int32), np.dtype(np.uint8))  # decoded to directly

blosc.set_nthreads(1)  # its threads do not survive a fork
blosc.set_releasegil(True)


@dataclass(frozen=True, slots=True)
class Coded:
    """A compressed column, any range of which expands; a :class:`GraphInvariantError` if it is damaged."""

    table: Int64  # [n, 4], of each piece: entries, the smallest, bytes of each above it, compressed bytes
    data: UInt8  # all pieces, one after the other
    _first: Int64 = field(init=False, repr=False)
    _begin: Int64 = field(init=False, repr=False)

    def __post_init__(self) -> None:
        entries, _, size, compressed = self.table.T
        is_one = (entries > 0) & (entries <= PIECE) & np.isin(size, tuple(_KINDS)) & (compressed >= 0)
        first, begin = (np.concatenate([[0], np.cumsum(column)]) for column in (entries, compressed))
        if not is_one.all() or begin[-1] != len(self.data):
            raise GraphInvariantError("coded column is inconsistent: its pieces do not make up its entries")
        object.__setattr__(self, "_first", first)
        object.__setattr__(self, "_begin", begin)

    @property
    def length(self) -> int:
        """Number of entries."""
        return int(self._first[-1])

    @property
    def nbytes(self) -> int:
        """Bytes of what is kept in a file."""
        return self.data.nbytes + self.table.nbytes

    def fill(self, out: Array, low: int = 0, *, is_sum: bool = False) -> None:
        """Write entries ``low`` to ``low + len(out) - 1`` to ``out``, converted to its type.

        With ``is_sum``, the sum of all entries up to each is written instead.
        """
        bits = _bits(out)
        target = bits if bits.dtype in _DECODED else np.empty(len(out), np.int64)
        at = 0
        while at < len(target):
            number = int(np.searchsorted(self._first, low + at, side="right")) - 1
            skipped = low + at - int(self._first[number])
            count, base, size, _ = self.table[number].tolist()
            part = target[at : at + count - skipped]
            if size:
                mask = np.int64((1 << (8 * size)) - 1 if size < 8 else -1)
                restore(self._piece(number), np.int64(base), mask, size > 1, skipped, is_sum, part)
            else:
                part[:] = base * np.arange(1, len(part) + 1) if is_sum else base
            if is_sum and at:
                part += target[at - 1]
            at += len(part)
        if target is not bits:
            bits[:] = target

    def take(self, index: Int64, out: Array) -> None:
        """Write the entries ``index`` to ``out``; pieces with none of them are not expanded."""
        number = np.searchsorted(self._first, index, side="right") - 1
        for piece in np.flatnonzero(np.bincount(number)) if len(index) else ():
            mine = number == piece
            first, end = self._first[piece : piece + 2].tolist()
            out[mine] = self.expand(first, end, out.dtype)[index[mine] - first]

    def bounds(self) -> tuple[int, int]:
        """Least and greatest entry, 0 and -1 if there is none; expands one piece after the other."""
        pieces = starmap(self.expand, pairwise(self._first.tolist()))
        most = [(int(part.min()), int(part.max())) for part in pieces]
        return (min(low for low, _ in most), max(high for _, high in most)) if most else (0, -1)

    def expand(self, low: int = 0, high: int | None = None, dtype: DTypeLike = np.int64) -> Array:
        """Entries ``low`` to ``high - 1``."""
        out = np.empty((self.length if high is None else high) - low, dtype)
        self.fill(out, low)
        return out

    def _piece(self, number: int) -> NDArray[np.unsignedinteger]:
        """Entries of a piece as they were compressed; a :class:`GraphInvariantError` if it is damaged."""
        count, _, size, _ = self.table[number].tolist()
        data = self.data[self._begin[number] : self._begin[number + 1]]
        try:
            if not blosc.cbuffer_validate(data) or blosc.get_cbuffer_sizes(data)[0] != count * size:
                raise ValueError("another size")
            return np.frombuffer(blosc.decompress(data), _KINDS[size])
        except (ValueError, RuntimeError, blosc.blosc_extension.error) as error:
            raise GraphInvariantError("coded column is inconsistent: a piece cannot be expanded") from error


@dataclass(slots=True)
class ColumnWriter:
    """Compresses a column bit by bit."""

    spill: Spill
    length: int = 0  # entries so far
    _table: list[tuple[int, int, int, int]] = field(default_factory=list)
    _data: Bytes | None = None
    _finished: Coded | None = None

    def append(self, values: Array) -> None:
        """Append ``values``, integers, booleans, or floating-point numbers of 8 bytes."""
        values = _bits(values)
        for first in range(0, len(values), PIECE):
            self._append(np.ascontiguousarray(values[first : first + PIECE]))

    def _append(self, values: Array) -> None:
        base, span = int(values.min()), int(values.max()) - int(values.min())
        size = next(size for size in _KINDS if span < 1 << (8 * size))
        data = b""
        if size:
            out = np.empty(len(values), _KINDS[size])
            reduce(read_only(values), np.int64(base), size > 1, out)
            data = blosc.compress(out, size, _LEVEL, blosc.BITSHUFFLE, "zstd")
            if self._data is None:
                self._data = self.spill.bytes()
            self._data.append(np.frombuffer(data, np.uint8))
        self._table.append((len(values), base, size, len(data)))
        self.length += len(values)

    def finish(self) -> Coded:
        """The compressed column; nothing may be appended any more."""
        if self._finished is None:
            data = np.zeros(0, np.uint8) if self._data is None else self._data.finish()
            self._finished = Coded(np.array(self._table, np.int64).reshape(len(self._table), 4), data)
        return self._finished


def encoded(values: Array, spill: Spill | None = None) -> Coded:
    """``values`` compressed at once, by default in memory."""
    writer = ColumnWriter(spill or Spill())
    writer.append(values)
    return writer.finish()


def _bits(values: Array) -> Array:
    """The same entries as integers: truth values, and the bits of floating-point numbers."""
    return values.view({"b": np.uint8, "f": np.int64}.get(values.dtype.kind, values.dtype))


def read_only(array: NDArray[Entry]) -> NDArray[Entry]:
    """``array``, read-only: kernels are compiled once, not also for arrays that may be written."""
    view = array.view()
    view.setflags(write=False)
    return view
