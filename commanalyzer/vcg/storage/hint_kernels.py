"""Compiled loops that find where patterns of a column may begin: items of one kind come again in loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.foundation.compiled import compiled, compiled_in_place

_TABLE = 4096  # keys remembered; a collision costs a hint, nothing else


@compiled
def find_next(key: Any, next_item: Any) -> None:
    """Fill ``next_item`` with the next item that has the same key, the number of items if there is none."""
    n = len(key)
    seen = np.full(_TABLE, n, np.int64)
    for item in range(n - 1, -1, -1):
        slot = ((key[item] * -7046029254386353131) >> 40) & (_TABLE - 1)
        found = seen[slot]
        next_item[item] = found if found < n and key[found] == key[item] else n
        seen[slot] = item


@compiled_in_place
def find_lags(next_item: Any, end: Any, at: Any, lag: Any) -> Any:
    """Fill ``at`` and ``lag`` with the items that come again, and how many entries later; return how many.

    Args:
        next_item: int64[n], from :func:`find_next`.
        end: int64[n], entries up to the end of each item.
        at: int64[n], result: first entry of the item.
        lag: int64[n], result: entries from it to the next one.
    """
    count, begin = 0, 0
    for item in range(len(end)):
        if next_item[item] < len(end):
            w = end[next_item[item] - 1] - begin
            if w > 1:
                at[count], lag[count] = begin, w
                count += 1
        begin = end[item]
    return count


@compiled_in_place
def merge_hints(first: Any, second: Any, at: Any, lag: Any) -> None:
    """Write both hints to ``at`` and ``lag`` in order, of those for one entry the first ones first."""
    i, j = 0, 0
    for k in range(len(at)):
        if j == len(second[0]) or (i < len(first[0]) and first[0][i] <= second[0][j]):
            at[k], lag[k] = first[0][i], first[1][i]
            i += 1
        else:
            at[k], lag[k] = second[0][j], second[1][j]
            j += 1
