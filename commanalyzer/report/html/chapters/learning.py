"""Chapter of a trained model: distances of kernels, ranked features, errors by set of features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commanalyzer.foundation.documents import number, parse_json
from commanalyzer.foundation.errors import ArtifactError
from commanalyzer.report.figures.chart import Chart, Values
from commanalyzer.report.html.blocks import Chapter, Column, Figures, Row, Section, Table, Words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
    ranking = Table(
        "Features by greedy selection",
        (Column("feature", is_number=False), Column("R2 with those before")),
        tuple(Row((str(r["name"]), f"{r['score']:.4f}")) for r in insight["ranking"]),
    )
    errors = Table(
        "Errors on kernels that were left out",
        (Column("features", is_number=False), Column("MSE"), Column("MSLE"), Column("MAPE %"), Column("R2")),
        tuple(
            Row((str(name), f"{e['mse']:.2f}", f"{e['msle']:.4f}", f"{e['mape']:.2f}", f"{e['r2']:.3f}"))
            for name, e in insight["ablation"].items()
        ),
    )
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
