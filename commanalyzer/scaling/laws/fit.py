"""Fits a law: points and metric -> the formula that predicts best, of both families.

Chosen by prediction, not by fit: every row from the others (leave one out), and the rows with the largest
value of each parameter from the smaller ones (leave largest out), because a law is made for larger
problems.

Fits laws of several metrics: observations -> document of laws with provenance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.errors import FitError
from commanalyzer.result.provenance import collect_provenance, file_hash
from commanalyzer.scaling.laws.data import ALIASES, DEFAULT_METRICS, MACHINE_METRICS, Observations
from commanalyzer.scaling.laws.document import LawsDocument
from commanalyzer.scaling.laws.families import exact_polynomials, subsets_of
from commanalyzer.scaling.laws.law import UNPREDICTED, Family, Formula, Law, require_points
from commanalyzer.scaling.laws.regression import NEGLIGIBLE, Problem, prediction_errors, robust
from commanalyzer.scaling.laws.selection import SIGNIFICANCE, Fitted, candidates_of, choose, constant
from commanalyzer.scaling.laws.terms import NODES, Floats, along, columns, point_text
from commanalyzer.scaling.sweep.table import STATE_FILE, TABLE_FILE

FAMILIES: tuple[Family, ...] = ("polynomial", "lattice", "pmnf", "power")
# Of a parameter: A. Calotoiu et al., SC'13, call for five measurements at least.
_LEAST_VALUES = 5
# Student's factor is 12.7 for one degree of freedom, 4.3 for two: one residual does not show a spread.
_LEAST_DEGREES = 2
_EXACT = 1e-6  # relative error
_MOST_OUT = 4  # a law that a quarter of the points breaks is none
_BAD = 0.3  # relative error of prediction that makes a law useless
_LEFT_OF_LARGEST = 2  # values of a parameter
_LEFT_OF_HALF = 3


def fit_law(
    x: Floats,
    names: Sequence[str],
    y: Floats,
    *,
    metric: str = "metric",
    families: Sequence[Family] = FAMILIES,
    grid: int = 0,
) -> Law:
    """Law of ``y``; deterministic.

    Parameters with one value, and those that the metric does not change with at all, are left out. ``x``:
    float64[N, K], points, all positive; rows may repeat. ``names``: names of the K parameters; ``p`` is the
    node count. ``y``: float64[N], metric, not negative. ``families``: some of ``polynomial``, ``lattice``,
    ``pmnf`` and ``power``. ``grid``: dimensions of the most cubic grids of blocks that ``y`` was counted of,
    0 where not known; of forms that agree, that of its extents is used. Raises ``FitError`` if there are
    fewer than two points, or values are negative or not finite.
    """
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    _check(x, names, y, metric)
    x, place = np.unique(x, axis=0, return_inverse=True)  # repetitions are averaged
    y = np.bincount(place.ravel(), weights=y) / np.bincount(place.ravel())
    kept, notes = _telling_parameters(x, y, names)
    x, names = x[:, kept], [names[index] for index in kept]
    found, doubtful = _found(x, y, list(names), families, grid)
    notes += [
        f"{point_text(names, point)} lies off the other points and is left out" for point in x[doubtful]
    ]
    runs = _runs_to_add(x[~doubtful], names, found[0])
    lacks = "" if found[0].residual_error < _EXACT else runs
    if lacks:
        notes.append(f"no band: too few runs; add {lacks}")
    elif runs and len(found) > 1:
        notes.append(f"several forms agree at all points; add {runs} to tell them apart")
    if found[0].loo_error > _BAD:
        error = f"{100 * found[0].loo_error:.0f} %"
        notes.append(f"{UNPREDICTED} (error {error}): more points, or points of another kind")
    return replace(Law.of_points(metric, names, found, x), notes=tuple(notes), lacks=lacks)


def _check(x: Floats, names: Sequence[str], y: Floats, metric: str) -> None:
    if x.ndim != 2 or x.shape != (len(y), len(names)):
        raise FitError(
            f"expected {len(y)} points with {len(names)} parameters, found an array of shape {x.shape}",
            where=metric,
        )
    if len(y) < 2:
        raise FitError(
            f"expected at least two points, found {len(y)}", where=metric, hint="analyse more sizes and nodes"
        )
    require_points(x, names, metric)
    if not (np.isfinite(y).all() and (y >= 0).all()):
        raise FitError("expected values of 0 or more", where=metric)


def _telling_parameters(x: Floats, y: Floats, names: Sequence[str]) -> tuple[list[int], list[str]]:
    kept, notes = [], []
    for index, name in enumerate(names):
        if x[:, index].min() == x[:, index].max():
            notes.append(f"{name} was always {x[0, index]:g}: the law holds for that value")
        elif not _is_free_of(x, y, index):
            kept.append(index)
    return kept, notes


def _is_free_of(x: Floats, y: Floats, index: int) -> bool:
    """Points that differ in this parameter only have the same y, and there are such points."""
    group, size = along(x, index)
    first = y[np.unique(group, return_index=True)[1]]
    # A parameter is only out if every other combination of values shows it.
    return bool((size > 1).all() and (y == first[group]).all())


def _found(
    x: Floats, y: Floats, names: list[str], families: Sequence[Family], grid: int
) -> tuple[list[Formula], NDArray[np.bool_]]:
    """Formulas, the one to use first, and bool[N], points that were left out as outliers.

    A point is one where its residual from a robust regression is larger than the largest of as many normal
    ones would be (at :data:`SIGNIFICANCE`), for every form that predicts as well and has no more terms. Where
    all points with the largest value of a parameter lie off, another regime begins, and they are kept.

    Reference: P. Rousseeuw, A. Leroy, *Robust Regression and Outlier Detection*, 1987 (reweighting).
    """
    out = np.zeros(len(y), dtype=np.bool_)
    if not (y.any() and names):
        return [constant(y)], out
    while True:
        found = _ranked(x[~out], y[~out], names, families, grid)
        best = found[0]
        if best.residual_error < NEGLIGIBLE or best.free_degrees < _LEAST_DEGREES:
            return found, out
        off = np.all([_lie_off(x, y, f) for f in found if len(f.terms) <= len(best.terms)], axis=0)
        new = off & ~out
        edges = any(off[column == column.max()].all() for column in x.T)
        if edges or not new.any() or (out | off).sum() > len(y) // _MOST_OUT:
            return found, out
        out |= off


def _lie_off(x: Floats, y: Floats, formula: Formula) -> NDArray[np.bool_]:
    """bool[N], points too far from a robust regression with the terms of a formula."""
    from scipy.special import stdtrit

    scale = np.maximum(y, y[y > 0].min())
    _, residual = robust(columns(formula.terms, x) / scale[:, None], y / scale)
    limit = float(stdtrit(max(formula.free_degrees, 1), 1 - SIGNIFICANCE / (2 * len(y))))
    return np.asarray(np.abs(residual) > limit)


def _runs_to_add(x: Floats, names: Sequence[str], formula: Formula) -> str:
    """Values of parameters that a band needs, such as ``n = 48, 96``; empty where there are enough."""
    counts = [len(np.unique(column)) for column in x.T]
    missing = [max(_LEAST_VALUES - count, 0) for count in counts]
    if missing and not any(missing) and formula.free_degrees < _LEAST_DEGREES:
        missing[int(np.argmin(counts))] = _LEAST_DEGREES - formula.free_degrees
    return "; ".join(
        f"{name} = {', '.join(f'{value:g}' for value in _further(column, count, name == NODES))}"
        for name, column, count in zip(names, x.T, missing, strict=True)
        if count
    )


def _further(column: Floats, count: int, is_nodes: bool) -> list[float]:
    """Whole values in the widest gaps of a parameter, or beyond the largest; nodes on square grids."""
    known = np.unique(column)
    for _ in range(count):
        middle = np.floor((known[1:] + known[:-1]) / 2)
        if is_nodes:  # q^2 or q (q + 1)
            root = np.floor(np.sqrt(middle))
            middle = np.where(root * (root + 1) <= middle, root * (root + 1), root**2)
        usable = np.where(np.isin(middle, known) | (middle < known[:-1]), 0.0, known[1:] / known[:-1])
        widest = int(np.argmax(usable)) if len(usable) else 0
        is_inside = len(usable) > 0 and usable[widest] > 0
        known = np.unique(np.append(known, middle[widest] if is_inside else known[-1] + 1))
    return [value for value in known.tolist() if value not in column]


def _ranked(x: Floats, y: Floats, names: list[str], families: Sequence[Family], grid: int) -> list[Formula]:
    """The formulas that predict as well as the best one, the one to use first."""
    node = names.index(NODES) if NODES in names else -1
    exact = exact_polynomials(x, y, node, grid) if "polynomial" in families else []
    if exact and (node < 0 or families == ("polynomial",)):
        return exact
    # A metric of 0 (one node) must be met as closely as the smallest other value.
    scale = np.maximum(y, y[y > 0].min())
    held = tuple(holdouts(x))
    found: list[Fitted] = []
    for family in families:
        if family == "polynomial":
            continue
        terms, subsets = subsets_of(family, x, y, node)
        problem = Problem(columns(terms, x) / scale[:, None], y / scale, held)
        for chosen in subsets(problem):
            # A free exponent costs as much as a term.
            free = len(terms[0]) if family == "power" else 0
            found += candidates_of(family, terms, problem, prediction_errors(problem, chosen), free)
    best = choose(found, len(y), grid)
    if best and any(f.is_of_grid(grid) for term in best[0].terms for f in term):
        roots = {g for f in best for g in chain(*f.terms) if g.parameter == node and g.exponent % 1}
        others = {g for g in roots if not g.is_of_grid(grid)}  # of no division into such blocks
        best = best[:1] + [f for f in best[1:] if others.isdisjoint(chain(*f.terms))]
    # Several forms of p may agree at all points: where another family is exact too, all of them are kept.
    if exact and (not best or best[0].loo_error > _EXACT):
        return exact
    return best or [constant(y)]


def holdouts(x: Floats) -> Iterator[NDArray[np.bool_]]:
    """Rows to predict from the others: the largest value of each parameter, then its larger values.

    Two values are left at least, three where the larger half is taken.
    """
    for column in x.T:
        values = np.unique(column)
        if len(values) > _LEFT_OF_LARGEST:
            yield column == values[-1]
        kept = max(_LEFT_OF_HALF, (len(values) + 1) // 2)
        if len(values) > kept + 1:
            yield column >= values[kept]


_UNEVEN = 1.1  # work of the node with the most over the mean: what is below may be whole rows of a small grid
PER_ROUND = ("regular_bytes", "regular_messages", "comm_bytes", "messages", "work_flops")
_BY_CHANCE = 0.01  # relative error above which rounds follow no formula


def fit_observations(
    seen: Observations, inputs: Sequence[Path] = (), metrics: Sequence[str] = (), families: Sequence[str] = ()
) -> LawsDocument:
    """One law per metric.

    Without ``metrics`` the usual ones, without ``families`` all; ``inputs`` are for the provenance. Raises
    ``FitError`` if a metric is missing, or its data cannot be fitted.
    """
    found = [ALIASES.get(name, name) for name in metrics]
    found = found or [name for name in (*DEFAULT_METRICS, *MACHINE_METRICS) if seen.knows(name)]
    if not found:
        raise FitError(
            f"expected metrics to fit, found the columns {', '.join(seen.metrics)}",
            where=seen.source,
            hint="name them with --metric",
        )
    used = cast(tuple[Family, ...], tuple(families) or FAMILIES)
    laws = tuple(_law(seen, metric, used) for metric in dict.fromkeys(found))
    laws = laws if metrics else (*laws, *_laws_per_round(seen, laws, used), *_laws_of_imbalance(seen))
    files = [p / TABLE_FILE if p.is_dir() else p for p in inputs]
    files = [p.parent / TABLE_FILE if p.name == STATE_FILE else p for p in files]
    made = collect_provenance(
        compiler="", flags=(), input_hashes=[(str(p), file_hash(p)) for p in files if p.is_file()], seed=0
    )
    kept = {key: value for key, value in asdict(made).items() if key not in ("compiler", "flags")}
    return LawsDocument(seen.source, laws, kept)


def _law(seen: Observations, metric: str, families: tuple[Family, ...]) -> Law:
    x, names, y = seen.of(metric)
    if not metric.startswith("regular_"):
        return fit_law(x, names, y, metric=metric, families=families)
    law = fit_law(x, names, y, metric=metric, families=families, grid=seen.grid)
    return replace(law, notes=(*law.notes, *seen.left_out))


def _laws_per_round(seen: Observations, laws: Sequence[Law], families: tuple[Family, ...]) -> Iterator[Law]:
    """Laws of totals divided by rounds of communication, where these depend on the sizes as by chance.

    A solver that ends when it has converged takes 21, 47, 61 and 61 iterations: no formula of n. Rounds that
    follow one (time steps that are a parameter) need no such laws.
    """
    sizes = [k for k, name in enumerate(seen.parameters) if name != NODES]
    for metric in PER_ROUND:
        prefix = "regular_" if metric.startswith("regular_") else ""
        names = [f"{prefix}{name}" for name in ("collective_rounds", "mean_rounds")]
        rounds = next((seen.metrics[n] for n in names if seen.knows(n) and (seen.metrics[n] > 0).any()), None)
        law = next((law for law in laws if law.metric == metric), None)
        if rounds is None or law is None or not sizes:
            continue
        points, place = np.unique(seen.points[:, sizes], axis=0, return_inverse=True)
        most = np.zeros(len(points))
        np.fmax.at(most, place.ravel(), rounds)
        if len(points) < 2 or not (most > 0).all():
            continue
        own = fit_law(points, [seen.parameters[k] for k in sizes], most)
        if own.formula.loo_error <= _BY_CHANCE:
            continue
        shown = ", ".join(f"{value:g}" for value in most.tolist())
        warning = (
            f"rounds of communication follow no formula of the sizes ({shown}): iterations until something "
            "converges? Multiply the law per round with the rounds to expect, totals are not to be trusted"
        )
        share = replace(seen, metrics={metric: seen.metrics[metric] / most[place.ravel()]})
        yield replace(_law(share, metric, families), metric=f"{metric}_per_round", notes=(warning,))


def _laws_of_imbalance(seen: Observations) -> Iterator[Law]:
    """Laws in p of what of the imbalance is there at all sizes; none where larger problems are even."""
    for metric in filter(seen.knows, ("imbalance", "regular_imbalance")):
        x, names, y = seen.of(metric)
        nodes, place = np.unique(x[:, names.index(NODES)], return_inverse=True)
        least = np.full(len(nodes), np.inf)
        np.minimum.at(least, place.ravel(), y)
        if len(nodes) > 1 and least.max() > _UNEVEN:
            yield fit_law(nodes[:, None], (NODES,), least, metric=metric, families=("lattice",))
