"""All passes in order: files of profiles -> models and their accuracy, with a state of each pass in a folder.

A project's folder holds ``setup.toml`` (to be edited), ``classes.json`` (Pass 2) and ``models.json`` (Pass
4). What is there and fits is used again: classes of the same threads, models of the same data and setup.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.foundation.files import write_text
from commanalyzer.foundation.progress import Progress
from commanalyzer.profiles.classification.classes import Classes
from commanalyzer.profiles.classification.classify import Method, classify
from commanalyzer.profiles.classification.document import load_classes, save_classes
from commanalyzer.profiles.document import read_profiles
from commanalyzer.profiles.extrapolation.accuracy import Accuracy, accuracies
from commanalyzer.profiles.extrapolation.data import TrainingData, training_data
from commanalyzer.profiles.extrapolation.document import load_models, save_models
from commanalyzer.profiles.extrapolation.models import Models
from commanalyzer.profiles.extrapolation.profiles import points
from commanalyzer.profiles.extrapolation.setup import Setup, default_setup, read_setup
from commanalyzer.profiles.extrapolation.setup_text import setup_text
from commanalyzer.profiles.extrapolation.train import train
from commanalyzer.profiles.values import Profile

SETUP_FILE, CLASSES_FILE, MODELS_FILE = "setup.toml", "classes.json", "models.json"


@dataclass(frozen=True, slots=True)
class Choices:
    """What the user chose.

    Attributes:
        method: ``clusters``, ``pattern``, or ``None`` for classes of the project, else clusters.
        number: Clusters; by silhouette when ``None``.
        directed: Tell sides apart.
        setup: File; that of the project, else the defaults, when ``None``.
        project: Folder; nothing is kept when ``None``.
        only: Metrics to train; all that have changed when empty.
    """

    method: str | None = None
    number: int | None = None
    directed: bool = False
    setup: Path | None = None
    project: Path | None = None
    only: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """What the passes made.

    Attributes:
        profiles: Training runs.
        classes: Of their threads.
        data: Training data.
        test: Test data.
        setup: How models were made.
        models: Of all metrics.
        accuracy: Of all models.
        written: Files of the project that were written.
    """

    profiles: tuple[Profile, ...]
    classes: Classes
    data: TrainingData
    test: TrainingData | None
    setup: Setup
    models: Models
    accuracy: tuple[Accuracy, ...]
    written: tuple[Path, ...]


def run_passes(paths: Sequence[Path], tests: Sequence[Path], choices: Choices, progress: Progress) -> Made:
    """Passes 1 to 5.

    Raises:
        ProfileError: If profiles cannot be read or do not fit each other.
        ConfigError: If the setup is wrong.
        FitError: If a metric cannot be modelled.
        ArtifactError: If a file of the project is damaged or cannot be written.
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
        save_classes(classes, own[CLASSES_FILE], force=True)
        if not own[SETUP_FILE].exists() and choices.setup is None:
            write_text(own[SETUP_FILE], setup_text(setup, data), force=True)
            written.append(own[SETUP_FILE])
        written += [own[CLASSES_FILE], own[MODELS_FILE]]
        previous = load_models(own[MODELS_FILE]) if own[MODELS_FILE].exists() else None
        target = own[MODELS_FILE]

        def save(models: Models) -> None:
            # Classes that are still to be trained keep their models of before.
            done = {c.name for c in models.classes}
            rest = () if previous is None else tuple(c for c in previous.classes if c.name not in done)
            save_models(replace(models, classes=(*models.classes, *rest)), target, force=True)

    models = train(data, classes, setup, previous=previous, only=choices.only, progress=progress, save=save)
    if choices.project is not None:
        save_models(models, choices.project / MODELS_FILE, force=True)
    test = _test_data(profiles, tested, classes, choices) if tested else None
    found = tuple(accuracies(models, data, test))
    return Made(profiles, classes, data, test, setup, models, found, tuple(written))


def parse_targets(texts: Sequence[str]) -> list[dict[str, float]]:
    """Points of ``p=64,n=512``; a parameter that is there twice has both values, in all combinations.

    Raises:
        ConfigError: If a text is none, or a value is not positive.
    """
    found: list[dict[str, float]] = []
    for text in texts:
        values: dict[str, list[float]] = {}
        for part in text.split(","):
            name, equals, value = part.partition("=")
            try:
                number = float(value)
            except ValueError:
                number = math.nan
            if not equals or not name.strip() or not (math.isfinite(number) and number > 0):
                raise ConfigError(
                    f"expected parameters and positive values such as p=64,n=512, found {part!r}",
                    where="--to",
                )
            values.setdefault(name.strip(), []).append(number)
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
