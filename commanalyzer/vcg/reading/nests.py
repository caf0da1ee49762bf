"""Nests of a trace: written out as the rows that they stand for.

A nest is a row of the trace that stands for the sums and stores of loops (``ca_nest`` of the shim). Its
rows may also have been recorded by hooks, or by other nests (other bounds): equal rows become one, where the
first of them is.

Labels keep calling rows by their numbers in the trace: terms of reductions over register values advance by
constants only there. Rows that were not recorded are called by the numbers behind these.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from commanalyzer.vcg.storage.coding import read_only

Int64 = NDArray[np.int64]
Int32 = NDArray[np.int32]
Columns = tuple[Int64, Int64, Int32, Int64, Int64, Int64]  # heads, cells, units, groups, runs, listed

_SITE = (1 << 32) - 1  # bits of the site in the second word of a head


def without_nests(columns: Columns) -> tuple[Columns, Int64, Int64] | None:
    """The rows of a trace with those that nests stand for; ``None`` if there are no nests.

    Returns:
        Columns as those of the trace; int64[R], by what labels call each row; int64[names], the name of the
        first row that equals it, by name. All read only.
    """
    from commanalyzer.vcg.reading import nest_kernels as kernels

    heads, _, units, groups, runs, listed = columns
    nests, rows, more_units, more_groups, more_runs, largest = kernels.count_nests(
        heads, units, np.zeros(0, np.bool_)
    )
    if not nests:
        return None
    site = heads[:, 1] & _SITE
    is_nested = np.zeros(max(int(largest), int(site.max())) + 1, np.bool_)
    kernels.count_nests(heads, units, is_nested)
    looked_up = rows + int(np.count_nonzero(is_nested[site]))
    del site
    table = np.zeros(1 << (3 * looked_up // 2).bit_length(), np.int64)
    rows += len(heads)
    out = (
        np.empty((rows, 2), np.int64), np.empty((rows, 2), np.int64),
        np.empty(len(units) + more_units, np.int32), np.empty((len(groups) + more_groups, 4), np.int64),
        np.concatenate([runs, np.empty((more_runs, 2), np.int64)]), listed, np.empty(rows, np.int64),
    )  # fmt: skip
    ends, kept = np.array([0, 0, 0, len(runs), len(heads)], np.int64), np.arange(rows)
    kernels.write_nests(columns, is_nested, table, kept, out, ends)
    row, unit, group, run, _ = ends.tolist()
    written = (
        read_only(out[0][:row]), read_only(out[1][:row]), read_only(out[2][:unit]),
        read_only(out[3][:group]), read_only(out[4][:run]), listed,
    )  # fmt: skip
    return written, read_only(out[6][:row]), read_only(kept)
