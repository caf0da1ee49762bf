"""Entries with equal keys put together, without comparing all keys: counting by the first one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from commanalyzer.vcg.graph import Int32, Int64
from commanalyzer.vcg.structure.segments import order_by

Whole = Int32 | Int64


def grouped(row: Whole, column: Whole, rows: int) -> tuple[Whole, NDArray[np.intp]]:
    """Return the entries by ascending (row, column), and where each distinct pair begins among these.

    Args:
        row: int[N], in [0, rows).
        column: int[N], not negative.
        rows: Number of rows.
    """
    pointer, order = order_by(row, rows)
    entries = order, column[order], pointer
    table = csr_array(entries, shape=(rows, int(column.max(initial=0)) + 1))
    table.sort_indices()
    order = table.data
    changes = (np.diff(key[order], prepend=-1).astype(np.bool_) for key in (row, column))
    return order, np.flatnonzero(np.logical_or(*changes))
