from pathlib import Path

import pytest

from commanalyzer.foundation.errors import MachineModelError
from commanalyzer.machine.machine_file import load_machine, write_machine
from commanalyzer.machine.measuring.phase_campaign import (
    COLUMNS,
    CampaignPoint,
    MeasuredPhase,
    append_point,
    campaign_points,
    read_points,
)
from commanalyzer.machine.parameters import read_machine
from commanalyzer.machine.phase_times import AreaFormula, PhaseTimes, parse_condition, read_phase_times
from commanalyzer.scaling.allocations.metrics import model_of, read_model

POINT = MeasuredPhase(CampaignPoint(2, 1, 1, 64, "ring"), "1", (5, 9), 1.25e-6)


@pytest.mark.parametrize("name", ["vilje", "piz-daint"])
def test_published_models_survive_a_file(name: str, tmp_path: Path) -> None:
    machine = load_machine(name)
    write_machine(tmp_path / "m.toml", machine, {})
    again = read_machine(tmp_path / "m.toml")
    assert (again.phase_times, again.units) == (machine.phase_times, machine.units)
    assert again.parameters == machine.parameters
    assert model_of(again) == model_of(machine)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("phase_times = 3", "expected object, found 3"),
        ('[phase_times]\nnote = "x"', "missing required field areas"),
        ("[phase_times]\nareas = []", "length >= 1, found"),
        ("[phase_times]\nareas = [{formula = 3}]", "expected str, found 3"),
        ('[phase_times]\nareas = [{formula = "S", where = "S < 4"}]', "expected conditions"),
        ('[phase_times]\nareas = [{formula = "S"}]\nranges = {N = [8, 2]}', "least, greatest"),
        ('[phase_times]\nsource = "felt"\nareas = [{formula = "S"}]', "measured or given, found 'felt'"),
        ('units = [{name = "SW", nodes = 0}]', "expected int >= 1, found 0"),
        ('units = [{name = "S W", nodes = 2}]', "found 'S W'"),
        ('units = [{name = "A", nodes = 4}, {name = "B", nodes = 4}]', "growing"),
    ],
)
def test_wrong_files_are_refused(text: str, found: str, tmp_path: Path) -> None:
    path = tmp_path / "m.toml"
    path.write_text(text)
    with pytest.raises(MachineModelError, match=found):
        read_machine(path)


def test_formulas_are_checked_when_they_are_used() -> None:
    times = PhaseTimes((AreaFormula("I", (), "S +* 3"),))
    with pytest.raises(MachineModelError, match="expected a formula") as caught:
        read_model(times)
    assert "areas I" in str(caught.value.where)


def test_conditions() -> None:
    both = parse_condition("S <= 4096 and NT > 1.5e5")
    assert [(c.metric, c.is_above, c.bound) for c in both] == [("S", False, 4096.0), ("NT", True, 1.5e5)]
    assert parse_condition("") == ()
    assert read_phase_times({"areas": [{"formula": "S"}]}).areas[0].where == ()


def test_a_table_that_was_cut_off_is_read_up_to_there(tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    append_point(path, POINT)
    append_point(path, POINT)
    assert read_points(path) == (POINT, POINT)
    path.write_text(path.read_text()[:-20])
    assert read_points(path) == (POINT,)


@pytest.mark.parametrize(
    "line", ["2,1,1,64,ring,1,5 9,-1", "2,1,1,64,star,1,5 9,1", "2,1,1,64,ring,1,5,1", "2,1"]
)
def test_damaged_tables_are_refused(line: str, tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    path.write_text(f"{','.join(COLUMNS)}\n{line}\n2,1,1,64,ring,1,5 9,1\n")
    with pytest.raises(MachineModelError, match="expected a measured point"):
        read_points(path)


def test_points_of_one_node_are_none() -> None:
    assert {p.num_nodes for p in campaign_points((1, 2, 4), (1, 2))} == {2, 4}
