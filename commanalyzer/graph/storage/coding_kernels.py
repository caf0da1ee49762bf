"""Compiled loops of stored rows: entries to differences and back, some terms."""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.foundation.compiled import compiled_in_place


@compiled_in_place
def reduce(values: Any, base: Any, is_difference: Any, out: Any) -> None:
    """Write how much each of ``values`` is above ``base``, or the one before, to ``out``, modulo its type."""
    before = base
    for i in range(len(values)):
        out[i] = values[i] - before
        if is_difference:
            before = values[i]


@compiled_in_place
def restore(values: Any, base: Any, mask: Any, is_difference: Any, low: Any, is_sum: Any, out: Any) -> None:
    """Write entries ``low`` to ``low + len(out) - 1`` of a piece that :func:`reduce` made to ``out``.

    Args:
        values: The piece, unsigned.
        base: Of the piece.
        mask: All bits of an entry of ``values``.
        is_difference: As for :func:`reduce`.
        low: First entry.
        is_sum: Write the sum of all entries from ``low`` up to each instead.
        out: Result.
    """
    above = 0 * base
    if is_difference:
        for i in range(low):
            above += np.int64(values[i])
    total = 0 * base
    for i in range(len(out)):
        entry = np.int64(values[low + i])
        above = (above + entry if is_difference else entry) & mask
        total = total + base + above if is_sum else base + above
        out[i] = total


@compiled_in_place
def copy_sources(rows: Any, term: Any, source: Any, source_role: Any) -> None:
    """Copy the sources of each ``term``."""
    at = 0
    for t in term:
        for i in range(rows.source_ptr[t], rows.source_ptr[t + 1]):
            source[at], source_role[at] = rows.source[i], rows.source_role[i]
            at += 1
