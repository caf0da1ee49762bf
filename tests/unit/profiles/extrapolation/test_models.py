"""Models of profiles with known laws, predicted where none was made."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from commanalyzer.foundation.errors import ArtifactError, FitError
from commanalyzer.profiles.classification.classes import Classes
from commanalyzer.profiles.classification.classify import classify
from commanalyzer.profiles.document import read_profile
from commanalyzer.profiles.extrapolation.data import (
    ModelType,
    Setup,
    TrainingData,
    default_setup,
    training_data,
)
from commanalyzer.profiles.extrapolation.models import (
    Models,
    accuracies,
    compared,
    load_models,
    mean_error,
    mem_points,
    models_json,
)
from commanalyzer.profiles.extrapolation.passes import train
from commanalyzer.profiles.extrapolation.profiles import extrapolate, write_extrapolated
from commanalyzer.profiles.metrics import FUNCTIONS, metrics_of
from commanalyzer.profiles.run.measure import HISTORY, branches_of
from commanalyzer.profiles.values import Branches, Profile
from tests.made_profiles import grid_profile

SIZES = (240, 480, 960)
GRIDS = ((3, 3), (4, 3), (4, 4), (5, 4), (5, 5))
FAR_GRID, FAR_SIZE = (8, 8), 1920


def made(is_small: bool = False) -> tuple[TrainingData, Classes, Setup]:
    grids = ((3,), (4,), (6,), (8,)) if is_small else GRIDS
    profiles = [grid_profile(grid, n) for grid in grids for n in SIZES]
    classes = classify(profiles, "pattern")
    data = training_data(profiles, classes)
    return data, classes, default_setup(data.metrics)


@pytest.fixture(scope="module")
def trained() -> tuple[TrainingData, Classes, Setup, Models]:
    data, classes, setup = made()
    return data, classes, setup, train(data, classes, setup)


@pytest.fixture(scope="module")
def far() -> TrainingData:
    profile = grid_profile(FAR_GRID, FAR_SIZE)
    return training_data([profile], classify([profile], "pattern"))


Trained = tuple[TrainingData, Classes, Setup, Models]


def test_metrics_are_met_at_64_processes_and_4_times_the_cells(trained: Trained, far: TrainingData) -> None:
    models = trained[3]
    assert [c.name for c in models.classes] == ["corner", "edge", "interior"]
    for own in models.classes:
        true = next(c for c in far.classes if c.name == own.name)
        for metric in far.metrics:
            observed, predicted = compared(models, own, metric, true)
            is_function = own.models[metric].setup.type == "memFunction"
            limit = 0.05 if is_function or metric != "LSys" else 0.01
            assert mean_error(observed, predicted, is_function) <= limit, (own.name, metric)


def beyond(runs: list[Profile], far: Profile, metrics: tuple[str, ...]) -> tuple[Models, TrainingData]:
    """Models of runs, and what there is to predict."""
    classes = classify(runs, "pattern")
    models = train(training_data(runs, classes), classes, default_setup(metrics))
    return models, training_data([far], classify([far], "pattern"))


def test_a_class_of_one_number_of_threads_follows_the_laws_of_the_others() -> None:
    """A cube has its first rank with six neighbours at p = 27: its work per rank falls as that of corners."""
    grids = ((2, 2, 2), (3, 2, 2), (3, 3, 2), (3, 3, 3))
    runs = [grid_profile(grid, n) for grid in grids for n in (48, 96, 144)]
    models, far = beyond(runs, grid_profile((4, 4, 4), 288), ("LSys", "MPIsentBytes"))
    own, true = models.classes[-1], far.classes[-1]
    assert own.name == "interior"
    for metric, limit in (("LSys", 0.01), ("MPIsentBytes", 0.05)):
        assert mean_error(*compared(models, own, metric, true), False) <= limit, metric


def loops(n: int) -> Branches:
    """Branches of ``for i in range(n): for j in range(n)``, three times."""
    ends = np.tile([0, 1], (n, 1))
    ends[-1, 1] = 0
    bits = np.tile(np.hstack([np.ones((n, n), dtype=np.int64), ends]).ravel(), 3)
    windows = np.lib.stride_tricks.sliding_window_view(bits, HISTORY + 1) @ (2 << np.arange(HISTORY, -1, -1))
    return branches_of(len(bits), bits[:HISTORY], np.bincount(windows // 2, minlength=2 << HISTORY))


def test_entropies_are_met_beyond_the_runs() -> None:
    """What is as rare as 1/n tells log2(n) bits; a loop of 12 fits into the history, one of 48 does not."""

    def run(grid: tuple[int, ...], n: int) -> Profile:
        own, found = grid_profile(grid, n), loops(n)
        return replace(own, ranks=tuple(replace(rank, branches=found) for rank in own.ranks))

    metrics = ("LSys", "H0branch", "F0bestMispredict")
    models, far = beyond([run(g, n) for g in GRIDS for n in (12, 18, 24)], run(FAR_GRID, 48), metrics)
    for own, true in zip(models.classes, far.classes, strict=True):
        for metric, limit in (("H0branch", 0.1), ("F0bestMispredict", 0.005)):
            assert mean_error(*compared(models, own, metric, true), metric in FUNCTIONS) <= limit


def test_numbers_of_threads_are_those_of_the_grid(trained: Trained) -> None:
    run = extrapolate(trained[3], {"n": 1920.0, "p": 64.0})
    assert [(c.class_name, c.threads) for c in run.classes] == [("corner", 4), ("edge", 24), ("interior", 36)]


def test_shares_are_quotients_with_the_terms_of_the_instructions(trained: Trained) -> None:
    """Eq. 3: they stay between 0 and 1 however far away."""
    own = trained[3].classes[0]
    size = own.models["LSys"].parts[""]
    for part in own.models["F0load"].parts.values():
        assert set(part.formula.terms) == set(size.formula.terms)  # type: ignore[union-attr]
    x = np.array([[1e6, 1e4], [1e9, 4.0], [240.0, 1e6]])
    share = sum(trained[3].at(own, "F0load", x).values(), np.zeros(3))
    assert ((share > 0) & (share < 1)).all()
    assert share[1] == pytest.approx(10 / 25, rel=1e-3)


def test_extrapolated_profiles_are_profiles(trained: Trained, tmp_path: Path) -> None:
    run = extrapolate(trained[3], {"n": 1920.0, "p": 64.0})
    path = tmp_path / "far.pisa"
    write_extrapolated(run, path)
    read = read_profile(path)
    true = grid_profile(FAR_GRID, FAR_SIZE).ranks[0]
    found = metrics_of(read.ranks[0], 64)
    expected = metrics_of(true, 64)
    assert found.scalars["LSys"] == pytest.approx(expected.scalars["LSys"], rel=0.01)
    assert found.scalars["MPIrecvBytes"] == pytest.approx(expected.scalars["MPIrecvBytes"], rel=0.05)
    for name, mix in expected.mixes.items():
        assert found.mixes[name].sum() == pytest.approx(mix.sum(), rel=0.05), name
    content = json.loads(path.read_text())["threads"][0]["extrapolated"]
    assert (content["class"], content["NThreads"]) == ("corner", 4)
    band = content["metrics"]["LSys"]
    assert band["low"] <= band["value"] <= band["high"]
    assert band["low"] * 0.99 <= expected.scalars["LSys"] <= band["high"] * 1.01


def test_saved_models_are_the_same_and_are_not_trained_again(trained: Trained, tmp_path: Path) -> None:
    data, classes, setup, models = trained
    path = tmp_path / "models.json"
    path.write_text(models_json(models))
    loaded = load_models(path)
    assert models_json(loaded) == models_json(models)
    again = train(data, classes, setup, previous=loaded)
    for old, new in zip(loaded.classes, again.classes, strict=True):
        assert all(new.models[name] is model for name, model in old.models.items())
    other = tuple(replace(m, model="linear") if m.name in ("LSys", "ILP0") else m for m in setup.metrics)
    changed = replace(setup, metrics=other)
    only = train(data, classes, changed, previous=loaded, only=("ILP0",))
    own, kept = only.classes[0].models, loaded.classes[0].models
    assert own["ILP0"].setup.model == "linear"
    assert own["LSys"] is kept["LSys"]
    with pytest.raises(FitError, match="found ILP9"):
        train(data, classes, setup, only=("ILP9",))


def test_damaged_models_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "models.json"
    for text in ("", "{}", '{"kind": "commanalyzer.models", "schema": 1}'):
        path.write_text(text)
        with pytest.raises(ArtifactError):
            load_models(path)


@pytest.mark.parametrize("kind", ["neighbours", "network", "forest"])
def test_learned_models_meet_what_they_learned(kind: ModelType, tmp_path: Path) -> None:
    data, classes, setup = made(is_small=True)
    own = replace(setup.metric("ILP0"), type="numeric", model=kind, terms=("n", "p"))
    small = replace(setup, metrics=(*setup.metrics[:2], own))
    models = train(data, classes, small)
    found = [a for a in accuracies(models, data) if a.metric == "ILP0"]
    assert all(a.train < 0.02 for a in found)
    path = tmp_path / "models.json"
    path.write_text(models_json(models))
    x = np.array([[700.0, 18.0]])
    before, after = (m.at(m.classes[0], "ILP0", x)[""] for m in (models, load_models(path)))
    assert before.tolist() == pytest.approx(after.tolist())


@pytest.mark.parametrize("kind", ["weighted", "linear", "per-bin", "levels", "neighbours"])
def test_functions_of_distances_by_all_kinds_of_models(kind: ModelType) -> None:
    data, classes, setup = made(is_small=True)
    own = replace(setup.metric("D0ireuse"), model=kind, selection="fast")
    models = train(data, classes, replace(setup, metrics=(*setup.metrics[:2], own)))
    for a in accuracies(models, data):
        if a.metric == "D0ireuse":
            assert a.train <= 0.05  # half of a level is 0.025
    values = models.function(models.classes[0], "D0ireuse", data.scale[:2], np.array([0.0, 1.0, 2.0, 4.0]))
    assert ((values >= 0) & (values <= 1)).all()


def test_distances_are_normalised_as_in_eq_4_and_5() -> None:
    points = mem_points(np.array([[5.0]]), np.array([64.0]), np.array([0.0, 8.0, 64.0]))
    assert points[:, 0].tolist() == [5.0] * 3
    columns = points[:, 1:]
    assert columns[1].tolist() == pytest.approx([8.0, 1 / 8, 1.5])
    assert columns[2].tolist() == pytest.approx([64.0, 1.0, 2.0])
    assert columns[0].tolist() == pytest.approx([0.5, 1 / 128, 1 - 1 / 6])


def test_bad_models_are_flagged(trained: Trained) -> None:
    data, classes, setup, models = trained
    wrong = replace(setup.metric("LSys"), terms=("p",))
    spoiled = train(data, classes, replace(setup, metrics=(setup.metrics[0], wrong)))
    flags = {a.class_name: a.flags for a in accuracies(spoiled, data) if a.metric == "LSys"}
    assert "R2 < 0.7" in flags["interior"]
    assert not any(a.flags for a in accuracies(models, data, data))


def test_parameters_are_checked(trained: Trained) -> None:
    with pytest.raises(FitError, match="values of n, p"):
        extrapolate(trained[3], {"n": 10.0})
    with pytest.raises(FitError, match="positive"):
        extrapolate(trained[3], {"n": 10.0, "p": -1.0})
