"""Errors of prediction against fits that really leave rows out; best subsets against all of them."""

from itertools import combinations

import numpy as np
import pytest
import scipy.optimize
from numpy.typing import NDArray

from commanalyzer.scaling.laws.regression import Problem, all_pairs, best_subsets, extended, prediction_errors

RNG = np.random.default_rng(7)
TABLE = RNG.uniform(0.5, 2.0, (12, 6))
TARGET = RNG.uniform(0.5, 1.5, 12)
HELD = np.arange(12) >= 9


def _fit(rows: NDArray[np.bool_], chosen: list[int]) -> NDArray[np.float64]:
    return np.asarray(np.linalg.lstsq(TABLE[rows][:, chosen], TARGET[rows], rcond=None)[0])


def test_prediction_errors_are_those_of_leaving_rows_out() -> None:
    chosen = [0, 3, 4]
    errors = prediction_errors(Problem(TABLE, TARGET, (HELD,)), np.array([chosen]))
    everything = np.full(12, True)
    alone = []
    for row in range(12):
        rest = everything.copy()
        rest[row] = False
        alone.append((TARGET[row] - TABLE[row, chosen] @ _fit(rest, chosen)) ** 2)
    held = (TARGET[HELD] - TABLE[HELD][:, chosen] @ _fit(~HELD, chosen)) ** 2
    assert errors.score[0] == pytest.approx((np.mean(alone) + held.mean()) / 2, rel=1e-9)
    assert errors.holdout[0] == pytest.approx(np.sqrt(held.mean()), rel=1e-9)
    assert errors.coefficients[0] == pytest.approx(_fit(everything, chosen), rel=1e-9)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_best_subsets_are_the_best(size: int) -> None:
    subsets = np.array(list(combinations(range(6), size)))
    everything = np.full(12, True)
    rss = [((TARGET - TABLE[:, s] @ _fit(everything, list(s))) ** 2).sum() for s in subsets]
    best = best_subsets(Problem(TABLE, TARGET, ()), subsets, 3, positive=False)
    assert best.tolist() == subsets[np.argsort(rss)[:3]].tolist()


def test_positive_subsets_contain_the_nonnegative_least_squares() -> None:
    target = TABLE[:, 1] + 0.5 * TABLE[:, 4] - 0.3 * TABLE[:, 2]
    solution, _ = scipy.optimize.nnls(TABLE, target)
    support = np.flatnonzero(solution > 0)
    unconstrained = np.linalg.lstsq(TABLE, target, rcond=None)[0]
    assert (unconstrained < -0.1).any() and 1 <= len(support) <= 3  # else the sample proves nothing
    subsets = np.array(list(combinations(range(6), len(support))))
    best = best_subsets(Problem(TABLE, target, ()), subsets, 1, positive=True)
    assert best[0].tolist() == support.tolist()


def test_extended_pairs_are_all_triples_once() -> None:
    triples = extended(all_pairs(5), 5)
    assert triples.tolist() == [list(t) for t in combinations(range(5), 3)]
