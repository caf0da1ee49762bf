"""Compiled loops of the least cover: a maximum flow.

Pairs of operand and group are in ascending order of the group. A *net* is the tuple of::

    operand, group                                            of each pair
    group_ptr[j] .. group_ptr[j + 1]                          pairs of group j
    slot_pair[operand_ptr[i] .. operand_ptr[i + 1]]           pairs of operand i, ascending
    slot_group[operand_ptr[i] .. operand_ptr[i + 1]]          their groups

as ``operand, group, group_ptr, operand_ptr, slot_pair, slot_group``. The flow goes from the operands to the
groups: ``supply`` int64[O] and ``demand`` int64[G] are what is left of their weights; ``flow`` int64[E] is
what passes through each pair.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.foundation.compiled import compiled_in_place, compiled_inline

_NONE = -1


@compiled_in_place
def layer(net: Any, supply: Any, demand: Any, flow: Any, level: Any, group_level: Any, queue: Any) -> Any:
    """Number the steps from operands with supply left; return whether a group with demand left is reached.

    More may flow from an operand to each of its groups, and from a group back to operands it flows from.
    Levels of what is not reached are negative. If no such group is reached, everything that can be is.

    ``queue`` is int64[O], scratch space.
    """
    operand, _group, group_ptr, operand_ptr, _slot_pair, slot_group = net
    count, is_reached = 0, False
    for j in range(len(demand)):
        group_level[j] = _NONE
    for i in range(len(supply)):
        level[i] = _NONE
        if supply[i] > 0:
            level[i] = 0
            queue[count] = i
            count += 1
    at = 0
    while at < count:
        i = queue[at]
        at += 1
        for k in range(operand_ptr[i], operand_ptr[i + 1]):
            j = slot_group[k]
            if group_level[j] != _NONE:
                continue
            group_level[j] = level[i] + 1
            is_reached |= demand[j] > 0
            for e in range(group_ptr[j], group_ptr[j + 1]):
                back = operand[e]
                if level[back] < 0 and flow[e] > 0:
                    level[back] = level[i] + 2
                    queue[count] = back
                    count += 1
    return is_reached


@compiled_inline
def _deeper(i: Any, net: Any, flow: Any, level: Any, group_level: Any, at: Any, group_at: Any, path: Any,
            demand: Any) -> Any:  # fmt: skip
    """Extend a path from operand ``i`` to a group with demand left; return its length, 0 for none.

    ``path`` becomes pairs, there and back in turn. ``at`` and ``group_at`` are where each vertex goes on.
    """
    operand, group, group_ptr, operand_ptr, slot_pair, slot_group = net
    length = 0
    while True:
        if at[i] < operand_ptr[i + 1]:
            j = slot_group[at[i]]
            if group_level[j] != level[i] + 1:
                at[i] += 1
                continue
            path[length] = slot_pair[at[i]]
            if demand[j] > 0:
                return length + 1
            while group_at[j] < group_ptr[j + 1]:
                e = group_at[j]
                if flow[e] > 0 and level[operand[e]] == group_level[j] + 1:
                    break
                group_at[j] += 1
            if group_at[j] == group_ptr[j + 1]:
                at[i] += 1
                continue
            path[length + 1] = group_at[j]
            length += 2
            i = np.int64(operand[group_at[j]])
        elif length == 0:
            return 0
        else:
            j = group[path[length - 1]]
            group_at[j] += 1
            length -= 2
            i = np.int64(operand[path[length]])


@compiled_in_place
def augment(
    net: Any, supply: Any, demand: Any, flow: Any, level: Any, group_level: Any, places: Any, path: Any
) -> None:
    """Let flow along paths of ascending levels until there are none.

    ``places`` are int64[O] and int64[G], where the pairs of each vertex begin; changed. ``path`` is
    int64[2 O + 2], scratch space.

    Reference: Dinic, Algorithm for solution of a problem of maximum flow, 1970; for equal weights this is
    Hopcroft and Karp's matching.
    """
    group = net[1]
    at, group_at = places
    for first in range(len(supply)):
        while supply[first] > 0:
            length = _deeper(np.int64(first), net, flow, level, group_level, at, group_at, path, demand)
            if length == 0:
                break
            end = group[path[length - 1]]
            amount = min(supply[first], demand[end])
            for k in range(1, length, 2):
                amount = min(amount, flow[path[k]])
            for k in range(length):
                flow[path[k]] += amount if k % 2 == 0 else -amount
            supply[first] -= amount
            demand[end] -= amount
