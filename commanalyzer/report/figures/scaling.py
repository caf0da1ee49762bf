"""Speed-up and efficiency against the number of nodes, with the ideal line.

Time against cores of all configurations, with the front and the choices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.quantities import format_bytes, format_count
from commanalyzer.machine.roofline.bound import ScalingBound
from commanalyzer.report.figures.chart import MARKERS, MUTED, PAPER, SERIES, grid_lines, short_name

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
