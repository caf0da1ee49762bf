"""Errors of prediction against fits that really leave rows out; best subsets against all of them."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from commanalyzer.profiles.extrapolation.fitting import folds, proposer, read_terms
from commanalyzer.scaling.laws.formula import formula_text
from commanalyzer.scaling.laws.law import Formula
from commanalyzer.scaling.laws.regression import Problem, prediction_errors
from commanalyzer.scaling.laws.selection import Criterion, Search, fit_terms, select_forward

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


NAMES = ("n", "p")
X = np.array([[n, p] for n in (32, 64, 96, 128) for p in (2, 4, 8, 9, 16, 27)], dtype=np.float64)
MAINS = read_terms(("n", "n**2", "n**3", "sqrt(p)", "cbrt(p)", "p"), NAMES)
PROPOSE = proposer(MAINS, (1,), "all")
CRITERIA: Sequence[Criterion] = ("ten-fold", "leave-one-out", "bic", "adjusted-r2")


def search(criterion: Criterion, powers: tuple[float, ...] = (0.0, 0.5, 1.0, 2.0)) -> Search:
    return Search(criterion, tuple(folds(X)) if criterion == "ten-fold" else (), powers)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_exact_data_give_the_sum_itself(criterion: Criterion) -> None:
    y = 7 * X[:, 0] ** 3 / X[:, 1] + 5 * X[:, 0] ** 2 + 300
    found = select_forward(X, y, PROPOSE, search(criterion))
    assert found is not None
    assert formula_text(found, NAMES) == "7 p^-1 n^3 + 5 n^2 + 300"


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0, 2.0])
def test_weights_are_those_of_weighted_least_squares(power: float) -> None:
    generator = np.random.default_rng(1)
    y = (3 * X[:, 0] + 20) * (1 + 0.1 * generator.standard_normal(len(X)))
    found = fit_terms(X, y, ((), MAINS[0]), Search("bic", (), (power,)))
    assert found is not None
    weights = np.sqrt(y**-power)
    table = np.column_stack((np.ones(len(X)), X[:, 0]))
    expected = np.linalg.lstsq(table * weights[:, None], y * weights, rcond=None)[0]
    assert found.coefficients == pytest.approx(expected.tolist(), rel=1e-9)


def test_noise_alone_stays_a_constant() -> None:
    generator = np.random.default_rng(2)
    wrong = 0
    for _ in range(20):
        y = 100 * (1 + 0.02 * generator.standard_normal(len(X)))
        found = select_forward(X, y, PROPOSE, search("bic", (2.0,)))
        wrong += found is None or found.terms != ((),)
    assert wrong <= 3  # 5 % of 20 is one; four or more have a probability of 1.6 %


def test_sums_that_are_not_accepted_are_not_chosen() -> None:
    y = 50 + X[:, 0] ** 2

    def accepts(formula: Formula) -> bool:
        return all(f.exponent <= 1 for t in formula.terms for f in t if f.parameter == 0)

    found = select_forward(X, y, PROPOSE, Search("bic", (), (2.0,), accepts))
    assert found is not None
    assert accepts(found)
    assert any(f.parameter == 0 for t in found.terms for f in t)
