"""Compiled loops of the least cover: choices that are forced, then a maximum flow through what they leave.

Pairs of operand and group are seen from both sides; a *net* is the tuple of::

    operand, group                                            of each pair
    pair_of_operand[operand_ptr[i] .. operand_ptr[i + 1]]     pairs of operand i
    pair_of_group[group_ptr[j] .. group_ptr[j + 1]]           pairs of group j

The flow goes from the operands to the groups: ``supply`` int64[O] and ``demand`` int64[G] are what is left of
their weights, ``flow`` int64[E] what passes through each pair.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.compiled import compiled

OPEN, SENT, COMBINED = 0, 1, 2  # choices for a group; of SENT ones all operands are sent
_NONE = -1


@compiled
def sparse_table(vertex: Any, pointer: Any, pairs: Any) -> None:
    """Fill a table with the pairs of each vertex of one side, in ascending order.

    Args:
        vertex: int64[E], vertex of each pair.
        pointer: int64[N + 1], zeros; result.
        pairs: int32[E], result.
    """
    for v in vertex:
        pointer[v] += 1
    total = 0
    for v in range(len(pointer)):
        total += pointer[v]
        pointer[v] = total
    for e in range(len(vertex) - 1, -1, -1):
        pointer[vertex[e]] -= 1
        pairs[pointer[vertex[e]]] = e


@compiled
def _expand(j: Any, net: Any, weight: Any, group_weight: Any, is_open: Any, choice: Any, to_send: Any,
            todo: Any, waiting: Any) -> Any:  # fmt: skip
    """Send the operands of group ``j``: other groups have less left to pay. Return how many of them wait."""
    operand, group, operand_ptr, pair_of_operand, group_ptr, pair_of_group = net
    choice[j] = SENT
    for at in range(group_ptr[j], group_ptr[j + 1]):
        i = operand[pair_of_group[at]]
        if not is_open[i]:
            continue
        is_open[i] = False
        for k in range(operand_ptr[i], operand_ptr[i + 1]):
            other = group[pair_of_operand[k]]
            before = to_send[other]
            to_send[other] -= weight[i]
            if choice[other] == OPEN and before > group_weight[other] >= to_send[other]:
                todo[waiting] = other
                waiting += 1
    return waiting


@compiled
def _combine(i: Any, net: Any, weight: Any, group_weight: Any, is_open: Any, choice: Any, to_combine: Any,
             todo: Any, waiting: Any) -> Any:  # fmt: skip
    """Combine the groups of operand ``i``: other operands save less. Return how many of them wait."""
    operand, group, operand_ptr, pair_of_operand, group_ptr, pair_of_group = net
    is_open[i] = False
    for at in range(operand_ptr[i], operand_ptr[i + 1]):
        j = group[pair_of_operand[at]]
        if choice[j] != OPEN:
            continue
        choice[j] = COMBINED
        for k in range(group_ptr[j], group_ptr[j + 1]):
            other = operand[pair_of_group[k]]
            before = to_combine[other]
            to_combine[other] -= group_weight[j]
            if is_open[other] and before >= weight[other] > to_combine[other]:
                todo[waiting] = other
                waiting += 1
    return waiting


@compiled
def _count_waiting(net: Any, weight: Any, group_weight: Any, to_send: Any, to_combine: Any, groups: Any,
                   operands: Any) -> Any:  # fmt: skip
    """Sum up both sides; note the groups and operands whose choice is clear at once, return how many."""
    operand, group = net[0], net[1]
    for e in range(len(operand)):
        to_send[group[e]] += weight[operand[e]]
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


@compiled
def decide_forced(net: Any, weight: Any, group_weight: Any, is_open: Any, choice: Any) -> None:
    """Decide what is clear whatever the rest is; linear in the pairs.

    * Operands that together cost no more than what their group combines to are sent.
    * An operand that costs more than what all its groups combine to is not: they are combined.

    ``is_open`` bool[O] (true where something is to be paid) and ``choice`` uint8[G] (zeros) are the result.
    """
    to_send, to_combine = np.zeros(len(choice), np.int64), np.zeros(len(is_open), np.int64)
    groups, operands = np.empty(len(choice), np.int32), np.empty(len(is_open), np.int32)
    num_groups, num_operands = _count_waiting(
        net, weight, group_weight, to_send, to_combine, groups, operands
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


@compiled
def open_pairs(
    net: Any, is_open: Any, choice: Any, operands: Any, groups: Any, operand: Any, group: Any
) -> Any:
    """Number what is not decided; return the numbers of operands, groups and pairs.

    Args:
        net: All pairs.
        is_open: bool[O].
        choice: uint8[G].
        operands: int32[O], result: operands of the pairs that are not decided.
        groups: int32[G], result: their groups.
        operand: int32[E], result: of each such pair, which of ``operands``.
        group: int32[E], result: which of ``groups``.
    """
    number = np.full(len(is_open), _NONE, np.int32)
    group_number = np.full(len(choice), _NONE, np.int32)
    n, m, pairs = 0, 0, 0
    for e in range(len(net[0])):
        i, j = net[0][e], net[1][e]
        if not is_open[i] or choice[j] != OPEN:
            continue
        if number[i] < 0:
            number[i], operands[n] = n, i
            n += 1
        if group_number[j] < 0:
            group_number[j], groups[m] = m, j
            m += 1
        operand[pairs], group[pairs] = number[i], group_number[j]
        pairs += 1
    return n, m, pairs


@compiled
def _push(
    e: Any, net: Any, supply: Any, demand: Any, flow: Any, degrees: Any, todo: Any, waiting: Any
) -> Any:
    """Let as much flow as there is through pair ``e``; return how many vertices have one neighbour left.

    What is used up is taken from its neighbours. Groups are numbered behind the operands in ``todo``.
    """
    operand, group, operand_ptr, pair_of_operand, group_ptr, pair_of_group = net
    degree, group_degree = degrees
    i, j = operand[e], group[e]
    amount = min(supply[i], demand[j])
    flow[e] += amount
    supply[i] -= amount
    demand[j] -= amount
    if supply[i] == 0:
        for at in range(operand_ptr[i], operand_ptr[i + 1]):
            other = group[pair_of_operand[at]]
            group_degree[other] -= 1
            if group_degree[other] == 1:
                todo[waiting] = len(supply) + other
                waiting += 1
    if demand[j] == 0:
        for at in range(group_ptr[j], group_ptr[j + 1]):
            other = operand[pair_of_group[at]]
            degree[other] -= 1
            if degree[other] == 1:
                todo[waiting] = other
                waiting += 1
    return waiting


@compiled
def _next_pair(at: Any, last: Any, pairs: Any, ends: Any, left: Any) -> Any:
    """First place from ``at`` on whose pair ends where something is left, ``last`` for none."""
    while at < last and left[ends[pairs[at]]] == 0:
        at += 1
    return at


@compiled
def _push_last(net: Any, supply: Any, demand: Any, flow: Any, degrees: Any, todo: Any, waiting: Any) -> None:
    """Let flow through pairs that are the last of one of their ends, as long as there are any."""
    operand, group, operand_ptr, pair_of_operand, group_ptr, pair_of_group = net
    n = len(supply)
    while waiting:
        waiting -= 1
        v = todo[waiting]
        if v < n:
            last = operand_ptr[v + 1] if supply[v] > 0 else np.int64(0)
            at = _next_pair(operand_ptr[v], last, pair_of_operand, group, demand)
            pairs = pair_of_operand
        else:
            last = group_ptr[v - n + 1] if demand[v - n] > 0 else np.int64(0)
            at = _next_pair(group_ptr[v - n], last, pair_of_group, operand, supply)
            pairs = pair_of_group
        if at < last:
            waiting = _push(pairs[at], net, supply, demand, flow, degrees, todo, waiting)


@compiled
def greedy_flow(net: Any, supply: Any, demand: Any, flow: Any) -> None:
    """Let flow through pairs that are the last of one of their ends while there are any, then through others.

    Reference: Karp, Sipser, Maximum matchings in sparse random graphs, FOCS 1981; here with weights.
    """
    group, operand_ptr, pair_of_operand, group_ptr = net[1], net[2], net[3], net[4]
    degrees = operand_ptr[1:] - operand_ptr[:-1], group_ptr[1:] - group_ptr[:-1]
    todo = np.empty(len(supply) + len(demand) + 1, np.int64)  # each comes down to one neighbour once
    waiting = 0
    for j in range(len(demand)):
        if degrees[1][j] == 1:
            todo[waiting] = len(supply) + j
            waiting += 1
    for i in range(len(supply)):
        if degrees[0][i] == 1:
            todo[waiting] = i
            waiting += 1
    _push_last(net, supply, demand, flow, degrees, todo, waiting)
    for i in range(len(supply)):
        at, last = operand_ptr[i], operand_ptr[i + 1]
        while supply[i] > 0:
            at = _next_pair(at, last, pair_of_operand, group, demand)
            if at == last:
                break
            waiting = _push(pair_of_operand[at], net, supply, demand, flow, degrees, todo, 0)
            _push_last(net, supply, demand, flow, degrees, todo, waiting)


@compiled
def layer(net: Any, supply: Any, demand: Any, flow: Any, level: Any, group_level: Any, queue: Any) -> Any:
    """Number the steps from operands with supply left; return whether a group with demand left is reached.

    More may flow from an operand to each of its groups, and from a group back to operands it flows from.
    Levels of what is not reached are -1. If no such group is reached, everything that can be is.

    ``queue`` is int64[O], scratch space.
    """
    operand, group, operand_ptr, pair_of_operand, group_ptr, pair_of_group = net
    level[:], group_level[:] = _NONE, _NONE
    count, is_reached = 0, False
    for i in range(len(supply)):
        if supply[i] > 0:
            level[i] = 0
            queue[count] = i
            count += 1
    at = 0
    while at < count:
        i = queue[at]
        at += 1
        for k in range(operand_ptr[i], operand_ptr[i + 1]):
            j = group[pair_of_operand[k]]
            if group_level[j] >= 0:
                continue
            group_level[j] = level[i] + 1
            is_reached |= demand[j] > 0
            for h in range(group_ptr[j], group_ptr[j + 1]):
                back = operand[pair_of_group[h]]
                if flow[pair_of_group[h]] > 0 and level[back] < 0:
                    level[back] = level[i] + 2
                    queue[count] = back
                    count += 1
    return is_reached


@compiled
def _deeper(i: Any, net: Any, flow: Any, level: Any, group_level: Any, at: Any, group_at: Any, path: Any,
            demand: Any) -> Any:  # fmt: skip
    """Extend a path from operand ``i`` to a group with demand left; return its length, 0 for none.

    ``path`` becomes pairs, there and back in turn. ``at`` and ``group_at`` are where each vertex goes on.
    """
    operand, group, operand_ptr, pair_of_operand, group_ptr, pair_of_group = net
    length = 0
    while True:
        if at[i] < operand_ptr[i + 1]:
            e = pair_of_operand[at[i]]
            j = group[e]
            if group_level[j] != level[i] + 1:
                at[i] += 1
                continue
            path[length] = e
            if demand[j] > 0:
                return length + 1
            while group_at[j] < group_ptr[j + 1]:
                e = pair_of_group[group_at[j]]
                if flow[e] > 0 and level[operand[e]] == group_level[j] + 1:
                    break
                group_at[j] += 1
            if group_at[j] == group_ptr[j + 1]:
                at[i] += 1
                continue
            path[length + 1] = e
            length += 2
            i = operand[e]
        elif length == 0:
            return 0
        else:
            j = group[path[length - 1]]
            group_at[j] += 1
            length -= 2
            i = operand[path[length]]


@compiled
def augment(net: Any, supply: Any, demand: Any, flow: Any, level: Any, group_level: Any) -> None:
    """Let flow along paths of ascending levels until there are none.

    Reference: Dinic, Algorithm for solution of a problem of maximum flow, 1970; for equal weights this is
    Hopcroft and Karp's matching.
    """
    group = net[1]
    at, group_at = net[2][:-1].copy(), net[4][:-1].copy()
    path = np.empty(2 * len(supply) + 2, np.int64)
    for i in range(len(supply)):
        while supply[i] > 0:
            length = _deeper(i, net, flow, level, group_level, at, group_at, path, demand)
            if length == 0:
                break
            end = group[path[length - 1]]
            amount = min(supply[i], demand[end])
            for k in range(1, length, 2):
                amount = min(amount, flow[path[k]])
            for k in range(length):
                flow[path[k]] += amount if k % 2 == 0 else -amount
            supply[i] -= amount
            demand[end] -= amount
