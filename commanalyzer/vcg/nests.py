"""Nests of a trace: written out as the rows that they stand for.

A nest is a row of the trace that stands for the sums and stores of two loops (``ca_nest`` of the shim). Its
rows may also have been recorded by hooks, or by other nests (other bounds): equal rows become one, where the
first of them is, so that the trace is the one that hooks alone would have written.

Labels keep calling rows by their numbers in the trace: terms of reductions over register values advance by
constants only there. :attr:`Written.names` says what a row is called now.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Int64 = NDArray[np.int64]
Int32 = NDArray[np.int32]

_SITE = (1 << 32) - 1  # bits of the site in the second word of a head


@dataclass(frozen=True, slots=True)
class Written:
    """Columns of a trace without nests.

    Attributes:
        heads: int64[R, 2].
        cells: int64[R, 2].
        units: int32[U].
        groups: int64[G, 4].
        runs: int64[N, 2].
        names: int64[R], by what labels call each row.
        kept: int64[names], the name of the first row that equals it, by name.
    """

    heads: Int64
    cells: Int64
    units: Int32
    groups: Int64
    runs: Int64
    names: Int64
    kept: Int64


def without_nests(
    heads: Int64, cells: Int64, units: Int32, groups: Int64, runs: Int64, listed: Int64
) -> Written | None:
    """The rows of a trace with those that nests stand for; ``None`` if there are no nests.

    Args:
        heads: int64[R, 2], as the others a column of a trace.
        cells: int64[R, 2].
        units: int32[U].
        groups: int64[G, 4], in the order of their rows.
        runs: int64[N, 2].
        listed: int64[L].
    """
    from commanalyzer.vcg import nest_kernels as kernels

    if not kernels.has_nests(heads):
        return None
    is_nested = np.zeros(int(kernels.largest_site(heads, units)) + 1, np.bool_)
    more_rows, more_units, more_groups, more_runs = kernels.count_nests(heads, units, is_nested)
    rows = len(heads) + more_rows
    looked_up = more_rows + int(np.count_nonzero(is_nested[heads[:, 1] & _SITE]))
    table = np.zeros((1 << int(2 * looked_up).bit_length(), 3), np.int64)
    kept, ends = np.arange(rows), np.zeros(4, np.int64)
    out = (
        np.empty((rows, 2), np.int64), np.empty((rows, 2), np.int64),
        np.empty(len(units) + more_units, np.int32), np.empty((len(groups) + more_groups, 4), np.int64),
        np.concatenate([runs, np.empty((more_runs, 2), np.int64)]), np.empty(rows, np.int64),
    )  # fmt: skip
    ends[3] = len(runs)
    kernels.write_nests(heads, cells, units, groups, runs, listed, is_nested, table, kept, out, ends)
    rows, more_units, more_groups, more_runs = ends.tolist()
    return Written(
        out[0][:rows], out[1][:rows], out[2][:more_units], out[3][:more_groups], out[4][:more_runs],
        out[5][:rows], kept,
    )  # fmt: skip
