"""Fitted models: a known truth is found again, also beyond the data; bad campaigns are refused."""

from dataclasses import replace

import numpy as np
import pytest

from commanalyzer.foundation.errors import FitError, MachineModelError
from commanalyzer.machine.measuring.phase_campaign import campaign_points
from commanalyzer.machine.phase_times import Condition, conditions_text
from commanalyzer.machine.placement import on_nodes
from commanalyzer.scaling.allocations.campaign import CampaignData, fit_areas, pattern_messages
from commanalyzer.scaling.allocations.metrics import (
    AreaModel,
    InjectionModel,
    fit_injection,
    in_columns,
    injection_of,
    phase_metrics,
)
from tests.samples import sample_machine

PHYSICS = InjectionModel(2e-6, 3e-7, 1e-7, 1e9, 4e8)


def _metrics(nodes: tuple[int, ...]) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float64]]]:
    points = campaign_points(nodes, (1, 2, 4), (1, 4), (64, 4096, 16384, 262144, 4194304))
    return in_columns(
        [phase_metrics(pattern_messages(p), on_nodes(p.num_nodes, p.ranks_per_node)) for p in points]
    )


@pytest.fixture(scope="module")
def trained() -> tuple[CampaignData, AreaModel]:
    metrics = _metrics((4, 8, 16, 32))
    time_s = 5e-6 + 8e-10 * metrics["NT"]
    # A tenth of the measurements is disturbed by other jobs: robust regression must not follow them.
    time_s[::10] *= 3.0
    data = CampaignData(metrics, time_s)
    return data, fit_areas(data, bounds=())


def test_outliers_do_not_pull_the_model(trained: tuple[CampaignData, AreaModel]) -> None:
    _, model = trained
    metrics = _metrics((128, 512))
    truth_s = 5e-6 + 8e-10 * metrics["NT"]
    found = model.predict(metrics)
    assert np.abs(found.time_s / truth_s - 1).max() < 0.1
    assert found.is_beyond.all()


def test_no_coefficient_is_negative(trained: tuple[CampaignData, AreaModel]) -> None:
    data, model = trained
    assert all(c > 0 for law in model.laws for c in law.formula.coefficients)
    found = model.predict(data.metrics)
    assert not found.is_clamped.any()
    assert not found.is_beyond.any()


def test_areas_are_those_of_the_regimes_or_of_the_given_bounds() -> None:
    metrics = _metrics((4, 8, 16, 32))
    small = metrics["S"] <= 4096
    time_s = np.where(small, 3e-6 + 1e-9 * metrics["NT"], 4e-5 + 2e-10 * metrics["NT"] + 1e-9 * metrics["PT"])
    model = fit_areas(CampaignData(metrics, time_s))
    assert len(model.times.areas) == 2
    (first,) = model.times.areas[0].where
    assert (first.metric, first.is_above) == ("S", False)
    assert 4096 <= first.bound < 16384
    assert np.abs(model.predict(metrics).time_s / time_s - 1).max() < 0.01
    bounds = [Condition("NT", False, 131072.0), Condition("S", False, 4096.0)]
    model = fit_areas(CampaignData(metrics, 1e-6 + 1e-9 * metrics["NT"]), bounds=bounds)
    found = [conditions_text(area.where) for area in model.times.areas]
    assert found == ["NT <= 131072 and S <= 4096", "NT <= 131072 and S > 4096", "NT > 131072"]


def test_the_max_rate_model_finds_its_parameters() -> None:
    metrics = _metrics((4, 8, 16, 32))
    found = fit_injection(metrics, PHYSICS.predict(metrics).time_s)
    assert found.node_bandwidth == pytest.approx(PHYSICS.node_bandwidth, rel=0.02)
    assert found.process_bandwidth == pytest.approx(PHYSICS.process_bandwidth, rel=0.02)
    assert np.abs(found.predict(metrics).time_s / PHYSICS.predict(metrics).time_s - 1).max() < 0.05


def test_max_rate_by_hand() -> None:
    metrics = {"M": np.array([2.0]), "NI": np.array([8.0]), "NT": np.array([8e6]), "PT": np.array([2e6])}
    # 2e-6 + 2 x 3e-7 x 2 + max(8 x 1e-7, 8e6 / 1e9, 2e6 / 4e8)
    assert PHYSICS.predict(metrics).time_s[0] == pytest.approx(2e-6 + 1.2e-6 + 8e-3)
    one = {"M": np.array([1.0]), "NI": np.array([1.0]), "NT": np.array([2e6]), "PT": np.array([2e6])}
    assert PHYSICS.predict(one).time_s[0] == pytest.approx(2e-6 + 6e-7 + 5e-3)  # one process alone: B_process


def test_injection_of_a_machine() -> None:
    machine = sample_machine(bandwidth=1e9, latency=3e-6, message_overhead=5e-7)
    found = injection_of(machine)
    assert found.latency_s == pytest.approx(2e-6)
    assert found.overhead_s == 5e-7
    with pytest.raises(MachineModelError, match="found no latency"):
        injection_of(replace(machine, latency=None))


def test_bad_campaigns_are_refused() -> None:
    metrics = _metrics((4, 8))
    time_s = 1e-6 + 1e-9 * metrics["NT"]
    without = {name: values for name, values in metrics.items() if name != "NT"}
    with pytest.raises(FitError, match="found no NT"):
        fit_areas(CampaignData(without, time_s))
    with pytest.raises(FitError, match="12 or more phases"):
        fit_areas(CampaignData({k: v[:5] for k, v in metrics.items()}, time_s[:5]))
    with pytest.raises(FitError, match="times above 0"):
        fit_areas(CampaignData(metrics, -time_s))
