"""Least weight of sent operands and combined groups: small cases by hand and by trying all choices."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import maximum_flow

from commanalyzer.communication.combining.reductions import groups_to_combine

Pairs = set[tuple[int, int]]


def combine(operand_bytes: list[int], group_bytes: list[int], pairs: Pairs) -> list[bool]:
    ends = np.array(sorted(pairs, key=lambda pair: pair[::-1]), dtype=np.int64).reshape(-1, 2)
    weights = (np.array(operand_bytes, dtype=np.int64), np.array(group_bytes, dtype=np.int64))
    return [bool(c) for c in groups_to_combine(*weights, ends[:, 0], ends[:, 1])]


def cost(operand_bytes: list[int], group_bytes: list[int], pairs: Pairs, combined: list[bool]) -> int:
    sent = {operand for operand, group in pairs if not combined[group]}
    return sum(operand_bytes[o] for o in sent) + sum(
        b for b, c in zip(group_bytes, combined, strict=True) if c
    )


@pytest.mark.parametrize("unit", [1, 2**33, 2**33 + 1])
def test_weights_beyond_32_bits(unit: int) -> None:
    shared = set(product(range(2), range(2)))  # sent: 6 units, both combined: 10
    assert combine([3 * unit] * 2, [5 * unit] * 2, shared) == [False, False]
    assert combine([3 * unit] * 2, [4 * unit, unit], {(0, 0), (1, 0), (1, 1)}) == [True, True]


@pytest.mark.parametrize("seed", range(6))
def test_cost_is_the_largest_flow(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = (300, 250)
    group, operand = np.nonzero((0.006, 0.012, 0.03)[seed % 3] > rng.random(shape).T)
    operand_bytes, group_bytes = 8 * rng.integers(0, 9, shape[0]), 8 * rng.integers(1, 9, shape[1])
    combined = groups_to_combine(operand_bytes, group_bytes, operand, group)
    source = shape[0] + shape[1]
    tail = np.concatenate((np.full(shape[0], source), operand, np.arange(shape[0], source)))
    head = np.concatenate((np.arange(shape[0]), shape[0] + group, np.full(shape[1], source + 1)))
    endless = np.full(len(operand), 1 << 20)
    capacity = np.concatenate((operand_bytes, endless, group_bytes)).astype(np.int32)
    network = csr_array(coo_array((capacity, (tail, head)), shape=(source + 2, source + 2)))
    sent = np.zeros(shape[0], np.bool_)
    sent[operand[~combined[group]]] = True
    least = operand_bytes[sent].sum() + group_bytes[combined].sum()
    assert least == maximum_flow(network, source, source + 1).flow_value


_NEAR_ONE = st.sampled_from([1, 1, 1, 2, 3])


@given(st.data(), st.integers(1, 6), st.integers(1, 6), st.booleans())
@settings(max_examples=300, deadline=None)
def test_is_the_minimum_with_fewest_groups(
    data: st.DataObject, operands: int, groups: int, equal: bool
) -> None:
    weight = st.just(8) if equal else _NEAR_ONE.map(lambda n: 4 * n)
    operand_bytes = data.draw(st.lists(weight, min_size=operands, max_size=operands))
    group_bytes = data.draw(st.lists(weight, min_size=groups, max_size=groups))
    pair = st.tuples(st.integers(0, operands - 1), st.integers(0, groups - 1))
    pairs = (
        data.draw(st.sets(pair, min_size=operands + groups))
        if operands * groups >= operands + groups
        else {(0, 0)}
    )
    found = combine(operand_bytes, group_bytes, pairs)
    best = min(
        (cost(operand_bytes, group_bytes, pairs, list(choice)), sum(choice))
        for choice in product((False, True), repeat=groups)
    )
    assert (cost(operand_bytes, group_bytes, pairs, found), sum(found)) == best


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_operands_of_one_group_may_be_added_up(data: st.DataObject) -> None:
    num_operands, num_groups = data.draw(st.integers(1, 8)), data.draw(st.integers(1, 5))
    weights = st.integers(0, 4).map(lambda w: 8 * w)
    operand_bytes = np.array([data.draw(weights) for _ in range(num_operands)])
    group_bytes = np.array([data.draw(weights) + 8 for _ in range(num_groups)])
    group, operand = np.nonzero(
        [[data.draw(st.booleans()) for _ in range(num_operands)] for _ in range(num_groups)]
    )
    expected = groups_to_combine(operand_bytes, group_bytes, operand, group)
    is_own = np.bincount(operand, minlength=num_operands) == 1
    own = is_own[operand]
    own_bytes = np.bincount(group[own], operand_bytes[operand[own]], num_groups).astype(np.int64)
    left = np.where(is_own, 0, operand_bytes)
    found = groups_to_combine(left, group_bytes, operand[~own], group[~own], own_bytes=own_bytes)
    assert found.tolist() == expected.tolist()
