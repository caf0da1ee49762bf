"""Summaries of repeated timings: medians with nonparametric confidence intervals.

Reference:
    Hoefler, Belli, "Scientific benchmarking of parallel computing systems", SC 2015: rules 5
    (confidence intervals), 6 (no normality assumed), 8 (medians).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class MedianInterval:
    """A median and its confidence interval."""

    median: float
    low: float
    high: float
    confidence: float  # confidence that is reached; below what was asked for when there are too few values
    num_values: int


def median_interval(values: Values) -> MedianInterval:
    """Median and the narrowest symmetric pair of order statistics that holds it with 95 % confidence.

    The number of values below the true median is binomial(n, 1/2), whatever their distribution, so that the
    l-th smallest and l-th largest values enclose it with probability 1 - 2 P(B < l). With fewer than 6 values
    (at least 1, finite) no pair reaches 95 %; the extremes are given with the confidence that they have.
    """
    from scipy.stats import binom

    ordered = np.sort(_finite(values))
    n = ordered.size
    # Largest l with P(B <= l - 1) <= 5 % / 2.
    below = np.arange(1, n // 2 + 1)
    enough = 2.0 * binom.cdf(below - 1, n, 0.5) <= 0.05
    rank = int(np.count_nonzero(enough)) or 1
    reached = max(0.0, 1.0 - 2.0 * float(binom.cdf(rank - 1, n, 0.5)))
    return MedianInterval(
        float(np.median(ordered)), float(ordered[rank - 1]), float(ordered[n - rank]), reached, n
    )


def slowest(times_s: Values) -> Values:
    """Largest time of all ranks, float64[ranks, repetitions]; NaN where no rank took part."""
    return np.asarray(np.fmax.reduce(times_s, axis=0), dtype=np.float64)


def availability(base_s: float, work_s: float, elapsed_s: float) -> float:
    """Share of a transfer that is hidden behind computation, clipped to [0, 1].

    (base + work - elapsed) / min(base, work): the formula of IMB-NBC. Where the work is at least as long
    as the transfer, it is SMB's 1 - (elapsed - work) / base.

    Seconds of the transfer alone, of the computation alone, and of posting, computing and waiting.

    Reference:
        Intel MPI Benchmarks, IMB-NBC; Doerfler, Brightwell, "Measuring MPI send and receive overhead and
        application availability in high performance network interfaces", EuroPVM/MPI 2006 (Sandia SMB).
    """
    shorter_s = min(base_s, work_s)
    if shorter_s <= 0.0:
        return 0.0  # nothing to hide
    return min(1.0, max(0.0, (base_s + work_s - elapsed_s) / shorter_s))


def significant(value: float) -> float:
    """``value`` rounded to four significant digits: a measurement has no more."""
    return float(f"{value:.3e}")


def _finite(values: Values) -> Values:
    found = values[np.isfinite(values)]
    if found.size == 0:
        raise ValueError("expected at least one measured value, found none")
    return found
