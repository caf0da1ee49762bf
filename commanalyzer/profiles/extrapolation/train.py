"""Trains the models of all metrics of all classes (Pass 4); what has not changed is taken from before."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

import numpy as np

from commanalyzer.foundation.errors import FitError
from commanalyzer.foundation.progress import Progress, SilentProgress
from commanalyzer.profiles.classification.classes import Classes
from commanalyzer.profiles.extrapolation.data import COUNTS, REST, ClassData, TrainingData, count_name
from commanalyzer.profiles.extrapolation.fitting import Fitter
from commanalyzer.profiles.extrapolation.functions import fit_function
from commanalyzer.profiles.extrapolation.grid_count import grid_counts
from commanalyzer.profiles.extrapolation.models import (
    ClassModels,
    MetricModel,
    Models,
    Part,
    thread_count,
    with_counts,
)
from commanalyzer.profiles.extrapolation.setup import SIZE, THREADS, MetricSetup, Setup
from commanalyzer.scaling.laws.law import Law
from commanalyzer.scaling.laws.terms import Floats

_VERSION = 1  # of keys; a change of how models are made must change it
_INTERNAL = (MetricSetup(COUNTS, "vinstrPercentage"), MetricSetup(REST, "vnumeric"))

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

    Args:
        data: Tables of the training runs.
        classes: Of the training runs.
        setup: How models are made.
        previous: Models from before: those with the same data and setup are kept.
        only: Metrics that may be trained again; all others are kept even if their setup has changed.
        progress: Is told about every class.
        save: Called after every class, with the models so far.

    Raises:
        FitError: If a metric cannot be modelled, or ``only`` names one that is not there.
        ConfigError: If a term or constraint is wrong.
    """
    wrong = set(only) - {m.name for m in setup.metrics}
    if wrong:
        known = ", ".join(m.name for m in setup.metrics)
        raise FitError(f"expected metrics of {known}, found {', '.join(sorted(wrong))}")
    progress = progress or SilentProgress()
    counts = _train_counts(data, classes, setup, previous, only)
    found: list[ClassModels] = []
    base = _models(data, ())
    for own in data.classes:
        progress.stage(f"models of class {own.name}")
        before = None if previous is None else next((c for c in previous.classes if c.name == own.name), None)
        trainer = _Trainer(data, own, counts, setup, before, frozenset(only))
        found.append(ClassModels(own.name, trainer.models()))
        base = _models(data, tuple(found))
        if save is not None:
            save(base)
    return base


def _models(data: TrainingData, classes: tuple[ClassModels, ...]) -> Models:
    lowest, highest = (tuple(getattr(data.scale, f)(axis=0).tolist()) for f in ("min", "max"))
    return Models(data.application, data.parameters, data.processes, data.names, lowest, highest, classes)


def _key(setup: Setup, metric: str, own: ClassData, parts: Mapping[str, Floats], extra: str) -> str:
    digest = hashlib.sha256(json.dumps([_VERSION, extra, _setup_key(setup, metric)], sort_keys=True).encode())
    for array in (own.scale, own.threads, *parts.values()):
        digest.update(np.ascontiguousarray(array).tobytes())
    digest.update("/".join(parts).encode())
    return digest.hexdigest()[:24]


def _setup_key(setup: Setup, metric: str) -> object:
    known = {m.name for m in setup.metrics}
    keys = [setup.key(metric)] if metric in known else []
    own = setup.metric(metric) if metric in known else next(m for m in _INTERNAL if m.name == metric)
    if own.type.endswith("instrPercentage"):
        keys.append(setup.key(SIZE))
    return keys


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
        before = None if previous is None else _before(previous, own.name, THREADS)
        if before is not None and (before.key == key or (only and THREADS not in only)):
            found.append(before)
            continue
        part: Part
        if own.name in known:
            part = known[own.name]
        else:
            width = len(data.parameters)
            fitter = Fitter(data.parameters, width, data.processes, own.scale, lambda x: x, (), setup)
            part = fitter.fit(own_setup, own.threads)
        found.append(MetricModel(own_setup, {"": part}, key))
    return found


def _before(previous: Models, name: str, metric: str) -> MetricModel | None:
    own = next((c for c in previous.classes if c.name == name), None)
    return None if own is None else own.models.get(metric)


class _Trainer:
    """Trains the metrics of one class."""

    def __init__(
        self,
        data: TrainingData,
        own: ClassData,
        counts: list[MetricModel],
        setup: Setup,
        before: ClassModels | None,
        only: frozenset[str],
    ) -> None:
        self.data, self.own, self.setup, self.before, self.only = data, own, setup, before, only
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
        others = [names.index(count_name(c.name)) for c in self.data.classes]
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
        size = found[SIZE].key if metric.type.endswith("instrPercentage") else ""
        key = _key(self.setup, metric.name, self.own, parts, size)
        before = None if self.before is None else self.before.models.get(metric.name)
        chosen = SIZE if metric in _INTERNAL else metric.name  # what profiles are made of follows the size
        if before is not None and (before.key == key or (self.only and chosen not in self.only)):
            return before
        return MetricModel(metric, self._parts(metric, parts, found), key)

    def _parts(
        self, metric: MetricSetup, parts: Mapping[str, Floats], found: Mapping[str, MetricModel]
    ) -> Mapping[str, Part]:
        if metric.type == "memFunction":
            return fit_function(self.fitter, metric, parts)
        if metric.type.endswith("instrPercentage"):
            size = found[SIZE].parts[""]
            terms = size.formula.terms if isinstance(size, Law) else ()
            total = self.own.components[SIZE][""]
            own = replace(metric, terms=()) if terms else metric
            return {name: self.fitter.fit(own, values * total, terms=terms) for name, values in parts.items()}
        return {name: self.fitter.fit(metric, values) for name, values in parts.items()}
