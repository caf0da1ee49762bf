"""A prediction and a counted MPI run side by side."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.result.comparison.relabel import Relabelling, best_relabelling, reorder
from commanalyzer.result.results import AnalysisResult, Decomposition

Int64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Predicted against counted communication of one decomposition.

    Attributes:
        prediction: The predicted result.
        predicted: Its compared decomposition.
        counted: The counted part of the MPI run.
        candidates: All predicted decompositions for that many parts, the compared one included.
        relabelling: Part that plays each rank.
        predicted_bytes: int64[p, p], predicted matrix in the order of ranks.
        work_flop: W of the prediction, floating-point operations; both intensities use it.
    """

    prediction: AnalysisResult
    predicted: Decomposition
    counted: Decomposition
    candidates: tuple[Decomposition, ...]
    relabelling: Relabelling
    predicted_bytes: Int64
    work_flop: int

    @property
    def ratio(self) -> float | None:
        """Predicted over counted bytes; ``None`` when nothing was counted."""
        return ratio(self.predicted.comm_bytes, self.counted.comm_bytes)

    @property
    def accuracy(self) -> float | None:
        """1 - |predicted - counted| / counted, of the totals; ``None`` when nothing was counted."""
        return accuracy(self.predicted.comm_bytes, self.counted.comm_bytes)

    @property
    def difference(self) -> Int64:
        """int64[p, p], predicted less counted bytes, in the order of ranks."""
        return self.predicted_bytes - self.counted.communication.comm_bytes

    def largest_differences(self, limit: int) -> list[tuple[int, int, int, int]]:
        """(source, target, predicted, counted bytes) of the rank pairs that differ most, largest first."""
        size = np.abs(self.difference)
        first = np.argsort(-size, axis=None, kind="stable")[:limit]
        first = first[size.ravel()[first] > 0]
        sources, targets = np.unravel_index(first, size.shape)
        counted = self.counted.communication.comm_bytes[sources, targets]
        predicted = self.predicted_bytes[sources, targets]
        columns = (sources, targets, predicted, counted)
        return list(zip(*(column.tolist() for column in columns), strict=True))


def compare(
    predicted: AnalysisResult,
    counted: AnalysisResult,
    *,
    model: str = "",
    method: str = "",
    region: str = "",
) -> Comparison:
    """Comparison of the predicted decomposition for as many parts as there were ranks.

    Args:
        predicted: Result of an analysis.
        counted: Result of a counted run.
        model: Communication model of the prediction; its leading one when empty.
        method: Decomposition of the prediction; its cheapest when empty.
        region: Marked region of the counted run; what it was counted for when empty.

    Raises:
        ConfigError: If the results are of the wrong kinds, or the decomposition or region is not in them.
    """
    if predicted.counted is not None:
        raise ConfigError("expected a prediction as the first result, found a counted MPI run")
    if counted.counted is None:
        raise ConfigError(
            "expected a counted MPI run as the second result, found a prediction",
            hint="make one with: commanalyzer count -o counted.cmz -- mpiexec -n 4 ./program",
        )
    ranks = counted.counted.ranks
    if ranks not in predicted.nodes:
        known = ", ".join(map(str, predicted.nodes)) or "none"
        raise ConfigError(
            f"expected a prediction for {ranks} nodes, found {known}",
            hint=f"make one from the same result with: commanalyzer partition RESULT --nodes {ranks}",
        )
    chosen = predicted.decomposition(ranks, model, method)
    seen = counted.decomposition(ranks, method=f"region {region}" if region else "")
    found = best_relabelling(chosen.communication.comm_bytes, seen.communication.comm_bytes)
    return Comparison(
        prediction=predicted,
        predicted=chosen,
        counted=seen,
        candidates=tuple(d for d in predicted.decompositions if d.nodes == ranks),
        relabelling=found,
        predicted_bytes=reorder(chosen.communication.comm_bytes, found.order),
        work_flop=predicted.work.amount,
    )


def ratio(predicted: int, counted: int) -> float | None:
    """``predicted`` over ``counted``; ``None`` when nothing was counted."""
    return predicted / counted if counted else None


def accuracy(predicted: int, counted: int) -> float | None:
    """1 - |predicted - counted| / counted, negative when more than twice as much is predicted."""
    return 1.0 - abs(predicted - counted) / counted if counted else None
