"""A task graph with repetitions folded as a picture: tasks from top to bottom, flows as arcs beside them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from commanalyzer.files import write_atomically
from commanalyzer.quantities import format_bytes, format_percent
from commanalyzer.report.figures.chart import Chart, Values
from commanalyzer.report.figures.style import FONT_SIZE, INK, LINE, MUTED, SERIES, new_figure, report_style
from commanalyzer.tasks.folding import FoldedGraph, fold
from commanalyzer.tasks.graph import TaskGraph

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BOX = (2.6, 0.5)  # inches
_PITCH = 0.85  # from one task to the next
_ARC = 0.28  # how far an arc stands out per task that it passes
_WIDEST = 3.2  # of arcs, however many tasks they pass


def tasks_chart(graph: TaskGraph, name: str = "tasks") -> Chart:
    """The picture for reports."""
    folded = fold(graph)
    moved = ", ".join(
        f"{format_bytes(m)} on {p} nodes" for p, m in zip(graph.nodes, graph.moved_bytes(), strict=True)
    )
    return Chart(
        name,
        "Tasks and what flows between them",
        f"{len(graph.tasks)} executions of {len(graph.kernels)} kernels; moved: {moved}. Arcs to the right go to"
        " later tasks, dashed arcs to the left to the next repetition.",
        _size(folded),
        lambda figure: _draw(figure.add_subplot(), graph, folded),
        lambda: _numbers(graph, folded),
    )


def save_tasks(graph: TaskGraph, path: Path, *, force: bool = False) -> None:
    """Write the picture; the file's suffix says the format.

    Raises:
        ArtifactError: If the file exists and ``force`` is false, or cannot be written.
    """
    chart = tasks_chart(graph)
    with report_style():
        figure: Figure = new_figure(*chart.size_in)
        chart.draw(figure)
        kind = path.suffix.removeprefix(".") or "svg"
        write_atomically(path, lambda draft: figure.savefig(draft, format=kind), force=force)


def _size(folded: FoldedGraph) -> tuple[float, float]:
    return _BOX[0] + 2 * _WIDEST, max(len(folded.tasks) * _PITCH + 0.4, 1.5)


def _draw(ax: Axes, graph: TaskGraph, folded: FoldedGraph) -> None:
    from matplotlib.patches import FancyBboxPatch

    width, height = _size(folded)
    ax.set_xlim(-_WIDEST, width - _WIDEST)
    ax.set_ylim(-height + _PITCH / 2, _PITCH / 2)
    ax.axis("off")
    work = max(sum(task.instructions for task in graph.tasks), 1)
    path = set(graph.critical_path())
    for number, task in enumerate(folded.tasks):
        y = -number * _PITCH
        edge = SERIES[1] if task.first in path else INK
        style = "round,pad=0,rounding_size=0.08"
        corner = (0.0, y - _BOX[1] / 2)
        ax.add_patch(FancyBboxPatch(corner, *_BOX, boxstyle=style, edgecolor=edge, facecolor="none", lw=1.2))
        times = f" x{task.repeats}" if task.repeats > 1 else ""
        name = graph.tasks[task.first].name
        ax.text(_BOX[0] / 2, y + 0.09, f"{name}{times}", ha="center", va="center", color=INK)
        share = format_percent(task.instructions / work)
        ax.text(_BOX[0] / 2, y - 0.12, share, ha="center", va="center", color=MUTED, size=FONT_SIZE - 1)
    for number, group in enumerate(folded.groups):
        if group.repeats > 1:
            rows = [k for k, task in enumerate(folded.tasks) if task.group == number]
            bottom = -rows[-1] * _PITCH - _BOX[1] / 2 - 0.08
            tall = (rows[-1] - rows[0]) * _PITCH + _BOX[1] + 0.16
            corner = (-0.08, bottom)
            box = FancyBboxPatch(
                corner,
                _BOX[0] + 0.16,
                tall,
                boxstyle="square,pad=0",
                edgecolor=LINE,
                facecolor="none",
                ls=":",
            )
            ax.add_patch(box)
    _draw_flows(ax, folded)


def _draw_flows(ax: Axes, folded: FoldedGraph) -> None:
    from matplotlib.patches import FancyArrowPatch

    together: dict[tuple[int, int], list[str]] = {}
    for edge in folded.edges:
        label = f"{edge.edge.buffer} {format_bytes(edge.bytes)}"
        together.setdefault((edge.source, edge.sink), []).append(label)
    for (source, sink), labels in together.items():
        is_forward = sink > source
        side = _BOX[0] if is_forward else 0.0
        begin, end = -source * _PITCH - 0.06, -sink * _PITCH + 0.06
        bow = min(_ARC * (1 + abs(sink - source)), _WIDEST - 1.2)
        bend = bow / max(abs(end - begin), 0.12)
        ax.add_patch(
            FancyArrowPatch(
                (side, begin),
                (side, end),
                connectionstyle=f"arc3,rad={bend if is_forward else -bend}",
                arrowstyle="-|>",
                mutation_scale=8,
                color=LINE if is_forward else MUTED,
                ls="-" if is_forward else "--",
                lw=1.0,
            )
        )
        x = side + (bow / 2 + 0.08) * (1 if is_forward else -1)
        ax.text(
            x,
            (begin + end) / 2,
            "\n".join(labels),
            ha="left" if is_forward else "right",
            va="center",
            color=MUTED,
            size=FONT_SIZE - 2,
        )


def _numbers(graph: TaskGraph, folded: FoldedGraph) -> Mapping[str, Values]:
    names = [graph.tasks[task.first].name for task in folded.tasks]
    columns: dict[str, Values] = {
        "from": [names[e.source] for e in folded.edges],
        "to": [names[e.sink] for e in folded.edges],
        "buffer": [e.edge.buffer for e in folded.edges],
        "flow (bytes)": [e.bytes for e in folded.edges],
    }
    for k, p in enumerate(graph.nodes):
        columns[f"moved on {p} nodes (bytes)"] = [e.moved_bytes[k] for e in folded.edges]
    return columns
