"""Task graphs as files of graph programs: DOT (Graphviz) and GraphML.

A task graph with repetitions folded as a picture: tasks from top to bottom, flows as lines beside them.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from commanalyzer.foundation.files import write_atomically
from commanalyzer.foundation.quantities import format_bytes, format_percent
from commanalyzer.kernels.tasks.graph import FoldedGraph, TaskGraph, fold
from commanalyzer.report.figures.chart import FONT_SIZE, INK, LINE, MUTED, SERIES, Chart, Values, save_chart

if TYPE_CHECKING:
    import networkx
    from matplotlib.axes import Axes


_BOX = (2.4, 0.5)  # inches
_PITCH = 0.8  # from one task to the next
_LANE = 1.05  # room for a line and its label


@dataclass(frozen=True, slots=True)
class _Lane:
    """A line from one task to another in a column of its own."""

    source: int  # row of the task that it leaves
    sink: int  # row of the task that it leads to
    labels: tuple[str, ...]  # what flows
    column: int  # column on its side, from 0

    @property
    def is_forward(self) -> bool:
        """It leads to a later task of the same repetition."""
        return self.sink > self.source


def tasks_chart(graph: TaskGraph) -> Chart:
    """The picture for reports."""
    folded = fold(graph)
    moved = ", ".join(
        f"{format_bytes(m)} on {p} nodes" for p, m in zip(graph.nodes, graph.moved_bytes(), strict=True)
    )
    return Chart(
        "tasks",
        "Tasks and what flows between them",
        f"{len(graph.tasks)} executions of {len(graph.kernels)} kernels; moved: {moved}. Lines on the right"
        " lead to later tasks, dashed ones on the left to the next repetition.",
        _size(folded),
        lambda figure: _draw(figure.add_subplot(), graph, folded),
        lambda: _numbers(graph, folded),
    )


def save_tasks(graph: TaskGraph, path: Path, *, force: bool = False) -> None:
    """Write the picture; the file's suffix says the format.

    Raises ``ArtifactError`` if the file exists (without ``force``) or cannot be written.
    """
    kind = path.suffix.removeprefix(".") or "svg"
    write_atomically(path, lambda draft: save_chart(tasks_chart(graph), draft, kind), force=force)


def _lanes(folded: FoldedGraph) -> list[_Lane]:
    """Lines in as few columns as do without two beside each other in one."""
    together: dict[tuple[int, int], list[str]] = {}
    for edge in folded.edges:
        label = f"{edge.edge.buffer} {format_bytes(edge.bytes)}"
        together.setdefault((edge.source, edge.sink), []).append(label)
    lanes: list[_Lane] = []
    ends: dict[bool, list[int]] = {True: [], False: []}  # last row of each column, by side
    for source, sink in sorted(together, key=lambda pair: (min(pair), max(pair))):
        columns = ends[sink > source]
        first, last = min(source, sink), max(source, sink)
        column = next((k for k, end in enumerate(columns) if end < first), len(columns))
        columns[column:] = [last, *columns[column + 1 :]]
        lanes.append(_Lane(source, sink, tuple(together[source, sink]), column))
    return lanes


def _sides(lanes: list[_Lane]) -> tuple[float, float]:
    """Room to the left and to the right, inches."""
    left, right = (
        max((lane.column + 1 for lane in lanes if lane.is_forward == side), default=0)
        for side in (False, True)
    )
    return _LANE * left + 0.3, _LANE * right + 0.3


def _size(folded: FoldedGraph) -> tuple[float, float]:
    left, right = _sides(_lanes(folded))
    return _BOX[0] + left + right, max(len(folded.tasks) * _PITCH + 0.4, 1.5)


def _draw(ax: Axes, graph: TaskGraph, folded: FoldedGraph) -> None:
    lanes = _lanes(folded)
    left, right = _sides(lanes)
    ax.set_xlim(-left, _BOX[0] + right)
    ax.set_ylim(-_size(folded)[1] + _PITCH / 2, _PITCH / 2)
    ax.axis("off")
    _draw_tasks(ax, graph, folded)
    for lane in lanes:
        _draw_lane(ax, lane)


def _draw_tasks(ax: Axes, graph: TaskGraph, folded: FoldedGraph) -> None:
    from matplotlib.patches import FancyBboxPatch, Rectangle

    work = max(sum(task.instructions for task in graph.tasks), 1)
    path = set(graph.critical_path())
    middle = _BOX[0] / 2
    for row, task in enumerate(folded.tasks):
        y = -row * _PITCH
        edge = SERIES[1] if task.first in path else INK
        style = "round,pad=0,rounding_size=0.08"
        corner = (0.0, y - _BOX[1] / 2)
        ax.add_patch(FancyBboxPatch(corner, *_BOX, boxstyle=style, edgecolor=edge, facecolor="none", lw=1.2))
        times = f" x{task.repeats}" if task.repeats > 1 else ""
        name = graph.tasks[task.first].name
        ax.text(middle, y + 0.09, f"{name}{times}", ha="center", va="center", color=INK)
        share = format_percent(task.instructions / work)
        ax.text(middle, y - 0.12, share, ha="center", va="center", color=MUTED, size=FONT_SIZE - 1)
    for number, group in enumerate(folded.groups):
        if group.repeats > 1:
            rows = [row for row, task in enumerate(folded.tasks) if task.group == number]
            bottom = -rows[-1] * _PITCH - _BOX[1] / 2 - 0.08
            height = (rows[-1] - rows[0]) * _PITCH + _BOX[1] + 0.16
            frame = Rectangle((-0.08, bottom), _BOX[0] + 0.16, height, ec=LINE, fc="none", ls=":")
            ax.add_patch(frame)


def _draw_lane(ax: Axes, lane: _Lane) -> None:
    side, sign = (_BOX[0], 1) if lane.is_forward else (0.0, -1)
    x = side + sign * (0.2 + lane.column * _LANE)
    begin, end = -lane.source * _PITCH - 0.1, -lane.sink * _PITCH + 0.1
    style = "-" if lane.is_forward else "--"
    ax.plot([side, x, x], [begin, begin, end], color=MUTED, ls=style, lw=0.8)
    ax.annotate(
        "",
        (side, end),
        (x, end),
        arrowprops={"arrowstyle": "-|>", "color": MUTED, "lw": 0.8, "shrinkA": 0, "shrinkB": 0},
    )
    align = "left" if lane.is_forward else "right"
    text = "\n".join(lane.labels)
    middle = (begin + end) / 2
    ax.text(x + sign * 0.05, middle, text, ha=align, va="center", color=MUTED, size=FONT_SIZE - 2)


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


def as_networkx(graph: TaskGraph) -> networkx.MultiDiGraph:
    """All tasks as nodes, all flows as edges, with their numbers as attributes."""
    import networkx as nx

    result = nx.MultiDiGraph()
    path = set(graph.critical_path())
    for number, task in enumerate(graph.tasks):
        result.add_node(
            number,
            name=task.name,
            instructions=task.instructions,
            flops=task.flops,
            work_items=task.num_items,
            on_critical_path=number in path,
        )
    for edge in graph.edges:
        moved = {f"moved_bytes_{p}": m for p, m in zip(graph.nodes, edge.moved_bytes, strict=True)}
        needed = {f"needed_bytes_{p}": m for p, m in zip(graph.nodes, edge.needed_bytes, strict=True)}
        mappers = {"write": str(edge.write or "host"), "read": str(edge.read or "host")}
        result.add_edge(
            edge.source, edge.sink, buffer=edge.buffer, bytes=edge.bytes, **mappers, **needed, **moved
        )
    return result


def graphml_text(graph: TaskGraph) -> str:
    """The whole graph as GraphML."""
    import networkx as nx

    stream = io.BytesIO()
    nx.write_graphml_xml(as_networkx(graph), stream)
    return stream.getvalue().decode() + "\n"


def dot_text(graph: TaskGraph) -> str:
    """The graph with repetitions folded as DOT; the critical path is drawn bold."""
    folded, path = fold(graph), set(graph.critical_path())
    lines = ["digraph tasks {", "  node [shape=box];"]
    for number, group in enumerate(folded.groups):
        own = [(k, task) for k, task in enumerate(folded.tasks) if task.group == number]
        if group.repeats > 1:
            lines += [f"  subgraph cluster_{number} {{", f'    label="x{group.repeats}";']
        for k, task in own:
            style = ', style="bold"' if task.first in path else ""
            lines.append(f"    t{k} [label={_quoted(graph.tasks[task.first].name)}{style}];")
        if group.repeats > 1:
            lines.append("  }")
    for edge in folded.edges:
        label = _quoted(f"{edge.edge.buffer} {format_bytes(edge.bytes)}")
        back = ", constraint=false, style=dashed" if edge.sink <= edge.source else ""
        lines.append(f"  t{edge.source} -> t{edge.sink} [label={label}{back}];")
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
