"""What the features tell: distances between kernels, clusters of alike ones, features that matter, ablation.

Reference: Stawinoga et al., Sections 5.3 (Fig. 9) and 5.4 (Table 5).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.errors import FitError
from commanalyzer.kernels.features.kernels import FEATURES, STATIC_FEATURES
from commanalyzer.kernels.learning.estimators import fit_scaling
from commanalyzer.kernels.learning.model import SpeedupErrors, errors_of
from commanalyzer.kernels.learning.runs import RunTable
from commanalyzer.kernels.learning.training import FEATURE_SETS, TrainingOptions, leave_kernels_out
from commanalyzer.scaling.laws.terms import Floats

_TREES = 10  # of the forests that rank features: there are hundreds of them
_FOLDS = 3
_ALIKE = 0.1
"""Cosine distance below which kernels are in one cluster: an angle of 26 degrees. At half of it (18 degrees)
and at twice (37) clusters split and merge."""


@dataclass(frozen=True, slots=True)
class RankedFeature:
    """A feature, and R² of a model of it and those selected before it, kernels left out in folds."""

    name: str
    score: float


@dataclass(frozen=True, slots=True)
class Insight:
    """What a table of runs tells."""

    kernels: tuple[str, ...]  # names, alike ones beside each other
    distances: Floats  # [K, K], cosine distance of the static features, 0 to 1
    clusters: tuple[tuple[str, ...], ...]  # kernels that are alike
    ranking: tuple[RankedFeature, ...]  # features by greedy selection, the best first
    full_score: float  # R² with all features
    ablation: Mapping[str, SpeedupErrors]  # errors on left-out kernels by set of features


def find_insight(table: RunTable, options: TrainingOptions) -> Insight:
    """What a table tells; ``FitError`` if speed-ups are missing or there are fewer than two kernels."""
    table.require_speedups()
    kernels, distances, clusters = kernel_clusters(table)
    ranking, full = rank_features(table)
    ablation: dict[str, SpeedupErrors] = {
        name: errors_of(table.speedups, leave_kernels_out(table, replace(options, features=name)))
        for name in FEATURE_SETS
    }
    return Insight(kernels, distances, clusters, ranking, full, ablation)


def kernel_clusters(
    table: RunTable,
) -> tuple[tuple[str, ...], Floats, tuple[tuple[str, ...], ...]]:
    """Kernels in the order of a dendrogram, their distances, and clusters (average linkage)."""
    from scipy.cluster.hierarchy import fcluster, leaves_list, linkage
    from scipy.spatial.distance import squareform

    names, first = np.unique(table.kernels, return_index=True)
    if len(names) < 2:
        raise FitError(f"expected kernels to compare, found {len(names)}", where=table.source)
    rows = np.zeros(len(table), dtype=np.bool_)
    rows[first] = True
    static = fit_scaling(table, STATIC_FEATURES).inputs(table)[first]
    distances = cosine_distances(static)
    tree = linkage(squareform(distances, checks=False), "average", optimal_ordering=True)
    order = leaves_list(tree)
    label = fcluster(tree, _ALIKE, "distance")[order]
    ordered = names[order]
    groups = [tuple(ordered[label == k].tolist()) for k in dict.fromkeys(label.tolist())]
    return tuple(ordered.tolist()), distances[np.ix_(order, order)], tuple(groups)


def cosine_distances(vectors: Floats) -> Floats:
    """float64[K, K], 1 - cos of the angle between rows of float64[K, F] that are not negative: 0 to 1."""
    length = np.linalg.norm(vectors, axis=1)
    unit = vectors / np.where(length > 0, length, 1.0)[:, None]
    found = np.clip(1.0 - unit @ unit.T, 0.0, 1.0)
    np.fill_diagonal(found, 0.0)
    return np.asarray((found + found.T) / 2.0)


def rank_features(table: RunTable, count: int = 5) -> tuple[tuple[RankedFeature, ...], float]:
    """Features by greedy forward selection, and R² with all of them.

    A model is trained with those chosen before and one more; that which scores best is next. Runs of a
    kernel stay together in the folds.
    """
    chosen: list[str] = []
    ranked: list[RankedFeature] = []
    for _ in range(count):
        scores = {f: _score(table, (*chosen, f)) for f in FEATURES if f not in chosen}
        best = max(scores, key=lambda f: scores[f])
        chosen.append(best)
        ranked.append(RankedFeature(best, scores[best]))
    return tuple(ranked), _score(table, FEATURES)


def _score(table: RunTable, names: Sequence[str]) -> float:
    """R² of predicted speed-ups."""
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.model_selection import GroupKFold, cross_val_predict

    folds = GroupKFold(min(_FOLDS, len(np.unique(table.kernels))))
    inputs = fit_scaling(table, names).inputs(table)
    forest = RandomForestRegressor(n_estimators=_TREES, random_state=1)
    found: NDArray[np.float64] = cross_val_predict(
        forest, inputs, table.speedups, groups=table.kernels, cv=folds
    )
    return errors_of(table.speedups, found).r2
