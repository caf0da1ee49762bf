"""Performance model normal form as Extra-P searches it: c_0 + c_1 t, or sums and products of such terms.

Per parameter one function x^i log2(x)^j; with two or more parameters the functions a and b enter as a b,
a + b, a b + a or a b + b, always with a constant. Coefficients may have any sign.

Reference: A. Calotoiu et al., *Using automated performance modeling to find scalability bugs in complex
codes*, SC'13 (one parameter); *Fast multi-parameter performance modeling*, CLUSTER'16 (several). The
exponents are those of Extra-P 4.2, the negative ones included.

Negative powers of the logarithm, which Extra-P also tries, are left out: they have no value for one node.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import chain, combinations, pairwise, product
from typing import TypeAlias

import numpy as np

from commanalyzer.scaling.laws.regression import Index
from commanalyzer.scaling.laws.terms import Factor, Floats, Term, along, columns

_BEST_PER_PARAMETER = 8
_PLAIN = "1/4 1/3 1/2 2/3 3/4 4/5 1 5/4 4/3 3/2 5/3 7/4 2 9/4 7/3 5/2 8/3 11/4 3"
_LOG = "0 1/4 1/3 1/2 2/3 3/4 1 5/4 4/3 3/2 2 5/2 3"
_LOG_SQUARED = "0 1/4 1/3 1/2 2/3 3/4 1 3/2 2 5/2"
PAIRS = tuple(
    (sign * Fraction(exponent), log)
    for sign, log, exponents in ((1, 0, _PLAIN), (1, 1, _LOG), (1, 2, _LOG_SQUARED), (-1, 0, _PLAIN))
    for exponent in exponents.split()
)

Numbers: TypeAlias = tuple[int, ...]  # of the functions in a product
Hypothesis: TypeAlias = tuple[Numbers, ...]  # without the constant, which every hypothesis has


def pmnf_hypotheses(x: Floats, y: Floats) -> tuple[tuple[Term, ...], list[Index]]:
    """Terms of Extra-P's search space for these data, the constant first, and sets of them, int64[C, t] each.

    With one or two parameters every pair of functions is combined. With three, the functions of each
    parameter that explain the metric best while all other parameters stay equal; with more, two parameters
    at a time.

    Args:
        x: float64[N, K], points.
        y: float64[N], metric.
    """
    functions = [[Factor(k, "power", i, j) for i, j in PAIRS] for k in range(x.shape[1])]
    if len(functions) > 2:
        functions = [_best_alone(x, y, parameter, own) for parameter, own in enumerate(functions)]
    return _combined(tuple(map(tuple, functions)))


@lru_cache(maxsize=4)
def _combined(functions: tuple[tuple[Factor, ...], ...]) -> tuple[tuple[Term, ...], list[Index]]:
    every = [f for own in functions for f in own]
    starts = np.cumsum([0, *map(len, functions)]).tolist()
    own_numbers = [range(first, end) for first, end in pairwise(starts)]
    found: list[Hypothesis] = [((f,),) for f in range(len(every))]
    for first, second in combinations(own_numbers, 2):
        found += [h for a in first for b in second for h in _pair_forms(a, b)]
    if len(functions) == 3:
        found += [h for a, b, c in product(*own_numbers) for h in _triple_forms(a, b, c)]
    used: dict[Numbers, int] = {
        numbers: i for i, numbers in enumerate({(): 0} | dict.fromkeys(chain(*found)))
    }
    terms = tuple(tuple(every[number] for number in numbers) for numbers in used)
    sets = [tuple(used[numbers] for numbers in h) for h in found]
    # Extra-P always has a constant; it removes one that is next to nothing, which is the set without it.
    sets += [(0,), *((0, *row) for row in sets)]
    return terms, [np.array([h for h in sets if len(h) == t], dtype=np.int64) for t in {*map(len, sets)}]


def _pair_forms(a: int, b: int) -> list[Hypothesis]:
    both = (a, b)
    return [(both,), ((a,), (b,)), (both, (a,)), (both, (b,))]


def _triple_forms(a: int, b: int, c: int) -> list[Hypothesis]:
    """Products of all three, alone and with one more term of some of them; pairs plus the third."""
    all_three = (a, b, c)
    more: list[Numbers] = [(a,), (b,), (c,), (a, b), (b, c), (a, c)]
    sums: list[Hypothesis] = [((a, b), (c,)), ((a, c), (b,)), ((b, c), (a,)), ((a,), (b,), (c,))]
    return [(all_three,), *((all_three, term) for term in more), *sums]


def _best_alone(x: Floats, y: Floats, parameter: int, functions: Sequence[Factor]) -> list[Factor]:
    """The functions that leave the least of y / (mean over the parameter), other parameters equal."""
    group, size = along(x, parameter)

    def centred(values: Floats) -> Floats:
        mean = np.stack([np.bincount(group, weights=column) for column in values.T], axis=1) / size[:, None]
        return np.asarray(values - mean[group])

    level = np.bincount(group, weights=np.abs(y)) / size
    scale = np.where(level > 0, level, 1.0)[group]
    target = centred((y / scale)[:, None])
    table = centred(columns([(f,) for f in functions], x))
    norms = (table**2).sum(axis=0)
    explained = (table * target).sum(axis=0) ** 2 / np.where(norms > 0, norms, np.inf)
    order = np.argsort(-explained, kind="stable")[:_BEST_PER_PARAMETER]
    return [functions[index] for index in order.tolist()]
