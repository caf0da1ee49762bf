"""Trained models as plain arrays: random forest, nearest neighbours, support vectors.

They predict by numpy alone what scikit-learn's estimators predict, and can be saved and checked as numbers.

From features to the inputs of a model: Table 1's normalisation, and principal components if wanted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from commanalyzer.graph.value_graph import Array
from commanalyzer.kernels.features.kernels import SCALES
from commanalyzer.kernels.learning.runs import RunTable
from commanalyzer.scaling.laws.terms import Floats


@dataclass(frozen=True, slots=True)
class Scaling:
    """What was seen in training, and how it becomes an input."""

    features: tuple[str, ...]  # names of the features that are used
    low: Floats  # [K], smallest value of each in training
    high: Floats  # [K], largest
    mean: Floats  # [K], mean of the normalised features; empty without principal components
    components: Floats  # [C, K], directions of the principal components; empty without

    def inputs(self, runs: RunTable) -> Floats:
        """float64[N, K or C], inputs of a model.

        Beyond the range of training the normalised values leave [0, 1].
        """
        scaled = _scaled(_own(runs, self.features), self.features, self.low, self.high)
        return (scaled - self.mean) @ self.components.T if len(self.components) else scaled

    def outside(self, runs: RunTable) -> list[tuple[str, ...]]:
        """Per run its features that lie outside the range of training, with both in words."""
        return [self._outside(row) for row in _own(runs, self.features)]

    def _outside(self, values: Floats) -> tuple[str, ...]:
        slack = 1e-9 * np.maximum(np.abs(self.low), np.abs(self.high))
        is_out = (values < self.low - slack) | (values > self.high + slack)
        rows = zip(self.features, values, self.low, self.high, is_out, strict=True)
        return tuple(f"{n} {v:.4g} (trained {lo:.4g} to {hi:.4g})" for n, v, lo, hi, out in rows if out)


def fit_scaling(runs: RunTable, names: Sequence[str], components: int = 0) -> Scaling:
    """Scaling of the features ``names`` in training; without ``components`` they are inputs themselves."""
    own = _own(runs, names)
    low, high = own.min(axis=0), own.max(axis=0)
    none = np.zeros(0)
    if not components:
        return Scaling(tuple(names), low, high, none, none.reshape(0, 0))
    scaled = _scaled(own, names, low, high)
    mean = scaled.mean(axis=0)
    # Rows of V^T by falling singular value: the principal axes of the centred matrix.
    _, _, axes = np.linalg.svd(scaled - mean, full_matrices=False)
    signs = np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])  # SVD leaves them open
    return Scaling(tuple(names), low, high, mean, (axes * signs[:, None])[:components])


def _own(runs: RunTable, names: Sequence[str]) -> Floats:
    return np.stack([runs.of(name) for name in names], axis=1)


def _scaled(values: Floats, names: Sequence[str], low: Floats, high: Floats) -> Floats:
    found = np.empty_like(values)
    for column, name in enumerate(names):
        x, first, last = values[:, column], float(low[column]), float(high[column])
        if SCALES.get(name, "min-max") == "ratio":
            found[:, column] = x
            continue
        if SCALES.get(name) == "log":
            x, first, last = _log(x), float(_log(low[column])), float(_log(high[column]))
        found[:, column] = (x - first) / (last - first) if last > first else x - first
    return found


def _log(values: Floats) -> Floats:
    return np.asarray(np.log2(np.maximum(values, 1.0)))


Kind = Literal["forest", "neighbours", "svr"]
_LEAF = -1


@dataclass(frozen=True, slots=True)
class Forest:
    """Regression trees whose nodes stand one after another; the prediction is the mean of the trees."""

    kind: ClassVar[Kind] = "forest"
    roots: Array  # int64[T], root of each tree
    left: Array  # int64[M], node where the feature is at most the threshold; -1 in a leaf
    right: Array  # int64[M], node where it is larger; -1 in a leaf
    feature: Array  # int64[M], input that is compared; 0 in a leaf
    threshold: Floats  # [M]
    value: Floats  # [M], mean of the training targets there

    def trees(self, inputs: Floats) -> Floats:
        """float64[N, T], prediction of each tree."""
        # scikit-learn compares inputs of single precision with thresholds of double precision
        x = inputs.astype(np.float32)
        rows = np.arange(len(x))[:, None]
        node = np.broadcast_to(self.roots, (len(x), len(self.roots)))
        while (inner := self.left[node] != _LEAF).any():
            goes_left = x[rows, self.feature[node]] <= self.threshold[node]
            node = np.where(inner, np.where(goes_left, self.left[node], self.right[node]), node)
        return np.asarray(self.value[node])

    def predict(self, inputs: Floats) -> Floats:
        """float64[N]."""
        return np.asarray(self.trees(inputs).mean(axis=1))

    def check(self, num_inputs: int) -> None:
        """Raise ValueError unless every walk through a tree stays in it and ends."""
        nodes = len(self.left)
        if not all(len(a) == nodes for a in (self.right, self.feature, self.threshold, self.value)):
            raise ValueError("nodes of different numbers")
        inner = self.left != _LEAF
        number = np.arange(nodes)
        for child in (self.left, self.right):
            if not ((child > number) & (child < nodes))[inner].all():
                raise ValueError("a child that is not behind its node")
        if not len(self.roots) or not ((self.roots >= 0) & (self.roots < nodes)).all():
            raise ValueError("a root that is no node")
        if not ((self.feature >= 0) & (self.feature < num_inputs)).all():
            raise ValueError("an input that does not exist")


@dataclass(frozen=True, slots=True)
class NearestNeighbours:
    """The mean of the nearest runs, all alike or by inverse distance."""

    kind: ClassVar[Kind] = "neighbours"
    points: Floats  # [N, K], inputs of the training runs
    values: Floats  # [N], their targets
    count: Array  # int64[1], neighbours that count
    by_distance: Array  # int64[1], 1 if nearer ones count for more

    def predict(self, inputs: Floats) -> Floats:
        """float64[N]."""
        apart = np.sqrt(((inputs[:, None, :] - self.points[None, :, :]) ** 2).sum(axis=2))
        near = np.argsort(apart, axis=1, kind="stable")[:, : int(self.count[0])]
        values = self.values[near]
        if not self.by_distance[0]:
            return np.asarray(values.mean(axis=1))
        distance = np.take_along_axis(apart, near, axis=1)
        is_same = distance == 0
        with np.errstate(divide="ignore"):
            weights = np.where(is_same.any(axis=1, keepdims=True), is_same, 1.0 / distance)
        return np.asarray((weights * values).sum(axis=1) / weights.sum(axis=1))

    def check(self, num_inputs: int) -> None:
        """Raise ValueError unless points, values and the number of neighbours fit."""
        if self.points.ndim != 2 or self.points.shape != (len(self.values), num_inputs):
            raise ValueError("points and values that do not fit")
        if len(self.count) != 1 or len(self.by_distance) != 1 or not 1 <= self.count[0] <= len(self.values):
            raise ValueError("a number of neighbours that does not fit")


@dataclass(frozen=True, slots=True)
class SupportVectors:
    """Support vector regression with radial basis functions."""

    kind: ClassVar[Kind] = "svr"
    points: Floats  # [S, K], support vectors
    weights: Floats  # [S]
    intercept: Floats  # [1]
    gamma: Floats  # [1], exp(-gamma |x - y|^2)

    def predict(self, inputs: Floats) -> Floats:
        """float64[N]."""
        apart = ((inputs[:, None, :] - self.points[None, :, :]) ** 2).sum(axis=2)
        return np.asarray(np.exp(-self.gamma[0] * apart) @ self.weights + self.intercept[0])

    def check(self, num_inputs: int) -> None:
        """Raise ValueError unless the arrays fit."""
        if self.points.ndim != 2 or self.points.shape != (len(self.weights), num_inputs):
            raise ValueError("support vectors and weights that do not fit")
        if len(self.intercept) != 1 or len(self.gamma) != 1:
            raise ValueError("an intercept or width that is no number")


Estimator: TypeAlias = Forest | NearestNeighbours | SupportVectors
ESTIMATORS: Mapping[str, type[Estimator]] = {
    cls.kind: cls for cls in (Forest, NearestNeighbours, SupportVectors)
}
_INTEGERS = frozenset(("roots", "left", "right", "feature", "count", "by_distance"))


def arrays_of(estimator: Estimator) -> dict[str, Array]:
    """Arrays of an estimator by name."""
    return {field.name: getattr(estimator, field.name) for field in fields(estimator)}


def estimator_of(kind: str, arrays: Mapping[str, Array], num_inputs: int) -> Estimator:
    """Estimator from its arrays; ``ValueError`` if one is missing, of another type or size, or not finite."""
    if kind not in ESTIMATORS:
        raise ValueError(f"a model of kind {kind!r}")
    cls = ESTIMATORS[kind]
    found = {}
    for field in fields(cls):
        array = arrays.get(field.name)
        wanted = np.int64 if field.name in _INTEGERS else np.float64
        if array is None or array.dtype != wanted or not np.isfinite(array).all():
            raise ValueError(f"an array {field.name} that is missing or damaged")
        if array.ndim != (2 if field.name == "points" else 1):
            raise ValueError(f"an array {field.name} of {array.ndim} dimensions")
        found[field.name] = array
    estimator = cls(**found)
    estimator.check(num_inputs)
    return estimator
