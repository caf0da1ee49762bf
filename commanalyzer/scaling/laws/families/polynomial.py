"""Exact family: whole numbers that a polynomial of low degree gives, more of them than it has coefficients.

Counts of a program are whole numbers, and those of loops over its sizes are polynomials of them. A polynomial
with rational coefficients that goes through all points, points to spare along every parameter, is the law: no
other kind of data does that by chance. Node counts enter by what cuts of a regular grid cost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import TypeAlias

import numpy as np

from commanalyzer.scaling.laws.law import Formula
from commanalyzer.scaling.laws.terms import Factor, Floats, Term, columns

_MOST_DEGREE = 4
_LARGEST = 2.0**53  # whole numbers are exact up to there
_NEAR = 1e-7  # relative: what is worth solving exactly
_NODE_FACTORS: tuple[tuple[Factor, ...], ...] = (
    (),
    (Factor(-1, "power", Fraction(1)),),
    *((Factor(-1, form, Fraction(1, d)),) for form in ("grid", "mesh") for d in (2, 3)),
)
Row: TypeAlias = list[Fraction]


def exact_polynomial(x: Floats, y: Floats, node_parameter: int) -> Formula | None:
    """The polynomial with the fewest coefficients through all points; ``None`` if there is none.

    Args:
        x: float64[N, K], different points.
        y: float64[N], metric.
        node_parameter: Column of the node count, -1 without one.
    """
    if not (_whole(x) and _whole(y)):
        return None
    scale = np.maximum(np.abs(y), 1.0)
    for terms in _sums(x, node_parameter):
        table = columns(terms, x) / scale[:, None]
        norms = np.sqrt((table**2).sum(axis=0))
        if not (np.isfinite(norms).all() and (norms > 0).all()):
            continue
        solution, _, rank, _ = np.linalg.lstsq(table / norms, y / scale, rcond=1e-13)
        if rank == len(terms) and np.abs(table / norms @ solution - y / scale).max() < _NEAR:
            found = _solved(np.rint(columns(terms, x)), y)
            if found is not None:
                kept = [(t, c) for t, c in zip(terms, found, strict=True) if c]
                chosen, coefficients = tuple(t for t, _ in kept), tuple(float(c) for _, c in kept)
                none = (0.0,) * len(kept) ** 2
                return Formula(
                    "polynomial", chosen, coefficients, covariance=none,
                    degrees_of_freedom=len(y) - len(terms),
                )  # fmt: skip
    return None


def _whole(values: Floats) -> bool:
    return bool((values == np.rint(values)).all() and (np.abs(values) < _LARGEST).all())


def _sums(x: Floats, node: int) -> Iterator[tuple[Term, ...]]:
    """Terms of polynomials, by their number: all powers up to a degree of each size, times factors of p."""
    values = [len(np.unique(column)) for column in x.T]
    sizes = [k for k in range(x.shape[1]) if k != node]
    degrees = product(*(range(min(_MOST_DEGREE, values[k] - 2) + 1) for k in sizes))
    forms: list[tuple[tuple[Factor, ...], ...]] = [((),)]
    if node >= 0:
        forms = [c for k in (1, 2) for c in combinations(_NODE_FACTORS, k) if values[node] > k]
    found: list[tuple[Term, ...]] = []
    for most, chosen in product(degrees, forms):
        powers = product(*(range(d + 1) for d in most))
        found.append(tuple(_term(sizes, p, node, form) for p, form in product(powers, chosen)))
    return iter(sorted((t for t in found if len(t) < len(x)), key=len))


def _term(sizes: Sequence[int], powers: Sequence[int], node: int, form: tuple[Factor, ...]) -> Term:
    own = [Factor(k, "power", Fraction(a)) for k, a in zip(sizes, powers, strict=True) if a]
    return tuple(sorted([*own, *(Factor(node, f.form, f.exponent) for f in form)]))


def _solved(table: Floats, y: Floats) -> Row | None:
    """Coefficients of whole columns that give ``y`` exactly, by elimination in rational numbers."""
    rows = [[Fraction(int(v)) for v in (*row, value)] for row, value in zip(table, y, strict=True)]
    count = table.shape[1]
    for column in range(count):  # a few dozen numbers
        pivot = next((i for i in range(column, len(rows)) if rows[i][column]), None)
        if pivot is None:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        first = rows[column]
        rows[column] = first = [v / first[column] for v in first]
        for i, row in enumerate(rows):
            if i != column and row[column]:
                rows[i] = [v - row[column] * w for v, w in zip(row, first, strict=True)]
    if any(row[-1] for row in rows[count:]):
        return None
    return [row[-1] for row in rows[:count]]
