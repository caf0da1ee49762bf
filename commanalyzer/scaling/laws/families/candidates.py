"""Candidates of a fit: terms of a family and the sets of them that are worth predicting with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from typing import TypeAlias

import numpy as np

from commanalyzer.scaling.laws.families.lattice import lattice_terms
from commanalyzer.scaling.laws.families.pmnf import pmnf_hypotheses
from commanalyzer.scaling.laws.law import Family, Formula
from commanalyzer.scaling.laws.regression import Index, Problem, all_pairs, best_subsets, extended
from commanalyzer.scaling.laws.terms import Factor, Floats, Term, columns, term_complexity

Subsets: TypeAlias = Callable[[Problem], Iterator[Index]]
MOST_IN_SUM = 3
_KEPT = 200  # per number of terms: those with the least squares
_TWENTIETHS = 20
_MOST_TRIPLES = 500_000
_MOST_SNAPPED = 3  # parameters of a power law with usual exponents: 15^3 of them
_USUAL = tuple(sign * Fraction(a) for a in ("1/3", "1/2", "2/3", "1", "3/2", "2", "3") for sign in (1, -1))
_EXACT = 1e-12  # mean squared relative residual: nothing is left to explain


def subsets_of(family: Family, x: Floats, y: Floats, node_parameter: int) -> tuple[tuple[Term, ...], Subsets]:
    """Terms of a family, and a function from their columns to sets of up to three of them, int64[C, t] each.

    Args:
        family: ``lattice``, ``pmnf`` or ``power``.
        x: float64[N, K], points.
        y: float64[N], metric.
        node_parameter: Column of the node count, -1 without one.
    """
    if family == "lattice":
        return lattice_terms(x, y, node_parameter), _sums
    if family == "power":
        return (free_power(x, y),), lambda problem: iter([np.zeros((1, 1), dtype=np.int64)])
    terms, groups = pmnf_hypotheses(x, y)

    def normal_form(problem: Problem) -> Iterator[Index]:
        for group in groups:
            if group.shape[1] <= min(MOST_IN_SUM, len(problem.target) - 1):
                yield best_subsets(problem, group, _KEPT, positive=False)

    return terms, normal_form


def _sums(problem: Problem) -> Iterator[Index]:
    """Nonnegative sums of one, two and three terms; three from the best pairs with any third."""
    rows, count = problem.table.shape
    yield best_subsets(problem, np.arange(count, dtype=np.int64)[:, None], _KEPT, positive=True)
    if rows <= 2:
        return
    pairs = best_subsets(problem, all_pairs(count), max(_MOST_TRIPLES // count, _KEPT), positive=True)
    yield pairs[:_KEPT]
    if rows > MOST_IN_SUM + 1 and len(pairs) and not _is_exact(problem, pairs[0]):
        yield best_subsets(problem, extended(pairs, count), _KEPT, positive=True)


def _is_exact(problem: Problem, chosen: Index) -> bool:
    table = problem.table[:, chosen]
    rest = problem.target - table @ np.linalg.lstsq(table, problem.target, rcond=None)[0]
    return bool((rest**2).mean() < _EXACT)


def free_power(x: Floats, y: Floats) -> Term:
    """The power law that follows the logarithm of a metric best, exponents rounded to twentieths."""
    rows = y > 0
    table = np.concatenate((np.ones((int(rows.sum()), 1)), np.log(x[rows])), axis=1)
    exponents = np.linalg.lstsq(table, np.log(y[rows]), rcond=None)[0][1:]
    twentieths = [Fraction(round(_TWENTIETHS * a), _TWENTIETHS) for a in exponents.tolist()]
    return tuple(Factor(k, "power", exponent) for k, exponent in enumerate(twentieths) if exponent)


def snapped_power(x: Floats, y: Floats) -> Formula:
    """The power law with usual exponents that follows the logarithm of a metric best.

    For metrics that are known coarsely (to a factor of two, say): exponents of volumes, surfaces and roots
    leave less to chance than free ones. Of those within one standard error of the best, the simplest.

    Args:
        x: float64[N, K], points, all positive.
        y: float64[N], positive.
    """
    varies = [k for k in range(x.shape[1]) if np.ptp(x[:, k]) > 0][:_MOST_SNAPPED]
    choices = [[None, *(Factor(k, "power", a) for a in _USUAL)] for k in varies]
    terms: list[Term] = [tuple(f for f in row if f is not None) for row in product(*choices)]
    rest = np.log(y)[:, None] - np.log(columns(terms, x))
    rss = ((rest - rest.mean(axis=0)) ** 2).sum(axis=0)
    limit = float(rss.min()) * (1 + 1 / len(y)) + _EXACT
    best = min(np.flatnonzero(rss <= limit).tolist(), key=lambda i: (term_complexity(terms[i]), rss[i]))
    error = float(np.sqrt(rss[best] / max(len(y) - 1, 1)))
    return Formula(
        family="power",
        terms=(terms[best],),
        loo_error=error,
        residual_error=error,
        coefficients=(float(np.exp(rest[:, best].mean())),),
        covariance=(float((error * np.exp(rest[:, best].mean())) ** 2 / len(y)),),
        degrees_of_freedom=len(y) - 1,
    )
