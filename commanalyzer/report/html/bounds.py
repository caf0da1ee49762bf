"""Bounds of a result on a machine, per node count: what roofline, speed-up, tables and summary show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from commanalyzer.machine.parameters import MachineParameters
from commanalyzer.results import Decomposition
from commanalyzer.roofline import machine_bound

GOOD_EFFICIENCY = 0.8


@dataclass(frozen=True, slots=True)
class Bounds:
    """Best possible efficiencies.

    Attributes:
        machine: The machine.
        nodes: Node counts, increasing.
        efficiency: float64[k], paper Eq. 4; NaN without floating-point work.
    """

    machine: MachineParameters
    nodes: tuple[int, ...]
    efficiency: NDArray[np.float64]

    @property
    def speedup(self) -> NDArray[np.float64]:
        """float64[k], largest possible speed-up p E_u (paper Eq. 5)."""
        return np.array(self.nodes, dtype=np.float64) * self.efficiency

    def largest_good(self, least: float = GOOD_EFFICIENCY) -> int | None:
        """Return the largest node count whose bound is at least ``least``; ``None`` if none is."""
        good = [n for n, e in zip(self.nodes, self.efficiency.tolist(), strict=True) if e >= least]
        return max(good, default=None)


def bounds_on(items: Sequence[Decomposition], machine: MachineParameters) -> Bounds:
    """Return the bounds of ``items`` (one per node count) on a machine that is known completely."""
    values = [machine_bound(d.intensity, machine) for d in items]
    efficiency = np.array([np.nan if v is None else v for v in values], dtype=np.float64)
    return Bounds(machine, tuple(d.nodes for d in items), efficiency)
