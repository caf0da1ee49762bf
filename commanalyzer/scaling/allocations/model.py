"""Models of the time of a communication phase: areas of the metrics with a formula each (paper Section 3).

A model comes from a machine file (:mod:`commanalyzer.machine.phase_times`): published, or fitted by
:mod:`commanalyzer.scaling.allocations.campaign`. Formulas are those of laws.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.errors import FitError, MachineModelError
from commanalyzer.machine.parameters import MachineParameters
from commanalyzer.machine.phase_times import Condition, PhaseTimes
from commanalyzer.scaling.laws.formula_reader import read_formula
from commanalyzer.scaling.laws.law import Law
from commanalyzer.scaling.laws.terms import Floats, columns

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class PhasePrediction:
    """Predicted phases; arrays over the phases."""

    time_s: Floats  # [n], seconds, never negative
    area: tuple[str, ...]  # name of the area of each
    is_beyond: Flags  # [n], outside of the training data
    is_clamped: Flags  # [n], the formula is below zero there; the time is given as 0


class PhaseModel(Protocol):
    """What predicts the time of phases from their metrics."""

    @property
    def title(self) -> str:
        """What to call it."""

    def predict(self, metrics: Mapping[str, Floats]) -> PhasePrediction:
        """Times of phases; metrics are float64[n] by name (:mod:`commanalyzer.scaling.allocations.metrics`).

        Raises ``FitError`` if a metric is missing.
        """


@dataclass(frozen=True, slots=True)
class AreaModel:
    """Formulas by area."""

    times: PhaseTimes
    laws: tuple[Law, ...]

    @property
    def title(self) -> str:
        """What to call it."""
        return "areas"

    @property
    def metrics(self) -> frozenset[str]:
        """Metrics that a formula or a condition needs."""
        asked = {c.metric for area in self.times.areas for c in area.where}
        return frozenset(asked.union(*(law.parameters for law in self.laws)))

    def predict(self, metrics: Mapping[str, Floats]) -> PhasePrediction:
        """See :class:`PhaseModel`."""
        require(metrics, self.metrics, "model of phases")
        count = len(next(iter(metrics.values())))
        time_s, chosen = np.full(count, np.nan), np.full(count, -1)
        for k, (area, law) in enumerate(zip(self.times.areas, self.laws, strict=True)):
            mine = (chosen < 0) & holds(area.where, metrics, count)
            points = np.stack([metrics[name][mine] for name in law.parameters], axis=1)
            terms = columns(law.formula.terms, points.reshape(int(mine.sum()), len(law.parameters)))
            time_s[mine] = terms @ np.array(law.formula.coefficients)
            chosen[mine] = k
        silent = metrics["NI"] == 0 if "NI" in metrics else np.zeros(count, dtype=np.bool_)
        # Nothing crosses between nodes: these are models of the network, not of shared memory.
        time_s[silent] = 0.0
        outside = chosen < 0
        names = (*(area.name for area in self.times.areas), "none")
        return PhasePrediction(
            np.where(outside, np.nan, np.maximum(time_s, 0.0)),
            tuple(names[k] for k in chosen.tolist()),
            (outside | self._beyond(metrics, count)) & ~silent,
            np.asarray(time_s < 0),
        )

    def _beyond(self, metrics: Mapping[str, Floats], count: int) -> Flags:
        found = np.zeros(count, dtype=np.bool_)
        for name, low, high in self.times.ranges:
            if name in metrics:
                found |= (metrics[name] < low) | (metrics[name] > high)
        return found


def model_of(machine: MachineParameters) -> AreaModel:
    """Area model of a machine; ``MachineModelError`` if the machine has none, or a formula cannot be read."""
    if machine.phase_times is None:
        raise MachineModelError(
            "expected a machine with a model of communication phases, found none",
            where=machine.name or "machine",
            hint="vilje and piz-daint have one; machine measure --campaign makes one of your own",
        )
    return read_model(machine.phase_times)


def read_model(times: PhaseTimes) -> AreaModel:
    """Model with its formulas read; ``MachineModelError`` if a formula cannot be read."""
    laws = []
    for area in times.areas:
        try:
            laws.append(read_formula(area.formula))
        except FitError as error:
            raise MachineModelError(
                error.message, where=f"phase_times.areas {area.name}: {error.where}", hint=error.hint
            ) from error
    return AreaModel(times, tuple(laws))


def holds(where: Sequence[Condition], metrics: Mapping[str, Floats], count: int) -> Flags:
    """bool[n], phases that meet all conditions."""
    found = np.ones(count, dtype=np.bool_)
    for condition in where:
        value = metrics[condition.metric]
        found &= value > condition.bound if condition.is_above else value <= condition.bound
    return found


def require(metrics: Mapping[str, Floats], needed: frozenset[str], where: str) -> None:
    """Raise FitError unless all needed metrics are there."""
    missing = sorted(needed - set(metrics))
    if missing:
        raise FitError(
            f"expected the metrics {', '.join(sorted(needed))}, found no {', '.join(missing)} among "
            f"{', '.join(metrics) or 'none'}",
            where=where,
            hint="shape metrics need [[units]] in the machine file; LT and D need --network",
        )
