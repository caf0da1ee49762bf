"""Send the operands, or combine them and send the sum: the cheapest choice for all reductions together.

Input: operands (with the bytes of sending each) and groups of terms (with the bytes of sending what they
combine to). Output: which groups are combined. An operand is paid for once, however many groups read it, so
the choices depend on each other: for each operand of each group, it is sent or the group is combined. That is
a vertex cover of least weight in a bipartite graph, which equals a minimum cut, and a maximum matching where
all weights are equal (König's theorem: Papadimitriou, Steiglitz, Combinatorial Optimization, 1982, ch. 10).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from commanalyzer.communication import cover_kernels as kernels
from commanalyzer.compiled import frozen
from commanalyzer.vcg.graph import Bool, Int32, Int64

Pairs = Int32 | Int64


def groups_to_combine(operand_bytes: Int64, group_bytes: Int64, operand: Pairs, group: Pairs) -> Bool:
    """Return bool[G]: the groups to combine; the operands of all others are sent. Fewest groups on a tie.

    Most choices are forced, one by another; only what they leave open takes a maximum flow.

    Args:
        operand_bytes: int64[O], bytes of sending each operand, >= 0.
        group_bytes: int64[G], bytes of sending what each group combines to, > 0.
        operand: int32[E] or int64[E], operand of each distinct pair.
        group: int32[E] or int64[E], group of each pair.
    """
    is_open = operand_bytes > 0
    choice = np.zeros(len(group_bytes), np.uint8)
    net = _net(operand, group, len(operand_bytes), len(group_bytes))
    kernels.decide_forced(
        net, frozen(operand_bytes, np.int64), frozen(group_bytes, np.int64), is_open, choice
    )
    operands, groups = np.empty(len(is_open), np.int32), np.empty(len(choice), np.int32)
    ends = np.empty(len(operand), np.int32), np.empty(len(group), np.int32)
    sizes = kernels.open_pairs(net, is_open, choice, operands, groups, *ends)
    operands, groups = operands[: sizes[0]], groups[: sizes[1]]
    operand, group = (end[: sizes[2]] for end in ends)
    reached = _reached(operand_bytes[operands], group_bytes[groups], operand, group)
    choice[groups[reached]] = kernels.COMBINED
    return np.asarray(choice == kernels.COMBINED)


def sparse_table(vertex: Int32 | Int64, count: int) -> tuple[Int64, Int32]:
    """Return int64[count + 1] and int32[E], read-only: where pairs of each vertex begin, and the pairs."""
    pointer, pairs = np.zeros(count + 1, np.int64), np.empty(len(vertex), np.int32)
    kernels.sparse_table(frozen(vertex, np.int32), pointer, pairs)
    return frozen(pointer, np.int64), frozen(pairs, np.int32)


def _net(operand: Pairs, group: Pairs, operands: int, groups: int) -> tuple[NDArray[np.signedinteger], ...]:
    """Pairs, and tables of the pairs of each side."""
    return (
        frozen(operand, np.int32),
        frozen(group, np.int32),
        *sparse_table(operand, operands),
        *sparse_table(group, groups),
    )


def _reached(supply: Int64, demand: Int64, operand: Int32, group: Int32) -> Bool:
    """Return bool[G]: groups on the operands' side of the least cut that is nearest to them."""
    net = _net(operand, group, len(supply), len(demand))
    supply, demand, flow = supply.copy(), demand.copy(), np.zeros(len(operand), np.int64)
    kernels.greedy_flow(net, supply, demand, flow)
    level, queue = np.empty(len(supply), np.int32), np.empty(len(supply), np.int64)
    group_level = np.empty(len(demand), np.int32)
    while kernels.layer(net, supply, demand, flow, level, group_level, queue):
        kernels.augment(net, supply, demand, flow, level, group_level)
    return np.asarray(group_level >= 0)
