"""Renamings of a trace: written out as the rows that they stand for.

A renaming says that a round of a loop counted the rows of an earlier version of it with other words
(``runtime_shim/src/renamings.c``). Its rows may also have been recorded by hooks, or by other renamings.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from commanalyzer.trace.reader import Trace
from commanalyzer.vcg.repetitions.written import SITE, Columns, Draft, Written, empty_table

Int64 = NDArray[np.int64]
UInt32 = NDArray[np.uint32]
Bool = NDArray[np.bool_]
_Moving = tuple[Int64, tuple[Int64, NDArray[np.int16], NDArray[np.int8]]]


def without_renamings(trace: Trace, columns: Columns) -> Written | None:
    """The rows of a trace with those that renamings stand for; ``None`` if there are none.

    Args:
        trace: The trace.
        columns: Its heads, cells, units, groups (in the order of their rows), runs and listed labels.
    """
    if not len(trace.renamings):
        return None
    from commanalyzer.vcg.repetitions import renaming_kernels as kernels
    from commanalyzer.vcg.repetitions.version_kernels import count_unmoved, most_terms, row_starts

    heads, _, _, groups, _, _ = columns
    num_rows = len(heads)
    starts = np.empty(num_rows, np.int64), np.empty(num_rows, np.int64)
    longest = int(row_starts(heads, groups, *starts)) + int(most_terms(groups)) + 1
    label, width, mover = (np.empty(longest, np.int64) for _ in range(3))
    versions, renamings = _versions(trace)
    moving, is_renamed, more = _moving(trace, columns, starts, versions, (label, width, mover))
    draft = Draft.of(columns, *more[:3], listed=more[3])
    looked_up = more[0] + int(np.count_nonzero(is_renamed[heads[:, 1] & SITE]))
    tables = empty_table(looked_up), draft.kept, np.empty(num_rows, np.int64)
    bases = _bases(trace)
    called = np.empty(int(np.diff(versions[:, 1]).max()), np.int64)
    shift = np.zeros(int((bases[versions[:-1, 0]] >> 32).max()), np.int64)
    kernels.write_renamed(
        columns, starts, renamings, _fields(trace.placed, 2), np.asarray(trace.shifts), versions, moving,
        is_renamed, (label, width, called, shift), tables, draft.out, draft.ends,
    )  # fmt: skip
    count_unmoved(bases, versions, moving[0], tables[2], draft.out[1])
    return draft.written()


def _bases(trace: Trace) -> Int64:
    return np.asarray(trace.bases).view(np.int64)


def _versions(trace: Trace) -> tuple[Int64, UInt32]:
    """Table of versions, one more than there are, and the renamings."""
    from commanalyzer.vcg.repetitions.version_kernels import list_versions

    bases = _bases(trace)
    versions = np.zeros((int(list_versions(bases, np.empty((0, 4), np.int64))[0]) + 1, 4), np.int64)
    list_versions(bases, versions)
    versions[-1, 0] = len(bases)
    renamings = _fields(trace.renamings, 3)
    versions[:, 2] = np.bincount(renamings[:, 1], minlength=len(versions))
    return versions, renamings


def _fields(records: NDArray[np.void], columns: int) -> UInt32:
    """Records of ``columns`` 4-byte numbers as a table."""
    return np.asarray(records).view(np.uint32).reshape(-1, columns)


def _moving(
    trace: Trace, columns: Columns, starts: tuple[Int64, Int64], versions: Int64, room: tuple[Int64, ...]
) -> tuple[_Moving, Bool, tuple[int, ...]]:
    """Rows that can move, whether those of a site can, and how much renamings make of them at most."""
    from commanalyzer.vcg.repetitions.version_kernels import count_labels, list_versions, read_versions

    bases = _bases(trace)
    rows = np.empty((int(list_versions(bases, versions)[1]) + 1, 3), np.int64)
    is_renamed = np.zeros(int((columns[0][:, 1] & SITE).max(initial=0)) + 1, np.bool_)
    most = int(count_labels(columns, starts[1], bases, versions[:-1]))
    labels = np.empty(most, np.int64), np.empty(most, np.int16), np.empty(most, np.int8)
    found, num_labels, *more = (
        int(number)
        for number in read_versions(columns, starts, bases, versions[:-1], room, rows, labels, is_renamed)
    )
    versions[-1, 1], rows[found, 1] = found, num_labels
    return (rows[: found + 1], labels), is_renamed, tuple(more)
