"""Models of blocks and their composition: times at points, the largest sum, crossings, formulas.

A model is a law (any of :mod:`commanalyzer.scaling.laws`: fitted, Extra-P's, a published formula) or a table
of measured times. All times are seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.kernels.composition.expressions import NormalForm, Sum
from commanalyzer.scaling.laws.law import Formula, Law
from commanalyzer.scaling.laws.terms import Floats, Term

Point: TypeAlias = Mapping[str, Floats | float]
_GRID = 1025  # points between which crossings are looked for; two closer ones are missed


@dataclass(frozen=True, slots=True)
class TimeTable:
    """Measured times, interpolated between sizes as straight lines of logarithms.

    Attributes:
        parameter: Name of the size.
        sizes: float64[K], increasing, positive.
        times_s: float64[K], seconds, positive.
    """

    parameter: str
    sizes: NDArray[np.float64]
    times_s: NDArray[np.float64]

    def __post_init__(self) -> None:
        is_usable = self.sizes.shape == self.times_s.shape and self.sizes.ndim == 1 and len(self.sizes) > 0
        if not (is_usable and (self.sizes > 0).all() and (self.times_s > 0).all()):
            raise ConfigError("expected positive sizes and times, as many of one as of the other")
        if not (np.diff(self.sizes) > 0).all():
            raise ConfigError("expected increasing sizes")

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return (self.parameter,)

    def predict(self, values: Point) -> Floats:
        """float64[N], seconds; beyond the table its last line goes on."""
        if self.parameter not in values:
            raise ConfigError(f"expected a value of {self.parameter}, found none")
        size = np.atleast_1d(np.asarray(values[self.parameter], dtype=np.float64))
        x, y, wanted = np.log(self.sizes), np.log(self.times_s), np.log(size)
        if len(x) == 1:
            return np.full(len(size), self.times_s[0])
        at = np.clip(np.searchsorted(x, wanted) - 1, 0, len(x) - 2)
        slope = (y[at + 1] - y[at]) / (x[at + 1] - x[at])
        return np.asarray(np.exp(y[at] + slope * (wanted - x[at])))

    def is_beyond(self, values: Point) -> bool:
        """Some size lies outside the table: an extrapolation."""
        size = np.asarray(values[self.parameter])
        return bool(np.any((size < self.sizes[0]) | (size > self.sizes[-1])))


BlockModel: TypeAlias = Law | TimeTable
Models: TypeAlias = Mapping[str, BlockModel]


@dataclass(frozen=True, slots=True)
class Composed:
    """A normal form with the models of its blocks.

    Attributes:
        form: Maximum of sums of blocks.
        models: Of the blocks, by name.
        divided: Parameter that ``map`` and its like divide.

    Raises:
        ConfigError: If a block has no model.
    """

    form: NormalForm
    models: Models
    divided: str = "n"

    def __post_init__(self) -> None:
        wanted = {use.block for total in self.form.sums for use, _ in total.terms}
        if missing := sorted(wanted - set(self.models)):
            raise ConfigError(
                f"expected models of {', '.join(sorted(wanted))}, found none of {', '.join(missing)}",
                hint=f"add a table [blocks.{missing[0]}]",
            )

    def at(self, values: Point) -> Floats:
        """float64[N], seconds: the exact maximum of all sums."""
        sums = [self.sum_at(total, values) for total in self.form.sums]
        return np.asarray(np.max(sums, axis=0), dtype=np.float64)

    def sum_at(self, total: Sum, values: Point) -> Floats:
        """float64[N], seconds: one sum."""
        length = max((np.size(value) for value in values.values()), default=1)
        found = np.zeros(length)
        for use, factor in total.terms:
            found = found + float(factor) * self.models[use.block].predict(self._share(values, use.shares))
        return found

    def largest_at(self, values: Point) -> Sum:
        """The sum that decides at one point: the bottleneck."""
        return max(self.form.sums, key=lambda total: float(self.sum_at(total, values)[0]))

    def is_beyond(self, values: Point) -> bool:
        """Some model is used outside of its data."""
        uses = {use for total in self.form.sums for use, _ in total.terms}
        return any(self.models[use.block].is_beyond(self._share(values, use.shares)) for use in uses)

    def _share(self, values: Point, shares: int) -> Point:
        if shares == 1 or self.divided not in values:
            return values
        return {**values, self.divided: np.asarray(values[self.divided]) / shares}

    def law_of(self, total: Sum) -> Law | None:
        """One sum as a law; ``None`` where a block has a table, works on a share, or has other parameters."""
        models = [self.models[use.block] for use, _ in total.terms]
        if not all(isinstance(model, Law) for model in models) or any(u.shares != 1 for u, _ in total.terms):
            return None
        names = tuple(dict.fromkeys(name for model in models for name in model.parameters))
        coefficients: dict[Term, float] = {}
        for model, (_, factor) in zip(models, total.terms, strict=True):
            assert isinstance(model, Law)
            place = [names.index(name) for name in model.parameters]
            for c, term in zip(model.formula.coefficients, model.formula.terms, strict=True):
                moved = tuple(sorted(replace(f, parameter=place[f.parameter]) for f in term))
                coefficients[moved] = coefficients.get(moved, 0.0) + float(factor) * c
        formula = Formula("imported", tuple(coefficients), tuple(coefficients.values()))
        nothing = (0.0,) * len(names)
        return Law("time_s", names, formula, (), nothing, (np.inf,) * len(names), 0)


@dataclass(frozen=True, slots=True)
class Piece:
    """Where one sum is the largest: values of the parameter, at the last of which the next piece begins."""

    low: float
    high: float
    total: Sum


def pieces_between(
    model: Composed, parameter: str, low: float, high: float, values: Mapping[str, float] | None = None
) -> tuple[Piece, ...]:
    """The exact maximum as pieces with their crossing points, as MPI chooses algorithms of collectives.

    ``low``, the smallest value of the parameter, is positive; ``values`` are the other parameters.

    Raises:
        ConfigError: If the range is empty or not positive.
    """
    if not 0 < low < high:
        raise ConfigError(f"expected a positive range, found {low:g} to {high:g}", where=parameter)
    x = np.geomspace(low, high, _GRID)
    fixed: dict[str, Floats | float] = dict(values or {})
    table = np.stack([model.sum_at(total, {**fixed, parameter: x}) for total in model.form.sums])
    # the first of equally large ones everywhere, so that rounding makes no pieces
    best = np.argmax(table >= table.max(axis=0) * (1 - 1e-12), axis=0)
    changes = np.flatnonzero(np.diff(best))
    ends = [_crossing(model, best[i : i + 2], x[i : i + 2], {**fixed}, parameter) for i in changes.tolist()]
    owners = [int(best[0]), *(int(best[i + 1]) for i in changes.tolist())]
    bounds = [low, *ends, high]
    return tuple(Piece(bounds[i], bounds[i + 1], model.form.sums[owner]) for i, owner in enumerate(owners))


def _crossing(
    model: Composed, pair: NDArray[np.int64], between: Floats, fixed: Mapping[str, Floats | float], name: str
) -> float:
    """Where two sums are equal, between two neighbouring points."""
    from scipy.optimize import brentq

    first, second = (model.form.sums[i] for i in pair.tolist())

    def difference(x: float) -> float:
        point = {**fixed, name: x}
        return float((model.sum_at(first, point) - model.sum_at(second, point))[0])

    low, high = between.tolist()
    if difference(low) * difference(high) > 0:
        return float(high)  # a third one lies between: the change is told to the next point
    return float(brentq(difference, low, high, rtol=1e-12))


def scaled_law(law: Law, factor: Fraction | float) -> Law:
    """The law times a number."""
    coefficients = tuple(float(factor) * c for c in law.formula.coefficients)
    return replace(law, formula=replace(law.formula, coefficients=coefficients, covariance=()))
