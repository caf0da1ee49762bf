import json
from pathlib import Path

import pytest

from commanalyzer.foundation.errors import ArtifactError
from commanalyzer.report.figures.chart import inline_svg
from commanalyzer.report.html.chapters import learning_chapter, load_training

DOCUMENT = {
    "schema": "commanalyzer.training/1",
    "insight": {
        "kernels": ["a", "b"],
        "distances": [[0.0, 0.25], [0.25, 0.0]],
        "clusters": [["a"], ["b"]],
        "ranking": [{"name": "devices", "score": 0.5}],
        "full_score": 0.9,
        "ablation": {"all": {"mse": 1.0, "msle": 0.1, "mape": 5.0, "r2": 0.9}},
    },
}


def test_chapter_has_figure_and_tables(tmp_path: Path) -> None:
    path = tmp_path / "training.json"
    path.write_text(json.dumps(DOCUMENT))
    chapter = learning_chapter(load_training(path))
    (chart,) = chapter.charts
    assert chart.numbers()["cosine distance"] == [0.0, 0.25, 0.25, 0.0]
    assert "<svg" in inline_svg(chart)


@pytest.mark.parametrize("text", ["", "{}", '{"schema": "commanalyzer.training/1"}', "[1]"])
def test_other_documents_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "training.json"
    path.write_text(text)
    with pytest.raises(ArtifactError, match="trained on"):
        load_training(path)
