"""Models of all metrics of all classes, and what they predict.

Models of functions of the reuse distance (``memFunction``, Sections 6.2.1 to 6.2.3).

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
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from commanalyzer.foundation.documents import Fields, document_text, load_document, reading, typed
from commanalyzer.profiles.classification.classes import Classes
from commanalyzer.profiles.classification.classify import PLACES
from commanalyzer.profiles.extrapolation.data import (
    COUNTS,
    LEARNED,
    MISPREDICTED,
    REACH,
    REST,
    SIZE,
    THREADS,
    ClassData,
    MetricSetup,
    TrainingData,
)
from commanalyzer.profiles.extrapolation.fitting import (
    MEM_NAMES,
    MEM_TERMS,
    Fitter,
    Learned,
    Model,
    read_terms,
    values_of,
)
from commanalyzer.scaling.laws.document import exponent_of, law_content, read_law
from commanalyzer.scaling.laws.law import Law
from commanalyzer.scaling.laws.terms import Floats, most_cubic_grid


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
    names = PLACES[dimensions]
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
        fit = fitter.fit_coarse if setup.model == "per-bin" else fitter.fit
        found = {name: fit(plain, values) for name, values in parts.items()}
        return _like_shorter(found, fitter) if setup.name == MISPREDICTED else found
    if setup.model == "levels":
        return _fit_levels(fitter, plain, distances, table)
    return _fit_whole(fitter, plain, distances, table)


def _like_shorter(models: Mapping[str, Model], fitter: Fitter) -> dict[str, Model]:
    """Rates that do not fall, but those of a shorter history fall below them, have the law of that history.

    Who knows more never predicts worse. Such rates are of small runs whose loops fit into the history.
    """
    far = values_of(fitter.names, fitter.x.max(axis=0) * np.array([[1.0], [REACH]]))
    found: dict[str, Model] = {}
    kept, here, there = None, 0.0, np.inf  # law of the shorter history, at the largest run and beyond
    for name, model in models.items():
        near, beyond = _long(model.predict(far), np.zeros(2)).tolist()
        if kept is None or beyond < near or there >= min(here, beyond):
            kept, here, there = model, near, beyond
        found[name] = kept
    return found


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
    most = largest.predict(values_of(fitter.names, fitter.x))
    whole = replace(fitter, names=(*fitter.names, *MEM_NAMES), x=mem_points(fitter.x, most, distances))
    own = whole.mains(setup.name)
    terms = read_terms(setup.terms, whole.names)
    memory = read_terms(MEM_TERMS, whole.names)
    y = np.clip(table, 0.0, None).ravel()
    if setup.model in LEARNED:
        return {LARGEST: largest, CDF: whole.fit(setup, y, terms=terms or (*own, *memory))}
    fitted = whole if terms else replace(whole, extra_mains=memory)
    return {LARGEST: largest, CDF: fitted.fit(setup, y)}


def mem_points(x: Floats, largest: Floats, distances: Floats) -> Floats:
    """float64[N * D, K + 3]: points float64[N, K] with memX, normMemX (Eq. 4), lognormMemX (Eq. 5)."""
    mem = np.tile(np.maximum(distances, _SMALLEST), len(x))
    most = np.repeat(np.maximum(largest, _LEAST_MAX), len(distances))
    columns = mem, mem / most, 1 + np.log(mem) / np.log(most)
    return np.column_stack((np.repeat(x, len(distances), axis=0), *columns))


RATE = "mispredicted"  # in formulas of entropies


def entropy_bound(rate: Floats) -> Floats:
    """The most bits that an outcome tells of which at best this share is mispredicted (Fano)."""
    p = np.clip(rate, np.finfo(np.float64).tiny, 0.5)
    return np.asarray(-p * np.log2(p) - (1 - p) * np.log1p(-p) / np.log(2))


def fit_entropy(fitter: Fitter, setup: MetricSetup, y: Floats, rate: Floats) -> Model:
    """Share of the entropy float64[R] in the most that the modelled rates of mispredictions allow.

    An outcome that is rare as 1/n tells about log2(n) bits: no power of n. But the share tends to a constant,
    and differs from it by what histories with a rare outcome in them tell: a part as large as the rate.
    """
    share = np.clip(y / entropy_bound(rate), *setup.bounds)
    whole = replace(fitter, names=(*fitter.names, RATE), x=np.column_stack((fitter.x, rate)))
    terms = ((), *read_terms((RATE,), whole.names))
    return whole.fit(setup, share, terms=() if setup.terms else terms)


def function_at(model: MetricModel, names: tuple[str, ...], x: Floats, distances: Floats) -> Floats:
    """float64[N, D], values at the points float64[N, K] and the distances, between 0 and 1."""
    parts = {name: part for name, part in model.parts.items() if not isinstance(part, GridCount)}
    values = values_of(names, x)
    if CDF in parts:
        whole = mem_points(x, _long(parts[LARGEST].predict(values), x), distances)
        found = parts[CDF].predict(values_of((*names, *MEM_NAMES), whole)).reshape(len(x), -1)
    elif END in parts:
        found = _of_levels(parts, values, x, distances)
    else:
        table = np.stack([_long(part.predict(values), x) for part in parts.values()], axis=1)
        logs = np.log2([1 + float(distance) for distance in parts])
        found = np.stack([np.interp(np.log2(1 + distances), logs, row) for row in table])
    return np.asarray(np.clip(found, 0.0, 1.0))


def _of_levels(
    parts: Mapping[str, Model], values: Mapping[str, Floats | float], x: Floats, distances: Floats
) -> Floats:
    end = np.minimum(_long(parts[END].predict(values), x), 1.0)
    known = [parts[f"{level:g}"].predict(values) for level in _LEVELS.tolist()]
    table = np.stack([_long(distance, x) for distance in known], axis=1)
    logs = np.maximum.accumulate(np.log2(np.maximum(table, 1.0)), axis=1)
    steps = logs + 1e-9 * np.arange(len(_LEVELS))  # equal distances: the highest level counts
    asked = np.log2(1 + distances) + 1e-6
    # Half a level lies below the first one and above the last one, at their distances.
    shares = np.stack([np.interp(asked, row, _LEVELS, left=0.0, right=1.0) for row in steps])
    return np.asarray(shares * end[:, None])


Part = Model | GridCount


@dataclass(frozen=True, slots=True, eq=False)
class MetricModel:
    """Model of one metric of one class."""

    setup: MetricSetup  # how it was made
    # By component (:mod:`commanalyzer.profiles.extrapolation.data`), or by the parts of a function
    parts: Mapping[str, Part]
    key: str  # changes with everything that it was made from


@dataclass(frozen=True, slots=True, eq=False)
class ClassModels:
    """Models of one class."""

    name: str
    models: Mapping[str, MetricModel]  # by metric, ``NThreads`` and ``LSys`` first


@dataclass(frozen=True, slots=True, eq=False)
class Models:
    """Models of an application."""

    application: str
    parameters: tuple[str, ...]  # scaling parameters
    processes: str  # the one that is the number of threads; empty if none is
    names: tuple[str, ...]  # parameters of formulas: those, then numbers of threads
    lowest: tuple[float, ...]  # least value of each scaling parameter in the training data
    highest: tuple[float, ...]  # largest value
    classes: tuple[ClassModels, ...]

    def complete(self, scale: Floats) -> Floats:
        """float64[N, len(names)], scaling parameters float64[N, K] with numbers of threads, at least 1."""
        counts = [thread_count(c.models[THREADS], self.parameters, scale) for c in self.classes]
        return with_counts(scale, counts, has_processes=bool(self.processes))

    def at(self, own: ClassModels, metric: str, scale: Floats) -> dict[str, Floats]:
        """float64[N] by component, at the scaling parameters float64[N, K]."""
        return {name: value for name, (value, _, _) in self.bands(own, metric, scale).items()}

    def bands(self, own: ClassModels, metric: str, scale: Floats) -> dict[str, tuple[Floats, Floats, Floats]]:
        """Value, lower and upper end (about 95 %) by component; not for functions.

        The relative half widths of a product and of the instructions that it is divided by add up like
        independent errors.
        """
        if metric == THREADS:
            count = thread_count(own.models[THREADS], self.parameters, scale)
            low, high = own.models[THREADS].parts[""].band(values_of(self.parameters, scale))
            return {"": (count, _long(low, scale), _long(high, scale))}
        model = own.models[metric]
        x, names = self.complete(scale), self.names
        is_entropy = model.setup.type == "entropy"
        if is_entropy:
            rate = self.function(own, MISPREDICTED, scale, np.array([float(n) for n in model.parts]))
            x, names = np.column_stack((x, rate)), (*names, RATE)
        found = {name: _bounded(part, model.setup, names, x) for name, part in model.parts.items()}
        if is_entropy:
            most = entropy_bound(rate[:, 0])
            return {name: (v * most, low * most, high * most) for name, (v, low, high) in found.items()}
        if not model.setup.type.endswith("instrPercentage"):
            return found
        size, low, high = _bounded(own.models[SIZE].parts[""], own.models[SIZE].setup, self.names, x)
        wide = np.maximum(high - size, size - low) / size
        result = {}
        for name, (value, least, most) in found.items():
            width = np.maximum(most - value, value - least) / np.where(value > 0, value, 1.0)
            half = np.hypot(width, wide) * value / size
            result[name] = (value / size, np.maximum(value / size - half, 0.0), value / size + half)
        return result

    def function(self, own: ClassModels, metric: str, scale: Floats, distances: Floats) -> Floats:
        """float64[N, D], a function of the reuse distance."""
        return function_at(own.models[metric], self.names, self.complete(scale), distances)


def with_counts(scale: Floats, counts: list[Floats], *, has_processes: bool) -> Floats:
    """Scaling parameters, the number of all threads unless it is one of them, and threads per class."""
    columns = [np.maximum(c, 1.0)[:, None] for c in counts]
    total = [] if has_processes else [np.maximum(np.sum(counts, axis=0), 1.0)[:, None]]
    return np.concatenate((scale, *total, *columns), axis=1)


def thread_count(model: MetricModel, parameters: tuple[str, ...], scale: Floats) -> Floats:
    """float64[N], threads of a class."""
    low, high = model.setup.bounds
    found = _long(model.parts[""].predict(values_of(parameters, scale)), scale)
    return found if isinstance(model.parts[""], GridCount) else np.clip(np.round(found), low, high)


def _bounded(
    part: Part, setup: MetricSetup, names: tuple[str, ...], x: Floats
) -> tuple[Floats, Floats, Floats]:
    values = values_of(names, x)
    low, high = setup.bounds
    ends = part.band(values)
    value, least, most = (np.clip(_long(v, x), low, high) for v in (part.predict(values), *ends))
    return value, np.minimum(least, value), np.maximum(most, value)


def _long(values: Floats, x: Floats) -> Floats:
    return np.broadcast_to(values, (len(x),)).astype(np.float64)


KIND = "commanalyzer.models"
SCHEMA = 1
_INFINITE = "inf"
_FACTOR = ("parameter", "form", "exponent", "log_exponent")


def models_json(models: Models) -> str:
    """JSON text; sums of terms as in files of laws, other models as what they were learned from."""
    classes = [
        {"name": c.name, "metrics": {name: _metric(m) for name, m in c.models.items()}}
        for c in models.classes
    ]
    own = {f.name: getattr(models, f.name) for f in fields(models)}
    return document_text({"kind": KIND, "schema": SCHEMA, **own, "classes": classes})


def load_models(path: Path) -> Models:
    """Models saved in ``path``; ``ArtifactError`` if it is missing, of another kind or damaged."""
    hint = "write one with: commanalyzer extrapolate ... --project FOLDER"
    content = load_document(path, KIND, SCHEMA, what="a file of models", hint=hint)
    with reading(path, "models"):
        application, processes = (typed(content[name], str) for name in ("application", "processes"))
        parameters, names = (typed(content[name], tuple[str, ...]) for name in ("parameters", "names"))
        lowest, highest = (typed(content[name], tuple[float, ...]) for name in ("lowest", "highest"))
        classes = tuple(map(_read_class, content["classes"]))
        return Models(application, parameters, processes, names, lowest, highest, classes)


def _metric(model: MetricModel) -> dict[str, object]:
    setup = asdict(model.setup)
    setup["bounds"] = [_INFINITE if b == float("inf") else b for b in model.setup.bounds]
    return {"setup": setup, "key": model.key, "parts": {n: _part(p) for n, p in model.parts.items()}}


def _part(part: Part) -> dict[str, object]:
    if isinstance(part, Law):
        return {"law": law_content(part)}
    if isinstance(part, GridCount):
        return {"grid": asdict(part)}
    content = asdict(part)
    content["terms"] = [
        [[f.parameter, f.form, str(f.exponent), f.log_exponent] for f in term] for term in part.terms
    ]
    return {"learned": content}


def _read_class(content: Fields) -> ClassModels:
    metrics = {name: _read_metric(entry) for name, entry in content["metrics"].items()}
    return ClassModels(typed(content["name"], str), metrics)


def _read_metric(content: Fields) -> MetricModel:
    bounds = [float("inf") if b == _INFINITE else b for b in content["setup"]["bounds"]]
    setup = typed({**content["setup"], "bounds": bounds}, MetricSetup)
    parts = {name: _read_part(entry) for name, entry in content["parts"].items()}
    return MetricModel(setup, parts, typed(content["key"], str))


def _read_part(content: Fields) -> Part:
    if "law" in content:
        return read_law(content["law"])
    if "grid" in content:
        return typed(content["grid"], GridCount)
    own = content["learned"]
    terms = [[dict(zip(_FACTOR, factor, strict=True)) for factor in term] for term in own["terms"]]
    return typed({**own, "terms": terms}, Learned, {Fraction: exponent_of})


LEAST_R2 = 0.7
"""Models with less are to be inspected (Section 8.2)."""
DISCREPANCY = 2.0
"""A test error of so many times the training error is a discrepancy; 1 would flag half of all good models."""
_NOTICEABLE = 0.01  # errors below that are no discrepancy, whatever their quotient


@dataclass(frozen=True, slots=True, eq=False)
class Accuracy:
    """Accuracy of one model."""

    class_name: str
    metric: str
    # Coefficient of determination of the metric itself in the training runs; may be negative; 1 for a metric
    # that never changes and is met
    r2: float
    train: float  # mean relative error in the training runs; mean absolute error for functions of a distance
    test: float  # likewise, in the test runs; NaN without any
    observed: Floats  # [N], training values: scalars, sums of mixes, all values of functions
    predicted: Floats  # [N]
    tested: Floats  # [M], values of test runs
    test_predicted: Floats  # [M]

    @property
    def flags(self) -> tuple[str, ...]:
        """Why the model is to be inspected; empty if nothing calls for it."""
        found = []
        if self.r2 < LEAST_R2:
            found.append(f"R2 < {LEAST_R2}")
        if self.test > DISCREPANCY * self.train and self.test > _NOTICEABLE:
            found.append("test worse than training")
        return tuple(found)


def accuracies(models: Models, train: TrainingData, test: TrainingData | None = None) -> list[Accuracy]:
    """Accuracy of all models, by class and metric."""
    found = []
    for own in models.classes:
        data = _class(train, own.name)
        tested = None if test is None else _class(test, own.name)
        if data is not None:
            metrics = [metric for metric in own.models if metric not in (COUNTS, REST)]
            found += [_accuracy(models, own, metric, data, tested) for metric in metrics]
    return found


def _class(data: TrainingData, name: str) -> ClassData | None:
    return next((c for c in data.classes if c.name == name and len(c.runs)), None)


def _accuracy(
    models: Models, own: ClassModels, metric: str, data: ClassData, test: ClassData | None
) -> Accuracy:
    observed, predicted = compared(models, own, metric, data)
    tested = guessed = np.zeros(0)
    if test is not None and metric in test.components:
        tested, guessed = compared(models, own, metric, test)
    is_function = own.models[metric].setup.type == "memFunction"
    errors = mean_error(observed, predicted, is_function), mean_error(tested, guessed, is_function)
    r2 = _r2(observed, predicted)
    return Accuracy(own.name, metric, r2, *errors, observed, predicted, tested, guessed)


def compared(models: Models, own: ClassModels, metric: str, data: ClassData) -> tuple[Floats, Floats]:
    """float64[N] each, observed and predicted values in the runs of a class."""
    parts = data.components[metric]
    if own.models[metric].setup.type == "memFunction":
        distances = np.array([float(d) for d in parts])
        table = np.stack(list(parts.values()), axis=1)
        return table.ravel(), models.function(own, metric, data.scale, distances).ravel()
    found = models.at(own, metric, data.scale)
    return data.total(metric), np.asarray(sum(found.values(), np.zeros(len(data.runs))))


def mean_error(observed: Floats, predicted: Floats, is_absolute: bool) -> float:
    """Mean relative error (of functions: mean difference); zeros count relative to the mean."""
    if not len(observed):
        return float("nan")
    error = np.abs(predicted - observed)
    if is_absolute:
        return float(error.mean())
    size = np.abs(observed)
    level = float(size.mean())
    return float((error / np.where(size > 0, size, level if level > 0 else 1.0)).mean())


def _r2(observed: Floats, predicted: Floats) -> float:
    rest = float(((observed - predicted) ** 2).sum())
    spread = float(((observed - observed.mean()) ** 2).sum())
    level = float((observed**2).sum())
    if spread <= 1e-12 * level or not spread:
        # A metric that never changes: met to a thousandth is as good as R^2 can say.
        return 1.0 if rest <= 1e-6 * max(level, 1e-300) or not rest else 0.0
    return 1.0 - rest / spread
