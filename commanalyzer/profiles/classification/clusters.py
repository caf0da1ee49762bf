"""Clusters of one run's threads in principal components; the only user of scikit-learn here.

Components are kept by Kaiser's criterion (more variance than one feature), clusters are Ward's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Index = NDArray[np.int64]
_SAME = 1e-9  # relative: a feature that differs by less is the same in all threads
_ALIKE = 1e-6  # of the extent of all components: threads that are nearer are the same
MOST_CLASSES = 12
"""Classes that are tried; a 3-D grid has four kinds of places, a plane whose sides are told apart nine."""


@dataclass(frozen=True, slots=True, eq=False)
class Reduced:
    """Threads of one run in principal components.

    Attributes:
        points: float64[T, D].
        num_distinct: Different points.
    """

    points: Floats
    num_distinct: int


def reduce_features(table: Floats) -> Reduced:
    """Principal components of standardised features with eigenvalues above 1, at least one.

    Args:
        table: float64[T, F], features of the threads of one run.
    """
    centre, spread = table.mean(axis=0), table.std(axis=0)
    telling = spread > _SAME * np.maximum(np.abs(centre), 1e-30)
    if not telling.any():
        return Reduced(np.zeros((len(table), 1)), 1)
    from sklearn.decomposition import PCA

    standard = (table[:, telling] - centre[telling]) / spread[telling]
    fitted = PCA(svd_solver="full").fit(standard)
    # Kaiser: standardised features have the variance 1 (scikit-learn divides by T - 1).
    eigenvalues = fitted.explained_variance_ * (len(table) - 1) / len(table)
    kept = max(int((eigenvalues > 1.0).sum()), 1)
    points = np.asarray(fitted.transform(standard)[:, :kept], dtype=np.float64)
    extent = max(float(np.ptp(points, axis=0).max()), 1e-30)
    return Reduced(points, len(np.unique(np.round(points / (extent * _ALIKE)), axis=0)))


def choose_number(runs: Sequence[Reduced]) -> int:
    """Number of classes with the best mean silhouette of all runs.

    One class if all threads of every run are alike. A run with fewer different threads than classes has as
    many clusters as different threads; one where all threads differ has no silhouette and does not count.

    Reference: P. Rousseeuw, *Silhouettes*, J. Comp. Appl. Math. 20, 1987.
    """
    most = min(max(run.num_distinct for run in runs), MOST_CLASSES)
    if most == 1:
        return 1
    scores = {}
    for count in range(2, most + 1):
        own = [s for run in runs if (s := _silhouette(run, count)) is not None]
        if own:
            scores[count] = float(np.mean(own))
    # Runs where all threads differ have no silhouette for so many classes.
    return max(scores, key=lambda count: (round(scores[count], 9), -count)) if scores else most


def cluster(run: Reduced, count: int) -> Index:
    """int64[T], cluster of each thread; fewer clusters where fewer threads differ."""
    number = min(count, run.num_distinct)
    if number == 1:
        return np.zeros(len(run.points), dtype=np.int64)
    from sklearn.cluster import AgglomerativeClustering

    return np.asarray(AgglomerativeClustering(number).fit_predict(run.points), dtype=np.int64)


def _silhouette(run: Reduced, count: int) -> float | None:
    number = min(count, run.num_distinct)
    if number < 2 or len(run.points) <= number:
        return None
    from sklearn.metrics import silhouette_score

    return float(silhouette_score(run.points, cluster(run, number)))
