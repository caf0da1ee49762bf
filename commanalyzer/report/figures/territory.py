"""Arrays coloured by the node that owns each element, like a map: no two neighbours of one colour.

Arrays of a program as pictures of ownership: value graph + owners -> owner of each element, in slices.

Which arrays have a shape is found as for the structured divisions (``division/regular/shapes.py``). An array
is shown along two dimensions, one with more in slices along two that are divided, a vector as a strip.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from commanalyzer.division.regular.shapes import Shaped, find_arrays, shape_families
from commanalyzer.division.selection import Division, cheapest_regular
from commanalyzer.graph.value_graph import Int32, Int64, ValueGraph
from commanalyzer.report.figures.chart import FONT_SIZE, PAPER

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LARGEST_SIDE = 768  # points of a picture; longer vectors are thinned out
MOST_SLICES = 4
_STRIP_ROWS = 0.06  # of the length, so that a vector can be seen


@dataclass(frozen=True, slots=True)
class Picture:
    """Owners of the elements of one array."""

    name: str  # variable and slice, as a programmer writes it: ``b``, ``x[3, :, :]``
    owner: NDArray[np.int32]  # [rows, columns], part of each element, -1 where the program keeps no value


def divided_dimensions(candidates: Iterable[Division]) -> int:
    """Return the number of dimensions of the cheapest regular division, 0 where none is regular."""
    regular = cheapest_regular(candidates)
    return 0 if regular is None else len(regular.grid)


def shaped_arrays(graph: ValueGraph, dimensions: int = 0) -> tuple[Shaped, ...]:
    """Return arrays with a shape, related ones only.

    A number of elements may be a square and a cube at once: the cheapest division tells which one matters by
    the ``dimensions`` that the shape should have, see :func:`divided_dimensions`; 0 if not known.
    """
    nothing = np.zeros(graph.num_vertices, dtype=np.bool_)
    families = shape_families(graph, find_arrays(graph, nothing))
    fitting = [f for f in families if len(f[0].extents) == dimensions] or families
    return max(fitting, key=lambda f: (sum(len(s.array.vertex) for s in f), len(f[0].extents)), default=())


def choose_array(graph: ValueGraph, candidates: Iterable[Division], object_bytes: Int64) -> Shaped | None:
    """Return the array that causes the most communication; ``None`` if none has a shape.

    ``candidates``: divisions of as many nodes; ``object_bytes``: int64[objects], bytes that are moved because
    of each object; may be empty.
    """
    arrays = shaped_arrays(graph, divided_dimensions(candidates))
    weight = object_bytes if len(object_bytes) else np.zeros(len(graph.objects), dtype=np.int64)
    return max(arrays, key=lambda s: (int(weight[s.array.number]), len(s.array.vertex)), default=None)


def array_pictures(graph: ValueGraph, shaped: Shaped, part: Int32) -> tuple[Picture, ...]:
    """Pictures of one array, a few slices where it is 3-D or more; ``part``: int32[V], owners of vertices."""
    owner = np.full(shaped.extents, -1, dtype=np.int32)
    owner[shaped.coordinates()] = part[shaped.array.vertex]
    name = graph.objects[shaped.array.number].name
    if owner.ndim == 1:
        shown = owner[:: -(-len(owner) // LARGEST_SIDE)]
        rows = max(int(_STRIP_ROWS * len(shown)), 1)
        return (Picture(name, np.tile(shown, (rows, 1))),)
    if owner.ndim == 2:
        return (Picture(name, owner),)
    borders = [_border(owner, axis) for axis in range(owner.ndim)]
    order = sorted(range(owner.ndim), key=lambda axis: (10 * borders[axis] >= max(borders), axis))
    seen = np.transpose(owner, sorted(order[:-2]) + sorted(order[-2:]))
    used = np.argwhere((seen >= 0).any(axis=(-2, -1)))
    chosen = np.unique(np.linspace(0, len(used) - 1, MOST_SLICES).round().astype(np.int64))
    pictures = []
    for place in used[chosen].tolist():
        at = dict(zip(sorted(order[:-2]), map(str, place), strict=True))
        index = ", ".join(at.get(axis, ":") for axis in range(owner.ndim))
        pictures.append(Picture(f"{name}[{index}]", seen[tuple(place)]))
    return tuple(pictures)


def _border(owner: NDArray[np.int32], axis: int) -> int:
    """How many neighbours along ``axis`` have different owners; most of it is where it is divided."""
    lines = np.moveaxis(owner, axis, 0)
    return int(((lines[1:] != lines[:-1]) & (lines[1:] >= 0) & (lines[:-1] >= 0)).sum())


def centres(shaped: Shaped, part: Int32, num_parts: int) -> NDArray[np.float64] | None:
    """Return float64[p, 2], middle (x, y, upwards) of each part of a 2-D array; ``None`` if a part has none.

    ``part``: int32[V], owner of each vertex.
    """
    if len(shaped.extents) != 2:
        return None
    owner = part[shaped.array.vertex]
    size = np.bincount(owner, minlength=num_parts)
    if not size.all():
        return None
    rows, columns = shaped.coordinates()
    x = np.bincount(owner, columns, num_parts) / size
    y = np.bincount(owner, rows, num_parts) / size
    return np.stack([x, -y], axis=1).astype(np.float64)


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
    """Return float64[p, 4], RGBA of each part, distinct for parts that touch (``near``, bool[p, p])."""
    import networkx as nx
    from matplotlib import colormaps

    chosen = nx.greedy_color(nx.from_numpy_array(near.astype(np.int64)), strategy="DSATUR")
    number = np.array([chosen[part] for part in range(len(near))], dtype=np.int64)
    count = max(int(number.max(initial=0)) + 1, 4)
    return np.asarray(colormaps[_MAP](0.12 + 0.84 * number / (count - 1)), dtype=np.float64)


def draw_pictures(axes: Sequence[Axes], pictures: Sequence[Picture], num_parts: int) -> None:
    """Draw each picture of one division on its axes, all in the same colours."""
    colors = map_colors(touching([picture.owner for picture in pictures], num_parts))
    for ax, picture in zip(axes, pictures, strict=True):
        draw_territory(ax, picture.owner, colors)
        ax.set_title(picture.name)


def draw_territory(ax: Axes, owner: Owners, colors: NDArray[np.float64]) -> None:
    """Draw one picture of owners; ``colors``: float64[p, 4], RGBA per part."""
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
