"""Atomic writing of exported files: a reader sees the old file or the complete new one, never a part."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import numpy as np

from commanalyzer.errors import ArtifactError
from commanalyzer.vcg.graph import Int64
from commanalyzer.vcg.segments import pointer_from_counts


def write_atomic(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path`` through a temporary file in the same directory and a rename.

    Raises:
        ArtifactError: If the directory does not exist or cannot be written.
    """
    temporary = ""
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        Path(temporary).chmod(0o666 & ~_umask())
        Path(temporary).replace(path)
    except OSError as error:
        if temporary:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
        raise ArtifactError(
            f"cannot write: {error.strerror}",
            where=str(path),
            hint="check that the directory exists and is writable",
        ) from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_text(path: Path, text: str) -> None:
    """Write ``text`` in UTF-8, atomically; errors as :func:`write_atomic`."""
    write_atomic(path, text.encode("utf-8"))


def number_lines(numbers: Int64, line_ptr: Int64) -> str:
    """Return lines of space-separated numbers; line i holds ``numbers[line_ptr[i]:line_ptr[i + 1]]``."""
    lengths = np.diff(line_ptr)
    # An empty line has a line end but no number: give it an empty token.
    counts = np.maximum(lengths, 1)
    pointer = pointer_from_counts(counts)
    tokens = np.full(int(pointer[-1]), "", dtype=object)
    filled = np.repeat(lengths > 0, counts)
    tokens[filled] = list(map(str, numbers.tolist()))
    ends = np.full(len(tokens), " ", dtype=object)
    ends[pointer[1:] - 1] = "\n"
    return "".join(chain.from_iterable(zip(tokens.tolist(), ends.tolist(), strict=True)))


def interleave(first: Int64, pointer: Int64, columns: Sequence[Int64]) -> tuple[Int64, Int64]:
    """Return numbers and line pointer: line i is ``first[i]``, then row i of the columns side by side."""
    width = len(columns)
    lengths = np.diff(pointer) * width + 1
    line_ptr = pointer_from_counts(lengths)
    numbers = np.empty(int(line_ptr[-1]), dtype=np.int64)
    head = np.zeros(len(numbers), dtype=np.bool_)
    head[line_ptr[:-1]] = True
    numbers[head] = first
    numbers[~head] = np.stack(list(columns), axis=1).ravel()
    return numbers, line_ptr
