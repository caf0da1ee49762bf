"""Speed-up and efficiency against the number of nodes, with the ideal line.

Time against cores of all configurations, with the front and the choices.

Efficiency roofline: best possible efficiency against communication intensity, roofs per machine.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.quantities import format_bytes, format_count
from commanalyzer.foundation.work import WorkUnit
from commanalyzer.machine.parameters import MachineParameters
from commanalyzer.machine.roofline.bound import ScalingBound
from commanalyzer.machine.roofline.equations import machine_bound
from commanalyzer.report.figures.chart import FONT_SIZE, MARKERS, MUTED, PAPER, SERIES, grid_lines, short_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_front(
    ax: Axes,
    cores: NDArray[np.int64],
    time_s: NDArray[np.float64],
    front: Sequence[int],
    choices: Mapping[str, int | None],
) -> None:
    """Draw all configurations as dots and the Pareto front as a line, both axes logarithmic.

    ``cores``: int64[n]; ``front``: indices, cores increasing; ``choices`` with index ``None`` are left out.
    """
    usable = np.isfinite(time_s)
    ax.plot(cores[usable], time_s[usable], ".", color=MUTED, label="all", zorder=1)
    line = list(front)
    ax.plot(cores[line], time_s[line], "o-", color=SERIES[0], label="front", zorder=2)
    for number, (name, index) in enumerate(choices.items()):
        if index is not None:
            color = SERIES[(number + 1) % len(SERIES)]
            ax.plot(cores[index], time_s[index], "*D"[number % 2], color=color, markersize=9, label=name)
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.set_xlabel("cores (nodes x processes per node)")
    ax.set_ylabel("time, s")
    grid_lines(ax)
    ax.legend(loc="best").set_in_layout(False)


_MOST_TICKS = 7


@dataclass(frozen=True, slots=True)
class ScalingCurve:
    """Efficiency over node counts."""

    name: str  # what to call it; empty for the only one
    nodes: NDArray[np.float64]  # [k], node counts, increasing
    efficiency: NDArray[np.float64]  # [k], NaN where not known
    # [k], lower end of an uncertain efficiency; ``None`` when there is none
    low: NDArray[np.float64] | None = None
    high: NDArray[np.float64] | None = None
    dashed: bool = False  # another kind of bound or estimate than the solid curve of the same colour
    group: int = 0  # number of its colour; curves of one machine share it
    # [2, k], node counts and measured values; ``None`` for a curve that is made of such
    seen: NDArray[np.float64] | None = None


def curves_of(bound: ScalingBound, group: int = 0, *, is_only: bool = True) -> list[ScalingCurve]:
    """Return the bounds of one machine: with latency, and Eq. 4 dashed; one of several has its name."""
    nodes = np.array([p.num_nodes for p in bound.points], dtype=np.float64)
    names = ("with latency", "Eq. 4") if is_only else (short_name(bound.machine.name), "dashed: Eq. 4")
    aware = np.array([p.efficiency for p in bound.points])
    paper = np.array([p.paper_efficiency for p in bound.points])
    return [
        ScalingCurve(names[0], nodes, aware, group=group),
        ScalingCurve(names[1], nodes, paper, dashed=True, group=group),
    ]


def draw_speedup(ax: Axes, curves: Sequence[ScalingCurve]) -> None:
    """Draw p E over p, both logarithmic, with the ideal line."""
    _draw(ax, curves, times_nodes=True)
    nodes = _all_nodes(curves)
    ends = np.array([1.0, float(nodes.max(initial=2.0))])
    ax.plot(ends, ends, "--", color=MUTED, linewidth=1.0, label="ideal", zorder=1)
    ax.set_yscale("log", base=2)
    _name_powers(ax, "y")
    ax.set_ylabel("speed-up, at best")
    ax.legend(loc="upper left").set_in_layout(False)


def draw_efficiency(ax: Axes, curves: Sequence[ScalingCurve]) -> None:
    """Draw E over p (logarithmic), with the ideal line."""
    from matplotlib.ticker import FuncFormatter

    _draw(ax, curves, times_nodes=False)
    ax.axhline(1.0, color=MUTED, linewidth=1.0, linestyle="--", zorder=1)
    ax.set_ylim(0.0, 1.06)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100.0 * value:.0f} %"))
    ax.set_ylabel("efficiency, at best")


def draw_laws(ax: Axes, curves: Sequence[ScalingCurve]) -> None:
    """Draw bytes over p with bands and measured points, both axes logarithmic."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    _draw(ax, curves, times_nodes=False)
    ax.set_xlim(float(_all_nodes(curves).min()) / 1.15)
    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: format_bytes(value)))
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.set_ylabel("bytes, all nodes together")
    ax.legend(loc="best").set_in_layout(False)


def _all_nodes(curves: Sequence[ScalingCurve]) -> NDArray[np.float64]:
    return np.unique(np.concatenate([c.nodes for c in curves])) if curves else np.ones(1)


def _draw(ax: Axes, curves: Sequence[ScalingCurve], *, times_nodes: bool) -> None:
    for curve in curves:
        color = SERIES[curve.group % len(SERIES)]
        factor = curve.nodes if times_nodes else 1.0
        style = "--" if curve.dashed else "-"
        sign = MARKERS[curve.group % len(MARKERS)]
        marker = "" if curve.dashed or curve.seen is not None else sign
        # The line styles need explaining once.
        label = "_" if curve.dashed and curve.group else curve.name
        ax.plot(curve.nodes, factor * curve.efficiency, style, marker=marker, color=color, label=label)
        if curve.low is not None and curve.high is not None:
            low, high = factor * curve.low, factor * curve.high
            ax.fill_between(curve.nodes, low, high, color=color, alpha=0.18, linewidth=0)
        if curve.seen is not None:
            ax.plot(*curve.seen, sign, color=color, mfc=PAPER if curve.dashed else color, ls="", zorder=3)
    ax.set_xscale("log", base=2)
    ax.set_xlim(1.0, float(_all_nodes(curves).max(initial=2.0)) * 1.15)
    _name_powers(ax, "x")
    used = _all_nodes(curves)
    if len(used) <= _MOST_TICKS:
        ax.set_xticks(np.union1d([1.0], used))
    ax.set_xlabel("nodes")
    grid_lines(ax)


def _name_powers(ax: Axes, which: str) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axis = ax.xaxis if which == "x" else ax.yaxis
    axis.set_major_locator(LogLocator(2.0, numticks=9))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(
        FuncFormatter(lambda value, _: format_count(value) if value >= 1 else f"{value:g}")
    )


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
