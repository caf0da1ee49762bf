"""Compiled loops of the least cover: choices that are forced, then a maximum flow through what they leave.

Pairs of operand and group are in ascending order of the group. A *net* is the tuple of::

    operand, group                                            of each pair
    group_ptr[j] .. group_ptr[j + 1]                          pairs of group j
    slot_pair[operand_ptr[i] .. operand_ptr[i + 1]]           pairs of operand i, ascending
    slot_group[operand_ptr[i] .. operand_ptr[i + 1]]          their groups

as ``operand, group, group_ptr, operand_ptr, slot_pair, slot_group``. The flow goes from the operands to the
groups: ``supply`` int64[O] and ``demand`` int64[G] are what is left of their weights, none where the choice
was forced; ``flow`` int64[E] is what passes through each pair.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.foundation.compiled import compiled_in_place, compiled_inline

OPEN, SENT, COMBINED = 0, 1, 2  # choices for a group; of SENT ones all operands are sent
_NONE = -1
_DECIDED = -2  # level of groups whose choice was forced


@compiled_inline
def _expand(j: Any, net: Any, weight: Any, group_weight: Any, is_open: Any, choice: Any, to_send: Any,
            todo: Any, waiting: Any) -> Any:  # fmt: skip
    """Send the operands of group ``j``: other groups have less left to pay. Return how many of them wait."""
    operand, _group, group_ptr, operand_ptr, _slot_pair, slot_group = net
    choice[j] = SENT
    for e in range(group_ptr[j], group_ptr[j + 1]):
        i = operand[e]
        if not is_open[i]:
            continue
        is_open[i] = False
        for k in range(operand_ptr[i], operand_ptr[i + 1]):
            other = slot_group[k]
            before = to_send[other]
            to_send[other] -= weight[i]
            if choice[other] == OPEN and before > group_weight[other] >= to_send[other]:
                todo[waiting] = other
                waiting += 1
    return waiting


@compiled_inline
def _combine(i: Any, net: Any, weight: Any, group_weight: Any, is_open: Any, choice: Any, to_combine: Any,
             todo: Any, waiting: Any) -> Any:  # fmt: skip
    """Combine the groups of operand ``i``: other operands save less. Return how many of them wait."""
    operand, _group, group_ptr, operand_ptr, _slot_pair, slot_group = net
    is_open[i] = False
    for at in range(operand_ptr[i], operand_ptr[i + 1]):
        j = slot_group[at]
        if choice[j] != OPEN:
            continue
        choice[j] = COMBINED
        for e in range(group_ptr[j], group_ptr[j + 1]):
            other = operand[e]
            before = to_combine[other]
            to_combine[other] -= group_weight[j]
            if is_open[other] and before >= weight[other] > to_combine[other]:
                todo[waiting] = other
                waiting += 1
    return waiting


@compiled_inline
def _count_waiting(net: Any, weight: Any, group_weight: Any, own: Any, choice: Any, to_send: Any,
                   to_combine: Any, groups: Any, operands: Any) -> Any:  # fmt: skip
    """Sum up both sides; note the groups and operands whose choice is clear at once, return how many."""
    operand, group = net[0], net[1]
    for j in range(len(group_weight)):
        if own[j] > group_weight[j]:
            choice[j] = COMBINED
    for e in range(len(operand)):
        to_send[group[e]] += weight[operand[e]]
        if choice[group[e]] == OPEN:
            to_combine[operand[e]] += group_weight[group[e]]
    num_groups, num_operands = 0, 0
    for j in range(len(group_weight)):
        if to_send[j] <= group_weight[j]:
            groups[num_groups] = j
            num_groups += 1
    for i in range(len(weight)):
        if weight[i] > to_combine[i]:
            operands[num_operands] = i
            num_operands += 1
    return num_groups, num_operands


@compiled_in_place
def decide_forced(
    net: Any, weight: Any, group_weight: Any, own: Any, is_open: Any, choice: Any, sums: Any, waiting: Any
) -> None:
    """Decide what is clear whatever the rest is; linear in the pairs.

    * Operands that together cost no more than what their group combines to are sent.
    * Operands of one group only that cost more than what it combines to are not: it is combined.
    * An operand that costs more than what all its groups combine to is not: they are combined.

    Args:
        net: All pairs.
        weight: int64[O], bytes.
        group_weight: int64[G], bytes.
        own: int64[G], bytes of operands of each group that are in no pair.
        is_open: bool[O], true where something is to be paid; result: not decided.
        choice: uint8[G], zeros; result.
        sums: int64[G], a copy of ``own``, and int64[O], zeros; scratch space.
        waiting: int32[G] and int32[O], scratch space.
    """
    to_send, to_combine = sums
    groups, operands = waiting
    num_groups, num_operands = _count_waiting(
        net, weight, group_weight, own, choice, to_send, to_combine, groups, operands
    )
    while num_groups or num_operands:
        if num_groups:
            num_groups -= 1
            if choice[groups[num_groups]] == OPEN:
                num_groups = _expand(groups[num_groups], net, weight, group_weight, is_open, choice, to_send,
                                     groups, num_groups)  # fmt: skip
        else:
            num_operands -= 1
            if is_open[operands[num_operands]]:
                num_operands = _combine(operands[num_operands], net, weight, group_weight, is_open, choice,
                                        to_combine, operands, num_operands)  # fmt: skip


@compiled_in_place
def layer(
    net: Any, supply: Any, demand: Any, flow: Any, choice: Any, level: Any, group_level: Any, queue: Any
) -> Any:
    """Number the steps from operands with supply left; return whether a group with demand left is reached.

    More may flow from an operand to each of its groups, and from a group back to operands it flows from.
    Levels of what is not reached are negative. If no such group is reached, everything that can be is.

    ``queue`` is int64[O], scratch space.
    """
    operand, _group, group_ptr, operand_ptr, _slot_pair, slot_group = net
    count, is_reached = 0, False
    for j in range(len(demand)):
        group_level[j] = _NONE if choice[j] == OPEN else _DECIDED
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
