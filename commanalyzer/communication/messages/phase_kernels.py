"""A compiled pass over the rows of a graph that relates statements: who reads what of whom."""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.foundation.compiled import compiled


@compiled
def note_arrivals(
    rows: Any, part: Any, is_sent: Any, arriving: Any, num_parts: Any, site: Any, found: Any
) -> None:
    """Mark which sites read values of which sites that were sent to them.

    ``arriving`` has the keys (value times p plus part) of what is sent, ascending; ``is_sent`` its values.
    """
    for r in range(len(rows.row_sink)):
        here = np.int64(part[rows.row_sink[r]])
        for i in range(rows.source_ptr[rows.term_ptr[r]], rows.source_ptr[rows.term_ptr[r + 1]]):
            v = np.int64(rows.source[i])
            if not is_sent[v] or part[v] == here or found[site[v], rows.row_site[r]]:
                continue
            key = v * num_parts + here
            at = np.searchsorted(arriving, key)
            if at < len(arriving) and arriving[at] == key:
                found[site[v], rows.row_site[r]] = True
