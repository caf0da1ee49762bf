"""Compiled loops that put transfers together which travel alike.

*Lines* int64[N, 6] stand for transfers of one kind, pair of parts and array; ``slots`` int32[2^k] has the
line of each key where its hash says, or behind it, and -1 where there is none.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.foundation.compiled import compiled_in_place, compiled_inline

COLUMNS = 6
PAIR, ARRAY, ROUNDS, LOW, COUNT, HIGH = range(COLUMNS)  # the first two are the key
FREE = -1
_MIX = np.uint64(0x9E3779B97F4A7C15)


@compiled_inline
def _place(pair: Any, array: Any, lines: Any, slots: Any) -> Any:
    """Return where in ``slots`` a key is, or belongs."""
    mixed = (np.uint64(pair) * _MIX ^ np.uint64(array)) * _MIX
    last = np.int64(len(slots) - 1)
    at = np.int64(mixed >> np.uint64(32)) & last
    while slots[at] != FREE and (lines[slots[at], PAIR] != pair or lines[slots[at], ARRAY] != array):
        at = (at + 1) & last
    return at


@compiled_in_place
def place_lines(lines: Any, slots: Any) -> None:
    """Enter all lines in ``slots``, which are free."""
    for i in range(len(lines)):
        slots[_place(lines[i, PAIR], lines[i, ARRAY], lines, slots)] = i


@compiled_in_place
def add_transfers(begin: Any, kind: Any, item: Any, home: Any, homes: Any, site: Any, hubs: Any,
                  num_parts: Any, lines: Any, count: Any, slots: Any) -> Any:  # fmt: skip
    """Add transfers to the lines; return at which one there were too few lines, and their number.

    Args:
        begin: Transfer to begin with.
        kind: 0 or 1.
        item: Columns of the transfers: value, sender, receiver, low, count, high, width.
        home: int32[K], array of each value.
        homes: Number of arrays, at least 1.
        site: int32[V], statement that makes each value, -1 for none.
        hubs: bool[V], values that are told apart; empty for none.
        num_parts: Number of parts p.
        lines: See above; more than ``count``.
        count: Lines so far.
        slots: See above, twice as many as lines.
    """
    value, sender, receiver, low, likely, high, width = item
    line = np.int64(FREE)  # of the transfer before, which often has the same key
    for k in range(begin, len(value)):
        v = value[k]
        pair = 2 * (np.int64(sender[k]) * num_parts + receiver[k]) + kind
        array = 2 * ((np.int64(site[v]) + 1) * homes + home[k])
        if len(hubs) > 0 and hubs[v]:
            array += 1
        if line < 0 or lines[line, PAIR] != pair or lines[line, ARRAY] != array:
            at = _place(pair, array, lines, slots)
            line = np.int64(slots[at])
            if line < 0:
                if count == len(lines):
                    return k, count
                line = count
                slots[at] = line
                lines[line, PAIR], lines[line, ARRAY] = pair, array
                lines[line, ROUNDS:] = 0
                count += 1
        lines[line, ROUNDS] = max(lines[line, ROUNDS], likely[k])
        lines[line, LOW] += low[k] * width[k]
        lines[line, COUNT] += likely[k] * width[k]
        lines[line, HIGH] += high[k] * width[k]
    return len(value), count
