"""How often noise makes a model grow too fast: the example of Section 2 of the manual, 200 times.

Data are y = 100 + 10 x with normal relative noise. A model is wrong if its fastest growing term is not x.
What it costs is seen at 16 times the largest x.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from commanalyzer.profiles.extrapolation.data import Constraints, acceptance
from commanalyzer.profiles.extrapolation.fitting import folds, proposer, read_terms
from commanalyzer.scaling.laws.fit import fit_law, holdouts
from commanalyzer.scaling.laws.law import Formula
from commanalyzer.scaling.laws.selection import Criterion, Search, constant, select_forward
from commanalyzer.scaling.laws.terms import Floats, Term

TERMS = ("log2(x)", "sqrt(x)", "x", "x*log2(x)", "x**(3/2)", "x**2", "x**3")
X = np.array([2.0, 4, 6, 8, 10, 12, 16, 20, 24, 32])
DATA_SETS = 200
FARTHER = 16.0
NOISES = (0.01, 0.05)
Fit = Callable[[Floats, Floats], Formula]


@dataclass(frozen=True)
class Rate:
    """What a method did with all data sets.

    Attributes:
        name: Of the method.
        noise: Relative standard deviation.
        too_fast: Fraction whose leading term grows faster than x.
        too_slow: Fraction whose leading term grows slower.
        median: Median relative error far out.
        worst: 95th percentile of it.
    """

    name: str
    noise: float
    too_fast: float
    too_slow: float
    median: float
    worst: float


def growth(formula: Formula) -> tuple[float, int]:
    """Power of x, and of its logarithm, of the fastest growing term."""
    orders = [
        (float(sum(f.exponent for f in t)), sum(f.log_exponent for f in t))
        for t, c in zip(formula.terms, formula.coefficients, strict=True)
        if c
    ]
    return max(orders, default=(0.0, 0))


def quadratic(x: Floats, y: Floats) -> Formula:
    """All of 1, x and x^2, as Section 2 does by mistake."""
    terms: tuple[Term, ...] = ((), *read_terms(("x", "x**2"), ("x",)))
    table = np.column_stack([np.ones(len(x)), x[:, 0], x[:, 0] ** 2])
    return Formula("terms", terms, tuple(np.linalg.lstsq(table, y, rcond=None)[0].tolist()))


def extrap_forms(x: Floats, y: Floats) -> Formula:
    """Best sum of Extra-P's search space."""
    return fit_law(x, ("x",), y, families=("pmnf",)).formula


def selected(
    criterion: Criterion, *, weights: Sequence[float], constrained: bool, shared: bool = True
) -> Fit:
    """Forward selection from :data:`TERMS`; constrained: it must neither fall along x nor for ever."""
    limits = Constraints(True, ("x",)) if constrained else Constraints()

    def fit(x: Floats, y: Floats) -> Formula:
        accepts = acceptance(limits, ("x",), x.min(axis=0), x.max(axis=0), lambda points: points)
        held = {"ten-fold": folds(x), "leave-largest-out": list(holdouts(x))}.get(criterion, [])
        propose = proposer(read_terms(TERMS, ("x",)), (), "none")
        search = Search(criterion, tuple(held), tuple(weights), accepts, shared)
        return select_forward(x, y, propose, search) or constant(y)

    return fit


def methods() -> dict[str, Fit]:
    """All methods by name."""
    every = (0.0, 0.5, 1.0, 2.0)
    found: dict[str, Fit] = {
        "1, x, x^2 without selection": quadratic,
        "Extra-P's forms (`scaling/laws/families.py`)": extrap_forms,
        "accurate, each term tested alone": selected(
            "ten-fold", weights=every, constrained=False, shared=False
        ),
    }
    for name, criterion, weights in (
        ("accurate (ten-fold)", "ten-fold", every),
        ("fast, weighted (BIC)", "bic", (0.5,)),
        ("fast, linear (adjusted R2)", "adjusted-r2", (0.0,)),
        ("largest left out", "leave-largest-out", every),
    ):
        for constrained in (False, True):
            label = f"{name}, {'with' if constrained else 'without'} constraints"
            found[label] = selected(criterion, weights=weights, constrained=constrained)  # type: ignore[arg-type]
    return found


def study(data_sets: int = DATA_SETS, noises: Sequence[float] = NOISES) -> list[Rate]:
    """Rates of all methods."""
    found = []
    x = X[:, None]
    far = np.array([[X.max() * FARTHER]])
    truth = 100.0 + 10.0 * far[0, 0]
    for noise in noises:
        generator = np.random.default_rng(2018)
        sets = [
            (100.0 + 10.0 * X) * (1 + noise * generator.standard_normal(len(X))) for _ in range(data_sets)
        ]
        for name, fit in methods().items():
            made = [fit(x, np.maximum(y, 0.0)) for y in sets]
            orders = [growth(formula) for formula in made]
            errors = np.array([abs(float(f.unbounded(far)[0]) - truth) / truth for f in made])
            found.append(
                Rate(
                    name,
                    noise,
                    float(np.mean([o > (1.0, 0) for o in orders])),
                    float(np.mean([o < (1.0, 0) for o in orders])),
                    float(np.median(errors)),
                    float(np.quantile(errors, 0.95)),
                )
            )
    return found


def table(rates: Sequence[Rate]) -> str:
    """Markdown table."""
    lines = [
        "| noise | method | leading term too fast | too slow | median error at 16x | 95th percentile |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for r in rates:
        lines.append(
            f"| {100 * r.noise:.0f} % | {r.name} | {100 * r.too_fast:.1f} % | {100 * r.too_slow:.1f} % "
            f"| {100 * r.median:.1f} % | {100 * r.worst:.1f} % |"
        )
    return "\n".join(lines) + "\n"
