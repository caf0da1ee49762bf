"""From features to the inputs of a model: Table 1's normalisation, and principal components if wanted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from commanalyzer.kernels.features.kernels import SCALES
from commanalyzer.kernels.learning.runs import RunTable
from commanalyzer.scaling.laws.terms import Floats


@dataclass(frozen=True, slots=True)
class Scaling:
    """What was seen in training, and how it becomes an input.

    Attributes:
        features: Names of the features that are used.
        low: float64[K], smallest value of each in training.
        high: float64[K], largest.
        mean: float64[K], mean of the normalised features; empty without principal components.
        components: float64[C, K], directions of the principal components; empty without.
    """

    features: tuple[str, ...]
    low: Floats
    high: Floats
    mean: Floats
    components: Floats

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
    """Scaling of the features ``names`` in runs of training.

    Args:
        runs: All of them.
        names: Which are used.
        components: Principal components; 0 for the features themselves.
    """
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
