"""Models against scikit-learn's, on runs with a known law; saved files; insight."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commanalyzer.foundation.errors import ArtifactError, CommAnalyzerError, ConfigError, FitError
from commanalyzer.kernels.learning.model import TrainedModel, errors_of, fit_scaling, load_model, save_model
from commanalyzer.kernels.learning.runs import RunTable, read_runs, runs_of
from commanalyzer.kernels.learning.training import (
    TrainingOptions,
    _plain,
    _regressor,
    cosine_distances,
    kernel_clusters,
    leave_kernels_out,
    rank_features,
    train,
)
from commanalyzer.report.figures.chart import inline_svg
from commanalyzer.report.html.chapters import learning_chapter, load_training
from tests.unit.kernels.learning.conftest import lines


@pytest.fixture(scope="module")
def forest(table: RunTable) -> TrainedModel:
    return train(table, TrainingOptions(search=False), "made")


@pytest.mark.parametrize("kind", ("forest", "neighbours", "svr"))
@pytest.mark.parametrize("components", [0, 6])
def test_arrays_predict_what_scikit_learn_predicts(table: RunTable, kind: str, components: int) -> None:
    options = TrainingOptions(kind, components=components)  # type: ignore[arg-type]
    inputs = fit_scaling(table, options.names, components).inputs(table)
    given: dict[str, dict[str, Any]] = {"forest": {"n_estimators": 20}, "neighbours": {"weights": "distance"}}
    parameters = given.get(kind, {})
    theirs = _regressor(options.kind, parameters).fit(inputs, table.speedups)
    own = _plain(options.kind, theirs, inputs, table.speedups)
    between = (inputs[:-1] + inputs[1:]) / 2
    np.testing.assert_allclose(own.predict(between), theirs.predict(between), rtol=1e-9)


def test_components_are_those_of_scikit_learn(table: RunTable) -> None:
    from sklearn.decomposition import PCA

    plain = fit_scaling(table, TrainingOptions().names).inputs(table)
    own = fit_scaling(table, TrainingOptions().names, 3).inputs(table)
    theirs = PCA(3).fit_transform(plain)
    np.testing.assert_allclose(np.abs(own), np.abs(theirs), atol=1e-9)


def test_left_out_kernels_with_a_twin_are_predicted(table: RunTable) -> None:
    options = TrainingOptions("neighbours", search=False)
    nearest = {"n_neighbors": 1}
    found = errors_of(table.speedups, leave_kernels_out(table, options, nearest))
    assert found.mape < 0.1  # the twin has the same speed-ups
    alone = table.where(np.array([int(k[1:]) % 2 == 0 for k in table.kernels]))
    assert errors_of(alone.speedups, leave_kernels_out(alone, options, nearest)).mape > 3.0


def test_a_model_that_corrects_physics_needs_it(table: RunTable) -> None:
    without = runs_of([{k: v for k, v in line.items() if k != "physics"} for line in lines()])
    with pytest.raises(FitError, match="physics"):
        train(without, TrainingOptions(target="residual", search=False))
    model = train(table, TrainingOptions("neighbours", target="residual", search=False))
    with pytest.raises(FitError, match="physics"):
        model.predict(without)


def test_uncertainty_covers_nine_of_ten_left_out_runs(table: RunTable, forest: TrainedModel) -> None:
    options, model = TrainingOptions(search=False), forest
    relative = np.log(table.speedups / leave_kernels_out(table, options, model.parameters))
    low, high = model.log_error
    assert np.mean((relative >= low) & (relative <= high)) == pytest.approx(0.9, abs=0.04)
    found = model.predict(table)
    assert (found.low <= found.speedups).all() and (found.speedups <= found.high).all()
    assert (found.tree_low <= found.tree_high).all()


def test_beyond_training_is_said(table: RunTable, forest: TrainedModel) -> None:
    more = [{**line, "devices": 64} for line in lines()[:1]]
    assert forest.predict(runs_of(more)).outside == (("devices 64 (trained 1 to 8)",),)
    assert not any(forest.predict(table).outside)


@pytest.mark.parametrize("kind", ("forest", "neighbours", "svr"))
def test_saved_models_predict_alike(table: RunTable, forest: TrainedModel, kind: str, tmp_path: Path) -> None:
    options = TrainingOptions(kind, components=4, search=False)  # type: ignore[arg-type]
    model = forest if kind == "forest" else train(table, options)
    path = tmp_path / "model.npz"
    save_model(model, path)
    again = load_model(path)
    np.testing.assert_array_equal(again.predict(table).speedups, model.predict(table).speedups)
    assert (again.kernels, again.left_out, again.target) == (model.kernels, model.left_out, model.target)
    assert "scikit-learn" in again.versions and "commanalyzer" in again.versions


def test_damaged_models_are_refused(forest: TrainedModel, tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    save_model(forest, path)
    data = path.read_bytes()
    for damaged in (b"", b"not a model", data[: len(data) // 2], data[:200] + b"\0" * 50 + data[250:]):
        path.write_bytes(damaged)
        with pytest.raises(ArtifactError, match="expected a saved model"):
            load_model(path)
    np.savez(path, header=np.frombuffer(b'{"kind": "other"}', dtype=np.uint8))
    with pytest.raises(ArtifactError, match="another kind"):
        load_model(path)
    np.savez(path, header=np.array([object()]), allow_pickle=True)
    with pytest.raises(ArtifactError):  # a pickle is not opened
        load_model(path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"speedup": 0.0}, "positive speedup"),
        ({"speedup": -2.0}, "positive speedup"),
        ({"load": "many"}, "number as load"),
        ({"devices": 0}, "1 or more as devices"),
        ({"physics": 0.0}, "positive physics"),
    ],
)
def test_wrong_numbers_are_named(change: dict[str, object], said: str) -> None:
    with pytest.raises(FitError, match=said):
        runs_of([lines()[0], {**lines()[1], **change}])


def test_missing_columns_and_kernels_are_named(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("kernel,devices,speedup\nmatmul,2,1.9\n")
    with pytest.raises(FitError, match="no bitwise, int_addsub"):
        read_runs(path)
    with pytest.raises(FitError, match=r"at least 2 kernels, found .* alone"):
        train(runs_of(lines()[:8]), TrainingOptions(search=False))
    alone = [{**line, "devices": 1, "speedup": 1.0} for line in lines()]
    with pytest.raises(FitError, match=r"at least 2 numbers of devices, found 1.0 alone"):
        train(runs_of(alone), TrainingOptions(search=False))
    with pytest.raises(ArtifactError):
        read_runs(tmp_path / "none.csv")
    with pytest.raises(ConfigError, match="principal components"):
        TrainingOptions(components=99)


def test_times_become_speedups(tmp_path: Path) -> None:
    timed = [{**line, "time_s": 3.0 / float(str(line["speedup"]))} for line in lines()]
    found = runs_of([{k: v for k, v in line.items() if k != "speedup"} for line in timed])
    np.testing.assert_allclose(found.speedups, [float(str(line["speedup"])) for line in lines()])
    first = {**timed[1]}
    del first["speedup"]
    with pytest.raises(CommAnalyzerError, match="one device"):
        runs_of([first])


def test_distances_are_those_of_the_angle() -> None:
    found = cosine_distances(np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 3.0], [5.0, 0.0]]))
    expected = np.array([[0, 1, 1 - 0.5**0.5, 0], [1, 0, 1 - 0.5**0.5, 1]])
    np.testing.assert_allclose(found[:2], expected, atol=1e-12)


def test_twins_lie_together_and_devices_rank_first(table: RunTable) -> None:
    names, distances, clusters = kernel_clusters(table)
    assert sorted(names) == sorted(set(table.kernels.tolist()))
    assert distances.shape == (8, 8) and sum(map(len, clusters)) == 8
    ranking, full = rank_features(table.where(table.of("problem_size") < 1e7), 1)
    assert ranking[0].name == "devices"
    assert 0.5 < ranking[0].score <= 1 and full <= 1


DOCUMENT = {
    "schema": "commanalyzer.training/1",
    "insight": {
        "kernels": ["a", "b"],
        "distances": [[0.0, 0.25], [0.25, 0.0]],
        "clusters": [["a"], ["b"]],
        "ranking": [{"name": "devices", "score": 0.5}],
        "full_score": 0.9,
        "ablation": {"all": {"mse": 1.0, "msle": 0.1, "mape": 5.0, "r2": 0.9, "count": 2}},
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
