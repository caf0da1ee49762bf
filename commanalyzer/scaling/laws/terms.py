"""Terms of a law: products of one function per parameter, evaluated as columns of a matrix.

A law is ``y = sum_i c_i t_i(x)`` and a term ``t = prod_l f_l(x_l)``. A factor f is one of

=========  =======================================  ==================================================
form       f(x)                                     stands for
=========  =======================================  ==================================================
power      (x - c)^a log2(x - c)^b                  anything that grows or falls with one parameter; c: layers
                                                    of a boundary that the size counts but no loop visits
rise       x^a - 1, a > 0                           cuts between parts: none on one node
fall       1 - x^-a, a > 0                          the share that lies on other nodes
grid       q_1 + ... + q_d - d, q the most cubic grid  the same cuts where p has no whole root (a = 1/d)
           of x nodes in d dimensions
pairs      |x - x^a|                                neighbours on a square (a = 1/2) or cubic grid (2/3),
                                                    all pairs of nodes (2)
gather     (x - 1) (1 - exp(-a / x))                other parts that read a value with a readers at random
mesh       x (1 - 1/q_1) + ... + x (1 - 1/q_d)      neighbours on the most cubic grid (a = 1/d)
sides      b_1 + ... + b_d, b_i = min(q_i - 1, 2)   neighbours of the busiest block of such a grid
faces      (b_1 q_1 + ... + b_d q_d) / x            its faces between blocks, those of the domain being 1
edges      sum of b_i b_j q_i q_j / x, i < j        where two such faces meet: edges, in a plane corners
base       a^x                                      exhaustive searches; the base cannot be fitted
=========  =======================================  ==================================================
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
NODES = "p"  # the name of the node count
Form = Literal["power", "rise", "fall", "grid", "pairs", "mesh", "sides", "faces", "edges", "gather", "base"]
_RARITY: Mapping[Form, float] = {
    "power": 0.0,
    # Grids exist for every p, roots for some: where data cannot tell, the former can be programmed.
    "grid": 0.2,
    "rise": 0.3,
    "fall": 0.3,
    "mesh": 0.4,
    "sides": 0.4,
    "faces": 0.4,
    "edges": 0.4,
    "pairs": 0.5,
    "gather": 0.8,
    "base": 1.0,
}
_WHOLE = 0.5  # node counts of a grid are rounded to whole numbers


@dataclass(frozen=True, slots=True, order=True)
class Factor:
    """A function of one parameter."""

    parameter: int  # its index
    form: Form  # see the module
    exponent: Fraction  # a; of grids 1/d; of a gather the mean number of readers; a base
    log_exponent: int = 0  # b, 0 except for ``power``
    shift: int = 0  # c, likewise

    def __call__(self, x: Floats) -> Floats:
        """float64 of the shape of ``x``: the function at the values ``x`` > 0 of its parameter."""
        a = float(self.exponent)
        if self.form in OF_GRIDS:
            return of_grids(self.form, x, self.exponent.denominator)
        if self.form == "gather":
            return -(x - 1) * np.expm1(-a / x)
        if self.form == "pairs":
            return np.abs(x - x**a)
        if self.form == "base":
            with np.errstate(over="ignore"):
                return a**x
        if self.form == "rise":
            return np.expm1(a * np.log(x))
        if self.form == "fall":
            return -np.expm1(-a * np.log(x))
        if self.shift:
            x = np.maximum(x - self.shift, 0.0)
        column = x**a
        return column * np.log2(x) ** self.log_exponent if self.log_exponent else column

    @property
    def complexity(self) -> float:
        """How far it is from the simplest: decides between laws that explain the data equally well."""
        rare = 0.0 if self.exponent.denominator <= 2 else 0.5
        if self.exponent.denominator > 3:
            rare = 1.5
        steep = 0.0 if self.form in ("gather", "base") else 0.1 * abs(float(self.exponent))
        return (
            1.0 + rare + _RARITY[self.form] + steep + 0.75 * abs(self.log_exponent) + 0.5 * (self.shift != 0)
        )

    def is_of_grid(self, dimensions: int) -> bool:
        """A function of the extents of grids with so many dimensions."""
        return self.form in OF_GRIDS and self.exponent.denominator == dimensions

    def __hash__(self) -> int:
        """Of the fields, without the slow hash of a fraction: fits hash a million factors."""
        power = self.exponent.numerator, self.exponent.denominator
        return hash((self.parameter, self.form, power, self.log_exponent, self.shift))


Term: TypeAlias = tuple[Factor, ...]  # parameters increasing; () is the constant


def columns(terms: Sequence[Term], x: Floats) -> Floats:
    """float64[N, len(terms)], the terms at the points ``x``, float64[N, K], all positive."""
    factors = sorted({factor for term in terms for factor in term})
    values = {factor: factor(x[:, factor.parameter]) for factor in factors}
    table = np.ones((len(x), len(terms)))
    for index, term in enumerate(terms):
        for factor in term:
            table[:, index] *= values[factor]
    return table


def along(x: Floats, parameter: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Group of each row, int64[N]: those whose other parameters are equal; and how many rows each has."""
    _, group, size = np.unique(
        np.delete(x, parameter, axis=1), axis=0, return_inverse=True, return_counts=True
    )
    return group.ravel(), size


def point_text(names: Sequence[str], point: Floats) -> str:
    """``n = 32, p = 36``."""
    return ", ".join(f"{name} = {value:g}" for name, value in zip(names, point.tolist(), strict=True))


def term_complexity(term: Term, grid: int = 0) -> float:
    """Sum over the factors; 0 for the constant, and for extents of a known ``grid`` (its dimensions)."""
    return sum((factor.complexity for factor in term if not factor.is_of_grid(grid)), 0.0)


def _faces(grid: Sequence[int]) -> list[int]:
    """Faces between blocks along each dimension, of a block that has the most; p of them are the domain's."""
    return [min(extent - 1, 2) * extent for extent in grid]


# A mesh that is divided among q = (q_1, ..., q_d) nodes: cuts (d (q - 1) for p = q^d), pairs of neighbours in
# one direction, and of the block with the most neighbours these, its faces, and where two of them meet.
OF_GRIDS: Mapping[Form, Callable[[tuple[int, ...]], float]] = {
    "grid": lambda q: sum(q) - len(q),
    "mesh": lambda q: sum(math.prod(q) * (1 - 1 / extent) for extent in q),
    "sides": lambda q: sum(min(extent - 1, 2) for extent in q),
    "faces": lambda q: sum(_faces(q)) / math.prod(q),
    "edges": lambda q: sum(a * b for a, b in combinations(_faces(q), 2)) / math.prod(q),
}


def of_grids(form: Form, nodes: Floats, dimensions: int) -> Floats:
    """float64 of the shape of ``nodes``: one of :data:`OF_GRIDS`, of the most cubic grids."""
    distinct, inverse = np.unique(np.floor(nodes + _WHOLE).astype(np.int64), return_inverse=True)
    values = [float(OF_GRIDS[form](most_cubic_grid(count, dimensions))) for count in distinct.tolist()]
    return np.array(values)[inverse.reshape(np.shape(nodes))]


@lru_cache(maxsize=4096)
def most_cubic_grid(nodes: int, dimensions: int) -> tuple[int, ...]:
    """Extents with product ``nodes`` and least sum, the largest first."""
    if dimensions == 1:
        return (nodes,)
    best: tuple[int, ...] = (nodes, *(1,) * (dimensions - 1))
    for extent in range(1, round(nodes ** (1 / dimensions)) + 1):  # the smallest is not above the root
        if nodes % extent == 0:
            rest = most_cubic_grid(nodes // extent, dimensions - 1)
            best = min(best, tuple(sorted((*rest, extent), reverse=True)), key=sum)
    return best
