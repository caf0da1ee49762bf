"""Coded columns as bytes, for files.

The tables of a column are one string of bytes, its literals another::

    coded column   int64 -1, int64 length, four tables, and below the top level int64 size, literals
    plain table    int64 bytes per entry (1, 2, 4 or 8), int64 entries, the entries, little-endian
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from commanalyzer.vcg.storage.coding import Coded, Table
from commanalyzer.vcg.storage.spill import machine_bytes

UInt8 = NDArray[np.uint8]

_CODED = -1
_ENTRY_SIZES = (1, 2, 4, 8)
_MOST_ENTRIES = 1 << 48  # of a column: their bytes fit into 64 bits


def pack(coded: Coded) -> tuple[UInt8, UInt8]:
    """Tables and literals of a column."""
    pieces: list[bytes] = []
    _put_column(coded, pieces)
    return np.frombuffer(b"".join(pieces), np.uint8), coded.literal


def unpack(tables: UInt8, literal: UInt8) -> Coded:
    """The column that :func:`pack` made these of.

    Raises:
        ValueError: If they are damaged.
    """
    stream = _Stream(tables.tobytes())
    column = _take(stream, literal, _MOST_ENTRIES)
    if not isinstance(column, Coded) or not stream.is_done:
        raise ValueError("expected the tables of one coded column")
    return column


def _number(value: int) -> bytes:
    return value.to_bytes(8, "little", signed=True)


def _put_column(coded: Coded, pieces: list[bytes]) -> None:
    pieces += [_number(_CODED), _number(coded.length)]
    for table in coded.tables:
        if isinstance(table, Coded):
            _put_column(table, pieces)
            pieces += [_number(len(table.literal)), table.literal.tobytes()]
        else:
            entries = table.astype(table.dtype.newbyteorder("<"))
            pieces += [_number(table.itemsize), _number(len(table)), entries.tobytes()]


@dataclass(slots=True)
class _Stream:
    data: bytes
    at: int = 0

    @property
    def is_done(self) -> bool:
        return self.at == len(self.data)

    def take(self, size: int) -> bytes:
        piece = self.data[self.at : self.at + size]
        if size < 0 or len(piece) != size:
            raise ValueError("the tables of a coded column end too early")
        self.at += size
        return piece

    def number(self) -> int:
        return int.from_bytes(self.take(8), "little", signed=True)


def _take(stream: _Stream, literal: UInt8 | None, most: int) -> Table:
    """Next table; ``literal`` is that of the column itself, ``None`` where it lies in the stream.

    Tables of a column are not longer than it, and are expanded in memory.
    """
    kind, length = stream.number(), stream.number()
    if not 0 <= length <= most:
        raise ValueError(f"expected a table of at most {most} entries, found {length}")
    if kind == _CODED:
        width, repeat, start, stride = (
            _take(stream, None, min(length, machine_bytes() // 8)) for _ in range(4)
        )
        if literal is None:
            literal = np.frombuffer(stream.take(stream.number()), np.uint8)
        return Coded(length, width, repeat, start, stride, literal)
    if kind not in _ENTRY_SIZES:
        raise ValueError(f"expected a table with entries of 1, 2, 4 or 8 bytes, found {kind}")
    return np.frombuffer(stream.take(kind * length), np.dtype(f"<i{kind}"))
