"""A composed system as nested boxes, with the time of every block."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from commanalyzer.foundation.files import write_atomically
from commanalyzer.foundation.quantities import format_seconds
from commanalyzer.kernels.composition.answer import Answer
from commanalyzer.kernels.composition.expressions import element_time
from commanalyzer.kernels.composition.models import Composed
from commanalyzer.kernels.composition.systems import OPERATORS, Block, Pattern, System
from commanalyzer.report.figures.chart import FONT_SIZE, INK, LINE, MUTED, SERIES, new_figure, report_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BLOCK = (1.5, 0.7)  # inches
_GAP = 0.3
_HEAD = 0.3  # height of a pattern's heading
_FULL = 1 - 1e-9  # share of the element time from which a part is the bottleneck


def save_system(found: Answer, path: Path, *, force: bool = False) -> None:
    """Write the drawing of an answer; the file's suffix says the format.

    Raises ``ArtifactError`` if the file exists (without ``force``) or cannot be written.
    """
    width, height = _size(found.system)
    with report_style():
        figure = new_figure(max(width + 0.3, 4.0), height + 0.5)
        draw_system(figure.add_subplot(), found)
        kind = path.suffix.removeprefix(".") or "svg"
        write_atomically(path, lambda draft: figure.savefig(draft, format=kind), force=force)


def draw_system(ax: Axes, found: Answer) -> None:
    """Draw the system; what takes the whole element time, the bottleneck, stands out."""
    width, height = _size(found.system)
    ax.set_xlim(-0.1, width + 0.1)
    ax.set_ylim(-0.1, height + 0.1)
    ax.set_aspect("equal")
    ax.axis("off")
    ax.set_title(f"{format_seconds(found.element_time_s)} per element, {found.threads} threads")
    _draw(ax, found, found.system, 0.0, 0.0, 1)


def _is_row(system: Pattern) -> bool:
    """Parts follow one another from left to right; branches stand one above the other."""
    return system.name != "fork_join"


def _size(system: System) -> tuple[float, float]:
    """Width and height of a system's drawing, inches."""
    if isinstance(system, Block):
        return _BLOCK
    widths, heights = zip(*map(_size, system.parts), strict=True)
    gaps = _GAP * (len(system.parts) - 1)
    wide, high = (sum(widths) + gaps, max(heights)) if _is_row(system) else (max(widths), sum(heights) + gaps)
    return wide + _GAP, high + _GAP + _HEAD


def _draw(
    ax: Axes, found: Answer, system: System, x: float, y: float, replicas: int, shares: int = 1
) -> None:
    from matplotlib.patches import FancyBboxPatch

    width, height = _size(system)
    design = found.design
    values = dict(design.values)
    if design.divided in values:
        values[design.divided] /= shares
    seconds = float(Composed(element_time(system), design.models, design.divided).at(values)[0])
    is_bottleneck = found.element_time_s > 0 and seconds / replicas >= _FULL * found.element_time_s
    edge = SERIES[1] if is_bottleneck else (INK if isinstance(system, Block) else LINE)
    style = "round,pad=0,rounding_size=0.08"
    ax.add_patch(FancyBboxPatch((x, y), width, height, boxstyle=style, ec=edge, fc="none", lw=1.2))
    middle, time = x + width / 2, format_seconds(seconds)
    if isinstance(system, Block):
        ax.text(middle, y + 0.44, system.name, ha="center", va="center", color=INK)
        ax.text(middle, y + 0.2, time, ha="center", va="center", color=MUTED, size=FONT_SIZE - 1)
        return
    head = f"{system.name} {system.count}" if OPERATORS[system.name].is_counted else system.name
    ax.text(x + 0.1, y + height - 0.17, f"{head}: {time}", va="center", color=MUTED, size=FONT_SIZE - 1)
    _draw_parts(ax, found, system, x, y, replicas, shares)


def _draw_parts(
    ax: Axes, found: Answer, system: Pattern, x: float, y: float, replicas: int, shares: int
) -> None:
    inner_height = _size(system)[1] - _HEAD - _GAP
    at_x, at_y = x + _GAP / 2, y + inner_height + _GAP / 2
    for index, part in enumerate(system.parts):
        width, height = _size(part)
        count = int(system.count) if not index else 1
        is_pool = system.name in ("tpool", "master_worker")
        own = (replicas * count, shares) if is_pool else (replicas, shares * count)
        if not _is_row(system):
            _draw(ax, found, part, at_x, at_y - height, *own)
            at_y -= height + _GAP
            continue
        low = at_y - (inner_height + height) / 2
        _draw(ax, found, part, at_x, low, *own)
        if index:
            middle = low + height / 2
            arrow = {"arrowstyle": "->", "color": MUTED}
            ax.annotate("", (at_x, middle), (at_x - _GAP, middle), arrowprops=arrow)
        at_x += width + _GAP
