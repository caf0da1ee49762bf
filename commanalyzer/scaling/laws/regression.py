"""Least squares of many laws at once: candidates (sets of terms) -> coefficients and errors of prediction.

Residuals are relative: rows are divided by the metric, so that small and large problems count alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from commanalyzer.scaling.laws.terms import Floats

Index = NDArray[np.int64]
NEGLIGIBLE = 3e-4  # relative error below which laws are equally good
_RANK = 1e-9  # of normalised columns
_CHUNK = 8_000  # fit a processor's second cache
_LARGE = 2000  # columns whose scalar products are worth a table


@dataclass(frozen=True, slots=True)
class Problem:
    """A table of columns and what they should add up to, rows divided by the metric."""

    table: Floats  # [N, M]
    target: Floats  # [N], 1 where the metric is not 0
    holdouts: tuple[NDArray[np.bool_], ...]  # bool[N] each: rows to predict from the others
    # [N], what a row is multiplied with in a fit (the square root of its weight); all 1 when None. Errors of
    # prediction are measured without it, so that weights can be compared
    emphasis: Floats | None = None
    leave_one_out: bool = True  # rows are also predicted one by one

    @property
    def row_factors(self) -> Floats:
        """float64[N], :attr:`emphasis`, 1 where there is none."""
        return np.ones(len(self.target)) if self.emphasis is None else self.emphasis


@dataclass(frozen=True, slots=True)
class Errors:
    """Candidates with as many terms each, and how well they predict."""

    chosen: Index  # [C, t], columns of each candidate
    coefficients: Floats  # [C, t]
    # [C], mean of the squared relative errors of prediction: of rows left out one by one, and of the rows of
    # each holdout; infinite where a candidate cannot be fitted
    score: Floats
    spread: Floats  # [C], standard error of the score
    rss: Floats  # [C], residual sum of squares, of the rows with their emphasis
    lowest: Floats  # [C], least fitted value, relative to the metric
    holdout: Floats  # [C], root mean square error of the worst holdout (leaving one out without any)


def best_subsets(problem: Problem, subsets: Index, keep: int, *, positive: bool) -> Index:
    """The ``keep`` subsets with the least squares, by the normal equations.

    ``subsets``: int64[C, t]. ``positive``: only those with coefficients above 0. Least squares under this
    condition either have them or equal those of a smaller subset, so all laws with nonnegative coefficients
    are among these.
    """
    norms = np.sqrt((problem.table**2).sum(axis=0))
    table = problem.table / np.where(norms > 0, norms, 1.0)
    right = table.T @ problem.target
    gram = table.T @ table if table.shape[1] <= _LARGE else None
    rss = np.concatenate(
        [
            _screen(_products(table, gram, part), right[part], positive)
            for part in np.array_split(subsets, len(subsets) // _CHUNK + 1)
        ]
    )
    near = np.flatnonzero(rss <= np.sort(rss)[:keep].max(initial=-np.inf))
    order = near[np.argsort(rss[near], kind="stable")][:keep]
    return np.asarray(subsets[order[np.isfinite(rss[order])]])


def _products(table: Floats, gram: Floats | None, subsets: Index) -> Floats:
    """float64[C, t, t], scalar products of the columns of each subset."""
    if gram is not None:
        return np.asarray(gram[subsets[:, :, None], subsets[:, None, :]])
    chosen = np.moveaxis(table[:, subsets], 1, 0)
    return np.asarray(chosen.swapaxes(1, 2) @ chosen)


def _screen(g: Floats, b: Floats, positive: bool) -> Floats:
    """Minus the explained sum of squares; infinite where a subset is degenerate or not allowed.

    ``g``: float64[C, t, t], scalar products of the columns; ``b``: float64[C, t], with the target.
    """
    size = b.shape[1]
    rows = np.concatenate((np.moveaxis(g, 0, 2), b.T[:, None]), axis=1)  # [t, t + 1, C]
    volume = np.ones(len(b))
    for k in range(size):  # symmetric and not negative: no pivoting
        volume *= rows[k, k]
        rows[k, k + 1 :] /= np.where(rows[k, k] > 0, rows[k, k], 1.0)
        for i in range(k + 1, size):
            rows[i, k + 1 :] -= rows[i, k] * rows[k, k + 1 :]
    for i, k in reversed(all_pairs(size).tolist()):
        rows[i, -1] -= rows[i, k] * rows[k, -1]
    allowed = volume > _RANK**1.5
    if positive:
        allowed &= (rows[:, -1] > 0).all(axis=0)
    return np.where(allowed, -(rows[:, -1] * b.T).sum(axis=0), np.inf)


def prediction_errors(problem: Problem, subsets: Index) -> Errors:
    """Errors of prediction of each subset, int64[C, t].

    Reference: leaving out row i changes its residual e_i to e_i / (1 - h_i), h the diagonal of the hat matrix
    (D. Allen, Technometrics 16, 1974).
    """
    table = np.moveaxis(problem.table[:, subsets], 1, 0)  # [C, N, t]
    norms = np.sqrt((table**2).sum(axis=1, keepdims=True))
    table = table / np.where(norms > 0, norms, 1.0)
    factors = problem.row_factors
    fit_table, fit_target = table * factors[None, :, None], problem.target * factors
    q, solution, usable = _least_squares(fit_table, fit_target)
    fitted = (table * solution[:, None, :]).sum(axis=2)
    residual = problem.target - fitted
    parts = []
    if problem.leave_one_out or not problem.holdouts:
        leverage = np.minimum((q**2).sum(axis=2), 1.0)
        parts.append((residual / np.maximum(1.0 - leverage, 1e-6)) ** 2)
    for held in problem.holdouts:
        _, partial, fits = _least_squares(fit_table[:, ~held], fit_target[~held])
        guess = np.maximum((table[:, held] * partial[:, None, :]).sum(axis=2), 0.0)
        parts.append((problem.target[held] - guess) ** 2)
        usable &= fits
    means = np.stack([part.mean(axis=1) for part in parts])
    if problem.leave_one_out:
        errors = np.stack([part.var(axis=1) / part.shape[1] for part in parts])
        spread = np.sqrt(errors.sum(axis=0)) / len(parts)
    else:  # parts of single rows have no variance of their own
        every = np.concatenate(parts, axis=1)
        spread = every.std(axis=1) / np.sqrt(every.shape[1])
    return Errors(
        chosen=subsets,
        coefficients=solution / np.where(norms > 0, norms, 1.0)[:, 0, :],
        score=np.where(usable, means.mean(axis=0), np.inf),
        spread=spread,
        rss=((residual * factors) ** 2).sum(axis=1),
        lowest=fitted.min(axis=1),
        holdout=np.sqrt(means[-len(problem.holdouts) :].max(axis=0)),
    )


def _least_squares(table: Floats, target: Floats) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Q, solutions and which have full rank, of tables float64[C, N, t] for one target float64[N]."""
    q, r = np.linalg.qr(table)
    diagonal = np.abs(np.diagonal(r, axis1=1, axis2=2))
    usable = (diagonal > _RANK).all(axis=1) & (table.shape[1] >= table.shape[2])
    if table.shape[1] < table.shape[2]:
        return q, np.zeros((len(table), table.shape[2])), usable
    safe = np.where(usable[:, None, None], r, np.eye(table.shape[2]))
    right = (q * target[None, :, None]).sum(axis=1)
    solution = np.linalg.solve(safe, right[:, :, None])[:, :, 0]
    return q, np.where(usable[:, None], solution, 0.0), usable


def all_pairs(count: int) -> Index:
    """int64[count (count - 1) / 2, 2], pairs of different columns."""
    return np.stack(np.triu_indices(count, 1), axis=1).astype(np.int64)


def extended(pairs: Index, count: int) -> Index:
    """int64[C, 3], every pair with every further column, each set once."""
    third = np.tile(np.arange(count, dtype=np.int64), len(pairs))
    rows = np.repeat(pairs, count, axis=0)
    triples = np.concatenate((rows, third[:, None]), axis=1)
    triples = np.sort(triples[(rows != third[:, None]).all(axis=1)], axis=1)
    key = np.sort((triples[:, 0] * count + triples[:, 1]) * count + triples[:, 2])
    key = key[np.diff(key, prepend=-1) > 0]
    return np.stack((key // count**2, key // count % count, key % count), axis=1)


def robust(table: Floats, target: Floats) -> tuple[Floats, Floats]:
    """Coefficients float64[t] and residuals float64[N] over their scale, by Huber's weights.

    The scale is the median of the absolute residuals, which a few wrong rows do not move.
    ``table``: float64[N, t]; ``target``: float64[N].
    """
    import warnings

    import statsmodels.api as sm

    norms = np.sqrt((table**2).mean(axis=0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a scale of 0: half of the rows or more are met exactly
        fitted = sm.RLM(target, table / norms, M=sm.robust.norms.HuberT()).fit()
    return np.asarray(fitted.params / norms), np.asarray(fitted.resid / max(fitted.scale, NEGLIGIBLE))
