"""Speed-up of an application of several tasks from those of its kernels.

Eq. 1    mean of the kernels' speed-ups
Eq. 2    mean weighted by work items and instructions of an item
Eq. 3    Eq. 2 times the largest rho of the dependencies, *as printed*
penalty  Eq. 2 times one minus the largest rho: what the text around Eq. 3 describes
time     T_1 / T_p with T_p the sum of the tasks' times and of the time that the flows between them take

As printed, Eq. 3 multiplies by rho, and rho is 0 where no data moves: with Table 2, an application whose only
dependencies are one-to-one -> one-to-one (0.001 on Marconi-100) would have a thousandth of its kernels'
speed-up, one with all -> all (0.986) nearly all of it. "Applies a penalty", "0 means no data movement" and
the measured curves of Fig. 10 ask for the factor 1 - rho: 0.999 and 0.014.

Means of speed-ups are no speed-ups of sums either: tasks with shares w_i of the serial time take w_i / s_i
each, so the weights belong into a harmonic mean. ``time`` does that, and takes the bytes that flow instead
of a factor.

Reference: Stawinoga et al., Section 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.scaling.laws.terms import Floats

Rule = Literal["mean", "weighted", "printed", "penalty", "time"]
RULES: tuple[Rule, ...] = get_args(Rule)


@dataclass(frozen=True, slots=True)
class TaskWeight:
    """What a task contributes.

    Attributes:
        items: Work items.
        instructions: Of one work item, by the loop heuristic or measured.
    """

    items: float
    instructions: float


def weights(tasks: Sequence[TaskWeight]) -> Floats:
    """float64[T], w of Eq. 2: items times instructions, their sum 1.

    Raises:
        ConfigError: If there is no task, or none with work.
    """
    work = np.array([task.items * task.instructions for task in tasks], dtype=np.float64)
    if not len(work) or not (work >= 0).all() or not work.sum() > 0:
        raise ConfigError("expected tasks with work items and instructions, found none")
    return np.asarray(work / work.sum())


def mean_speedup(speedups: Floats) -> Floats:
    """float64[P], Eq. 1 from float64[T, P] speed-ups of the tasks."""
    return np.asarray(speedups.mean(axis=0))


def weighted_speedup(speedups: Floats, shares: Floats) -> Floats:
    """float64[P], Eq. 2."""
    return np.asarray(shares @ speedups)


def printed_speedup(speedups: Floats, shares: Floats, overheads: Sequence[float]) -> Floats:
    """float64[P], Eq. 3 as printed, with the overheads rho of the dependencies (Eq. 2 without any)."""
    return _largest(overheads, 1.0) * weighted_speedup(speedups, shares)


def penalised_speedup(speedups: Floats, shares: Floats, overheads: Sequence[float]) -> Floats:
    """float64[P], Eq. 3 with the factor 1 - rho; Eq. 2 where nothing moves."""
    return (1.0 - _largest(overheads, 0.0)) * weighted_speedup(speedups, shares)


def timed_speedup(speedups: Floats, shares: Floats, moving: Floats) -> Floats:
    """float64[P], 1 / (sum of w_i / s_i + what moving data takes).

    Args:
        speedups: float64[T, P], of the tasks without data movement.
        shares: float64[T], of the serial time.
        moving: float64[P], time of data movement over the serial time, from the latency-aware bound.
    """
    return np.asarray(1.0 / ((shares[:, None] / speedups).sum(axis=0) + moving))


def _largest(overheads: Sequence[float], otherwise: float) -> float:
    wrong = [rho for rho in overheads if not 0 <= rho <= 1]
    if wrong:
        raise ConfigError(f"expected communication overheads in [0, 1], found {wrong[0]:g}")
    return max(overheads, default=otherwise)
