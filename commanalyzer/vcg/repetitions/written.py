"""Traces whose rows stand for others, written out: the one that hooks alone would have recorded.

:mod:`.nests` writes the rows. Some of them may also have been recorded by hooks: equal rows become one, where
the first of them is.

Labels keep calling rows by their numbers in the trace: terms of reductions over register values advance by
constants only there. Rows that were not recorded are called by the numbers behind these.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from commanalyzer.vcg.storage.coding import read_only

Int64 = NDArray[np.int64]
Int32 = NDArray[np.int32]
Columns = tuple[Int64, Int64, Int32, Int64, Int64, Int64]  # heads, cells, units, groups, runs, listed

SITE = (1 << 32) - 1  # bits of the site in the second word of a head


@dataclass(frozen=True, slots=True)
class Written:
    """What is written; read only.

    Attributes:
        columns: Heads, cells, units, groups, runs and listed labels.
        names: int64[R], by what labels call each row.
        kept: int64[names], the name of the first row that equals it, by name.
    """

    columns: Columns
    names: Int64
    kept: Int64


@dataclass(frozen=True, slots=True)
class Draft:
    """Where rows are written to, as :mod:`commanalyzer.vcg.repetitions.written_kernels` has it.

    Attributes:
        out: Columns, that of runs begins with that of the trace; names.
        ends: int64[5], how many rows, units, groups and runs are written; the next name.
        kept: int64, per name of a row the name of the first row that equals it, at first its own.
    """

    out: tuple[Int64, Int64, Int32, Int64, Int64, Int64, Int64]
    ends: Int64
    kept: Int64

    @classmethod
    def of(cls, columns: Columns, rows: int, units: int, groups: int, runs: int) -> Draft:
        """Room for ``columns`` of a trace and so many rows, units, groups and runs more."""
        rows += len(columns[0])
        out = (
            np.empty((rows, 2), np.int64), np.empty((rows, 2), np.int64),
            np.empty(len(columns[2]) + units, np.int32), np.empty((len(columns[3]) + groups, 4), np.int64),
            np.concatenate([columns[4], np.empty((runs, 2), np.int64)]), columns[5], np.empty(rows, np.int64),
        )  # fmt: skip
        ends = np.array([0, 0, 0, len(columns[4]), len(columns[0])], np.int64)
        return cls(out, ends, np.arange(rows))

    def written(self) -> Written:
        """What was written."""
        heads, cells, units, groups, runs, listed, names = self.out
        row, unit, group, run, _ = self.ends.tolist()
        columns = (
            read_only(heads[:row]), read_only(cells[:row]), read_only(units[:unit]),
            read_only(groups[:group]), read_only(runs[:run]), listed,
        )  # fmt: skip
        return Written(columns, read_only(names[:row]), read_only(self.kept))


def empty_table(rows: int) -> Int64:
    """A table in which so many rows are looked up (:func:`.written_kernels.first_place`)."""
    return np.zeros(1 << (3 * rows // 2).bit_length(), np.int64)
