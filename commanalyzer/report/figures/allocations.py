"""Time against cores of all configurations, with the front and the choices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from commanalyzer.report.figures.style import MUTED, SERIES, grid_lines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes


def draw_front(
    ax: Axes,
    cores: NDArray[np.int64],
    time_s: NDArray[np.float64],
    front: Sequence[int],
    choices: Mapping[str, int | None],
) -> None:
    """Draw all configurations as dots and the Pareto front as a line, both axes logarithmic.

    Args:
        ax: Where.
        cores: int64[n].
        time_s: float64[n], seconds.
        front: Indices, cores increasing.
        choices: Name and index of each; ``None`` is left out.
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
