"""Physical family: sums of up to three terms c g(p) h(n) ... with c > 0.

g is what cuts, trees and exchanges between p nodes cost; h are surfaces, volumes and lengths of the problem.
Nothing negative is added, so a law of this family never predicts less than nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np

from commanalyzer.scaling.laws.terms import Factor, Floats, Form, Term, along, columns

MOST_TERMS = 900
_FALLS_BY = 1e-3  # relative: what counts as falling along a parameter


def _powers(exponents: Sequence[str]) -> list[tuple[Form, Fraction, int]]:
    return [("power", Fraction(a), 0) for a in exponents]


_READERS = ("1/2", "3/4", "1", "3/2", "2", "3", "4", "6", "8", "12", "16", "24", "32")
_NODE_FORMS: tuple[tuple[Form, Fraction, int], ...] = (
    *_powers(("1/3", "1/2", "2/3", "1", "4/3", "3/2", "2")),
    *(("rise", Fraction(a), 0) for a in ("1/3", "1/2", "2/3", "1")),
    *(("fall", Fraction(a), 0) for a in ("1/3", "1/2", "1")),
    ("grid", Fraction(1, 2), 0),
    ("grid", Fraction(1, 3), 0),
    *(("pairs", Fraction(a), 0) for a in ("1/2", "2/3", "2")),
    *(("gather", Fraction(a), 0) for a in _READERS),
    ("mesh", Fraction(1, 2), 0),
    ("mesh", Fraction(1, 3), 0),
    ("power", Fraction(0), 1),
    ("power", Fraction(1), 1),
)
_NODE_FALLING = tuple(_powers(("-1/3", "-1/2", "-2/3", "-1")))
_SIZE_FORMS = (
    *_powers(("1/3", "1/2", "2/3", "1", "4/3", "3/2", "2", "5/2", "3", "4")),
    *(("power", Fraction(a), 1) for a in (0, 1, 2)),
)
_SHIFTED = (1, 2, 3)  # powers
_MOST_SHIFT = 8  # layers of a boundary on both sides
_SIZE_FALLING = tuple(_powers(("-1/3", "-1/2", "-2/3", "-1", "-2", "-3")))


def lattice_terms(x: Floats, y: Floats, node_parameter: int) -> tuple[Term, ...]:
    """All terms of the family for these data, the constant first; at most :data:`MOST_TERMS`.

    Falling powers of a parameter are left out where the metric never falls along it. Where there are too
    many products (four or more parameters), those that follow the data best by themselves are kept.

    Args:
        x: float64[N, K], points.
        y: float64[N], metric.
        node_parameter: Column of the node count, -1 without one.
    """
    choices: list[list[Factor | None]] = []
    for parameter in range(x.shape[1]):
        is_nodes = parameter == node_parameter
        forms = _NODE_FORMS if is_nodes else _SIZE_FORMS
        if _falls_along(x, y, parameter):
            forms = (*forms, *(_NODE_FALLING if is_nodes else _SIZE_FALLING))
        shifted = [] if is_nodes else _shifted(x, y, parameter)
        choices.append([None, *(Factor(parameter, *form) for form in forms), *shifted])
    terms = tuple(tuple(f for f in factors if f is not None) for factors in product(*choices))
    return terms if len(terms) <= MOST_TERMS else _most_telling(terms, x, y)


def _shifted(x: Floats, y: Floats, parameter: int) -> list[Factor]:
    """Powers (x - c)^a with the whole c that makes y^(1/a) proportional to them, other parameters equal."""
    group, size = along(x, parameter)
    here, found = x[:, parameter], []
    for exponent in _SHIFTED:
        root = y ** (1 / exponent)
        with np.errstate(divide="ignore", invalid="ignore"):
            m_x, m_y, m_xy, m_xx = (
                np.bincount(group, v) / size for v in (here, root, here * root, here * here)
            )
            shifts = m_x - m_y * (m_xx - m_x**2) / (m_xy - m_x * m_y)
        usable = shifts[np.isfinite(shifts) & (size > 2)]
        shift = int(np.rint(np.median(usable))) if len(usable) else 0
        if shift and abs(shift) <= _MOST_SHIFT and shift < here.min():
            found.append(Factor(parameter, "power", Fraction(exponent), 0, shift))
    return found


def _falls_along(x: Floats, y: Floats, parameter: int) -> bool:
    """Some neighbours along the parameter (all others equal) have a smaller y at the larger value."""
    others = np.delete(x, parameter, axis=1)
    order = np.lexsort((x[:, parameter], *others.T))
    same = (others[order][1:] == others[order][:-1]).all(axis=1)
    first, then = y[order][:-1], y[order][1:]
    return bool(np.any(same & (then < first * (1 - _FALLS_BY))))


def _most_telling(terms: tuple[Term, ...], x: Floats, y: Floats) -> tuple[Term, ...]:
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(np.maximum(columns(terms, x), 1e-300))
    target = np.log(np.maximum(y, 1e-300))
    spread = (logs - logs.mean(axis=0)) - (target - target.mean())[:, None]
    order = np.argsort((spread**2).sum(axis=0), kind="stable")[: MOST_TERMS - 1]
    kept = {0, *order.tolist()}
    return tuple(term for index, term in enumerate(terms) if index in kept)
