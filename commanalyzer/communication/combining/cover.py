"""Send the operands, or combine them and send the sum: the cheapest choice for all reductions together.

Input: operands (with the bytes of sending each) and groups of terms (with the bytes of sending what they
combine to). Output: which groups are combined. An operand is paid for once, however many groups read it, so
the choices depend on each other: for each operand of each group, it is sent or the group is combined. That is
a vertex cover of least weight in a bipartite graph, which equals a minimum cut, and a maximum matching where
all weights are equal (König's theorem: Papadimitriou, Steiglitz, Combinatorial Optimization, 1982, ch. 10).
"""

from __future__ import annotations

import numpy as np

from commanalyzer.communication.combining import cover_kernels as kernels
from commanalyzer.foundation.compiled import frozen
from commanalyzer.graph.structure.segments import order_by, pointer_from_counts
from commanalyzer.graph.value_graph import Bool, Int32, Int64

Pairs = Int32 | Int64
Net = tuple[Int32, Int32, Int64, Int64, Int32, Int32]
"""Pairs and their tables; see :mod:`commanalyzer.communication.combining.cover_kernels`."""


def groups_to_combine(
    operand_bytes: Int64,
    group_bytes: Int64,
    operand: Pairs,
    group: Pairs,
    *,
    own_bytes: Int64 | None = None,
) -> Bool:
    """Return bool[G]: the groups to combine; the operands of all others are sent. Fewest groups on a tie.

    Args:
        operand_bytes: int64[O], bytes of sending each operand, >= 0.
        group_bytes: int64[G], bytes of sending what each group combines to, > 0.
        operand: int32[E] or int64[E], operand of each pair; pairs may be repeated.
        group: int32[E] or int64[E], group of each pair, ascending.
        own_bytes: int64[G], bytes of sending more operands, which no other group reads; None for none.
    """
    # What only one group reads is cheaper to send than to combine: it takes its share of what may flow.
    demand = group_bytes.astype(np.int64) if own_bytes is None else group_bytes - own_bytes
    combined = demand < 0
    is_open = ~combined[group]
    net = _net(operand[is_open], group[is_open], len(operand_bytes), len(combined))
    return combined | _reached(net, operand_bytes.astype(np.int64), np.maximum(demand, 0))


def _net(operand: Pairs, group: Pairs, operands: int, groups: int) -> Net:
    """Pairs, and where those of each side are."""
    group = group.astype(np.int32, copy=False)
    operand_ptr, slot_pair = order_by(operand, operands)
    return (
        frozen(operand, np.int32),
        frozen(group, np.int32),
        frozen(pointer_from_counts(np.bincount(group, minlength=groups)), np.int64),
        frozen(operand_ptr, np.int64),
        frozen(slot_pair, np.int32),
        frozen(group[slot_pair], np.int32),
    )


def _reached(net: Net, supply: Int64, demand: Int64) -> Bool:
    """Return bool[G]: groups on the operands' side of the least cut that is nearest to them.

    ``supply`` int64[O] and ``demand`` int64[G], what may flow, are used up.
    """
    operands, flow = len(supply), np.zeros(len(net[0]), np.int64)
    path = np.empty(2 * operands + 2, np.int64)  # what is not used takes no memory
    level, queue = np.empty(operands, np.int32), np.empty(operands, np.int64)
    group_level = np.empty(len(demand), np.int32)
    while kernels.layer(net, supply, demand, flow, level, group_level, queue):
        places = net[3][:-1].copy(), net[2][:-1].copy()
        kernels.augment(net, supply, demand, flow, level, group_level, places, path)
    return np.asarray(group_level >= 0)
