"""How well models say what they were made from, and test runs (Sections 8, 8.1 and 8.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from commanalyzer.profiles.extrapolation.data import COUNTS, REST, ClassData, TrainingData
from commanalyzer.profiles.extrapolation.models import ClassModels, Models
from commanalyzer.scaling.laws.terms import Floats

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
        if data is None:
            continue
        for metric in own.models:
            if metric not in (COUNTS, REST):
                found.append(_accuracy(models, own, metric, data, tested))
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
    return Accuracy(
        own.name,
        metric,
        _r2(observed, predicted),
        mean_error(observed, predicted, is_function),
        mean_error(tested, guessed, is_function),
        observed,
        predicted,
        tested,
        guessed,
    )


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
