"""Number of threads of a class on the most cubic grid: known for any number of processes, without a fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from commanalyzer.profiles.classification.classes import Classes
from commanalyzer.scaling.laws.terms import Floats, most_cubic_grid

_PLACES = {1: ("end", "inner"), 2: ("corner", "edge", "interior"), 3: ("corner", "edge", "face", "interior")}


@dataclass(frozen=True, slots=True)
class GridCount:
    """Ranks with neighbours on both sides in so many dimensions of a mesh.

    Attributes:
        parameter: The number of processes.
        dimensions: Of the grid.
        both: Dimensions with neighbours on both sides.
    """

    parameter: str
    dimensions: int
    both: int

    def predict(self, values: Mapping[str, Floats | float]) -> Floats:
        """float64[N], ranks of the class for each number of processes."""
        processes = np.atleast_1d(np.asarray(values[self.parameter], dtype=np.float64))
        return np.array([float(_count(round(p), self.dimensions, self.both)) for p in processes.tolist()])

    def band(self, values: Mapping[str, Floats | float]) -> tuple[Floats, Floats]:
        """The same twice: there is nothing uncertain."""
        found = self.predict(values)
        return found, found


def _count(processes: int, dimensions: int, both: int) -> int:
    """Coefficient of z^both in the product of (ends + inner z) over the extents."""
    total = np.array([1])
    for extent in most_cubic_grid(processes, dimensions):
        ends = min(extent, 2)
        total = np.convolve(total, [ends, extent - ends])
    return int(total[both]) if both < len(total) else 0


def grid_counts(classes: Classes, processes: str) -> dict[str, GridCount]:
    """Counts of the classes, by name; empty unless all runs are on the most cubic mesh of their processes."""
    texts = [run.topology for run in classes.runs]
    if not processes or not all(t.startswith("mesh ") and "roots" not in t for t in texts):
        return {}
    extents = [tuple(map(int, t.removeprefix("mesh ").split(" x "))) for t in texts]
    dimensions = max(map(len, extents))
    names = _PLACES[dimensions]
    for own in extents:
        cubic = most_cubic_grid(int(np.prod(own)), dimensions)
        if sorted(e for e in own if e > 1) != sorted(e for e in cubic if e > 1):
            return {}
    if set(classes.names) - set(names):
        return {}
    return {name: GridCount(processes, dimensions, both) for both, name in enumerate(names)}
