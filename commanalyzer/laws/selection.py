"""Selection: candidates with their errors of prediction -> the formula to use and those as good as it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from commanalyzer.laws.law import Family, Formula
from commanalyzer.laws.regression import Errors, Problem
from commanalyzer.laws.terms import Floats, Term, term_complexity

MOST_ALTERNATIVES = 8
_EXACT = 1e-6  # relative: a fitted value may be below 0 by that
_NEGLIGIBLE = 3e-4  # relative error below which laws are equally good
_TINY_TERM = 1e-6  # relative: a term that adds less to every row is none
_LEAST_CHOICES = 100  # the values of a free exponent
_NEAR = 2.0  # standard errors
_PRICE = 0.1  # of the score, per unit of complexity


@dataclass(frozen=True, slots=True)
class Candidate:
    """A fitted sum of terms before it is chosen.

    Attributes:
        formula: The sum.
        score: Mean squared relative error of prediction.
        spread: Standard error of the score.
        cost: What counts as its number of terms.
        num_choices: Terms it was chosen from.
    """

    formula: Formula
    score: float
    spread: float
    cost: int
    num_choices: int


def candidates_of(
    family: Family, terms: Sequence[Term], problem: Problem, errors: Errors, free: int = 0
) -> Iterator[Candidate]:
    """Candidates that can be used: of full rank, nowhere negative in the data, with terms that all matter.

    Args:
        family: Of the terms.
        terms: float64[N, M] of ``problem`` has a column for each.
        problem: Data.
        errors: Of the candidates.
        free: Exponents that were fitted besides the coefficients.
    """
    table = problem.table[:, errors.chosen]
    least_share = (np.abs(table) * np.abs(errors.coefficients)).max(axis=0).min(axis=1)
    usable = np.isfinite(errors.score) & (errors.lowest >= -_EXACT) & (least_share > _TINY_TERM)
    if not usable.any():
        return
    cut = np.sort(errors.score[usable])[: 4 * MOST_ALTERNATIVES][-1]
    for index in np.flatnonzero(usable & (errors.score <= cut)).tolist():  # a few dozen per family
        columns = problem.table[:, errors.chosen[index]]
        degrees = max(len(columns) - columns.shape[1], 0)
        variance = float(errors.rss[index]) / degrees if degrees else 0.0
        formula = Formula(
            family=family,
            terms=tuple(terms[column] for column in errors.chosen[index].tolist()),
            coefficients=tuple(errors.coefficients[index].tolist()),
            loo_error=float(np.sqrt(errors.score[index])),
            holdout_error=float(errors.holdout[index]),
            residual_error=float(np.sqrt(variance)),
            covariance=tuple((variance * np.linalg.pinv(columns.T @ columns)).ravel().tolist()),
            degrees_of_freedom=degrees,
        )
        score, spread = float(errors.score[index]), float(errors.spread[index])
        yield Candidate(formula, score, spread, len(formula.terms) + free, max(len(terms), _LEAST_CHOICES))


def choose(found: Sequence[Candidate], num_points: int) -> list[Formula]:
    """The formula to use, then others of as many terms that predict as well.

    The formula with the least N log(score) + 2 k log(M) is used: N points, k terms chosen out of M. The
    price of a term is that of the extended Bayesian information criterion (J. Chen, Z. Chen, Biometrika 95,
    2008), because the best of many thousand sums looks better than it is; exact data overcome it easily.
    Unusual exponents make a score a little worse. As well predicts what is within two standard errors of
    the best score.
    """
    if not found:
        return []

    def criterion(candidate: Candidate) -> float:
        price = 1.0 + _PRICE * sum(map(term_complexity, candidate.formula.terms))
        error = (candidate.score + _NEGLIGIBLE**2) * price
        return float(num_points * np.log(error) + 2 * candidate.cost * np.log(candidate.num_choices))

    leader = min(found, key=criterion)
    rivals = [c for c in found if c.cost == leader.cost]
    best = min(rivals, key=lambda c: c.score)
    near = [c for c in rivals if c.score <= best.score + _NEAR * best.spread + _NEGLIGIBLE**2]
    ordered: list[Formula] = []
    for candidate in sorted(near, key=criterion):
        if all(set(candidate.formula.terms) != set(other.terms) for other in ordered):
            ordered.append(candidate.formula)
    return ordered[: 1 + MOST_ALTERNATIVES]


def constant(y: Floats) -> Formula:
    """The mean of a metric that depends on nothing, or on nothing that could be found."""
    level = float(y.mean())
    spread = float(y.std() / level) if level else 0.0
    return Formula("lattice", ((),), (level,), spread, spread, spread, (), len(y) - 1)
