"""Models of all metrics of all classes, and what they predict.

Saves and loads models: a JSON document of kind ``commanalyzer.models`` (the state after Pass 4).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from pathlib import Path

import numpy as np

from commanalyzer.foundation.documents import Fields, document_text, load_document, reading, typed
from commanalyzer.profiles.extrapolation.fitting import Model, values_of
from commanalyzer.profiles.extrapolation.functions import GridCount, function_at
from commanalyzer.profiles.extrapolation.learners import Learned
from commanalyzer.profiles.extrapolation.setup import SIZE, THREADS, MetricSetup
from commanalyzer.scaling.laws.document import exponent_of, law_content, read_law
from commanalyzer.scaling.laws.law import Law
from commanalyzer.scaling.laws.terms import Floats

Part = Model | GridCount


@dataclass(frozen=True, slots=True, eq=False)
class MetricModel:
    """Model of one metric of one class."""

    setup: MetricSetup  # how it was made
    # By component (:mod:`commanalyzer.profiles.extrapolation.data`), or by the parts of a function
    parts: Mapping[str, Part]
    key: str  # changes with everything that it was made from

    @property
    def is_product(self) -> bool:
        """The product with the number of instructions is modelled."""
        return self.setup.type.endswith("instrPercentage")


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
        x = self.complete(scale)
        found = {name: _bounded(part, model.setup, self.names, x) for name, part in model.parts.items()}
        if not model.is_product:
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
        parts = {
            name: part for name, part in own.models[metric].parts.items() if not isinstance(part, GridCount)
        }
        return function_at(parts, self.names, self.complete(scale), distances)


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
    content = load_document(
        path,
        KIND,
        SCHEMA,
        what="a file of models",
        hint="write one with: commanalyzer extrapolate ... --project FOLDER",
    )
    with reading(path, "models"):
        return Models(
            typed(content["application"], str),
            typed(content["parameters"], tuple[str, ...]),
            typed(content["processes"], str),
            typed(content["names"], tuple[str, ...]),
            typed(content["lowest"], tuple[float, ...]),
            typed(content["highest"], tuple[float, ...]),
            tuple(map(_read_class, content["classes"])),
        )


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
