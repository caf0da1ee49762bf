"""Chapter of a trained model: distances of kernels, ranked features, errors by set of features.

Chapter of a task graph: the picture, kernels with their range mappers, and what is moved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commanalyzer.foundation.documents import number, parse_json
from commanalyzer.foundation.errors import ArtifactError
from commanalyzer.report.figures.chart import Chart, Values
from commanalyzer.report.html.blocks import Chapter, Column, Figures, Row, Section, Table, Words
from commanalyzer.report.tables import Field, numeric, page_table, worded

if TYPE_CHECKING:
    from matplotlib.figure import Figure
from commanalyzer.foundation.quantities import format_bytes, format_count
from commanalyzer.kernels.tasks.graph import Kernel, RangeAccess, TaskGraph
from commanalyzer.report.kernels.task_files import tasks_chart
from commanalyzer.report.kernels.tasks_text import range_text


def tasks_chapter(graph: TaskGraph) -> Chapter:
    """Picture, kernels and flows of a task graph."""
    words = Words(
        (
            f"{len(graph.tasks)} executions of {len(graph.kernels)} kernels in the order of the program. On"
            f" average {graph.parallelism():.2f} of them could run at once; the critical path is marked.",
        )
    )
    sections = (
        Section("tasks-graph", "Task graph", (words, Figures((tasks_chart(graph),)))),
        Section("tasks-kernels", "Kernels and range mappers", (_kernels(graph),)),
        Section("tasks-flows", "Bytes between tasks", (_moved(graph),)),
    )
    return Chapter("tasks", "Tasks", "What flows between the kernels of one run", sections)


def _kernels(graph: TaskGraph) -> Table:
    fields: tuple[Field[tuple[Kernel, RangeAccess]], ...] = (
        worded("kernel", lambda row: row[0].name),
        worded("work items", lambda row: range_text(row[0]), "extents of the range, of the first execution"),
        worded("access", lambda row: row[1].mode),
        worded("buffer", lambda row: row[1].buffer),
        worded(
            "range mapper", lambda row: str(row[1].mapper), "which elements a block of work items accesses"
        ),
        worded("index", lambda row: ", ".join(row[1].index), "per dimension of the buffer; * for all"),
    )
    rows = [(kernel, access) for kernel in graph.kernels for access in kernel.accesses]
    return page_table("Accessors of each kernel", rows, fields)


def _moved(graph: TaskGraph) -> Table:
    columns = (
        Column("nodes"),
        Column("bytes moved", meaning="between nodes that execute blocks of each task's work items"),
        Column("flows", meaning="pairs of tasks and a buffer between which values are moved"),
    )
    rows = [
        Row(
            (
                str(p),
                format_bytes(moved),
                format_count(sum(1 for edge in graph.edges if edge.moved_bytes[k])),
            )
        )
        for k, (p, moved) in enumerate(zip(graph.nodes, graph.moved_bytes(), strict=True))
    ]
    return Table("All tasks together", columns, tuple(rows))


TRAINING_SCHEMA = "commanalyzer.training/1"


def load_training(path: Path) -> Mapping[str, Any]:
    """Document of ``learn --insight --json``.

    Raises:
        ArtifactError: If it is missing, another document, or has no insight.
    """
    try:
        content = parse_json(path.read_text(encoding="utf-8"), is_finite=True)
        if content["schema"] != TRAINING_SCHEMA:
            raise ValueError(f"schema {content['schema']}")
        insight = content["insight"]
        count = len(insight["kernels"])
        rows = [[number(d) for d in row] for row in insight["distances"]]
        if len(rows) != count or any(len(row) != count for row in rows):
            raise ValueError("distances that are no square")
        _ = [(str(r["name"]), number(r["score"])) for r in insight["ranking"]]
        _ = [[number(e[k]) for k in ("mse", "msle", "mape", "r2")] for e in insight["ablation"].values()]
        return dict(content)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        found = getattr(error, "strerror", None) or error
        raise ArtifactError(
            f"expected what a model was trained on, found: {found}",
            where=str(path),
            hint="commanalyzer learn TABLE -o MODEL --insight --json FILE",
        ) from error


def learning_chapter(content: Mapping[str, Any]) -> Chapter:
    """Distances, ranking and ablation of a training document."""
    insight = content["insight"]
    groups = "; ".join(", ".join(map(str, group)) for group in insight["clusters"])
    words = Words((f"Kernels whose static features are alike (distance below 0.1): {groups}.",))
    chart = _distances(insight["kernels"], insight["distances"])
    ranked: tuple[Field[Mapping[str, Any]], ...] = (
        worded("feature", lambda r: str(r["name"])),
        numeric("R2 with those before", lambda r: f"{r['score']:.4f}"),
    )
    ranking = page_table("Features by greedy selection", insight["ranking"], ranked)
    compared: tuple[Field[tuple[str, Mapping[str, float]]], ...] = (
        worded("features", lambda item: str(item[0])),
        numeric("MSE", lambda item: f"{item[1]['mse']:.2f}"),
        numeric("MSLE", lambda item: f"{item[1]['msle']:.4f}"),
        numeric("MAPE %", lambda item: f"{item[1]['mape']:.2f}"),
        numeric("R2", lambda item: f"{item[1]['r2']:.3f}"),
    )
    errors = page_table("Errors on kernels that were left out", insight["ablation"].items(), compared)
    sections = (
        Section("learning-distances", "Which kernels are alike", (words, Figures((chart,)))),
        Section("learning-features", "Which features matter", (ranking, errors)),
    )
    return Chapter("learning", "Learned speed-ups", "What the features of the training runs tell", sections)


def _distances(names: Sequence[str], distances: Sequence[Sequence[float]]) -> Chart:
    side = max(3.5, 0.2 * len(names) + 1.5)

    def draw(figure: Figure) -> None:
        ax = figure.add_subplot()
        image = ax.imshow(distances, cmap="gray", vmin=0.0, vmax=1.0, interpolation="none")
        ax.set_xticks(range(len(names)), names, rotation=90)
        ax.set_yticks(range(len(names)), names)
        ax.tick_params(length=0)
        figure.colorbar(image, ax=ax, shrink=0.8, label="cosine distance")

    def numbers() -> dict[str, Values]:
        pairs = [(a, b, distances[i][j]) for i, a in enumerate(names) for j, b in enumerate(names)]
        return {
            "kernel": [a for a, _, _ in pairs],
            "other kernel": [b for _, b, _ in pairs],
            "cosine distance": [d for _, _, d in pairs],
        }

    text = f"Cosine distances of the static features of {len(names)} kernels, dark where they are alike."
    return Chart("learning-distances", "Distances of kernels", text, (side + 1.0, side), draw, numbers)
