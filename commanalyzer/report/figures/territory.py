"""Arrays coloured by the node that owns each element, like a map: no two neighbours of one colour."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from commanalyzer.report.figures.pictures import LARGEST_SIDE
from commanalyzer.report.figures.style import FONT_SIZE, PAPER

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NUMBERED = 64
_MAP = "viridis"
_MOST_BORDER_POINTS = 40_000  # a scattered ownership has no borders to speak of
_SMALLEST_AREA = 0.004  # of the picture: smaller parts get no number

Owners = NDArray[np.int32]  # [rows, columns], -1 where nothing is


def thinned(owner: Owners) -> Owners:
    """Return every k-th row and column so that no side exceeds the largest side of a picture."""
    step = -(-max(owner.shape) // LARGEST_SIDE)
    return owner[::step, ::step]


def touching(owners: list[Owners], parts: int) -> NDArray[np.bool_]:
    """Return bool[p, p], parts that have neighbouring elements in one of the pictures."""
    near = np.zeros((parts, parts), dtype=np.bool_)
    for owner in owners:  # one step per picture
        beside = ((owner[:, :-1], owner[:, 1:]), (owner[:-1], owner[1:]))
        corners = ((owner[:-1, :-1], owner[1:, 1:]), (owner[:-1, 1:], owner[1:, :-1]))
        for here, there in (*beside, *corners):
            both = (here >= 0) & (there >= 0)
            near[here[both], there[both]] = True
    near |= near.T
    np.fill_diagonal(near, False)
    return near


def map_colors(near: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return float64[p, 4], RGBA of each part, distinct for parts that touch.

    Args:
        near: bool[p, p], which parts touch.
    """
    import networkx as nx
    from matplotlib import colormaps

    chosen = nx.greedy_color(nx.from_numpy_array(near.astype(np.int64)), strategy="DSATUR")
    number = np.array([chosen[part] for part in range(len(near))], dtype=np.int64)
    count = max(int(number.max(initial=0)) + 1, 4)
    return np.asarray(colormaps[_MAP](0.12 + 0.84 * number / (count - 1)), dtype=np.float64)


def draw_territory(ax: Axes, owner: Owners, colors: NDArray[np.float64]) -> None:
    """Draw one picture of owners.

    Args:
        ax: Where to.
        owner: int32[rows, columns], part of each element, -1 for none.
        colors: float64[p, 4], RGBA per part.
    """
    owner = thinned(owner)
    pixels = np.where((owner >= 0)[..., None], colors[owner], 0.0)
    ax.imshow(pixels, interpolation="none", aspect="equal")
    _draw_borders(ax, owner)
    if len(colors) <= _NUMBERED:
        _number_parts(ax, owner, colors)
    ax.set_xticks([])
    ax.set_yticks([])
    for spine in ax.spines.values():
        spine.set_visible(False)


def _draw_borders(ax: Axes, owner: Owners) -> None:
    """Draw a line where two parts meet, as one path."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    upright = _runs(owner[:, 1:] != owner[:, :-1])
    level = _runs((owner[1:] != owner[:-1]).T)[:, :, ::-1]
    points = np.concatenate([upright, level]).reshape(-1, 2)
    if 0 < len(points) <= _MOST_BORDER_POINTS:
        codes = np.tile([Path.MOVETO, Path.LINETO], len(points) // 2)
        border = PathPatch(Path(points, codes), facecolor="none", edgecolor=PAPER, linewidth=0.9)
        ax.add_patch(border)


def _runs(differs: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return float64[k, 2, 2], ends (x, y) of unbroken upright lines right of the columns that differ."""
    padded = np.pad(differs.T.astype(np.int8), ((0, 0), (1, 1)))
    step = np.diff(padded, axis=1)
    column, first = np.nonzero(step == 1)
    last = np.nonzero(step == -1)[1]
    top = np.stack([column + 0.5, first - 0.5], axis=1)
    return np.stack([top, np.stack([column + 0.5, last - 0.5], axis=1)], axis=1)


def _number_parts(ax: Axes, owner: Owners, colors: NDArray[np.float64]) -> None:
    """Write the number of each part at the element of it that is nearest to its centre."""
    rows, columns = np.nonzero(owner >= 0)
    part = owner[rows, columns]
    size = np.bincount(part, minlength=len(colors))
    with np.errstate(invalid="ignore"):
        y = np.bincount(part, rows, len(colors)) / size
        x = np.bincount(part, columns, len(colors)) / size
    distance = (rows - y[part]) ** 2 + (columns - x[part]) ** 2
    order = np.lexsort((distance, part))
    first = order[np.flatnonzero(np.diff(part[order], prepend=-1))]
    dark = colors[:, :3] @ np.array([0.299, 0.587, 0.114]) < 0.55
    for at in first.tolist():  # one step per part
        number = int(part[at])
        if size[number] >= _SMALLEST_AREA * owner.size:
            color = "#f8f8f4" if dark[number] else "#101418"
            ax.text(
                columns[at],
                rows[at],
                str(number),
                color=color,
                ha="center",
                va="center_baseline",
                fontsize=FONT_SIZE - 1.5,
            )
