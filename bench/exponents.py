"""Growth of our own cost: exponents of time and bytes in the number of flows that happen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bench.cases import request_of
from bench.measuring import Measured, measure


@dataclass(frozen=True, slots=True)
class Series:
    """Sizes of a workload in which time, and in ``points`` also bytes, should be linear.

    Attributes:
        grows: What is enlarged.
        name: Workload.
        arguments: With ``{0}`` for the size.
        sizes: Increasing.
        work: Size -> what the cost should be proportional to.
    """

    grows: str
    name: str
    arguments: str
    sizes: tuple[int, ...]
    work: Callable[[int], int]


SERIES = (
    Series("points", "heat2d", "{0} 10", (250, 500, 1000), lambda n: n * n),
    Series("time steps", "heat2d", "250 {0}", (40, 80, 160), lambda n: n),
    Series("elements", "hydro3d", "{0} 5", (8, 12, 16), lambda n: n**3),
    Series("products", "matmul", "{0}", (50, 80, 120), lambda n: n**3),
    Series("non-zeros", "spmv", "{0} random 8 20", (20_000, 40_000, 80_000), lambda n: n),
)


@dataclass(frozen=True, slots=True)
class Growth:
    """Exponents of a series: 1 is proportional, 0 is constant.

    Attributes:
        series: Which.
        record: CPU time of the recording.
        memory: Memory of the graph.
        build: Time of building the graph.
        count: Time of counting one division.
    """

    series: Series
    record: float
    memory: float
    build: float
    count: float


def growth(series: Series, repeat: int) -> Growth:
    """Measure a series and fit each cost by a power of the work."""
    found = [
        measure(
            request_of(series.name, tuple(series.arguments.format(size).split())),
            series.name,
            repeat,
            divide=False,
        )
        for size in series.sizes
    ]
    work = np.log([float(series.work(size)) for size in series.sizes])

    def exponent(cost: Callable[[Measured], float]) -> float:
        return float(np.polyfit(work, np.log([cost(m) for m in found]), 1)[0])

    return Growth(
        series,
        exponent(lambda m: m.runs[0].recorded_s),
        exponent(lambda m: float(m.stages.graph_bytes)),
        exponent(lambda m: m.stages.graph_s),
        exponent(lambda m: m.stages.count_s),
    )
