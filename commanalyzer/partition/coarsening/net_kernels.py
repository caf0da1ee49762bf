"""Compiled passes over the flows of a large graph that find the nets between coarse vertices.

Hubs are numbered behind the coarse vertices as in :mod:`commanalyzer.partition.coarsening.link_kernels`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.foundation.compiled import compiled_in_place


@compiled_in_place
def _leading_operand(rows: Any, t: Any, readers: Any, number: Any, side: Any, num_coarse: Any) -> Any:
    """Return the operand whose owner computes a term of a reduction, -1 where that of the sink does.

    Operands on one side are combined there, unless all of them have other readers and come along anyway.
    """
    found, place = -1, -1
    for i in range(rows.source_ptr[t], rows.source_ptr[t + 1]):
        s = rows.source[i]
        if number[s] >= num_coarse:
            continue
        if place >= 0 and side[s] != place:
            return -1
        place = side[s]
        if found < 0 and readers[s] <= 1:
            found = s
    return found


@compiled_in_place
def _row_pins(
    rows: Any, r: Any, readers: Any, number: Any, side: Any, num_coarse: Any, last: Any, last_folded: Any,
    out: Any, n: Any,
) -> Any:  # fmt: skip
    """Write the pins that row ``r`` adds to ``out`` from place ``n`` on; return the place behind them."""
    sink, values = rows.row_sink[r], np.int64(len(number))
    if number[sink] >= num_coarse:
        return n
    for t in range(rows.term_ptr[r], rows.term_ptr[r + 1]):
        k = number[sink]
        if rows.row_fold[r] != 0:
            lead = _leading_operand(rows, t, readers, number, side, num_coarse)
            if lead >= 0:
                k = number[lead]
                if k != number[sink] and last_folded[sink] != k:
                    last_folded[sink] = k
                    out[n] = ((values + sink) << 32) | np.int64(k)
                    n += 1
        for i in range(rows.source_ptr[t], rows.source_ptr[t + 1]):
            s = rows.source[i]
            if last[s] != k and number[s] != k and number[s] < num_coarse:
                last[s] = k
                out[n] = (np.int64(s) << 32) | np.int64(k)
                n += 1
    return n


@compiled_in_place
def list_pins(
    rows: Any, readers: Any, number: Any, side: Any, num_coarse: Any, last: Any, last_folded: Any, out: Any
) -> Any:
    """Write (net << 32) | coarse vertex to ``out`` for pins that are not a net's own; return how many.

    The net of a value has the value's number, that of a reduction V plus its sink's. A pin that is the last
    one of its net already is left out: rows of one place read the same values.

    Args:
        rows: Rows of the slice.
        readers: Source entries that read each vertex.
        number: Coarse vertex of each vertex, hubs from ``num_coarse`` on.
        side: Operands of a term that have the same number here are combined where one of them is.
        num_coarse: Number of coarse vertices.
        last: The last pin of the net of each value, -1 before the first slice.
        last_folded: The same of its reduction; may be empty where no row folds.
        out: Output, one place per flow.
    """
    n = 0
    for r in range(len(rows.row_sink)):
        n = _row_pins(rows, r, readers, number, side, num_coarse, last, last_folded, out, n)
    return n
