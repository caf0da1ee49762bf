"""Nests of a trace: written out as the rows that they stand for.

A nest is a row of the trace that stands for the sums and stores of loops (``ca_nest`` of the shim). Its
rows may also have been recorded by hooks, or by other nests (other bounds).
"""

from __future__ import annotations

import numpy as np

from commanalyzer.vcg.repetitions.written import SITE, Columns, Draft, Written, empty_table


def without_nests(columns: Columns) -> Written | None:
    """The rows of a trace with those that nests stand for; ``None`` if there are no nests."""
    from commanalyzer.vcg.repetitions import nest_kernels as kernels

    heads, _, units, _, _, _ = columns
    if not kernels.has_nests(heads):
        return None
    is_nested = np.zeros(int(kernels.largest_site(heads, units)) + 1, np.bool_)
    rows, more_units, groups, runs = (int(n) for n in kernels.count_nests(heads, units, is_nested))
    draft = Draft.of(columns, rows, more_units, groups, runs)
    table = empty_table(rows + int(np.count_nonzero(is_nested[heads[:, 1] & SITE])))
    kernels.write_nests(columns, is_nested, table, draft.kept, draft.out, draft.ends)
    return draft.written()
