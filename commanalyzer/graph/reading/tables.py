"""A trace as tables of integers, and its rows in chunks with their labels written out.

Input: a :class:`Trace`. Output: :class:`Chunk` values, one at a time. Labels are still those of the shim.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from commanalyzer.graph.reading.families import Columns, Merged, merged_rows, scratch, without_sums
from commanalyzer.graph.storage.coding import read_only
from commanalyzer.graph.value_graph import Int32, Int64
from commanalyzer.recording.abi import ROW_REGISTER, ROW_TEMPORARY, ROW_UPDATE
from commanalyzer.recording.trace import Trace

CHUNK = 1 << 18  # labels and rows handled at once


@dataclass(frozen=True, slots=True)
class Tables:
    """Columns of a trace; what they hold says :mod:`commanalyzer.graph.reading.trace_kernels`."""

    heads: Int64  # [R, 2]
    cells: Int64  # [R, 2]
    units: Int32  # [U]
    groups: Int64  # [G, 4], in the order of their rows
    runs: Int64  # [N, 2]
    listed: Int64  # [L]
    merged: Merged  # rows of families that may be the same
    names: Int64  # by what labels call each row; empty if that is its place
    kept: Int64  # per name that of the first row that equals it; empty if there are no names
    mapped: list[mmap.mmap]  # files that columns of the trace are parts of

    @classmethod
    def of(cls, trace: Trace) -> Tables:
        """Columns of ``trace``, without a copy where it is mapped."""
        groups = _words(trace.groups, 4)
        row = groups[:, 0]
        if len(row) and np.any(row[1:] < row[:-1]):
            groups = groups[np.argsort(row, kind="stable")]
        heads, cells, runs = _words(trace.heads, 2), _words(trace.cells, 2), _words(trace.runs, 2)
        units = read_only(np.asarray(trace.labels))
        listed = read_only(np.asarray(trace.listed).view(np.int64))
        columns = Columns(heads, cells, units, read_only(groups), runs, listed)
        columns, names, kept = without_sums(columns)
        bases: list[object] = [c.base for c in (trace.heads, trace.cells, trace.labels)]
        mapped = [base for base in bases if isinstance(base, mmap.mmap)]
        return cls(*columns, merged_rows(*columns[:3]), names, kept, mapped)

    def names_of(self, rows: Int64) -> Int64:
        """By what labels call ``rows``."""
        return self.names[rows] if len(self.names) else rows

    @property
    def num_rows(self) -> int:
        """Number of recorded rows."""
        return len(self.heads)

    def defining(self) -> Iterator[Int64]:
        """Rows that define a vertex: register values, lifetimes in workspaces; some at a time."""
        for first in range(0, self.num_rows, CHUNK):
            flags = self.heads[first : first + CHUNK, 1] >> 48
            is_defining = (flags & (ROW_REGISTER | ROW_TEMPORARY) != 0) & (flags & ROW_UPDATE == 0)
            yield first + np.flatnonzero(is_defining)

    def touched(self) -> Int64:
        """What instructions of families touch in all rounds of their loops.

        int64[n, 3]: a number of the instruction, which may come several times; first and last word.
        """
        from commanalyzer.graph.reading.family_kernels import find_touched

        touched = np.zeros((0, 3), np.int64)
        if number := find_touched(self.heads, self.cells, self.units, touched):
            touched = np.empty((number, 3), np.int64)
            find_touched(self.heads, self.cells, self.units, touched)
        return touched

    def chunks(self) -> Iterator[Chunk]:
        """All rows, those of families written out, each where it comes first; some at a time."""
        from commanalyzer.graph.reading.family_kernels import chunk_end, write_rows

        at, group, place, rounds = (0, 0, 0, 0), 0, 0, scratch()  # row, unit, segment, round; and others
        trace = Columns(self.heads, self.cells, self.units, self.groups, self.runs, self.listed)
        while at[0] < self.num_rows:
            *behind, next_group, labels, rows = chunk_end(
                self.heads, self.units, self.groups, (*at, group), CHUNK, CHUNK
            )
            heads, cells = np.empty((2, rows, 2), np.int64)
            (origin, end, filled), label = np.empty((3, rows), np.int64), np.empty(labels, np.int64)
            rows, labels, place = write_rows(
                trace, self.merged,
                (*at, group, place), (behind[0], behind[2], behind[3]), rounds,
                (heads, cells, origin, label, end, filled),
            )  # fmt: skip
            yield Chunk(
                read_only(heads[:rows]), read_only(cells[:rows]), origin[:rows], group,
                label[:labels], end[:rows], filled[:rows],
            )  # fmt: skip
            at, group = (behind[0], behind[1], behind[2], behind[3]), next_group
            for base in self.mapped:  # what was passed needs no memory: it comes from the file again
                base.madvise(mmap.MADV_DONTNEED)


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive rows."""

    heads: Int64  # [r, 2]
    cells: Int64  # [r, 2]
    origin: Int64  # [r], row of the trace that each comes from
    group: int  # first group of these rows or later ones
    label: Int64  # labels of these rows: the plain ones of a row in recorded order, then its groups'
    end: Int64  # [r], where the labels of each row end
    filled: Int64  # [r], words that each fill covers


def _words(records: NDArray[np.void], columns: int) -> Int64:
    """Records of ``columns`` 8-byte words as a table."""
    plain = np.asarray(records).view(np.int64)
    return read_only(plain.reshape(-1, columns))
