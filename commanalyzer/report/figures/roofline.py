"""Efficiency roofline: best possible efficiency against communication intensity, roofs per machine."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from commanalyzer.machine.parameters import MachineParameters
from commanalyzer.report.figures.style import FONT_SIZE, MARKERS, MUTED, SERIES, grid_lines
from commanalyzer.roofline import machine_bound

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POINTS = 200


def eq4(machine: MachineParameters, intensity: float, nodes: int | None = None) -> float:
    """Return the bound of paper Eq. 4, NaN where there is none.

    Args:
        machine: Machine with bandwidth and throughput.
        intensity: Bytes per floating-point operation.
        nodes: Node count, where the machine's parameters depend on it.
    """
    found = machine_bound(intensity, machine)
    return math.nan if found is None else float(found)


@dataclass(frozen=True, slots=True)
class Roof:
    """Bound of one machine.

    Attributes:
        name: What to call it.
        efficiency: Bound for intensities in bytes per floating-point operation (paper Eq. 4).
        intensity: float64[k], intensities of the analysed node counts.
        nodes: The node counts.
        achieved: float64[k] bound of each node count that counts latency too; NaN where not known.
    """

    name: str
    efficiency: Callable[[float], float]
    intensity: NDArray[np.float64]
    nodes: tuple[int, ...]
    achieved: NDArray[np.float64] | None = None


def draw_roofline(ax: Axes, roofs: Sequence[Roof]) -> None:
    """Draw roofs, and on each a dot per node count; hollow dots below are bounds with latency.

    Args:
        ax: Where to.
        roofs: One per machine.
    """
    _draw_frame(ax, roofs)
    for number, roof in enumerate(roofs):
        color = SERIES[number % len(SERIES)]
        marker = MARKERS[number % len(MARKERS)]
        low, high = ax.get_xlim()
        x = np.geomspace(low, high, _POINTS)
        ax.plot(x, [roof.efficiency(float(i)) for i in x], color=color, label=roof.name)
        y = np.array([roof.efficiency(float(i)) for i in roof.intensity])
        ax.plot(roof.intensity, y, marker, color=color)
        if roof.achieved is not None and np.isfinite(roof.achieved).any():
            ax.vlines(roof.intensity, roof.achieved, y, color=color, linewidth=0.8, linestyle=":")
            label = f"{roof.name}, with latency" if roof.name else "with latency"
            ax.plot(roof.intensity, roof.achieved, marker, color=color, markerfacecolor="none", label=label)
        if number == 0:
            _name_dots(ax, roof, y)
    if len(roofs) > 1 or any(r.achieved is not None for r in roofs):
        ax.legend(loc="lower left")


def _draw_frame(ax: Axes, roofs: Sequence[Roof]) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

    used = np.concatenate([r.intensity for r in roofs]) if roofs else np.ones(1)
    used = used[np.isfinite(used) & (used > 0)]
    low, high = (used.min() / 8.0, used.max() * 8.0) if len(used) else (1e-3, 1e1)
    ends = [r.efficiency(float(high)) for r in roofs]
    ends += [float(np.nanmin(r.achieved)) / 1.5 for r in roofs if r.achieved is not None]
    floor = min([*ends, 0.3])
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(float(low), float(high))
    ax.set_ylim(floor, 1.25)
    ax.xaxis.set_major_locator(LogLocator(10.0))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    percents = [p for p in (1, 2, 5, 10, 20, 50, 80, 100) if p / 100.0 >= floor]
    ax.yaxis.set_major_locator(FixedLocator([p / 100.0 for p in percents] or [floor, 1.0]))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100.0 * value:.3g} %"))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.axhline(1.0, color=MUTED, linewidth=0.9, linestyle="--")
    ax.set_xlabel("communication intensity (bytes per flop)")
    ax.set_ylabel("parallel efficiency, at best")
    grid_lines(ax)


def _name_dots(ax: Axes, roof: Roof, y: NDArray[np.float64]) -> None:
    for nodes, x, height in zip(roof.nodes, roof.intensity.tolist(), y.tolist(), strict=True):
        ax.annotate(
            f"{nodes}", (x, height), xytext=(5, 5), textcoords="offset points", fontsize=FONT_SIZE - 0.5
        )
