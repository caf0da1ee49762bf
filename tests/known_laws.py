"""Data made by laws that are known, and whether a fit finds these laws again.

*Physical*: 7 g(p) h(n) on 6 x 5 points, every product of the lattice. *Normal form*: c (1 + t / mean(t)),
every function t of Extra-P's search space over eight node counts, where its value differs by 20 % or more.
Noise is multiplied to the data, with a fixed seed. *Same formula*: exactly these terms. *Same value*:
within twice the noise (at least 1 %) at p and n four times the largest. With noise, neighbours such as
n^(7/4) and n^(5/3) cannot be told apart.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from commanalyzer.scaling.laws.families import PAIRS, lattice_terms
from commanalyzer.scaling.laws.fit import fit_law
from commanalyzer.scaling.laws.terms import Factor, Floats, Term, columns

NODES = (4.0, 8.0, 16.0, 27.0, 32.0, 64.0)
SIZES = (16.0, 32.0, 48.0, 64.0, 96.0)
NODES_ALONE = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 96.0, 128.0)
_SEED = 20260131
_LEAST_CHANGE = 1.2
_FURTHER = 4.0


@dataclass(frozen=True, slots=True)
class Truth:
    """A law that makes data.

    Attributes:
        family: ``physical`` or ``normal form``.
        points: float64[N, K].
    """

    family: str
    terms: tuple[Term, ...]
    coefficients: tuple[float, ...]
    points: Floats

    def at(self, points: Floats) -> Floats:
        """Its values."""
        return np.asarray(columns(self.terms, points) @ np.array(self.coefficients))


def truths() -> Iterator[Truth]:
    """Every term of both families."""
    x = np.array(list(product(NODES, SIZES)))
    # Data that fall along both parameters make the lattice include its falling powers.
    for term in lattice_terms(x, 1.0 / x.prod(axis=1), 0):
        if term:
            yield Truth("physical", (term,), (7.0,), x)
    alone = np.array(NODES_ALONE)[:, None]
    for exponent, log in PAIRS:
        column = columns([(Factor(0, "power", exponent, log),)], alone)[:, 0]
        values = 1.0 + column / column.mean()
        if values.max() >= _LEAST_CHANGE * values.min():
            terms: tuple[Term, ...] = ((), (Factor(0, "power", exponent, log),))
            yield Truth("normal form", terms, (100.0, 100.0 / float(column.mean())), alone)


@dataclass(frozen=True, slots=True)
class Recovery:
    """What became of one truth."""

    truth: Truth
    noise: float
    is_same_formula: bool
    is_same_value: bool


def recover(truth: Truth, noise: float, seed: int = _SEED) -> Recovery:
    """Make data, fit, compare."""
    factor = 1.0 + noise * np.random.default_rng(seed).standard_normal(len(truth.points))
    names = ("p", "n")[: truth.points.shape[1]]
    law = fit_law(truth.points, names, truth.at(truth.points) * factor)
    number = {name: index for index, name in enumerate(names)}
    found = {
        tuple(Factor(number[law.parameters[f.parameter]], f.form, f.exponent, f.log_exponent) for f in term)
        for term in law.formula.terms
    }
    far = truth.points.max(axis=0, keepdims=True) * _FURTHER
    expected = float(truth.at(far)[0])
    value = float(law.predict(dict(zip(names, far[0].tolist(), strict=True)))[0])
    allowed = max(2.0 * noise, 0.01)
    return Recovery(truth, noise, found == set(truth.terms), abs(value - expected) <= allowed * abs(expected))
