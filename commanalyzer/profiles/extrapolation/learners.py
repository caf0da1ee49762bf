"""Models that are no sums of terms: nearest neighbours, neural network, random forest (Section 6.2.2).

The only user of scikit-learn here. A model is kept as what it was learned from: learning is quick and gives
the same again, and nothing of a library's inside is written to files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from commanalyzer.foundation.errors import FitError
from commanalyzer.scaling.laws.terms import Floats, Term, columns

_HIDDEN = 8  # neurons: more than terms that are ever useful together, few for a few dozen rows
_NEIGHBOURS = 2
_TREES = 100
_FOLDS = 10
_Z95 = 1.96


@dataclass(frozen=True, slots=True)
class Learned:
    """A model that was learned from rows."""

    kind: str  # ``neighbours``, ``network`` or ``forest``
    parameters: tuple[str, ...]
    terms: tuple[Term, ...]  # its inputs
    rows: tuple[tuple[float, ...], ...]  # points that it was learned from, one tuple per row
    values: tuple[float, ...]  # metric of each row
    error: float  # root mean square relative error of ten-fold predictions

    def predict(self, values: Mapping[str, Floats | float]) -> Floats:
        """float64[N], the metric where parameters are these; ``FitError`` if a parameter is missing."""
        missing = [name for name in self.parameters if name not in values]
        if missing:
            raise FitError(f"expected a value of {', '.join(missing)}, found none", where=self.kind)
        arrays = [np.atleast_1d(np.asarray(values[name], dtype=np.float64)) for name in self.parameters]
        x = np.stack(np.broadcast_arrays(*arrays), axis=1)
        return np.asarray(_fitted(self)(columns(self.terms, x)))

    def band(self, values: Mapping[str, Floats | float]) -> tuple[Floats, Floats]:
        """float64[N] each, about 95 % by the error of ten-fold predictions; no extrapolation is covered."""
        value = self.predict(values)
        half = _Z95 * self.error * np.abs(value)
        return np.maximum(value - half, 0.0), value + half


@lru_cache(maxsize=512)
def _fitted(model: Learned) -> Callable[[Floats], Floats]:
    return _fit(model.kind, columns(model.terms, np.array(model.rows)), np.array(model.values))


def _fit(kind: str, table: Floats, y: Floats) -> Callable[[Floats], Floats]:
    """Function from inputs to predictions; inputs and metric are standardised."""
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    learner = make_pipeline(StandardScaler(), _learner(kind, len(y)))
    fitted = TransformedTargetRegressor(learner, transformer=StandardScaler()).fit(table, y)
    return lambda inputs: np.asarray(fitted.predict(inputs))


def _learner(kind: str, rows: int) -> Any:
    if kind == "neighbours":
        from sklearn.neighbors import KNeighborsRegressor

        return KNeighborsRegressor(min(_NEIGHBOURS, rows), weights="distance")
    if kind == "forest":
        from sklearn.ensemble import RandomForestRegressor

        return RandomForestRegressor(_TREES, random_state=0)
    from sklearn.neural_network import MLPRegressor

    # L-BFGS is for few rows; the penalty is scikit-learn's own.
    return MLPRegressor(
        hidden_layer_sizes=(_HIDDEN,), activation="tanh", solver="lbfgs", max_iter=300, random_state=0
    )


def learn(
    kind: str, names: Sequence[str], x: Floats, y: Floats, mains: Sequence[Term], *, select: bool
) -> Learned:
    """Model whose inputs were selected one by one as long as ten-fold predictions improve.

    ``x``: float64[N, K], points; ``y``: float64[N]; all of ``mains`` are inputs without ``select``.
    """
    chosen: tuple[Term, ...] = () if select else tuple(mains)
    error = _ten_fold(kind, columns(chosen, x), y) if chosen else float("inf")
    while select and len(chosen) < len(mains):
        tried = [(_ten_fold(kind, columns((*chosen, m), x), y), m) for m in mains if m not in chosen]
        best, term = min(tried, key=lambda item: item[0])
        if not best < error:
            break
        error, chosen = best, (*chosen, term)
    chosen = chosen or tuple(mains)[:1]
    rows = tuple(map(tuple, x.tolist()))
    return Learned(kind, tuple(names), chosen, rows, tuple(y.tolist()), error if np.isfinite(error) else 1.0)


def _ten_fold(kind: str, table: Floats, y: Floats) -> float:
    import warnings

    scale = np.maximum(np.abs(y), np.abs(y).mean() * 1e-3 or 1.0)
    residual = np.zeros(len(y))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a network that has not converged predicts worse, which is seen
        for fold in range(min(_FOLDS, len(y))):
            held = np.arange(len(y)) % _FOLDS == fold
            if held.all():
                return float("inf")
            residual[held] = (_fit(kind, table[~held], y[~held])(table[held]) - y[held]) / scale[held]
    return float(np.sqrt((residual**2).mean()))
