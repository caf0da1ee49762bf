"""Trained models as plain arrays: random forest, nearest neighbours, support vectors.

They predict by numpy alone what scikit-learn's estimators predict, and can be saved and checked as numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from commanalyzer.scaling.laws.terms import Floats

Array: TypeAlias = NDArray[Any]
Kind = Literal["forest", "neighbours", "svr"]
_LEAF = -1


@dataclass(frozen=True, slots=True)
class Forest:
    """Regression trees whose nodes stand one after another; the prediction is the mean of the trees.

    Attributes:
        roots: int64[T], root of each tree.
        left: int64[M], node where the feature is at most the threshold; -1 in a leaf.
        right: int64[M], node where it is larger; -1 in a leaf.
        feature: int64[M], input that is compared; 0 in a leaf.
        threshold: float64[M].
        value: float64[M], mean of the training targets there.
    """

    kind: ClassVar[Kind] = "forest"
    roots: Array
    left: Array
    right: Array
    feature: Array
    threshold: Floats
    value: Floats

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
class Neighbours:
    """The mean of the nearest runs, all alike or by inverse distance.

    Attributes:
        points: float64[N, K], inputs of the training runs.
        values: float64[N], their targets.
        count: int64[1], neighbours that count.
        by_distance: int64[1], 1 if nearer ones count for more.
    """

    kind: ClassVar[Kind] = "neighbours"
    points: Floats
    values: Floats
    count: Array
    by_distance: Array

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
    """Support vector regression with radial basis functions.

    Attributes:
        points: float64[S, K], support vectors.
        weights: float64[S].
        intercept: float64[1].
        gamma: float64[1], exp(-gamma |x - y|^2).
    """

    kind: ClassVar[Kind] = "svr"
    points: Floats
    weights: Floats
    intercept: Floats
    gamma: Floats

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


Estimator: TypeAlias = Forest | Neighbours | SupportVectors
ESTIMATORS: Mapping[str, type[Estimator]] = {cls.kind: cls for cls in (Forest, Neighbours, SupportVectors)}
_INTEGERS = frozenset(("roots", "left", "right", "feature", "count", "by_distance"))


def arrays_of(estimator: Estimator) -> dict[str, Array]:
    """Arrays of an estimator by name."""
    return {field.name: getattr(estimator, field.name) for field in fields(estimator)}


def estimator_of(kind: str, arrays: Mapping[str, Array], num_inputs: int) -> Estimator:
    """Estimator from its arrays.

    Raises:
        ValueError: If one is missing, of another type, not finite, or does not fit the others.
    """
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
