"""All passes in order: files of profiles -> models and their accuracy, with a state of each pass in a folder.

A project's folder holds ``setup.toml`` (to be edited), ``classes.json`` (Pass 2) and ``models.json`` (Pass
4). What is there and fits is used again: classes of the same threads, models of the same data and setup.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from commanalyzer.foundation.errors import ConfigError, FitError
from commanalyzer.foundation.files import write_text
from commanalyzer.foundation.progress import Progress, SilentProgress
from commanalyzer.profiles.classification.classes import Classes, classes_json, load_classes
from commanalyzer.profiles.classification.classify import Method, classify
from commanalyzer.profiles.document import read_profiles
from commanalyzer.profiles.extrapolation.data import (
    BASES,
    COUNTS,
    MISPREDICTED,
    REST,
    SIZE,
    THREADS,
    ClassData,
    MetricSetup,
    Setup,
    TrainingData,
    count_name,
    default_setup,
    read_setup,
    training_data,
)
from commanalyzer.profiles.extrapolation.fitting import Fitter, default_terms
from commanalyzer.profiles.extrapolation.models import (
    Accuracy,
    ClassModels,
    MetricModel,
    Models,
    Part,
    accuracies,
    entropy_bound,
    fit_entropy,
    fit_function,
    function_at,
    grid_counts,
    load_models,
    models_json,
    thread_count,
    with_counts,
)
from commanalyzer.profiles.extrapolation.profiles import points
from commanalyzer.profiles.values import Profile
from commanalyzer.scaling.laws.law import Law
from commanalyzer.scaling.laws.terms import Floats

_HEAD = """\
# How models are made. Edit, then run `commanalyzer extrapolate` again: what has changed is trained again.
# Parameters: {parameters}. Numbers of threads: {counts}.
# Products of main terms of different parameters: "all", "selected" (with selected terms only) or "none".
interactions = "{interactions}"
# Every term is also tried divided by the number of threads, of all and of each class.
per_thread = {per_thread}

# Main terms per metric; "default" for all others.
[complexity]
"""
_METRICS = """
# type: numeric, vnumeric; instrPercentage, vinstrPercentage (the product with LSys is modelled); memFunction;
# entropy: the share of the most that F0bestMispredict allows
# model: weighted, linear, neighbours, network, forest; of functions also levels, per-bin, per-bin-network
# terms: [] selects them; selection: accurate (ten-fold), fast (BIC), largest (larger runs from smaller ones)
"""
_EXAMPLE = """\
# [metrics.{name}.constraints]
# bounded_below = true
# increasing = ["{parameter}"]
# where = ["{parameter} >= {low:g}"]
"""


def setup_text(setup: Setup, data: TrainingData) -> str:
    """TOML text."""
    complexity = dict(setup.complexity)
    complexity.setdefault("default", default_terms(data.parameters, data.processes))
    lines = [
        _HEAD.format(
            parameters=", ".join(data.parameters),
            counts=", ".join(data.names[len(data.parameters) :]),
            interactions=setup.interactions,
            per_thread=str(setup.per_thread).lower(),
        ),
        *(f"{name} = {json.dumps(terms)}\n" for name, terms in complexity.items()),
        _METRICS,
        *(_metric(metric) for metric in setup.metrics),
        "\n",
        _EXAMPLE.format(name="LSys", parameter=data.parameters[0], low=data.scale[:, 0].min()),
    ]
    return "".join(lines)


def _metric(metric: MetricSetup) -> str:
    low, high = ("inf" if b == float("inf") else f"{b!r}" for b in metric.bounds)
    return (
        f'\n[metrics.{metric.name}]\ntype = "{metric.type}"\nmodel = "{metric.model}"\n'
        f'terms = {json.dumps(metric.terms)}\nselection = "{metric.selection}"\nbounds = [{low}, {high}]\n'
    )


_VERSION = 3  # of keys; a change of how models are made must change it
_INTERNAL = (MetricSetup(COUNTS, "vinstrPercentage"), MetricSetup(REST, "vnumeric"))

_SLACK = 1 + 1e-9  # rounding

Saver = Callable[[Models], None]


def train(
    data: TrainingData,
    classes: Classes,
    setup: Setup,
    *,
    previous: Models | None = None,
    only: Collection[str] = (),
    progress: Progress | None = None,
    save: Saver | None = None,
) -> Models:
    """Models of every metric of every class.

    Models of ``previous`` with the same data and setup are kept; only metrics of ``only`` may be trained
    again, all others are kept even if their setup has changed. ``save`` is called after every class, with the
    models so far. Raises ``FitError`` if a metric cannot be modelled, or ``only`` names one that is not
    there; ``ConfigError`` if a term or constraint is wrong.
    """
    if wrong := set(only) - {m.name for m in setup.metrics}:
        known = ", ".join(m.name for m in setup.metrics)
        raise FitError(f"expected metrics of {known}, found {', '.join(sorted(wrong))}")
    progress = progress or SilentProgress()
    counts = _train_counts(data, classes, setup, previous, only)
    found: dict[str, ClassModels] = {}
    base = _models(data, ())
    first, *others = sorted(data.classes, key=lambda c: -len(c.runs))
    for own in (first, *others):
        progress.stage(f"models of class {own.name}")
        before = _before(previous, own.name)
        # Fewer runs hide the law: their grids differ in shape as much as in size.
        shape = found[first.name] if len(own.runs) < len(first.runs) else None
        trainer = _Trainer(data, own, counts, setup, before, frozenset(only), shape)
        found[own.name] = ClassModels(own.name, trainer.models())
        base = _models(data, tuple(found[c.name] for c in data.classes if c.name in found))
        if save is not None:
            save(base)
    return base


def _models(data: TrainingData, classes: tuple[ClassModels, ...]) -> Models:
    lowest, highest = (tuple(getattr(data.scale, f)(axis=0).tolist()) for f in ("min", "max"))
    return Models(data.application, data.parameters, data.processes, data.names, lowest, highest, classes)


def _key(setup: Setup, metric: str, own: ClassData, parts: Mapping[str, Floats], extra: str) -> str:
    chosen = {} if metric in (COUNTS, REST) else setup.key(metric)
    digest = hashlib.sha256(json.dumps([_VERSION, extra, chosen], sort_keys=True).encode())
    for array in (own.scale, own.threads, *parts.values()):
        digest.update(np.ascontiguousarray(array).tobytes())
    digest.update("/".join(parts).encode())
    return digest.hexdigest()[:24]


def _train_counts(
    data: TrainingData, classes: Classes, setup: Setup, previous: Models | None, only: Collection[str]
) -> list[MetricModel]:
    """Numbers of threads: of the grid where it is known, else functions of the scaling parameters alone."""
    known = grid_counts(classes, data.processes)
    own_setup = setup.metric(THREADS)
    found = []
    for own in data.classes:
        parts = {"": own.threads}
        key = _key(setup, THREADS, own, parts, repr(known.get(own.name)))
        before = _before(previous, own.name).get(THREADS)
        if before is not None and (before.key == key or (only and THREADS not in only)):
            found.append(before)
            continue
        part: Part | None = known.get(own.name)
        if part is None:
            width = len(data.parameters)
            fitter = Fitter(data.parameters, width, data.processes, own.scale, lambda x: x, (), setup)
            part = fitter.fit(own_setup, own.threads)
        found.append(MetricModel(own_setup, {"": part}, key))
    return found


def _before(previous: Models | None, name: str) -> Mapping[str, MetricModel]:
    classes = () if previous is None else previous.classes
    return next((c.models for c in classes if c.name == name), {})


class _Trainer:
    """Trains the metrics of one class."""

    def __init__(
        self,
        data: TrainingData,
        own: ClassData,
        counts: list[MetricModel],
        setup: Setup,
        before: Mapping[str, MetricModel],
        only: frozenset[str],
        shape: ClassModels | None,  # of the class whose laws it has, with coefficients of its own
    ) -> None:
        self.data, self.own, self.setup, self.before, self.only = data, own, setup, before, only
        self.shape = shape
        self.count = counts[own.number]
        rows = list(own.runs)
        threads = [data.counts[rows, c.number] for c in data.classes]
        x = with_counts(own.scale, threads, has_processes=bool(data.processes))

        def complete(scale: Floats) -> Floats:
            found = [thread_count(model, data.parameters, scale) for model in counts]
            return with_counts(scale, found, has_processes=bool(data.processes))

        self.fitter = Fitter(
            data.names, len(data.parameters), data.processes, x, complete, self._divisors(x), setup
        )

    def _divisors(self, x: Floats) -> tuple[int, ...]:
        """Numbers of all threads and of each class; equal ones once, those that never change not at all."""
        if not self.setup.per_thread:
            return ()
        names = self.data.names
        total = names.index(self.data.processes) if self.data.processes else len(self.data.parameters)
        # A class that some run does not have has no number of threads to divide by there.
        least = self.data.counts[list(self.own.runs)].min(axis=0)
        others = [names.index(count_name(c.name)) for c in self.data.classes if least[c.number] > 0]
        found: dict[bytes, int] = {}
        for index in (total, *others):
            if np.ptp(x[:, index]) > 0:
                found.setdefault(x[:, index].tobytes(), index)
        return tuple(found.values())

    def models(self) -> dict[str, MetricModel]:
        """All models; ``NThreads`` and ``LSys`` first."""
        found = {THREADS: self.count}
        for metric in (*self.setup.metrics, *_INTERNAL):
            if metric.name != THREADS and metric.name in self.own.components:
                found[metric.name] = self._model(metric, found)
        return found

    def _model(self, metric: MetricSetup, found: Mapping[str, MetricModel]) -> MetricModel:
        parts = self.own.components[metric.name]
        if metric.type == "entropy" and (parts[""] > _SLACK * entropy_bound(self._last_rates()[1])).any():
            # The rates are of other histories, or none were measured.
            metric = replace(metric, type="instrPercentage", bounds=(0.0, math.inf))
        size = found[BASES[metric.type]].key if metric.type in BASES else ""
        if self.shape is not None and metric.name in self.shape.models:
            size += self.shape.models[metric.name].key
        key = _key(self.setup, metric.name, self.own, parts, size)
        before = self.before.get(metric.name)
        chosen = SIZE if metric in _INTERNAL else metric.name  # what profiles are made of follows the size
        if before is not None and (before.key == key or (self.only and chosen not in self.only)):
            return before
        return MetricModel(metric, self._parts(metric, parts, found), key)

    def _last_rates(self) -> tuple[str, Floats]:
        """The longest history, and the best misprediction rates with it."""
        return list(self.own.components[MISPREDICTED].items())[-1]

    def _parts(
        self, metric: MetricSetup, parts: Mapping[str, Floats], found: Mapping[str, MetricModel]
    ) -> Mapping[str, Part]:
        if metric.type == "memFunction":
            return fit_function(self.fitter, metric, parts)
        if metric.type == "entropy":
            name, _ = self._last_rates()
            x = self.fitter.x
            rate = function_at(found[MISPREDICTED], self.fitter.names, x, np.array([float(name)]))[:, 0]
            return {name: fit_entropy(self.fitter, metric, parts[""], rate)}
        if metric.type in BASES:
            size, total = found[SIZE].parts[""], self.own.components[SIZE][""]
            if self.shape is not None:
                return {name: self.fitter.fit_like(metric, v * total, size) for name, v in parts.items()}
            terms = size.formula.terms if isinstance(size, Law) else ()
            own = replace(metric, terms=()) if terms else metric
            return {name: self.fitter.fit(own, v * total, terms=terms) for name, v in parts.items()}
        shapes = {} if self.shape is None else self.shape.models[metric.name].parts
        return {name: self.fitter.fit_like(metric, v, shapes.get(name)) for name, v in parts.items()}


SETUP_FILE, CLASSES_FILE, MODELS_FILE = "setup.toml", "classes.json", "models.json"


@dataclass(frozen=True, slots=True)
class Choices:
    """What the user chose."""

    # ``clusters``, ``pattern``, or ``None`` for classes of the project, else clusters
    method: str | None = None
    number: int | None = None  # clusters; by silhouette when ``None``
    directed: bool = False  # tell sides apart
    setup: Path | None = None  # file; that of the project, else the defaults, when ``None``
    project: Path | None = None  # folder; nothing is kept when ``None``
    only: tuple[str, ...] = ()  # metrics to train; all that have changed when empty


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """What the passes made."""

    profiles: tuple[Profile, ...]  # training runs
    classes: Classes  # of their threads
    data: TrainingData
    test: TrainingData | None
    setup: Setup  # how models were made
    models: Models
    accuracy: tuple[Accuracy, ...]
    written: tuple[Path, ...]  # files of the project that were written


def run_passes(paths: Sequence[Path], tests: Sequence[Path], choices: Choices, progress: Progress) -> Made:
    """Passes 1 to 5.

    Raises ``ProfileError`` if profiles cannot be read or do not fit each other; ``ConfigError`` if the setup
    is wrong; ``FitError`` if a metric cannot be modelled; ``ArtifactError`` if a file of the project is
    damaged or cannot be written.
    """
    profiles, tested = read_profiles(paths), read_profiles(tests)
    if choices.project is not None:
        choices.project.mkdir(parents=True, exist_ok=True)
    progress.stage("classes")
    classes = _classes(profiles, choices)
    data = training_data(profiles, classes)
    written = []
    setup = _setup(data, choices)
    previous, save = None, None
    if choices.project is not None:
        own = {name: choices.project / name for name in (SETUP_FILE, CLASSES_FILE, MODELS_FILE)}
        write_text(own[CLASSES_FILE], classes_json(classes), force=True)
        if not own[SETUP_FILE].exists() and choices.setup is None:
            write_text(own[SETUP_FILE], setup_text(setup, data), force=True)
            written.append(own[SETUP_FILE])
        written += [own[CLASSES_FILE], own[MODELS_FILE]]
        previous = load_models(own[MODELS_FILE]) if own[MODELS_FILE].exists() else None

        def save(models: Models) -> None:
            # Classes that are still to be trained keep their models of before.
            done = {c.name for c in models.classes}
            rest = () if previous is None else tuple(c for c in previous.classes if c.name not in done)
            kept = replace(models, classes=(*models.classes, *rest))
            write_text(own[MODELS_FILE], models_json(kept), force=True)

    models = train(data, classes, setup, previous=previous, only=choices.only, progress=progress, save=save)
    if choices.project is not None:
        write_text(choices.project / MODELS_FILE, models_json(models), force=True)
    test = _test_data(profiles, tested, classes, choices) if tested else None
    found = tuple(accuracies(models, data, test))
    return Made(profiles, classes, data, test, setup, models, found, tuple(written))


def target_points(targets: Iterable[Iterable[tuple[str, float]]]) -> list[dict[str, float]]:
    """Points of parameters and values; one that is there twice has both values, in all combinations.

    Raises ``ConfigError`` if a value is not positive.
    """
    found: list[dict[str, float]] = []
    for target in targets:
        values: dict[str, list[float]] = {}
        for name, number in target:
            if not (math.isfinite(number) and number > 0):
                raise ConfigError(
                    f"expected positive values such as p=64,n=512, found {name}={number:g}", where="--to"
                )
            values.setdefault(name, []).append(number)
        found += points(values)
    return found


def _setup(data: TrainingData, choices: Choices) -> Setup:
    own = None if choices.project is None else choices.project / SETUP_FILE
    path = choices.setup or (own if own is not None and own.exists() else None)
    return default_setup(data.metrics) if path is None else read_setup(path, data.metrics)


def _classes(profiles: Sequence[Profile], choices: Choices) -> Classes:
    path = None if choices.project is None else choices.project / CLASSES_FILE
    if path is not None and path.exists() and choices.method is None and choices.number is None:
        known = load_classes(path)
        if _fits(known, profiles):
            return known
    method: Method = "pattern" if choices.method == "pattern" else "clusters"
    return classify(profiles, method, number=choices.number, directed=choices.directed)


def _fits(classes: Classes, profiles: Sequence[Profile]) -> bool:
    """They are the classes of these threads."""
    return len(classes.runs) == len(profiles) and all(
        dict(run.scale) == dict(profile.scale)
        and run.threads == tuple((r.process_id, r.thread_id) for r in profile.ranks)
        for run, profile in zip(classes.runs, profiles, strict=True)
    )


def _test_data(
    profiles: Sequence[Profile], tested: Sequence[Profile], classes: Classes, choices: Choices
) -> TrainingData:
    """Test runs in the classes of the training runs, which they do not influence."""
    method, number = classes.method, len(classes.names)
    joint = classify(
        (*profiles, *tested),
        "pattern" if method == "pattern" else "clusters",
        number=number if method == "clusters" else None,
        directed=choices.directed,
    )
    votes = np.zeros((len(joint.names), number))
    for run, own in zip(joint.runs, classes.runs, strict=False):
        np.add.at(votes, (run.classes, own.classes), 1.0)
    moved = votes.argmax(axis=1)
    runs = tuple(replace(run, classes=moved[run.classes]) for run in joint.runs[len(profiles) :])
    return training_data(tested, replace(classes, runs=runs))
