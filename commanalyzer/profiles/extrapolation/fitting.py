"""Fits one number of a class: rows of scaling parameters and a metric -> a law, or a learned model.

Models that are no sums of terms: nearest neighbours, neural network, random forest (Section 6.2.2).

The only user of scikit-learn here. A model is kept as what it was learned from: learning is quick and gives
the same again, and nothing of a library's inside is written to files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.errors import ConfigError, FitError
from commanalyzer.profiles.extrapolation.data import LEARNED, Interactions, MetricSetup, Setup, acceptance
from commanalyzer.scaling.laws.families import snapped_power
from commanalyzer.scaling.laws.fit import holdouts
from commanalyzer.scaling.laws.formula_reader import read_formula
from commanalyzer.scaling.laws.law import Formula, Law
from commanalyzer.scaling.laws.selection import Search, constant, fit_terms, select_forward, weighted_problem
from commanalyzer.scaling.laws.terms import Factor, Floats, Term, columns

_HIDDEN = 8  # neurons: more than terms that are ever useful together, few for a few dozen rows
_NEIGHBOURS = 2
_TREES = 100
_Z95 = 1.96


@dataclass(frozen=True, slots=True)
class Learned:
    """A model that was learned from rows."""

    kind: str  # ``neighbours``, ``network`` or ``forest``
    parameters: tuple[str, ...]
    terms: tuple[Term, ...]  # its inputs
    rows: tuple[tuple[float, ...], ...]  # points that it was learned from, one tuple per row
    values: tuple[float, ...]  # metric of each row
    error: float  # root mean square relative error of ten-fold predictions

    def predict(self, values: Mapping[str, Floats | float]) -> Floats:
        """float64[N], the metric where parameters are these; ``FitError`` if a parameter is missing."""
        missing = [name for name in self.parameters if name not in values]
        if missing:
            raise FitError(f"expected a value of {', '.join(missing)}, found none", where=self.kind)
        arrays = [np.atleast_1d(np.asarray(values[name], dtype=np.float64)) for name in self.parameters]
        x = np.stack(np.broadcast_arrays(*arrays), axis=1)
        return np.asarray(_fitted(self)(columns(self.terms, x)))

    def band(self, values: Mapping[str, Floats | float]) -> tuple[Floats, Floats]:
        """float64[N] each, about 95 % by the error of ten-fold predictions; no extrapolation is covered."""
        value = self.predict(values)
        half = _Z95 * self.error * np.abs(value)
        return np.maximum(value - half, 0.0), value + half


@lru_cache(maxsize=512)
def _fitted(model: Learned) -> Callable[[Floats], Floats]:
    return _fit(model.kind, columns(model.terms, np.array(model.rows)), np.array(model.values))


def _fit(kind: str, table: Floats, y: Floats) -> Callable[[Floats], Floats]:
    """Function from inputs to predictions; inputs and metric are standardised."""
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    learner = make_pipeline(StandardScaler(), _learner(kind, len(y)))
    fitted = TransformedTargetRegressor(learner, transformer=StandardScaler()).fit(table, y)
    return lambda inputs: np.asarray(fitted.predict(inputs))


def _learner(kind: str, rows: int) -> Any:
    if kind == "neighbours":
        from sklearn.neighbors import KNeighborsRegressor

        return KNeighborsRegressor(min(_NEIGHBOURS, rows), weights="distance")
    if kind == "forest":
        from sklearn.ensemble import RandomForestRegressor

        return RandomForestRegressor(_TREES, random_state=0)
    from sklearn.neural_network import MLPRegressor

    # L-BFGS is for few rows; the penalty is scikit-learn's own.
    return MLPRegressor(
        hidden_layer_sizes=(_HIDDEN,), activation="tanh", solver="lbfgs", max_iter=300, random_state=0
    )


def learn(
    kind: str, names: Sequence[str], x: Floats, y: Floats, mains: Sequence[Term], *, select: bool
) -> Learned:
    """Model whose inputs were selected one by one as long as ten-fold predictions improve.

    ``x``: float64[N, K], points; ``y``: float64[N]; all of ``mains`` are inputs without ``select``.
    """
    chosen: tuple[Term, ...] = () if select else tuple(mains)
    error = _ten_fold(kind, columns(chosen, x), y) if chosen else float("inf")
    while select and len(chosen) < len(mains):
        tried = [(_ten_fold(kind, columns((*chosen, m), x), y), m) for m in mains if m not in chosen]
        best, term = min(tried, key=lambda item: item[0])
        if not best < error:
            break
        error, chosen = best, (*chosen, term)
    chosen = chosen or tuple(mains)[:1]
    rows = tuple(map(tuple, x.tolist()))
    return Learned(kind, tuple(names), chosen, rows, tuple(y.tolist()), error if np.isfinite(error) else 1.0)


def _ten_fold(kind: str, table: Floats, y: Floats) -> float:
    import warnings

    scale = np.maximum(np.abs(y), np.abs(y).mean() * 1e-3 or 1.0)
    residual = np.zeros(len(y))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a network that has not converged predicts worse, which is seen
        for fold in range(min(_FOLDS, len(y))):
            held = np.arange(len(y)) % _FOLDS == fold
            if held.all():
                return float("inf")
            residual[held] = (_fit(kind, table[~held], y[~held])(table[held]) - y[held]) / scale[held]
    return float(np.sqrt((residual**2).mean()))


_SIZE_TERMS = ("{0}", "{0}**2", "{0}**3", "log2({0})")
_PROCESS_TERMS = ("sqrt({0})", "cbrt({0})", "cbrt({0})**2", "{0}", "log2({0})")
MEM_TERMS = ("normMemX", "sqrt(normMemX)", "lognormMemX", "lognormMemX**2", "lognormMemX**3")
MEM_NAMES = ("memX", "normMemX", "lognormMemX")


def default_terms(parameters: Sequence[str], processes: str) -> tuple[str, ...]:
    """Main terms where nobody defines them: volumes and surfaces of the size, roots of the processes.

    Divided by the number of threads, roots give what the borders of blocks in two and three dimensions grow
    like.
    """
    return tuple(
        text.format(name)
        for name in parameters
        for text in (_PROCESS_TERMS if name == processes else _SIZE_TERMS)
    )


def read_terms(texts: Sequence[str], names: Sequence[str]) -> tuple[Term, ...]:
    """Terms of formulas, sums give one each; ``ConfigError`` if one is no formula, or of no parameter."""
    found: dict[Term, None] = {}
    for text in texts:
        try:
            law = read_formula(text)
        except FitError as error:
            raise ConfigError(f"expected a term such as n**2 * log2(n), found {text!r}") from error
        wrong = [name for name in law.parameters if name not in names]
        if wrong:
            raise ConfigError(f"expected terms of {', '.join(names)}, found {wrong[0]}", where=text)
        for term in law.formula.terms:
            moved = (
                Factor(names.index(law.parameters[f.parameter]), f.form, f.exponent, f.log_exponent)
                for f in term
            )
            found[tuple(sorted(moved))] = None
    return tuple(found)


def proposer(
    mains: Sequence[Term], divisors: Sequence[int], interactions: Interactions
) -> Callable[[tuple[Term, ...]], Sequence[Term]]:
    """Function from the chosen terms to those that may be added.

    Every term is also divided by ``divisors``, numbers of threads; ``interactions``: which products of main
    terms of different parameters are tried.
    """
    products = [p for a, b in combinations(mains, 2) if (p := _product(a, b)) is not None]

    def propose(chosen: tuple[Term, ...]) -> Sequence[Term]:
        options = list(mains)
        if interactions == "all":
            options += products
        if interactions != "none":
            options += [p for c in chosen for m in mains if c and (p := _product(c, m)) is not None]
        every = dict.fromkeys(options)
        for divisor in divisors:
            every |= dict.fromkeys(t for o in [*options, ()] if (t := _divided(o, divisor)) is not None)
        return [term for term in every if term]

    return propose


def _product(first: Term, second: Term) -> Term | None:
    """Product of terms of different parameters; ``None`` where they share one."""
    if {f.parameter for f in first} & {f.parameter for f in second}:
        return None
    return tuple(sorted((*first, *second)))


def _divided(term: Term, divisor: int) -> Term | None:
    """The term over a parameter: powers are subtracted; ``None`` for other forms of it."""
    own = [f for f in term if f.parameter == divisor] or [Factor(divisor, "power", Fraction(0))]
    if len(own) != 1 or own[0].form != "power":
        return None
    exponent = own[0].exponent - 1
    rest = [f for f in term if f.parameter != divisor]
    if exponent or own[0].log_exponent:
        rest.append(Factor(divisor, "power", exponent, own[0].log_exponent))
    return tuple(sorted(rest))


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
        kind = setup.model.removeprefix("per-bin-")
        if kind in LEARNED:
            select = not terms and kind == setup.model
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
        """Model that goes far from few runs: a power law, unless terms are given.

        For numbers that are known to a factor of two, or between 0 and 1 like shares: sums of terms would
        leave these bounds. Numbers that are 0 in some runs have their mean.
        """
        if setup.terms:
            return self.fit(setup, y)
        scaling = self.x[:, : self.num_scaling]
        is_power = np.ptp(y) > 0 and y.min() > 0
        return self._law(setup.name, snapped_power(scaling, y) if is_power else constant(y))

    def fit_like(self, setup: MetricSetup, y: Floats, other: object) -> Model:
        """The law of another class with coefficients of this one, none negative; its own without a law.

        ``y``: float64[R], not negative. Relative squares are least.
        """
        terms = other.formula.terms if isinstance(other, Law) else ()
        if not any(terms):
            return self.fit(setup, y)
        from scipy.optimize import nnls

        problem = weighted_problem(self.x, y, terms, Search("ten-fold"), 2.0)
        norms = np.maximum(np.sqrt((problem.table**2).sum(axis=0)), np.finfo(np.float64).tiny)
        found, rest = nnls(problem.table / norms, problem.target)
        error = float(rest) / np.sqrt(max(len(y) - len(terms), 1))
        return self._law(setup.name, Formula("terms", terms, tuple((found / norms).tolist()), *[error] * 3))

    def mains(self, metric: str) -> tuple[Term, ...]:
        """Main terms of a metric; those of parameters with one value tell nothing and are left out."""
        given = self.setup.complexity.get(metric, self.setup.complexity.get("default", ()))
        scaling = self.names[: self.num_scaling]
        terms = read_terms(given or default_terms(scaling, self.processes), self.names)
        varies = np.ptp(self.x, axis=0) > 0
        return tuple(t for t in (*terms, *self.extra_mains) if t and all(varies[f.parameter] for f in t))

    def _search(self, setup: MetricSetup) -> Search:
        scaling = self.x[:, : self.num_scaling]
        names, ends = self.names[: self.num_scaling], (scaling.min(axis=0), scaling.max(axis=0))
        try:
            accepts = acceptance(setup.constraints, names, *ends, self.complete)
        except ValueError as error:
            raise ConfigError(str(error), where=f"constraints of {setup.name}") from error
        is_weighted, is_fast = setup.model != "linear", setup.selection == "fast"
        powers = (0.0,) if not is_weighted else (0.5,) if is_fast else _ALL_WEIGHTS
        if is_fast:
            return Search("bic" if is_weighted else "adjusted-r2", (), powers, accepts)
        if setup.selection == "largest":
            return Search("leave-largest-out", tuple(holdouts(scaling)), powers, accepts)
        return Search("ten-fold", tuple(folds(scaling)), powers, accepts)

    def _law(self, metric: str, formula: Formula) -> Law:
        return Law.of_points(metric, self.names, (formula,), self.x)


def folds(scaling: Floats) -> list[NDArray[np.bool_]]:
    """bool[R] each: up to ten parts of the values of each parameter, in an order that is always the same.

    ``scaling``: float64[R, K]. Rows with one value of a parameter are left out together: what other rows have
    the same value of would say nothing of how a sum goes on between and beyond the values.
    """
    found = []
    for column in scaling.T:
        values = np.random.default_rng(0).permutation(np.unique(column))
        parts = [np.isin(column, values[part::_FOLDS]) for part in range(min(_FOLDS, len(values)))]
        found += parts if len(parts) > 1 else []
    return found


def values_of(names: Sequence[str], x: Floats) -> Mapping[str, Floats | float]:
    """Columns by name."""
    return {name: x[:, i] for i, name in enumerate(names)}
