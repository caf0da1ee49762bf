"""Send the operands, or combine them and send the sum: the cheapest choice for all reductions together.

Input: operands (with the bytes of sending each) and groups of terms (with the bytes of sending what they
combine to). Output: which groups are combined. An operand is paid for once, however many groups read it, so
the choices depend on each other: for each operand of each group, it is sent or the group is combined. That is
a vertex cover of least weight in a bipartite graph, which equals a minimum cut, and a maximum matching where
all weights are equal (König's theorem: Papadimitriou, Steiglitz, Combinatorial Optimization, 1982, ch. 10).
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import breadth_first_order, maximum_bipartite_matching, maximum_flow

from commanalyzer.vcg.graph import Bool, Int32, Int64

_MOST_PAIRS = 1_000_000
_MOST_FLOW = 2**31 - 2  # scipy's flows are 32-bit


def groups_to_combine(operand_bytes: Int64, group_bytes: Int64, operand: Int64, group: Int64) -> Bool:
    """Return bool[G]: the groups to combine; the operands of all others are sent. Fewest groups on a tie.

    Of more than a million pairs that are not decided one by one, all groups are combined: a matching would
    take longer than finding the division. In dense problems like these that is near the minimum.

    Args:
        operand_bytes: int64[O], bytes of sending each operand, >= 0.
        group_bytes: int64[G], bytes of sending what each group combines to, > 0.
        operand: int64[E], operand of each distinct pair.
        group: int64[E], group of each pair.
    """
    combined = np.zeros(len(group_bytes), dtype=np.bool_)
    left, operand, group = _undecided(operand_bytes, group_bytes, operand, group)
    if len(operand) == 0:
        return combined
    operands, operand = np.unique(operand, return_inverse=True)
    groups, group = np.unique(group, return_inverse=True)
    is_small = len(operand) <= _MOST_PAIRS
    combined[groups] = not is_small or _on_the_operands_side(
        left[operands], group_bytes[groups], operand, group
    )
    return combined


def _undecided(
    operand_bytes: Int64, group_bytes: Int64, operand: Int64, group: Int64
) -> tuple[Int64, Int64, Int64]:
    """Return what is left to pay for each operand, and the pairs of groups that are not decided.

    A group whose operands together cost no more than what it combines to is best expanded, whatever happens
    elsewhere. Its operands are then free for others, which may decide these: nearly all of a mesh.
    """
    left = operand_bytes.copy()
    while True:
        pays = left[operand] > 0
        operand, group = operand[pays], group[pays]
        total = np.bincount(group, left[operand], len(group_bytes))
        expands = (total <= group_bytes)[group]
        if not expands.any():
            return left, operand, group
        left[operand[expands]] = 0


def _on_the_operands_side(operand_bytes: Int64, group_bytes: Int64, operand: Int64, group: Int64) -> Bool:
    """Return bool[G]: groups on the side of the operands in the minimum cut that is nearest to them."""
    supply, demand = _in_32_bits(operand_bytes, group_bytes)
    num_operands = len(operand_bytes)
    source = num_operands + len(group_bytes)
    find = _residual_of_matching if supply.max() == demand.max() == 1 else _residual_of_flow
    reached = np.zeros(source + 2, dtype=np.bool_)
    residual = find(supply, demand, operand, num_operands + group)
    reached[breadth_first_order(residual, source, return_predecessors=False)] = True
    return reached[num_operands:source]


def _residual_of_matching(supply: Int64, demand: Int64, operand: Int64, group: Int64) -> csr_array:
    """Return the edges along which more could flow if every operand and group carries one."""
    num_operands, source = len(supply), len(supply) + len(demand)
    pairs = coo_array((np.ones(len(operand), dtype=np.int8), (operand, group - num_operands)))
    pairs.resize((num_operands, len(demand)))
    mate = maximum_bipartite_matching(csr_array(pairs), perm_type="column")
    free, matched = np.flatnonzero(mate < 0), np.flatnonzero(mate >= 0)
    tail = np.concatenate((np.full(len(free), source), operand, num_operands + mate[matched]))
    head = np.concatenate((free, group, matched))
    return _network(tail, head, np.ones(len(tail), dtype=np.int32), source + 2)


def _residual_of_flow(supply: Int64, demand: Int64, operand: Int64, group: Int64) -> csr_array:
    """Return the edges along which more could flow after a maximum flow from the operands to the groups."""
    num_operands, source = len(supply), len(supply) + len(demand)
    tail = np.concatenate((np.full(num_operands, source), operand, np.arange(num_operands, source)))
    head = np.concatenate((np.arange(num_operands), group, np.full(len(demand), source + 1)))
    endless = np.full(len(operand), int(supply.sum()) + 1, dtype=np.int64)
    network = _network(tail, head, np.concatenate((supply, endless, demand)).astype(np.int32), source + 2)
    residual = csr_array(network - maximum_flow(network, source, source + 1).flow)
    residual.data = np.maximum(residual.data, 0)
    residual.eliminate_zeros()
    return residual


def _network(tail: Int64, head: Int64, capacity: Int32, size: int) -> csr_array:
    ends = (tail.astype(np.int32), head.astype(np.int32))
    return csr_array(coo_array((capacity, ends), shape=(size, size)))


def _in_32_bits(operand_bytes: Int64, group_bytes: Int64) -> tuple[Int64, Int64]:
    """Return the weights in their largest common unit, or rounded up to one that 32 bits can hold."""
    unit = int(np.gcd.reduce(np.concatenate((operand_bytes, group_bytes))))
    most = max(int(operand_bytes.sum()), int(group_bytes.sum())) + len(operand_bytes) + len(group_bytes)
    unit = max(unit, -(-most // _MOST_FLOW))
    return -(-operand_bytes // unit), -(-group_bytes // unit)
