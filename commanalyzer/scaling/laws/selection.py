"""Selection: candidates with their errors of prediction -> the formula to use and those as good as it.

:func:`choose` picks among sums that were all fitted, :func:`select_forward` builds one sum term by term.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from commanalyzer.scaling.laws.law import Family, Formula
from commanalyzer.scaling.laws.regression import NEGLIGIBLE, Errors, Index, Problem, prediction_errors
from commanalyzer.scaling.laws.terms import Floats, Term, columns, term_complexity

Propose: TypeAlias = Callable[[tuple[Term, ...]], Sequence[Term]]
Criterion = Literal["ten-fold", "leave-one-out", "leave-largest-out", "bic", "adjusted-r2"]

MOST_ALTERNATIVES = 24
_EXACT = 1e-6  # relative: a fitted value may be below 0 by that
_TINY_TERM = 1e-6  # relative: a term that adds less to every row is none
_LEAST_CHOICES = 100  # the values of a free exponent
_NEAR = 2.0  # standard errors
_PRICE = 0.1  # of the score, per unit of complexity
SIGNIFICANCE = 0.05  # of a term that is added; the manual's 5 %
_MOST_SELECTED = 10  # terms; more would need more runs than anybody makes
_EXACT_SCORE = 1e-12  # mean squared relative error of exact data


@dataclass(frozen=True, slots=True)
class Fitted:
    """A fitted sum of terms before it is chosen."""

    formula: Formula
    score: float  # mean squared relative error of prediction
    spread: float  # standard error of the score
    cost: int  # what counts as its number of terms
    num_choices: int  # terms it was chosen from


def candidates_of(
    family: Family, terms: Sequence[Term], problem: Problem, errors: Errors, free: int = 0
) -> Iterator[Fitted]:
    """Candidates that can be used: of full rank, nowhere negative in the data, with terms that all matter.

    ``terms`` are those of the columns of the table; ``free`` exponents were fitted besides the coefficients.
    """
    table = problem.table[:, errors.chosen]
    least_share = (np.abs(table) * np.abs(errors.coefficients)).max(axis=0).min(axis=1)
    usable = np.isfinite(errors.score) & (errors.lowest >= -_EXACT) & (least_share > _TINY_TERM)
    if not usable.any():
        return
    cut = np.sort(errors.score[usable])[: 4 * MOST_ALTERNATIVES][-1]
    for index in np.flatnonzero(usable & (errors.score <= cut)).tolist():  # a few dozen per family
        formula = fitted_formula(family, terms, problem, errors, index)
        score, spread = float(errors.score[index]), float(errors.spread[index])
        yield Fitted(formula, score, spread, len(formula.terms) + free, max(len(terms), _LEAST_CHOICES))


def fitted_formula(
    family: Family, terms: Sequence[Term], problem: Problem, errors: Errors, index: int
) -> Formula:
    """Formula of one candidate, with the covariance of its coefficients.

    The rows' relative residuals are taken as equally large; with an emphasis, the coefficients are a linear
    map of the rows, which carries that over.
    """
    chosen, factors = errors.chosen[index], problem.row_factors
    table = problem.table[:, chosen]
    residual = problem.target - table @ errors.coefficients[index]
    degrees = max(len(table) - table.shape[1], 0)
    variance = float((residual**2).sum()) / degrees if degrees else 0.0
    solve = np.linalg.pinv(table * factors[:, None]) * factors
    return Formula(
        family=family,
        terms=tuple(terms[column] for column in chosen.tolist()),
        coefficients=tuple(errors.coefficients[index].tolist()),
        loo_error=float(np.sqrt(errors.score[index])),
        holdout_error=float(errors.holdout[index]),
        residual_error=float(np.sqrt(variance)),
        covariance=tuple((variance * solve @ solve.T).ravel().tolist()),
        degrees_of_freedom=degrees,
    )


def choose(found: Sequence[Fitted], num_points: int, grid: int = 0) -> list[Formula]:
    """The formula to use, then others of up to one term more that predict as well.

    The formula with the least N log(score) + 2 k log(M) is used: N points, k terms chosen out of M. The
    price of a term is that of the extended Bayesian information criterion (J. Chen, Z. Chen, Biometrika 95,
    2008), because the best of many thousand sums looks better than it is; exact data overcome it easily.
    Unusual exponents make a score a little worse; extents of a known ``grid`` (its dimensions) do not. The
    exponents of the normal form are dense and mean nothing: where it leads, the simplest formula within a
    standard error is used. As well predicts what is within two standard errors of the best score, or has no
    more terms and residuals that the leader's region of confidence allows.
    """
    if not found:
        return []

    def complexity(candidate: Fitted) -> float:
        return sum(term_complexity(term, grid) for term in candidate.formula.terms)

    def criterion(candidate: Fitted) -> float:
        error = (candidate.score + NEGLIGIBLE**2) * (1.0 + _PRICE * complexity(candidate))
        return float(num_points * np.log(error) + 2 * candidate.cost * np.log(candidate.num_choices))

    leader = min(found, key=criterion)
    if leader.formula.family == "pmnf":
        equal = [c for c in found if c.cost <= leader.cost and c.score <= leader.score + leader.spread]
        leader = min(equal, key=lambda c: (complexity(c), criterion(c)))
    rivals = [c for c in found if c.cost <= leader.cost + 1]
    best = min(rivals, key=lambda c: c.score)
    most = max(leader.formula.largest_rest, num_points * NEGLIGIBLE**2)
    near = [
        c
        for c in rivals
        if c.score <= best.score + _NEAR * best.spread + NEGLIGIBLE**2
        or (c.cost <= leader.cost and c.formula.rest <= most)
    ]
    ordered: dict[frozenset[Term], Formula] = {}
    for candidate in (leader, *sorted(near, key=criterion)):
        ordered.setdefault(frozenset(candidate.formula.terms), candidate.formula)
    return list(ordered.values())[: 1 + MOST_ALTERNATIVES]


def constant(y: Floats) -> Formula:
    """The mean of a metric that depends on nothing, or on nothing that could be found."""
    level = float(y.mean())
    spread = float(y.std() / level) if level else 0.0
    return Formula("lattice", ((),), (level,), spread, spread, spread, (), len(y) - 1)


@dataclass(frozen=True, slots=True)
class Search:
    """How :func:`select_forward` decides."""

    # What must improve with every term: the error of prediction (of a tenth of the rows from the others, of
    # each row, of the largest values of each parameter), Schwarz's Bayesian information criterion, or the
    # adjusted coefficient of determination
    criterion: Criterion
    holdouts: tuple[NDArray[np.bool_], ...] = ()  # bool[N] each, for the criteria of prediction
    # a row with the metric m has the weight m^-power; the best of several powers is used
    powers: tuple[float, ...] = (2.0,)
    accepts: Callable[[Formula], bool] | None = None  # whether a sum may be chosen; every one may without it
    # The significance is shared among all terms that were tried; else each is tested as if it were the only
    # one
    is_shared: bool = True

    def may_be(self, formula: Formula) -> bool:
        """The sum may be chosen."""
        return self.accepts is None or self.accepts(formula)

    def level(self, errors: Errors, rows: int) -> Floats:
        """float64[C], what must improve, the less the better."""
        if self.criterion not in ("bic", "adjusted-r2"):
            return errors.score + _EXACT_SCORE
        count = errors.chosen.shape[1]
        rss = np.where(np.isfinite(errors.score), errors.rss, np.inf) + rows * _EXACT_SCORE
        if self.criterion == "bic":
            return np.asarray(rows * np.log(rss / rows) + count * np.log(rows))
        return np.asarray(rss / max(rows - count, 1))  # orders like 1 - adjusted R^2


def select_forward(x: Floats, y: Floats, propose: Propose, search: Search) -> Formula | None:
    """Sum of terms that grows by the best term as long as it is significant; ``None`` if none is accepted.

    It starts with the constant. The term that improves the criterion most is added if an F-test calls it
    significant at :data:`SIGNIFICANCE`, shared among all terms that were tried: with hundreds to choose from,
    the best of meaningless terms would pass a test made for one. In the end, terms whose loss does not harm
    the criterion are dropped, the constant among them.

    ``x``: float64[N, K], points; ``y``: float64[N], metric, not negative; ``propose``: terms to try, from
    those that were chosen so far.

    Reference: G. Mariani et al., *Scaling properties of parallel applications to exascale*, IJPP 44(5), 2016
    (forward selection, weights); the shared significance and the last step are not in it.
    """
    found = [f for power in search.powers if (f := _grown(x, y, propose, search, power)) is not None]
    return min(found, key=lambda item: item[0])[1] if found else None


def fit_terms(x: Floats, y: Floats, terms: Sequence[Term], search: Search) -> Formula | None:
    """Coefficients of given terms, with the best of the weights; ``None`` if they cannot be told apart."""
    found: list[tuple[float, Formula]] = []
    for power in search.powers:
        problem = weighted_problem(x, y, terms, search, power)
        errors = prediction_errors(problem, np.arange(len(terms), dtype=np.int64)[None, :])
        if np.isfinite(errors.score[0]):
            formula = fitted_formula("terms", terms, problem, errors, 0)
            found.append((float(errors.score[0]), formula))
    return min(found, key=lambda item: item[0])[1] if found else None


def weighted_problem(x: Floats, y: Floats, terms: Sequence[Term], search: Search, power: float) -> Problem:
    """Rows divided by the metric, with the weights m^-power in a fit."""
    scale = np.maximum(y, y[y > 0].min()) if (y > 0).any() else np.ones(len(y))
    # A row that is divided by m has the weight m^-2 already.
    emphasis = (scale / np.median(scale)) ** (1.0 - power / 2.0)
    with np.errstate(over="ignore", invalid="ignore"):
        table = columns(terms, x) / scale[:, None]
    table = np.where(np.isfinite(table).all(axis=0), table, 0.0)
    return Problem(table, y / scale, search.holdouts, emphasis, search.criterion == "leave-one-out")


def _grown(
    x: Floats, y: Floats, propose: Propose, search: Search, power: float
) -> tuple[float, Formula] | None:
    chosen: tuple[Term, ...] = ((),)
    tried = 1
    while len(chosen) < min(len(y) - 1, _MOST_SELECTED):
        options = [term for term in propose(chosen) if term not in chosen]
        terms = [*chosen, *options]
        problem = weighted_problem(x, y, terms, search, power)
        own = np.arange(len(chosen), dtype=np.int64)
        now = prediction_errors(problem, own[None, :])
        errors = _with_each(problem, len(chosen))
        tried = max(tried, len(options)) if search.is_shared else 1
        index = _best_addition(terms, problem, now, errors, search)
        if index < 0 or not _is_significant(now, errors, index, len(y), tried):
            break
        chosen = (*chosen, options[index])
    pruned = _pruned(x, y, chosen, search, power)
    return None if pruned is None else _simplified(x, y, pruned, propose, search, power)


def _with_each(problem: Problem, count: int) -> Errors:
    """Errors of the first ``count`` columns with each further one."""
    added = np.arange(count, problem.table.shape[1], dtype=np.int64)[:, None]
    return prediction_errors(problem, np.hstack((np.tile(np.arange(count), (len(added), 1)), added)))


def _best_addition(
    terms: Sequence[Term], problem: Problem, now: Errors, errors: Errors, search: Search
) -> int:
    """Number of the candidate with the best criterion that is accepted and better than what is; else -1."""
    level = search.level(now, len(problem.target))[0]
    values = search.level(errors, len(problem.target))
    for index in np.argsort(values, kind="stable").tolist():  # ends at the first one that is accepted
        if not values[index] < level:
            return -1
        if search.may_be(fitted_formula("terms", terms, problem, errors, index)):
            return int(index)
    return -1


def _is_significant(now: Errors, errors: Errors, index: int, rows: int, tried: int) -> bool:
    from scipy.special import fdtrc

    degrees = rows - errors.chosen.shape[1]
    if degrees < 1:
        return False
    rest = float(errors.rss[index]) + rows * _EXACT_SCORE
    ratio = max(float(now.rss[0]) - rest, 0.0) / (rest / degrees)
    return bool(fdtrc(1, degrees, ratio) < SIGNIFICANCE / tried)


def _pruned(
    x: Floats, y: Floats, chosen: tuple[Term, ...], search: Search, power: float
) -> tuple[float, Formula] | None:
    """The sum without terms whose loss does not make the criterion worse, and its error of prediction."""
    while True:
        problem = weighted_problem(x, y, chosen, search, power)
        every: Index = np.arange(len(chosen), dtype=np.int64)[None, :]
        errors = prediction_errors(problem, every)
        formula = fitted_formula("terms", chosen, problem, errors, 0)
        if len(chosen) > 1:
            fewer = np.stack([np.delete(every[0], i) for i in range(len(chosen))])
            without = prediction_errors(problem, fewer)
            values = search.level(without, len(y))
            best = int(np.argmin(values))
            shorter = fitted_formula("terms", chosen, problem, without, best)
            if values[best] <= search.level(errors, len(y))[0] and search.may_be(shorter):
                chosen = tuple(chosen[i] for i in fewer[best].tolist())
                continue
        if not np.isfinite(errors.score[0]) or not search.may_be(formula):
            return None
        return float(errors.score[0]), formula


def _simplified(
    x: Floats, y: Floats, found: tuple[float, Formula], propose: Propose, search: Search, power: float
) -> tuple[float, Formula]:
    """The sum with simpler terms where they predict as well, within a standard error of its score.

    Noise decides between terms that are nearly equal in the data (x and x log x); of those, the simpler one
    is taken. Exact data have no such spread.

    Reference: L. Breiman et al., *Classification and Regression Trees*, 1984 (one-standard-error rule).
    """
    for place in range(len(found[1].terms)):
        own = found[1].terms
        rest = (*own[:place], *own[place + 1 :])
        simpler = [
            t for t in propose(rest) if t not in own and term_complexity(t) < term_complexity(own[place])
        ]
        if not simpler:
            continue
        terms = [*rest, own[place], *simpler]
        problem = weighted_problem(x, y, terms, search, power)
        errors = _with_each(problem, len(rest))
        limit = errors.score[0] + errors.spread[0] if errors.score[0] > _EXACT_SCORE else errors.score[0]
        near = np.flatnonzero(errors.score[1:] <= limit) + 1
        order = sorted(near.tolist(), key=lambda i: (term_complexity(terms[len(rest) + i]), errors.score[i]))
        for index in order:
            formula = fitted_formula("terms", terms, problem, errors, index)
            if search.may_be(formula):
                found = float(errors.score[index]), formula
                break
    return found
