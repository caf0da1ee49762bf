"""A law: the chosen formula of one metric, those that explain it as well, and its band of confidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.errors import ConfigError, FitError
from commanalyzer.scaling.laws.terms import NODES, Floats, Term, columns

Family = Literal["polynomial", "lattice", "pmnf", "power", "imported", "terms", "areas"]
CONFIDENCE = 0.95
UNPREDICTED = "no formula predicts these data"  # begins the note of a law that is none
_MOST_NODES = 1_000_000_000  # the grids of more take long to find, and no machine has them


def require_points(x: Floats, names: Sequence[str], where: str) -> None:
    """Complain of points, float64[N, K], where no law holds: not positive, or more nodes than any machine."""
    if not (np.isfinite(x).all() and (x > 0).all()):
        raise FitError("expected positive parameters", where=where)
    if NODES in names and x[:, names.index(NODES)].max(initial=0) > _MOST_NODES:
        raise FitError(f"expected at most {_MOST_NODES:,} nodes, found more", where=where)


@dataclass(frozen=True, slots=True)
class Formula:
    """One fitted sum of terms."""

    # ``polynomial`` (exact whole numbers), ``lattice`` (physical terms), ``pmnf`` (Extra-P's search space),
    # ``power`` (one term with free exponents), ``terms`` (selected from complexity definitions), ``areas``
    # (metrics of communication phases) or ``imported``
    family: Family
    terms: tuple[Term, ...]  # terms; parameters are indices into those of the law
    coefficients: tuple[float, ...]  # one per term
    # Root mean square relative error of the prediction score: rows left out one by one, and the largest
    # values of each parameter left out together
    loo_error: float = 0.0
    holdout_error: float = 0.0  # root mean square relative error of the worst of the latter
    residual_error: Annotated[float, msgspec.Meta(ge=0, le=1e100)] = 0.0  # standard, of relative residuals
    # Of the coefficients, row by row, relative residuals having ``residual_error``
    covariance: tuple[float, ...] = field(default=(), repr=False)
    degrees_of_freedom: int = 0  # rows less terms

    def __post_init__(self) -> None:
        if len(self.terms) != len(self.coefficients):
            found = f"{len(self.coefficients)} for {len(self.terms)}"
            raise FitError(f"expected a coefficient per term, found {found}")

    @property
    def free_degrees(self) -> int:
        """Degrees of freedom that are left: the form of each term was chosen by the data as well."""
        return self.degrees_of_freedom - sum(map(bool, self.terms))

    @property
    def rest(self) -> float:
        """Sum of the squared relative residuals."""
        return self.residual_error**2 * self.degrees_of_freedom

    @property
    def largest_rest(self) -> float:
        """Sum up to which other coefficients and other forms are in a region of :data:`CONFIDENCE`.

        Reference: D. Bates, D. Watts, *Nonlinear Regression Analysis and Its Applications*, 1988, chapter 6
        (profile likelihood of one function of the parameters).
        """
        from scipy.special import stdtrit

        left = max(self.free_degrees, 1)
        return self.rest * (1 + float(stdtrit(left, (1 + CONFIDENCE) / 2)) ** 2 / left)

    def at(self, x: Floats) -> Floats:
        """float64[N], value at the points float64[N, K], never below 0."""
        return np.maximum(self.unbounded(x), 0.0)

    def unbounded(self, x: Floats) -> Floats:
        """float64[N], the sum itself, which may be negative."""
        return np.asarray(columns(self.terms, x) @ np.array(self.coefficients, dtype=np.float64))

    def half_width(self, x: Floats, rest: float, noise: float = 0.0) -> Floats:
        """float64[N], how far coefficients with a sum of at most ``rest`` and noise move the value.

        ``x``: float64[N, K], points; ``rest``: such as :attr:`largest_rest`; ``noise``: relative standard
        deviation of a value that is measured there.
        """
        room = max(rest - self.rest, 0.0) / self.residual_error**2 if self.residual_error else 0.0
        variance = (noise * self.at(x)) ** 2
        if self.covariance and self.degrees_of_freedom > 0:
            table, covariance = columns(self.terms, x), np.reshape(self.covariance, (len(self.terms),) * 2)
            variance += np.maximum(((table @ covariance) * table).sum(axis=1), 0.0)
        return np.sqrt(room * variance)


@dataclass(frozen=True, slots=True)
class Law:
    """How one metric depends on the node count and the program's parameters."""

    metric: str  # its name, for example ``comm_bytes``
    parameters: tuple[str, ...]  # names of the parameters it may depend on; ``p`` is the node count
    formula: Formula
    # Other formulas that predict the data as well, the next best first
    alternatives: tuple[Formula, ...] = field(repr=False)
    lowest: tuple[float, ...]  # least value of each parameter in the data
    highest: tuple[float, ...]  # largest value
    num_points: int  # rows of the data
    notes: tuple[str, ...] = ()  # what to know before using it
    lacks: str = ""  # runs to add before there is a band, such as ``n = 48, 96``; empty where there is one
    # Parameters that were whole numbers at all points; ``None`` where that is not known
    whole: tuple[str, ...] | None = None

    @classmethod
    def of_points(cls, metric: str, names: Sequence[str], formulas: Sequence[Formula], x: Floats) -> Law:
        """The law of data at the points float64[N, K]; the first formula is the chosen one."""
        low, high = (tuple(ends.tolist()) for ends in (x.min(axis=0), x.max(axis=0)))
        whole = tuple(name for name, column in zip(names, x.T, strict=True) if (column % 1 == 0).all())
        others = tuple(formulas[1:])
        return cls(metric, tuple(names), formulas[0], others, low, high, len(x), whole=whole)

    def points(self, values: Mapping[str, Floats | float]) -> Floats:
        """float64[N, K], points from one array (or number) per parameter.

        Raises ``FitError`` if a parameter of the law is missing, or a value is not positive.
        """
        missing = [name for name in self.parameters if name not in values]
        if missing:
            raise FitError(
                f"expected a value of {', '.join(missing)}, found none",
                where=f"law of {self.metric}",
                hint=f"give {missing[0]}=VALUE with --param (advise) or --at (fit)",
            )
        x = np.empty((max(map(np.size, values.values()), default=1), len(self.parameters)))
        for column, name in enumerate(self.parameters):
            x[:, column] = np.ravel(values[name])
        require_points(x, self.parameters, f"law of {self.metric}")
        return x

    def predict(self, values: Mapping[str, Floats | float]) -> Floats:
        """float64[N], the metric where parameters have these values; never negative."""
        return self.formula.at(self.points(values))

    def band(self, values: Mapping[str, Floats | float]) -> tuple[Floats, Floats]:
        """float64[N] each, lower and upper end at :data:`CONFIDENCE`, never negative; NaN without a band.

        The prediction interval of the chosen formula, whose noise is at least what was seen when the largest
        values of a parameter were predicted from the others; widened to the values of all formulas that
        explain the data as well, with the coefficients that do: what the data do not decide is not certain.
        """
        x = self.points(values)
        if self.lacks:
            return np.full(len(x), np.nan), np.full(len(x), np.nan)
        most, noise = self.formula.largest_rest, max(self.formula.residual_error, self.formula.holdout_error)
        every = [(self.formula.at(x), self.formula.half_width(x, most, noise))]
        every += [(formula.at(x), formula.half_width(x, most)) for formula in self.alternatives]
        low = np.min([np.maximum(value - half, 0.0) for value, half in every], axis=0)
        return low, np.max([value + half for value, half in every], axis=0)

    def is_beyond(self, values: Mapping[str, Floats | float]) -> NDArray[np.bool_]:
        """bool[N], some value lies outside the data: an extrapolation."""
        x = self.points(values)
        return np.asarray(((x < np.array(self.lowest)) | (x > np.array(self.highest))).any(axis=1))


def require_whole(laws: Sequence[Law], values: Mapping[str, float]) -> None:
    """Raise where a parameter shall be no whole number that was one in all data: no program runs so.

    Raises ``ConfigError``: says which, and its neighbours.
    """
    for name in dict.fromkeys(name for law in laws for name in law.whole or ()):
        value = float(values.get(name, 1.0))
        if not value.is_integer():
            raise ConfigError(
                f"expected a whole number as in all data of the laws, found {value}",
                where=f"parameter {name}",
                hint=f"{name}={value // 1:.0f} or {name}={-(-value // 1):.0f}",
            )


def law_of(laws: Sequence[Law], metric: str) -> Law:
    """The law of a metric; ``FitError`` if there is none."""
    for law in laws:
        if law.metric == metric:
            return law
    known = ", ".join(law.metric for law in laws) or "none"
    raise FitError(
        f"expected a law of {metric}, found {known}", hint=f"commanalyzer fit ... --metric {metric},..."
    )
