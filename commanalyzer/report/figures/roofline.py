"""Efficiency roofline: best possible efficiency against communication intensity, roofs per machine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.work import WorkUnit
from commanalyzer.machine.parameters import MachineParameters
from commanalyzer.machine.roofline.bound import ScalingBound
from commanalyzer.machine.roofline.equations import machine_bound
from commanalyzer.report.figures.chart import FONT_SIZE, MARKERS, MUTED, SERIES, grid_lines, short_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POINTS = 200


@dataclass(frozen=True, slots=True)
class Roof:
    """Bounds of one machine."""

    machine: MachineParameters
    nodes: tuple[int, ...]  # analysed node counts above one, increasing
    # [2, k], bytes per operation: of the division with the highest Eq. 4, and of the one with the highest
    # bound that knows messages, latency and collectives
    intensity: NDArray[np.float64]
    efficiency: NDArray[np.float64]  # [2, k], that bound of that division
    unit: WorkUnit = "flop"  # of the work that bytes are related to


def roof_of(bound: ScalingBound) -> Roof:
    """Return the roof of a machine and its dots; points without communication have no place on it."""
    points = [p for p in bound.points if p.paper_bytes and p.comm_bytes]
    nodes = tuple(p.num_nodes for p in points)
    intensity = np.array([[p.paper_bytes for p in points], [p.comm_bytes for p in points]]) / bound.work_flop
    efficiency = np.array([[p.paper_efficiency for p in points], [p.efficiency for p in points]])
    return Roof(bound.machine, nodes, intensity, efficiency, bound.unit)


def eq4(machine: MachineParameters, intensity: float, nodes: int) -> float:
    """Bound of paper Eq. 4, NaN if there is none; for ``nodes`` where the bandwidth depends on them."""
    found = machine_bound(intensity, machine, nodes=nodes)
    return math.nan if found is None else float(found)


def draw_roofline(ax: Axes, roofs: Sequence[Roof]) -> None:
    """Draw roofs (Eq. 4 at the largest node count) with a dot per node count.

    Hollow dots are the bounds that know latency, maybe of another division than Eq. 4.
    """
    _draw_frame(ax, roofs)
    for number, roof in enumerate(roofs):
        color = SERIES[number % len(SERIES)]
        marker = MARKERS[number % len(MARKERS)]
        labels = ("Eq. 4", "with latency")
        if len(roofs) > 1:
            labels = (short_name(roof.machine.name), "_" if number else "hollow: with latency")
        low, high = ax.get_xlim()
        x = np.geomspace(low, high, _POINTS)
        most = max(roof.nodes, default=1)
        y = [eq4(roof.machine, float(i), most) for i in x]
        ax.plot(x, y, color=color, label=labels[0])
        (paper, aware), (high, reached) = roof.intensity, roof.efficiency
        ax.plot(paper, high, marker, color=color)
        ax.plot(aware, reached, marker, color=color, markerfacecolor="none", label=labels[1])
        ax.plot(roof.intensity, roof.efficiency, ":", color=color, linewidth=0.8)
        if number == 0:
            _name_dots(ax, roof)
    ax.legend(loc="lower left").set_in_layout(False)


def _draw_frame(ax: Axes, roofs: Sequence[Roof]) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

    used = np.concatenate([r.intensity.ravel() for r in roofs]) if roofs else np.ones(1)
    low, high = (used.min() / 10.0, used.max() * 5.0) if len(used) else (1e-3, 1e1)
    lowest = [eq4(r.machine, float(high), max(r.nodes, default=1)) for r in roofs]
    lowest += [float(r.efficiency.min()) / 1.5 for r in roofs if r.nodes]
    floor = min([*lowest, 0.3])
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(float(low), float(high))
    ax.set_ylim(floor, 1.25)
    ax.xaxis.set_major_locator(LogLocator(10.0))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    percents = [p for p in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 80, 100) if p / 100.0 >= floor]
    ax.yaxis.set_major_locator(FixedLocator([p / 100.0 for p in percents]))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100.0 * value:.3g} %"))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.axhline(1.0, color=MUTED, linewidth=0.9, linestyle="--")
    units = " or ".join(dict.fromkeys(r.unit for r in roofs)) or "flop"
    ax.set_xlabel(f"communication intensity (bytes per {units})")
    ax.set_ylabel("parallel efficiency, at best")
    grid_lines(ax)


def _name_dots(ax: Axes, roof: Roof) -> None:
    for nodes, x, height in zip(roof.nodes, roof.intensity[0], roof.efficiency[0], strict=True):
        ax.annotate(
            str(nodes), (x, height), xytext=(5, 5), textcoords="offset points", fontsize=FONT_SIZE - 0.5
        )
