"""Growing arrays of bytes: in memory up to a budget, beyond it in files of the temporary directory."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, field
from typing import IO

import numpy as np

from commanalyzer.foundation.errors import ArtifactError
from commanalyzer.graph.value_graph import UInt8

_LEAST = 1 << 10
_SHARE = 8  # the rest is for chunks, sums per vertex and expanded slices


def machine_bytes() -> int:
    """Memory of this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@dataclass(slots=True)
class Spill:
    """Keeps count of the bytes of several arrays."""

    budget_bytes: int | None = None  # bytes to keep in memory; ``None`` for no limit
    memory_bytes: int = 0  # bytes that are kept there
    file_bytes: int = 0  # bytes that went to files, which have no names: they vanish with their arrays

    @classmethod
    def within(cls, memory_limit_bytes: int | None) -> Spill:
        """Budget for one who may use ``memory_limit_bytes``, or the machine's memory: an eighth of it."""
        return cls((memory_limit_bytes or machine_bytes()) // _SHARE)

    def bytes(self) -> Bytes:
        """A new array."""
        return Bytes(self)

    def takes(self, size: int) -> bool:
        """Whether ``size`` more bytes may be kept in memory."""
        return self.budget_bytes is None or self.memory_bytes + size <= self.budget_bytes


@dataclass(slots=True)
class Bytes:
    """One array of bytes that only grows."""

    spill: Spill
    _data: UInt8 = field(default_factory=lambda: np.empty(0, np.uint8))
    _size: int = 0
    _file: IO[bytes] | None = None

    def append(self, data: UInt8) -> None:
        """Append ``data``; an :class:`ArtifactError` if there is no space for the file."""
        if self._file is None and not self.spill.takes(len(data)):
            self._move_to_file()
        if self._file is not None:
            _write(self._file, data)
            self.spill.file_bytes += len(data)
            return
        end = self._size + len(data)
        if end > len(self._data):
            self._data.resize(max(_LEAST, end, len(self._data) * 3 // 2), refcheck=False)
        self._data[self._size : end] = data
        self._size = end
        self.spill.memory_bytes += len(data)

    def finish(self) -> UInt8:
        """Everything that was appended, read-only; nothing may be appended any more."""
        if self._file is None:
            self._data.resize(self._size, refcheck=False)
            result = self._data
        else:
            size = self._file.tell()
            result = np.memmap(self._file, np.uint8, "r", shape=(size,)) if size else np.zeros(0, np.uint8)
        result.setflags(write=False)
        return result

    def _move_to_file(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="commanalyzer-", buffering=0)  # noqa: SIM115
        _write(self._file, self._data[: self._size])
        self.spill.memory_bytes -= self._size
        self.spill.file_bytes += self._size
        self._data = np.empty(0, np.uint8)
        self._size = 0


def _write(file: IO[bytes], data: UInt8) -> None:
    """Append all of ``data`` to an unbuffered file."""
    rest = data.data
    try:
        while len(rest):
            rest = rest[file.write(rest) :]
    except OSError as error:
        raise ArtifactError(
            f"expected space for a graph larger than its share of the memory, found: {error.strerror}",
            where=tempfile.gettempdir(),
            hint="set TMPDIR to a larger file system, or allow more memory with --memory-limit",
        ) from error
