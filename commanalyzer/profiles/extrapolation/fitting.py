"""Fits one number of a class: rows of scaling parameters and a metric -> a law, or a learned model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.errors import ConfigError, FitError
from commanalyzer.profiles.extrapolation.constraints import acceptance
from commanalyzer.profiles.extrapolation.learners import Learned, learn
from commanalyzer.profiles.extrapolation.proposals import default_terms, proposer, read_terms
from commanalyzer.profiles.extrapolation.setup import LEARNED, MetricSetup, Setup
from commanalyzer.scaling.laws.families import snapped_power
from commanalyzer.scaling.laws.fit import holdouts
from commanalyzer.scaling.laws.law import Formula, Law
from commanalyzer.scaling.laws.selection import Search, constant, fit_terms, select_forward
from commanalyzer.scaling.laws.terms import Floats, Term

Model = Law | Learned
_FOLDS = 10
_ALL_WEIGHTS: tuple[float, ...] = (0.0, 0.5, 1.0, 2.0)


@dataclass(frozen=True, slots=True, eq=False)
class Fitter:
    """Fits metrics of one class."""

    names: tuple[str, ...]  # parameters of formulas: scaling parameters, then numbers of threads
    num_scaling: int  # how many of them are scaling parameters
    processes: str  # the scaling parameter that is the number of threads; empty if none is
    x: Floats  # [R, len(names)], runs of the class
    complete: Callable[[Floats], Floats]  # scaling parameters float64[N, K] to all parameters
    divisors: tuple[int, ...]  # parameters that are numbers of threads and differ between runs
    setup: Setup  # of all metrics
    extra_mains: tuple[Term, ...] = ()  # main terms besides those of the complexity definitions

    def fit(self, setup: MetricSetup, y: Floats, *, terms: tuple[Term, ...] = ()) -> Model:
        """Model of one number.

        ``y``: float64[R], not negative; without ``terms`` those of the setup, or selected ones. Raises
        ``ConfigError`` if a term or constraint is wrong; ``FitError`` if there are fewer than two runs, or no
        model is accepted.
        """
        if not (np.isfinite(y).all() and (y >= 0).all()):
            raise FitError("expected values of 0 or more", where=setup.name)
        terms = terms or read_terms(setup.terms, self.names)
        if setup.model in LEARNED or setup.model == "per-bin-network":
            kind = "network" if setup.model == "per-bin-network" else setup.model
            select = not terms and setup.model != "per-bin-network"
            return learn(kind, self.names, self.x, y, terms or self.mains(setup.name), select=select)
        if len(y) < 2 or np.ptp(y) <= 0:
            return self._law(setup.name, constant(y))
        search = self._search(setup)
        if terms:
            with_constant = ((), *(t for t in terms if t))
            found = fit_terms(self.x, y, terms, search) or fit_terms(self.x, y, with_constant, search)
        else:
            propose = proposer(self.mains(setup.name), self.divisors, self.setup.interactions)
            found = select_forward(self.x, y, propose, search)
        return self._law(setup.name, constant(y) if found is None else found)

    def fit_coarse(self, setup: MetricSetup, y: Floats) -> Model:
        """Model of a number that is known to a factor of two: a power law, unless terms are given."""
        if setup.terms:
            return self.fit(setup, y)
        scaling = self.x[:, : self.num_scaling]
        return self._law(setup.name, snapped_power(scaling, y) if np.ptp(y) > 0 else constant(y))

    def mains(self, metric: str) -> tuple[Term, ...]:
        """Main terms of a metric; those of parameters with one value tell nothing and are left out."""
        given = self.setup.complexity.get(metric, self.setup.complexity.get("default", ()))
        scaling = self.names[: self.num_scaling]
        terms = read_terms(given or default_terms(scaling, self.processes), self.names)
        varies = np.ptp(self.x, axis=0) > 0
        return tuple(t for t in (*terms, *self.extra_mains) if t and all(varies[f.parameter] for f in t))

    def _search(self, setup: MetricSetup) -> Search:
        scaling = self.x[:, : self.num_scaling]
        try:
            accepts = acceptance(
                setup.constraints,
                self.names[: self.num_scaling],
                scaling.min(axis=0),
                scaling.max(axis=0),
                self.complete,
            )
        except ValueError as error:
            raise ConfigError(str(error), where=f"constraints of {setup.name}") from error
        is_weighted, is_fast = setup.model != "linear", setup.selection == "fast"
        powers = (0.0,) if not is_weighted else (0.5,) if is_fast else _ALL_WEIGHTS
        if is_fast:
            return Search("bic" if is_weighted else "adjusted-r2", (), powers, accepts)
        if setup.selection == "largest":
            return Search("leave-largest-out", tuple(holdouts(scaling)), powers, accepts)
        return Search("ten-fold", tuple(folds(len(self.x))), powers, accepts)

    def _law(self, metric: str, formula: Formula) -> Law:
        return Law.of_points(metric, self.names, (formula,), self.x)


def folds(rows: int) -> list[NDArray[np.bool_]]:
    """bool[rows] each: ten parts, in an order without system that is always the same."""
    order = np.random.default_rng(0).permutation(rows)
    return [np.isin(np.arange(rows), order[part::_FOLDS]) for part in range(min(_FOLDS, rows))]


def values_of(names: Sequence[str], x: Floats) -> Mapping[str, Floats | float]:
    """Columns by name."""
    return {name: x[:, i] for i, name in enumerate(names)}
