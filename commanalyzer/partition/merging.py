"""A division among more parts gives one among fewer: parts -> groups of parts that exchange most.

Merging parts never adds communication, so what is found for more parts bounds what fewer need.
"""

from __future__ import annotations

import numpy as np

from commanalyzer.vcg.graph import Float64, Int32, Int64

_MOST_SWAPS = 4  # per part: swaps only lower the cut and end by themselves, long before


def merge_parts(traffic: Int64, load: Float64, num_parts: int, allowed: float) -> Int32:
    """Return int32[q], the group of each part: q / p parts in each, little traffic between groups.

    Starts with neighbours in the numbering (parts are numbered by position) and with every p-th, and swaps
    two parts of different groups as long as that saves most (Kernighan, Lin, Bell Syst. Tech. J. 49, 1970).

    Args:
        traffic: int64[q, q], bytes from part to part.
        load: float64[q], work of each part.
        num_parts: Number of groups p, a divisor of q.
        allowed: Largest work of a group over the mean; a swap may not leave more, unless there was more.
    """
    q = len(load)
    both = (traffic + traffic.T).astype(np.float64)
    np.fill_diagonal(both, 0.0)
    most = allowed * float(load.sum()) / num_parts
    numbers = np.arange(q, dtype=np.int32)
    starts = (numbers * num_parts // q, numbers % num_parts)
    found = [_swapped(both, load, start.astype(np.int32), num_parts, most) for start in starts]

    def cost(group: Int32) -> tuple[bool, float]:
        too_much = float(np.bincount(group, load, num_parts).max()) > most
        return too_much, float(both[group[:, None] != group[None, :]].sum())

    return min(found, key=cost)


def _swapped(both: Float64, load: Float64, group: Int32, num_parts: int, most: float) -> Int32:
    """Return groups after the swaps that save traffic."""
    q, places = len(load), np.arange(len(load))
    for _ in range(_MOST_SWAPS * q):
        to_group = np.zeros((q, num_parts))
        for other in range(num_parts):  # one step per group
            to_group[:, other] = both[:, group == other].sum(axis=1)
        gain = to_group[:, group] - to_group[places, group][:, None]
        gain = gain + gain.T - 2.0 * both
        total = np.bincount(group, load, num_parts)
        after = total[group][:, None] - load[:, None] + load[None, :]
        limit = max(most, float(total.max()))
        gain[(group[:, None] == group[None, :]) | (after > limit) | (limit < after.T)] = 0.0
        one, other = divmod(int(gain.argmax()), q)
        if gain[one, other] <= 0.0:
            break
        group[one], group[other] = group[other], group[one]
    return group
