"""Look of all figures: colours that can become CSS variables, text as text, one rhythm of lines and sizes.

The colours of text, lines and series are those of the light page. A figure inside a page has them replaced by
the variables of the style sheet (:data:`CSS_NAMES`), so that it follows the reader's light or dark scheme.
Amounts are coloured by *cividis*, parts by samples of *viridis*: both keep their order of lightness for
every kind of colour vision and in grey.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#1d2126"
MUTED = "#5b6470"
LINE = "#dadfe4"
PAPER = "#fefefe"
SERIES = ("#0b6a8f", "#b4540a", "#3d7a3f", "#7a4fa3", "#8a6d00", "#a63d57")
CSS_NAMES = {
    INK: "--ink",
    MUTED: "--muted",
    LINE: "--line",
    PAPER: "--paper",
    **{color: f"--series-{number}" for number, color in enumerate(SERIES)},
}
AMOUNTS = "cividis"
FONT_SIZE = 9.0
MARKERS = "osD^vP"
_LEGEND_WIDTH = 24

_SETTINGS: dict[Any, Any] = {
    "figure.facecolor": PAPER,
    "savefig.facecolor": PAPER,
    "axes.facecolor": "none",
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.labelsize": FONT_SIZE,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": FONT_SIZE + 1.0,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titleweight": "normal",
    "axes.grid": False,
    "grid.color": LINE,
    "grid.linewidth": 0.7,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": FONT_SIZE - 0.5,
    "ytick.labelsize": FONT_SIZE - 0.5,
    "xtick.minor.size": 0.0,
    "ytick.minor.size": 0.0,
    "legend.frameon": False,
    "legend.fontsize": FONT_SIZE - 0.5,
    "lines.linewidth": 1.6,
    "lines.markersize": 5.5,
    "font.family": ["DejaVu Sans"],  # comes with matplotlib: the same layout everywhere
    "font.size": FONT_SIZE,
    "mathtext.default": "regular",
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "image.interpolation": "none",
    "savefig.dpi": 160,
}


@contextmanager
def report_style() -> Iterator[None]:
    """Use the settings of the reports while figures are made and saved; the user's own return afterwards."""
    import matplotlib as mpl

    with mpl.rc_context(_SETTINGS):
        yield


def new_figure(width_in: float, height_in: float) -> Figure:
    """Return a figure of its own: no window, no global state, laid out without overlaps."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width_in, height_in), layout="constrained")


def short_name(name: str) -> str:
    """What of a machine's name fits a legend: up to comma, colon or bracket, at most 24 characters."""
    short = re.split(r"[,:(]", name, maxsplit=1)[0].strip() or name
    return short if len(short) <= _LEGEND_WIDTH else f"{short[: _LEGEND_WIDTH - 1].rstrip()}…"


def grid_lines(ax: Axes) -> None:
    """Draw faint lines at the major ticks, below the data."""
    ax.grid(visible=True)
    ax.set_axisbelow(True)
