"""A trace as tables of integers, and its rows in chunks with their labels written out.

Input: a :class:`Trace`. Output: :class:`Chunk` values, one at a time. Labels are still those of the shim.

Families of a trace: what they stand for, and which of their rows are the same.

A family is a row of the trace that stands for all sums and stores of loops (``CA_ROW_FAMILY`` of the
shim). A row may be part of several families, and may have been recorded by hooks, too: other rounds of the
same loop, the same loop in another order.

Sums are vertices, which others look up by their rows: families with sums are written out at once
(:func:`without_sums`). Families of stores stay as they are, and their rows are written out when
they are asked for. Where two of these may be the same, sites are *merged*: rows are looked up by their hash.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from commanalyzer.graph.storage.coding import read_only
from commanalyzer.graph.value_graph import Bool, Int32, Int64
from commanalyzer.recording.abi import ROW_REGISTER, ROW_TEMPORARY, ROW_UPDATE
from commanalyzer.recording.trace import Trace

SITE = (1 << 32) - 1  # bits of the site in the second word of a head
_FLAGS = 48  # first bit of the flags there
_WORD_BITS = 43  # more than words have
_MOST_LOOPS = 255


class Columns(NamedTuple):
    """A trace: R rows, U units, G groups in the order of their rows; see :mod:`.trace_kernels`."""

    heads: Int64  # [R, 2]
    cells: Int64  # [R, 2]
    units: Int32  # [U]
    groups: Int64  # [G, 4]
    runs: Int64  # [N, 2]
    listed: Int64  # [L]


class Merged(NamedTuple):
    """Rows of families of stores that may be the same."""

    is_merged: Bool  # per site: rows are looked up
    times: Int64  # [H], count of each row of a merged site where it comes first, -1 where it comes again


def scratch() -> Int64:
    """Room for the rounds of the loops of a family."""
    return np.zeros(_MOST_LOOPS, np.int64)


def merged_rows(heads: Int64, cells: Int64, units: Int32) -> Merged:
    """Rows that may be the same, of the columns of a trace whose families have no sums."""
    from commanalyzer.graph.reading import family_kernels as kernels

    spans = np.zeros((0, 4), np.int64)
    if number := kernels.find_spans(heads, units, scratch(), spans):
        spans = np.empty((number, 4), np.int64)
        kernels.find_spans(heads, units, scratch(), spans)
    largest = max(int((heads[:, 1] & SITE).max(initial=0)), int(spans[:, 0].max(initial=0)))
    is_merged = np.zeros(largest + 1, np.bool_)
    _mark_merged(heads, spans, is_merged)
    most = int(spans[is_merged[spans[:, 0]], 3].sum())
    most += len(heads) if most else 0
    hash_, count = np.empty((2, most), np.int64)
    used = kernels.hash_merged(heads, cells, units, is_merged, scratch(), hash_, count) if most else 0
    hash_[:used] ^= count[:used] == 0  # what came before the region is no row of it
    _, first, same = np.unique(hash_[:used], return_index=True, return_inverse=True)
    merged = np.full(used, -1, np.int64)
    merged[first] = 0
    np.add.at(merged, first[same], count[:used])
    return Merged(is_merged, merged)


def _mark_merged(heads: Int64, spans: Int64, is_merged: Bool) -> None:
    """Mark sites whose families store between the sinks of others, or that have rows recorded by hooks."""
    from commanalyzer.graph.reading.family_kernels import OTHERS

    site, sink, last, _ = spans.T
    is_merged[(heads[(heads[:, 1] >> _FLAGS) & (OTHERS | ROW_REGISTER) == 0, 1] & SITE)] = True
    has_families = np.zeros(len(is_merged), np.bool_)
    has_families[site] = True
    is_merged &= has_families
    low, high = ((site << _WORD_BITS) + end for end in (np.minimum(sink, last), np.maximum(sink, last)))
    order = np.argsort(low, kind="stable")
    meets = low[order[1:]] <= np.maximum.accumulate(high[order])[:-1]
    is_merged[site[order[1:]][meets]] = True


def without_sums(columns: Columns) -> tuple[Columns, Int64, Int64]:
    """The rows of a trace with those that families with sums stand for; equal rows become one, the first.

    Labels keep calling rows by their numbers in the trace: terms of reductions over register values advance
    by constants only there. Rows that were not recorded are called by the numbers behind these.

    Returns columns as those of the trace; int64[R], by what labels call each row; int64[names], the name of
    the first row that equals it, by name; both empty if there are no such families. All read only.
    """
    from commanalyzer.graph.reading import family_kernels as kernels

    heads, _, units, groups, runs, listed = columns
    found = kernels.count_sums(heads, units, np.zeros(0, np.bool_))
    families, rows, more_units, more_groups, more_runs, more_listed, largest = found
    if not families:
        none = read_only(np.zeros(0, np.int64))
        return columns, none, none
    site = heads[:, 1] & SITE
    is_written = np.zeros(max(int(largest), int(site.max())) + 1, np.bool_)
    kernels.count_sums(heads, units, is_written)
    looked_up = rows + int(np.count_nonzero(is_written[site]))
    del site
    table = np.zeros(1 << (3 * looked_up // 2).bit_length(), np.int64)
    rows += len(heads)
    written = kernels.Written(
        heads=np.empty((rows, 2), np.int64),
        cells=np.empty((rows, 2), np.int64),
        units=np.empty(len(units) + more_units, np.int32),
        groups=np.empty((len(groups) + more_groups, 4), np.int64),
        runs=np.concatenate([runs, np.empty((more_runs, 2), np.int64)]),
        listed=np.concatenate([listed, np.empty(more_listed, np.int64)]),
        names=np.empty(rows, np.int64),
        table=table,
        kept=np.arange(rows),
        ends=np.array([0, 0, 0, len(runs), len(heads), len(listed)], np.int64),
    )
    kernels.write_sums(columns, is_written, written)
    row, unit, group, run, _, label = written.ends.tolist()
    columns = Columns(
        heads=read_only(written.heads[:row]),
        cells=read_only(written.cells[:row]),
        units=read_only(written.units[:unit]),
        groups=read_only(written.groups[:group]),
        runs=read_only(written.runs[:run]),
        listed=read_only(written.listed[:label]),
    )
    return columns, read_only(written.names[:row]), read_only(written.kept)


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
