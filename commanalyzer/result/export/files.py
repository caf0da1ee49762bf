"""Text of exported files: numbers to lines, written atomically."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import numpy as np

from commanalyzer.foundation.files import write_atomically
from commanalyzer.graph.value_graph import Int64, pointer_from_counts


def write_atomic(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path``, replacing what is there; a reader never sees a part of it.

    Raises:
        ArtifactError: If the directory does not exist or cannot be written.
    """

    def produce(draft: Path) -> None:
        draft.write_bytes(data)

    write_atomically(path, produce, force=True)


def write_text(path: Path, text: str) -> None:
    """Write ``text`` in UTF-8; errors as :func:`write_atomic`."""
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
