"""Who talks to whom: one point per node, lines as wide as the bytes that both send to each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from commanalyzer.report.figures.chart import FONT_SIZE, INK, PAPER, SERIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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


def place_nodes(comm_bytes: NDArray[np.int64], seed: int = 1) -> NDArray[np.float64]:
    """Return float64[p, 2], places at which nodes that exchange much lie side by side.

    Args:
        comm_bytes: int64[p, p], bytes.
        seed: Seed of the start of the search.
    """
    import networkx as nx

    both = exchanged(comm_bytes)
    strong = np.where(both >= _STRONG * both.max(initial=0), both, 0)
    graph = nx.from_numpy_array((strong > 0).astype(np.int64))
    connected = len(both) > 1 and nx.is_connected(graph)
    if not connected:
        graph = nx.from_numpy_array((both > 0).astype(np.int64))
        connected = len(both) > 1 and nx.is_connected(graph)
    start = nx.spring_layout(graph, seed=seed)
    found = nx.kamada_kawai_layout(graph, pos=start) if connected else start
    return np.array([found[node] for node in range(len(both))], dtype=np.float64).reshape(-1, 2)


def draw_network(
    ax: Axes, comm_bytes: NDArray[np.int64], position: NDArray[np.float64] | None = None
) -> None:
    """Draw the nodes and what they exchange.

    Args:
        ax: Where to.
        comm_bytes: int64[p, p], bytes.
        position: float64[p, 2], places of the nodes; found from the bytes when ``None``.
    """
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
