"""Communication matrix as a heat map with a logarithmic scale."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.quantities import format_bytes
from commanalyzer.report.figures.chart import AMOUNTS, FONT_SIZE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import LogNorm
    from matplotlib.image import AxesImage

_LABELLED_PARTS = 16
_PRINTED_PARTS = 8
_LIGHT_FROM = 0.55  # of the colour scale: dark digits above, light ones below


def draw_matrix(ax: Axes, comm_bytes: NDArray[np.int64], *, participant: str = "node") -> None:
    """Draw bytes sent from the row to the column; pairs that exchange nothing stay empty.

    Args:
        ax: Where to.
        comm_bytes: int64[p, p], bytes.
        participant: What a row is, ``node`` or ``rank``.
    """
    from matplotlib.ticker import FuncFormatter

    parts = len(comm_bytes)
    shown = np.ma.masked_equal(comm_bytes, 0)
    image = ax.imshow(shown, cmap=AMOUNTS, norm=_scale(comm_bytes), interpolation="none", aspect="equal")
    ax.set_xlabel(f"to {participant}")
    ax.set_ylabel(f"from {participant}")
    if parts <= _LABELLED_PARTS:
        ax.set_xticks(range(parts))
        ax.set_yticks(range(parts))
    ax.tick_params(length=0)
    ax.spines[["top", "right"]].set_visible(True)
    figure = ax.get_figure(root=True)
    if figure is not None and comm_bytes.any():
        bar = figure.colorbar(image, ax=ax, shrink=0.82, pad=0.03, aspect=24)
        bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: format_bytes(value)))
        bar.ax.yaxis.set_minor_formatter(FuncFormatter(lambda value, _: ""))
        bar.ax.tick_params(which="both", length=0)
        bar.outline.set_visible(False)
        _label_ends(bar.ax, comm_bytes)
    if parts <= _PRINTED_PARTS:
        _print_entries(ax, image, comm_bytes)


def _scale(comm_bytes: NDArray[np.int64]) -> LogNorm:
    from matplotlib.colors import LogNorm

    most = max(int(comm_bytes.max(initial=0)), 1)
    least = int(comm_bytes[comm_bytes > 0].min(initial=most))
    return LogNorm(least if least < most else most / 10.0, most)


def _label_ends(ax: Axes, comm_bytes: NDArray[np.int64]) -> None:
    """Name both ends of the scale where no power of ten lies between them."""
    low, high = ax.get_ylim()
    if not any(low <= tick <= high for tick in ax.get_yticks()):
        ax.set_yticks([low, high])


def _print_entries(ax: Axes, image: AxesImage, comm_bytes: NDArray[np.int64]) -> None:
    rows, columns = np.nonzero(comm_bytes)
    amounts = comm_bytes[rows, columns]
    light = np.asarray(image.norm(amounts.astype(np.float64))) < _LIGHT_FROM
    size = FONT_SIZE - (1.0 if len(comm_bytes) <= 4 else 2.5)
    for row, column, amount, is_light in zip(
        rows.tolist(), columns.tolist(), amounts.tolist(), light.tolist(), strict=True
    ):  # at most 56 entries
        color = "#f8f8f4" if is_light else "#101418"
        ax.text(column, row, format_bytes(amount), ha="center", va="center", color=color, fontsize=size)
