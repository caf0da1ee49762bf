"""Communication matrix as a heat map: the more, the darker.

Who talks to whom: one point per node, lines as wide as the bytes that both send to each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.quantities import format_bytes
from commanalyzer.report.figures.chart import AMOUNTS, FONT_SIZE, INK, PAPER, SERIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

MOST_PARTS = 256
FAINTEST = 0.01  # of the largest pair: pairs below are left out of the picture
_STRONG = 0.2  # of the largest pair: pairs that decide where the nodes lie
_NUMBERED = 64
_WIDEST = 5.0  # points


def exchanged(comm_bytes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return int64[p, p] upper triangle: bytes that a pair of nodes exchanges, both directions together."""
    return np.triu(comm_bytes + comm_bytes.T)


def hidden_pairs(comm_bytes: NDArray[np.int64]) -> int:
    """Return how many pairs that exchange something are too faint to be drawn."""
    both = exchanged(comm_bytes)
    return int(np.count_nonzero((both > 0) & (both < FAINTEST * both.max(initial=0))))


def place_nodes(comm_bytes: NDArray[np.int64]) -> NDArray[np.float64]:
    """float64[p, 2], places where nodes that exchange many of int64[p, p] bytes are neighbours."""
    import networkx as nx

    both = exchanged(comm_bytes)
    strong = np.where(both >= _STRONG * both.max(initial=0), both, 0)
    graph = nx.from_numpy_array((strong > 0).astype(np.int64))
    connected = len(both) > 1 and nx.is_connected(graph)
    if not connected:
        graph = nx.from_numpy_array((both > 0).astype(np.int64))
        connected = len(both) > 1 and nx.is_connected(graph)
    start = nx.spring_layout(graph, seed=1)
    found = nx.kamada_kawai_layout(graph, pos=start) if connected else start
    return np.array([found[node] for node in range(len(both))], dtype=np.float64).reshape(-1, 2)


def draw_network(
    ax: Axes, comm_bytes: NDArray[np.int64], position: NDArray[np.float64] | None = None
) -> None:
    """Draw nodes and what they exchange, int64[p, p] bytes, at ``position`` float64[p, 2], else found."""
    from matplotlib.collections import LineCollection

    place = place_nodes(comm_bytes) if position is None else position
    both = exchanged(comm_bytes)
    first, second = np.nonzero((both > 0) & (both >= FAINTEST * both.max(initial=0)))
    amount = both[first, second].astype(np.float64)
    order = np.argsort(amount, kind="stable")
    first, second, share = first[order], second[order], amount[order] / max(amount.max(initial=0.0), 1.0)
    lines = np.stack([place[first], place[second]], axis=1)
    widths = 0.5 + (_WIDEST - 0.5) * share
    ax.add_collection(
        LineCollection(list(lines), linewidths=widths, colors=SERIES[0], alpha=0.3 + 0.7 * share)
    )
    parts = len(both)
    size = float(np.clip(9000.0 / max(parts, 1), 30.0, 330.0))
    ax.scatter(place[:, 0], place[:, 1], s=size, facecolor=PAPER, edgecolor=INK, linewidth=0.9, zorder=3)
    if parts <= _NUMBERED:
        small = float(np.clip(0.45 * np.sqrt(size), 5.5, FONT_SIZE))
        for node, (x, y) in enumerate(place.tolist()):  # at most 64 numbers
            ax.text(x, y, str(node), ha="center", va="center_baseline", fontsize=small, zorder=4)
    ax.set_aspect("equal")
    ax.margins(0.06)
    ax.axis("off")


_LABELLED_PARTS = 16
_PRINTED_PARTS = 8
_PAPER_FROM = 0.5  # of the colour scale: digits in the colour of ink below, of paper above
_LOGARITHMIC_FROM = 100  # times the least amount


def draw_matrix(ax: Axes, comm_bytes: NDArray[np.int64], *, participant: str = "node") -> None:
    """Draw bytes sent from the row to the column; pairs that exchange nothing stay empty.

    Colours start at zero; where amounts differ a hundredfold they are logarithmic, and the bar says so.
    ``comm_bytes``: int64[p, p], bytes; ``participant``: what a row is, ``node`` or ``rank``.
    """
    from matplotlib.colors import LinearSegmentedColormap, LogNorm, Normalize
    from matplotlib.ticker import FuncFormatter

    parts, most = len(comm_bytes), max(int(comm_bytes.max(initial=0)), 1)
    least = int(comm_bytes[comm_bytes > 0].min(initial=most))
    is_log = most >= _LOGARITHMIC_FROM * least
    norm = LogNorm(least, most) if is_log else Normalize(0, most)
    colors = LinearSegmentedColormap.from_list("amounts", AMOUNTS)
    shown = np.ma.masked_equal(comm_bytes, 0)
    image = ax.imshow(shown, cmap=colors, norm=norm, interpolation="none", aspect="equal")
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
        bar.set_label("bytes sent, logarithmic" if is_log else "bytes sent")
        bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: format_bytes(value)))
        bar.ax.yaxis.set_minor_formatter(FuncFormatter(lambda value, _: ""))
        bar.ax.tick_params(which="both", length=0)
        bar.outline.set_visible(False)
    if parts <= _PRINTED_PARTS:
        _print_entries(ax, image, comm_bytes)


def _print_entries(ax: Axes, image: AxesImage, comm_bytes: NDArray[np.int64]) -> None:
    rows, columns = np.nonzero(comm_bytes)
    amounts = comm_bytes[rows, columns]
    on_dark = np.asarray(image.norm(amounts.astype(np.float64))) >= _PAPER_FROM
    size = FONT_SIZE - (1.0 if len(comm_bytes) <= 4 else 2.5)
    for row, column, amount, is_on_dark in zip(
        rows.tolist(), columns.tolist(), amounts.tolist(), on_dark.tolist(), strict=True
    ):  # at most 56 entries
        color = PAPER if is_on_dark else INK
        ax.text(column, row, format_bytes(amount), ha="center", va="center", color=color, fontsize=size)
