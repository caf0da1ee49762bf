"""Relabelling of parts: exact for few, planted permutations for many."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from commanalyzer.result.comparison.compare import EXACT_PARTS, best_relabelling, reorder

Matrix = NDArray[np.int64]


@st.composite
def matrices(draw: st.DrawFn) -> tuple[Matrix, Matrix]:
    p = draw(st.integers(1, 5))
    seed = draw(st.integers(0, 10_000))
    found = np.random.default_rng(seed).integers(0, 9, (2, p, p))
    found[:, np.arange(p), np.arange(p)] = 0
    return found[0], found[1]


def _agreement(predicted: Matrix, counted: Matrix) -> float:
    total = int(predicted.sum() + counted.sum())
    return 2 * int(np.minimum(predicted, counted).sum()) / total if total else 1.0


@given(matrices())
def test_few_parts_get_the_best_of_all_numberings(pair: tuple[Matrix, Matrix]) -> None:
    predicted, counted = pair
    found = best_relabelling(predicted, counted)
    orders = itertools.permutations(range(len(counted)))
    best = max(_agreement(reorder(predicted, np.array(order)), counted) for order in orders)
    assert found.is_exact
    assert found.agreement == best == _agreement(reorder(predicted, found.order), counted)


def _grid(*shape: int) -> Matrix:
    """Neighbours of a grid of blocks send each other 1000 bytes."""
    index = np.arange(int(np.prod(shape))).reshape(shape)
    found = np.zeros((index.size, index.size), dtype=np.int64)
    for axis in range(len(shape)):
        lower = np.moveaxis(index, axis, 0)[:-1].ravel()
        upper = np.moveaxis(index, axis, 0)[1:].ravel()
        found[lower, upper] = found[upper, lower] = 1000
    return found


@pytest.mark.parametrize("shape", [(8,), (4, 4), (3, 3, 3), (27,), (8, 8), (4, 4, 4)])
def test_hidden_numberings_of_grids_are_found(shape: tuple[int, ...]) -> None:
    counted = _grid(*shape)
    p = len(counted)
    assert p > EXACT_PARTS
    hidden = np.random.default_rng(p).permutation(p)
    found = best_relabelling(reorder(counted, hidden), counted)
    assert found.agreement == 1.0
    assert not found.is_exact
    assert sorted(found.order.tolist()) == list(range(p))


def test_parts_keep_their_numbers_where_nothing_is_gained() -> None:
    same = np.array([[0, 5, 0], [5, 0, 5], [0, 5, 0]])
    assert best_relabelling(same, same).order.tolist() == [0, 1, 2]


def test_disjoint_and_empty_matrices() -> None:
    none = np.zeros((2, 2), dtype=np.int64)
    some = np.array([[0, 7], [0, 0]])
    assert best_relabelling(none, none).agreement == 1.0
    assert best_relabelling(none, some).agreement == 0.0
