"""How much memory and time a point will need, from the points that are finished.

The value graph grows as a power law of the parameters without an offset, so its growth shows in small points
already; memory is an offset plus a multiple of it. With few points, exponents are drawn towards a cautious 2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from commanalyzer.scaling.sweep.points import Point
from commanalyzer.scaling.sweep.store import PointRecord

_PRIOR_EXPONENT = 2.0
_PRIOR_WEIGHT = 0.1  # against residuals of logarithms
_LARGEST_EXPONENT = 6.0
_BYTES_PER_GRAPH_BYTE = 6.0  # at least: trace, graph, its simplified form and hypergraph at once
_SAFETY = 1.25


@dataclass(frozen=True, slots=True)
class PowerLaw:
    """y = exp(``log_scale``) prod x_i^``exponents``, for logarithms of x.

    Attributes:
        log_scale: Logarithm of the factor.
        exponents: float64[k], from 0 to 6.
    """

    log_scale: float
    exponents: NDArray[np.float64]

    def __call__(self, log_x: NDArray[np.float64]) -> NDArray[np.float64]:
        """float64[m] values at float64[m, k] logarithms of x."""
        return np.asarray(np.exp(self.log_scale + log_x @ self.exponents))


def fit_power_law(log_x: NDArray[np.float64], y: NDArray[np.float64]) -> PowerLaw:
    """Least squares on logarithms.

    Args:
        log_x: float64[m, k].
        y: float64[m], positive.
    """
    from scipy.optimize import lsq_linear

    m, k = log_x.shape
    prior = np.hstack([np.zeros((k, 1)), _PRIOR_WEIGHT * np.eye(k)])
    matrix = np.vstack([np.hstack([np.ones((m, 1)), log_x]), prior])
    target = np.concatenate([np.log(y), np.full(k, _PRIOR_WEIGHT * _PRIOR_EXPONENT)])
    bounds = ([-np.inf, *[0.0] * k], [np.inf, *[_LARGEST_EXPONENT] * k])
    found = np.asarray(lsq_linear(matrix, target, bounds=bounds).x)
    return PowerLaw(float(found[0]), found[1:])


@dataclass(frozen=True, slots=True)
class Needs:
    """What points need, by their place in the sweep.

    Attributes:
        memory_bytes: float64[points]; NaN before any point is finished.
        wall_s: float64[points]; likewise.
        is_extrapolated: At least two sizes stand behind it.
    """

    memory_bytes: NDArray[np.float64]
    wall_s: NDArray[np.float64]
    is_extrapolated: bool


def log_sizes(points: Sequence[Point]) -> NDArray[np.float64]:
    """float64[points, k] logarithms of the parameters that are positive numbers everywhere."""
    columns = [_logarithms(cells) for cells in zip(*([v for _, v in p.values] for p in points), strict=True)]
    numeric = [column for column in columns if column is not None]
    return np.stack(numeric, axis=1) if numeric else np.zeros((len(points), 0))


def needs_of(log_x: NDArray[np.float64], finished: Mapping[int, PointRecord]) -> Needs:
    """Needs of all points.

    Args:
        log_x: Of :func:`log_sizes`.
        finished: Finished points by place.
    """
    known = [(i, record) for i, record in sorted(finished.items()) if record.lines]
    if not known:
        nothing = np.full(len(log_x), np.nan)
        return Needs(nothing, nothing, False)
    at = log_x[[i for i, _ in known]]
    graph = np.array([max(1.0, float(r.lines[0]["graph_bytes"])) for _, r in known])
    memory = np.array([float(r.memory_bytes) for _, r in known])
    wall_s = np.array([max(1e-3, r.wall_s) for _, r in known])
    return Needs(
        _memory(fit_power_law(at, graph)(log_x), graph, memory),
        fit_power_law(at, wall_s)(log_x),
        len(np.unique(at, axis=0)) > 1,
    )


def _memory(
    all_graphs: NDArray[np.float64], graph: NDArray[np.float64], memory: NDArray[np.float64]
) -> NDArray[np.float64]:
    from scipy.optimize import nnls

    (_, slope), _ = nnls(np.stack([np.ones_like(graph), graph], axis=1), memory)
    factor = max(float(slope), _BYTES_PER_GRAPH_BYTE)
    offset = max(0.0, float((memory - factor * graph).max()))
    return np.asarray(offset + _SAFETY * factor * all_graphs)


def _logarithms(cells: Sequence[str]) -> NDArray[np.float64] | None:
    try:
        numbers = np.array(cells, dtype=np.str_).astype(np.float64)
    except ValueError:
        return None
    return np.log(numbers) if bool((numbers > 0).all() and np.isfinite(numbers).all()) else None
