"""Candidates of a fit: terms of a family and the sets of them that are worth predicting with.

Physical family: sums of up to three terms c g(p) h(n) ... with c > 0.

g is what cuts, trees and exchanges between p nodes cost; h are surfaces, volumes and lengths of the problem.
Nothing negative is added, so a law of this family never predicts less than nothing.

Performance model normal form as Extra-P searches it: c_0 + c_1 t, or sums and products of such terms.

Per parameter one function x^i log2(x)^j; with two or more parameters the functions a and b enter as a b,
a + b, a b + a or a b + b, always with a constant. Coefficients may have any sign.

Reference: A. Calotoiu et al., *Using automated performance modeling to find scalability bugs in complex
codes*, SC'13 (one parameter); *Fast multi-parameter performance modeling*, CLUSTER'16 (several). The
exponents are those of Extra-P 4.2, the negative ones included.

Negative powers of the logarithm, which Extra-P also tries, are left out: they have no value for one node.

Exact family: whole numbers that a polynomial of low degree gives, more of them than it has coefficients.

Counts of a program are whole numbers, and those of loops over its sizes are polynomials of them. A polynomial
with rational coefficients that goes through all points, points to spare along every parameter, is the law: no
other kind of data does that by chance. Node counts enter by what cuts of a regular grid cost.

Throughout: x: float64[N, K], different points; y: float64[N], metric; ``node_parameter``: column of the node
count, -1 without one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import chain, combinations, pairwise, product
from typing import TypeAlias

import numpy as np

from commanalyzer.scaling.laws.law import Family, Formula
from commanalyzer.scaling.laws.regression import Index, Problem, all_pairs, best_subsets, extended
from commanalyzer.scaling.laws.terms import Factor, Floats, Form, Term, along, columns, term_complexity

_MOST_DEGREE = 4
_LARGEST = 2.0**53  # whole numbers are exact up to there
_NEAR = 1e-7  # relative: what is worth solving exactly
_GRID_FACTORS = (
    *(Factor(-1, f, Fraction(1, d)) for f in ("grid", "mesh", "sides", "faces", "edges") for d in (2, 3)),
    Factor(-1, "sides", Fraction(1)),
)
_NODE_FACTORS: tuple[tuple[Factor, ...], ...] = (
    (),
    (Factor(-1, "power", Fraction(1)),),
    *((factor,) for factor in _GRID_FACTORS),
)
_FAR = 64.0  # times the data
Row: TypeAlias = list[Fraction]


def exact_polynomials(x: Floats, y: Floats, node_parameter: int, grid: int = 0) -> list[Formula]:
    """The polynomials with the fewest coefficients through all points, those of a known ``grid`` first."""
    numbers = np.append(x, y)
    if (numbers != np.rint(numbers)).any() or np.abs(numbers).max() >= _LARGEST:
        return []
    scale = np.maximum(np.abs(y), 1.0)
    far = x * _FAR  # where no amount is negative, either
    exact: dict[tuple[Term, ...], Formula] = {}
    fewest = len(x)
    for terms in _polynomial_sums(x, node_parameter, grid):
        if len(terms) > fewest:
            break
        table = columns(terms, x) / scale[:, None]
        norms = np.sqrt((table**2).sum(axis=0))
        if not (np.isfinite(norms).all() and (norms > 0).all()):
            continue
        solution, _, rank, _ = np.linalg.lstsq(table / norms, y / scale, rcond=1e-13)
        if rank == len(terms) and np.abs(table / norms @ solution - y / scale).max() < _NEAR:
            found = _solved(np.rint(columns(terms, x)), y)
            if found is not None and (columns(terms, far) @ np.array(found, np.float64) > -1.0).all():
                kept = {t: float(c) for t, c in zip(terms, found, strict=True) if c}
                fewest = len(terms)
                exact[tuple(kept)] = Formula(
                    "polynomial", tuple(kept), tuple(kept.values()),
                    covariance=(0.0,) * len(kept) ** 2, degrees_of_freedom=len(y) - fewest,
                )  # fmt: skip
    return list(exact.values())


def _polynomial_sums(x: Floats, node: int, grid: int) -> Iterator[tuple[Term, ...]]:
    """Terms of polynomials, by their number: all powers up to a degree of each size, times factors of p."""
    values = [len(np.unique(column)) for column in x.T]
    sizes = [k for k in range(x.shape[1]) if k != node]
    degrees = product(*(range(min(_MOST_DEGREE, values[k] - 2) + 1) for k in sizes))
    forms: list[tuple[tuple[Factor, ...], ...]] = [((),)]
    if node >= 0:
        factors = sorted(_NODE_FACTORS, key=lambda form: not all(f.is_of_grid(grid) for f in form))
        forms = [c for k in (1, 2) for c in combinations(factors, k) if values[node] > k]
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
    for a, b in chain.from_iterable(product(*two) for two in combinations(own_numbers, 2)):
        found += [((a, b),), ((a,), (b,)), ((a, b), (a,)), ((a, b), (b,))]
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


MOST_TERMS = 900
_FALLS_BY = 1e-3  # relative: what counts as falling along a parameter


def _powers(exponents: Sequence[str]) -> list[tuple[Form, Fraction, int]]:
    return [("power", Fraction(a), 0) for a in exponents]


_READERS = ("1/2", "3/4", "1", "3/2", "2", "3", "4", "6", "8", "12", "16", "24", "32")
_NODE_FORMS: tuple[tuple[Form, Fraction, int], ...] = (
    *_powers(("1/3", "1/2", "2/3", "1", "4/3", "3/2", "2")),
    *(("rise", Fraction(a), 0) for a in ("1/3", "1/2", "2/3", "1")),
    *(("fall", Fraction(a), 0) for a in ("1/3", "1/2", "1")),
    *(("pairs", Fraction(a), 0) for a in ("1/2", "2/3", "2")),
    *(("gather", Fraction(a), 0) for a in _READERS),
    *((factor.form, factor.exponent, 0) for factor in _GRID_FACTORS),
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


Subsets: TypeAlias = Callable[[Problem], Iterator[Index]]
MOST_IN_SUM = 3
_KEPT = 200  # per number of terms: those with the least squares
_TWENTIETHS = 20
_MOST_TRIPLES = 500_000
_MOST_SNAPPED = 3  # parameters of a power law with usual exponents: 15^3 of them
_USUAL = tuple(sign * Fraction(a) for a in ("1/3", "1/2", "2/3", "1", "3/2", "2", "3") for sign in (1, -1))
_EXACT = 1e-12  # mean squared relative residual: nothing is left to explain


def subsets_of(family: Family, x: Floats, y: Floats, node_parameter: int) -> tuple[tuple[Term, ...], Subsets]:
    """Terms of a family, and a function from their columns to sets of up to three of them, int64[C, t] each.

    ``family`` is ``lattice``, ``pmnf`` or ``power``.
    """
    if family == "lattice":
        return lattice_terms(x, y, node_parameter), nonnegative_sums
    if family == "power":
        return (free_power(x, y),), lambda problem: iter([np.zeros((1, 1), dtype=np.int64)])
    terms, groups = pmnf_hypotheses(x, y)

    def normal_form(problem: Problem) -> Iterator[Index]:
        for group in groups:
            if group.shape[1] <= min(MOST_IN_SUM, len(problem.target) - 1):
                yield best_subsets(problem, group, _KEPT, positive=False)

    return terms, normal_form


def nonnegative_sums(problem: Problem) -> Iterator[Index]:
    """Nonnegative sums of one, two and three terms; three from the best pairs with any third."""
    rows, count = problem.table.shape
    yield best_subsets(problem, np.arange(count, dtype=np.int64)[:, None], _KEPT, positive=True)
    if rows <= 2:
        return
    pairs = best_subsets(problem, all_pairs(count), max(_MOST_TRIPLES // count, _KEPT), positive=True)
    yield pairs[:_KEPT]
    if rows > MOST_IN_SUM + 1 and len(pairs) and not _is_exact(problem, pairs[0]):
        yield best_subsets(problem, extended(pairs, count), _KEPT, positive=True)


def _is_exact(problem: Problem, chosen: Index) -> bool:
    table = problem.table[:, chosen]
    rest = problem.target - table @ np.linalg.lstsq(table, problem.target, rcond=None)[0]
    return bool((rest**2).mean() < _EXACT)


def free_power(x: Floats, y: Floats) -> Term:
    """The power law that follows the logarithm of a metric best, exponents rounded to twentieths."""
    rows = y > 0
    table = np.concatenate((np.ones((int(rows.sum()), 1)), np.log(x[rows])), axis=1)
    exponents = np.linalg.lstsq(table, np.log(y[rows]), rcond=None)[0][1:]
    twentieths = [Fraction(round(_TWENTIETHS * a), _TWENTIETHS) for a in exponents.tolist()]
    return tuple(Factor(k, "power", exponent) for k, exponent in enumerate(twentieths) if exponent)


def snapped_power(x: Floats, y: Floats) -> Formula:
    """The power law with usual exponents that follows the logarithm of a metric best.

    For metrics that are known coarsely (to a factor of two, say): exponents of volumes, surfaces and roots
    leave less to chance than free ones. Of those within one standard error of the best, the simplest. All
    points and values are positive.
    """
    varies = [k for k in range(x.shape[1]) if np.ptp(x[:, k]) > 0][:_MOST_SNAPPED]
    choices = [[None, *(Factor(k, "power", a) for a in _USUAL)] for k in varies]
    terms: list[Term] = [tuple(f for f in row if f is not None) for row in product(*choices)]
    rest = np.log(y)[:, None] - np.log(columns(terms, x))
    rss = ((rest - rest.mean(axis=0)) ** 2).sum(axis=0)
    limit = float(rss.min()) * (1 + 1 / len(y)) + _EXACT
    best = min(np.flatnonzero(rss <= limit).tolist(), key=lambda i: (term_complexity(terms[i]), rss[i]))
    error = float(np.sqrt(rss[best] / max(len(y) - 1, 1)))
    return Formula(
        family="power",
        terms=(terms[best],),
        loo_error=error,
        residual_error=error,
        coefficients=(float(np.exp(rest[:, best].mean())),),
        covariance=(float((error * np.exp(rest[:, best].mean())) ** 2 / len(y)),),
        degrees_of_freedom=len(y) - 1,
    )
