"""Trains models with scikit-learn: forest, neighbours, support vectors; grid search, left-out kernels.

A model may learn the speed-up itself, as the paper does, or the logarithm of the speed-up over a reference:
the number of devices (then it learns the efficiency) or the speed-up that physics gives (then it learns what
physics leaves over, the *hybrid*). Relative errors are what counts for a curve from 1 to 64, and those are
even on a logarithmic scale.

Reference: Stawinoga et al., Sections 3.3 and 5.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.errors import ConfigError, FitError
from commanalyzer.kernels.features.kernels import FEATURES, RUNTIME_FEATURES, STATIC_FEATURES
from commanalyzer.kernels.learning.estimators import (
    Estimator,
    Forest,
    Kind,
    NearestNeighbours,
    Scaling,
    SupportVectors,
    fit_scaling,
)
from commanalyzer.kernels.learning.model import Target, TrainedModel, errors_of, references, restored
from commanalyzer.kernels.learning.runs import PHYSICS_EFFICIENCY, RunTable
from commanalyzer.scaling.laws.terms import Floats

FeatureSet = Literal["all", "static", "runtime"]
KINDS: tuple[Kind, ...] = get_args(Kind)
FEATURE_SETS: Mapping[FeatureSet, tuple[str, ...]] = {
    "all": FEATURES,
    "static": STATIC_FEATURES,
    "runtime": RUNTIME_FEATURES,
}
TREES = 100  # of the paper's forest
_SEED = 1
_FOLDS = 3
# Around the paper's choices (3 neighbours; C and epsilon of the SVR are not given there); the best by
# cross-validation over kernels is taken. A finer grid changed nothing that left-out kernels show.
_GRID: Mapping[Kind, Mapping[str, Sequence[Any]]] = {
    "forest": {"max_features": (1.0, 0.5), "min_samples_leaf": (1, 8)},
    "neighbours": {"n_neighbors": (1, 3, 5), "weights": ("uniform", "distance")},
    "svr": {"C": (1.0, 10.0, 100.0), "epsilon": (0.01, 0.1), "gamma": ("scale", 1.0)},
}
_LEVELS = (0.05, 0.95)  # of the uncertainty


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    """How to train."""

    kind: Kind = "forest"
    target: Target = "efficiency"
    features: FeatureSet | tuple[str, ...] = "all"  # which features it sees: a set, or names
    components: int = 0  # principal components (the paper takes 6); 0 for the features themselves
    search: bool = True  # look for the best parameters on the grid; otherwise scikit-learn's and the paper's

    def __post_init__(self) -> None:
        most = len(self.names)
        if not 0 <= self.components <= most:
            raise ConfigError(f"expected 0 to {most} principal components, found {self.components}")

    @property
    def names(self) -> tuple[str, ...]:
        """Features that the model sees; one that corrects physics sees what physics says, too."""
        own = FEATURE_SETS[self.features] if isinstance(self.features, str) else self.features
        return (*own, PHYSICS_EFFICIENCY) if self.target == "residual" else own


def train(table: RunTable, options: TrainingOptions, machine: str = "") -> TrainedModel:
    """Model of all runs; its uncertainty comes from leaving out one kernel after the other.

    Raises:
        FitError: If speed-ups are missing, there is one kernel only, or physics is wanted and not given.
    """
    table.require_speedups()
    chosen = search(table, options) if options.search else _defaults(options.kind)
    predicted = leave_kernels_out(table, options, chosen)
    relative = np.log(table.speedups / predicted)
    low, high = np.quantile(relative, _LEVELS).tolist()
    estimator, scaling = _fit(table, options, chosen)
    import sklearn

    return TrainedModel(
        estimator=estimator,
        scaling=scaling,
        target=options.target,
        parameters=chosen,
        kernels=tuple(sorted(set(table.kernels.tolist()))),
        num_runs=len(table),
        left_out=errors_of(table.speedups, predicted),
        log_error=(low, high),
        machine=machine,
        versions={"scikit-learn": sklearn.__version__, "numpy": np.__version__},
    )


def leave_kernels_out(
    table: RunTable, options: TrainingOptions, parameters: Mapping[str, Any] | None = None
) -> Floats:
    """float64[N], speed-up of every run by a model that has seen no run of its kernel.

    The table has several kernels; without ``parameters`` the model has its defaults.
    """
    chosen = _defaults(options.kind) if parameters is None else parameters
    found = np.empty(len(table))
    for kernel in np.unique(table.kernels):
        is_left_out = table.kernels == kernel
        model = _fit(table.where(~is_left_out), options, chosen)
        found[is_left_out] = _predicted(*model, table.where(is_left_out), options.target)
    return found


def unseen_speedups(table: RunTable, rows: RunTable, options: TrainingOptions) -> Floats:
    """float64[N], speed-ups of ``rows`` by a model of ``table`` with default parameters."""
    return _predicted(*_fit(table, options, _defaults(options.kind)), rows, options.target)


def search(table: RunTable, options: TrainingOptions) -> dict[str, Any]:
    """Best parameters on the grid by cross-validation in which kernels stay together."""
    from sklearn.model_selection import GridSearchCV, GroupKFold

    scaling, targets = _prepared(table, options)
    grid = {name: list(values) for name, values in _GRID[options.kind].items()}
    folds = min(_FOLDS, len(np.unique(table.kernels)))
    smallest = len(table) - max(np.unique(table.kernels, return_counts=True)[1])
    if options.kind == "neighbours":
        grid["n_neighbors"] = [k for k in grid["n_neighbors"] if k <= max(smallest // 2, 1)]
    found = GridSearchCV(
        _regressor(options.kind, _defaults(options.kind)),
        grid,
        cv=GroupKFold(folds),
        scoring="neg_mean_squared_error",
    ).fit(scaling.inputs(table), targets, groups=table.kernels)
    return {**_defaults(options.kind), **dict(found.best_params_)}


def _defaults(kind: Kind) -> dict[str, Any]:
    found: dict[Kind, dict[str, Any]] = {
        "forest": {"n_estimators": TREES, "criterion": "squared_error"},
        "neighbours": {"n_neighbors": 3},
        "svr": {"kernel": "rbf", "C": 10.0, "epsilon": 0.01},
    }
    return found[kind]


def _prepared(table: RunTable, options: TrainingOptions) -> tuple[Scaling, Floats]:
    if options.target == "residual" and np.isnan(table.physics).any():
        raise FitError(
            "expected a column physics (speed-up by a model of the machine) in every run, found none",
            where=table.source,
            hint="commanalyzer bound gives it; or learn the efficiency",
        )
    scaling = fit_scaling(table, options.names, options.components)
    if options.target == "speedup":
        return scaling, table.speedups
    return scaling, np.log(table.speedups / references(table, options.target))


def _fit(
    table: RunTable, options: TrainingOptions, parameters: Mapping[str, Any]
) -> tuple[Estimator, Scaling]:
    scaling, targets = _prepared(table, options)
    inputs = scaling.inputs(table)
    chosen = dict(parameters)
    if options.kind == "neighbours":
        chosen["n_neighbors"] = min(int(chosen["n_neighbors"]), len(table))
    regressor = _regressor(options.kind, chosen).fit(inputs, targets)
    return _plain(options.kind, regressor, inputs, targets), scaling


def _predicted(estimator: Estimator, scaling: Scaling, rows: RunTable, target: Target) -> Floats:
    return restored(estimator.predict(scaling.inputs(rows)), rows, target)


def _regressor(kind: Kind, parameters: Mapping[str, Any]) -> Any:
    if kind == "forest":
        from sklearn.ensemble import RandomForestRegressor

        return RandomForestRegressor(random_state=_SEED, **parameters)
    if kind == "neighbours":
        from sklearn.neighbors import KNeighborsRegressor

        return KNeighborsRegressor(algorithm="brute", **parameters)
    from sklearn.svm import SVR

    return SVR(**parameters)


def _plain(kind: Kind, regressor: Any, inputs: Floats, targets: Floats) -> Estimator:
    """The arrays of a fitted estimator of scikit-learn."""
    if kind == "forest":
        return _forest([tree.tree_ for tree in regressor.estimators_])
    if kind == "neighbours":
        by_distance = int(regressor.weights == "distance")
        return NearestNeighbours(inputs, targets, np.array([regressor.n_neighbors]), np.array([by_distance]))
    return SupportVectors(
        np.asarray(regressor.support_vectors_, dtype=np.float64),
        np.asarray(regressor.dual_coef_[0], dtype=np.float64),
        np.asarray(regressor.intercept_, dtype=np.float64),
        np.array([regressor._gamma], dtype=np.float64),  # what "scale" became
    )


def _forest(trees: Sequence[Any]) -> Forest:
    sizes = np.array([tree.node_count for tree in trees], dtype=np.int64)
    roots = np.cumsum(sizes) - sizes
    shift = np.repeat(roots, sizes)

    def children(name: str) -> NDArray[np.int64]:
        own = np.concatenate([getattr(tree, name) for tree in trees]).astype(np.int64)
        return np.where(own < 0, -1, own + shift)

    feature = np.concatenate([tree.feature for tree in trees]).astype(np.int64)
    return Forest(
        roots,
        children("children_left"),
        children("children_right"),
        np.maximum(feature, 0),  # leaves have -2
        np.concatenate([tree.threshold for tree in trees]),
        np.concatenate([tree.value[:, 0, 0] for tree in trees]),
    )
