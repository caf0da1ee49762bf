"""Models of functions of the reuse distance (``memFunction``, Sections 6.2.1 to 6.2.3).

=================  ==================================================================================
model              parts
=================  ==================================================================================
``levels``         ``end``: the last value; ``0.025`` ... ``0.975``: the distance that this fraction of all
                   reuses does not exceed. Distances are known to a factor of two, so each follows a power law
                   with usual exponents (or the given terms). Steps that move with the problem move, too.
``per-bin``        one per distance: its value (Marin and Mellor-Crummey); also as networks
others             ``max``: the largest distance; ``cdf``: one model of all values, of terms that may depend
                   on memX, normMemX = memX / max (Eq. 4) and lognormMemX = 1 + log memX / log max (Eq. 5)
=================  ==================================================================================

The manual's models for equally spaced values (its "0", "1", ...) are ``levels``.

Reference: *IBM Exascale Extrapolator manual*; G. Marin, J. Mellor-Crummey, SIGMETRICS 2004.

Number of threads of a class on the most cubic grid: known for any number of processes, without a fit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from commanalyzer.profiles.classification.classes import Classes
from commanalyzer.profiles.extrapolation.fitting import Fitter, Model, values_of
from commanalyzer.profiles.extrapolation.proposals import MEM_NAMES, MEM_TERMS, read_terms
from commanalyzer.profiles.extrapolation.setup import LEARNED, MetricSetup
from commanalyzer.scaling.laws.terms import Floats, most_cubic_grid

_PLACES = {1: ("end", "inner"), 2: ("corner", "edge", "interior"), 3: ("corner", "edge", "face", "interior")}


@dataclass(frozen=True, slots=True)
class GridCount:
    """Ranks with neighbours on both sides in so many dimensions of a mesh."""

    parameter: str  # the number of processes
    dimensions: int  # of the grid
    both: int  # dimensions with neighbours on both sides

    def predict(self, values: Mapping[str, Floats | float]) -> Floats:
        """float64[N], ranks of the class for each number of processes."""
        processes = np.atleast_1d(np.asarray(values[self.parameter], dtype=np.float64))
        return np.array([float(_count(round(p), self.dimensions, self.both)) for p in processes.tolist()])

    def band(self, values: Mapping[str, Floats | float]) -> tuple[Floats, Floats]:
        """The same twice: there is nothing uncertain."""
        found = self.predict(values)
        return found, found


def _count(processes: int, dimensions: int, both: int) -> int:
    """Coefficient of z^both in the product of (ends + inner z) over the extents."""
    total = np.array([1])
    for extent in most_cubic_grid(processes, dimensions):
        ends = min(extent, 2)
        total = np.convolve(total, [ends, extent - ends])
    return int(total[both]) if both < len(total) else 0


def grid_counts(classes: Classes, processes: str) -> dict[str, GridCount]:
    """Counts of the classes, by name; empty unless all runs are on the most cubic mesh of their processes."""
    texts = [run.topology for run in classes.runs]
    if not processes or not all(t.startswith("mesh ") and "roots" not in t for t in texts):
        return {}
    extents = [tuple(map(int, t.removeprefix("mesh ").split(" x "))) for t in texts]
    dimensions = max(map(len, extents))
    names = _PLACES[dimensions]
    for own in extents:
        cubic = most_cubic_grid(int(np.prod(own)), dimensions)
        if sorted(e for e in own if e > 1) != sorted(e for e in cubic if e > 1):
            return {}
    if set(classes.names) - set(names):
        return {}
    return {name: GridCount(processes, dimensions, both) for both, name in enumerate(names)}


END, LARGEST, CDF = "end", "max", "cdf"
_LEVELS = (np.arange(20) + 0.5) / 20
"""Equally spaced fractions; the mean error of a step function cannot be told to better than half a level."""
_SMALLEST = 0.5  # memX of the distance 0: half of the next one
_LEAST_MAX = 4.0  # so that the logarithm of memX over that of max stays above -1


def fit_function(fitter: Fitter, setup: MetricSetup, parts: Mapping[str, Floats]) -> dict[str, Model]:
    """Models of a function; ``parts``: float64[R] by distance, values of the function."""
    distances = np.array([float(d) for d in parts])
    table = np.stack(list(parts.values()), axis=1)
    plain = replace(setup, terms=setup.terms, bounds=(0.0, float("inf")))
    if setup.model in ("per-bin", "per-bin-network"):
        return {name: fitter.fit(plain, values) for name, values in parts.items()}
    if setup.model == "levels":
        return _fit_levels(fitter, plain, distances, table)
    return _fit_whole(fitter, plain, distances, table)


def _fit_levels(fitter: Fitter, setup: MetricSetup, distances: Floats, table: Floats) -> dict[str, Model]:
    logs = np.log2(1 + distances)
    end = table[:, -1]
    share = table / np.where(end > 0, end, 1.0)[:, None]
    found: dict[str, Model] = {END: fitter.fit(setup, end)}
    known: dict[bytes, Model] = {}
    for level in _LEVELS.tolist():
        y = np.array([np.exp2(np.interp(level, own, logs)) for own in np.maximum.accumulate(share, axis=1)])
        if y.tobytes() not in known:  # levels on one step have the same distances
            known[y.tobytes()] = fitter.fit_coarse(setup, y)
        found[f"{level:g}"] = known[y.tobytes()]
    return found


def _fit_whole(fitter: Fitter, setup: MetricSetup, distances: Floats, table: Floats) -> dict[str, Model]:
    last = np.array([distances[np.flatnonzero(row < row[-1]).max(initial=-1) + 1] for row in table])
    largest = fitter.fit(replace(setup, model="weighted", terms=()), np.maximum(last, _LEAST_MAX))
    rows, count = len(table), len(distances)
    base = np.repeat(fitter.x, count, axis=0)
    most = np.repeat(largest.predict(values_of(fitter.names, fitter.x)), count)
    whole = replace(
        fitter,
        names=(*fitter.names, *MEM_NAMES),
        x=np.concatenate((base, mem_columns(np.tile(distances, rows), most)), axis=1),
    )
    own = whole.mains(setup.name)
    terms = read_terms(setup.terms, whole.names)
    memory = read_terms(MEM_TERMS, whole.names)
    y = np.clip(table, 0.0, None).ravel()
    if setup.model in LEARNED:
        return {LARGEST: largest, CDF: whole.fit(setup, y, terms=terms or (*own, *memory))}
    fitted = whole if terms else replace(whole, extra_mains=memory)
    return {LARGEST: largest, CDF: fitted.fit(setup, y)}


def mem_columns(distances: Floats, largest: Floats) -> Floats:
    """float64[N, 3]: memX, normMemX (Eq. 4), lognormMemX (Eq. 5)."""
    mem = np.maximum(distances, _SMALLEST)
    most = np.maximum(largest, _LEAST_MAX)
    return np.stack((mem, mem / most, 1 + np.log(mem) / np.log(most)), axis=1)


def function_at(parts: Mapping[str, Model], names: tuple[str, ...], x: Floats, distances: Floats) -> Floats:
    """float64[N, D], values at the points float64[N, K] and the distances, between 0 and 1."""
    values = values_of(names, x)
    if CDF in parts:
        most = np.repeat(_at(parts[LARGEST], values, len(x)), len(distances))
        whole = np.concatenate(
            (np.repeat(x, len(distances), axis=0), mem_columns(np.tile(distances, len(x)), most)), axis=1
        )
        found = parts[CDF].predict(values_of((*names, *MEM_NAMES), whole)).reshape(len(x), -1)
    elif END in parts:
        found = _of_levels(parts, values, len(x), distances)
    else:
        known = np.array([float(d) for d in parts])
        table = np.stack([_at(model, values, len(x)) for model in parts.values()], axis=1)
        logs = np.log2(1 + known)
        found = np.stack([np.interp(np.log2(1 + distances), logs, row) for row in table])
    return np.asarray(np.clip(found, 0.0, 1.0))


def _of_levels(
    parts: Mapping[str, Model], values: Mapping[str, Floats | float], count: int, distances: Floats
) -> Floats:
    end = np.minimum(_at(parts[END], values, count), 1.0)
    table = np.stack([_at(parts[f"{level:g}"], values, count) for level in _LEVELS.tolist()], axis=1)
    logs = np.maximum.accumulate(np.log2(np.maximum(table, 1.0)), axis=1)
    steps = logs + 1e-9 * np.arange(len(_LEVELS))  # equal distances: the highest level counts
    asked = np.log2(1 + distances) + 1e-6
    # Half a level lies below the first one and above the last one, at their distances.
    shares = np.stack([np.interp(asked, row, _LEVELS, left=0.0, right=1.0) for row in steps])
    return np.asarray(shares * end[:, None])


def _at(model: Model, values: Mapping[str, Floats | float], count: int) -> Floats:
    return np.broadcast_to(model.predict(values), (count,)).astype(np.float64)
