from __future__ import annotations

from pathlib import Path

import pytest

from commanalyzer.errors import MachineModelError
from commanalyzer.machine.parameters import MachineParameters, Parameter, load_machine

FULL = """
name = "cluster A"
[bandwidth]
value = "100Gbit/s"
source = "measured"
date = 2026-01-31
note = "random matchings"
[overlap]
value = 0.57
[throughput]
value = "3.2GFlop/s"
source = "assumed"
"""


def _file(folder: Path, text: str) -> Path:
    path = folder / "machine.toml"
    path.write_text(text)
    return path


def test_load(tmp_path: Path) -> None:
    machine = load_machine(_file(tmp_path, FULL))
    assert machine == MachineParameters(
        name="cluster A",
        bandwidth=Parameter(12.5e9, "B/s", "measured", "2026-01-31", "random matchings"),
        overlap=Parameter(0.57, "1"),
        throughput=Parameter(3.2e9, "Flop/s", "assumed"),
    )
    assert machine.is_complete


def test_plain_values(tmp_path: Path) -> None:
    machine = load_machine(_file(tmp_path, 'bandwidth = 1e9\noverlap = "50%"'))
    assert machine.bandwidth == Parameter(1e9, "B/s")
    assert machine.overlap_value == 0.5
    assert not machine.is_complete


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("bandwidth = '100Gb/s'", "Gb"),
        ("bandwidth = 0", "found 0.0"),
        ("bandwidth = true", "True"),
        ("bandwidth = inf", "inf"),
        ("overlap = 1.0", "found 1.0"),
        ("overlap = -0.1", "-0.1"),
        ("speed = 3", "speed"),
        ("[overlap]\nvalue = 0.1\ncolour = 3", "colour"),
        ("[overlap]\nsource = 'given'", "source"),
        ("[overlap]\nvalue = 0.1\nsource = 'guessed'", "guessed"),
        ("bandwidth = [1]", "[1]"),
        ("bandwidth", "TOML"),
    ],
)
def test_refused(tmp_path: Path, text: str, found: str) -> None:
    path = _file(tmp_path, text)
    with pytest.raises(MachineModelError) as caught:
        load_machine(path)
    assert found in caught.value.message
    assert str(path) in caught.value.where


def test_missing_file_and_wrong_unit(tmp_path: Path) -> None:
    with pytest.raises(MachineModelError, match="No such file"):
        load_machine(tmp_path / "none.toml")
    with pytest.raises(MachineModelError, match="bandwidth in B/s"):
        MachineParameters(bandwidth=Parameter(1.0, "bit/s"))


def test_updated_keeps_the_rest() -> None:
    old = MachineParameters("m", Parameter(1.0, "B/s"), Parameter(0.5, "1"))
    new = old.updated(bandwidth=Parameter(2.0, "B/s"))
    assert (new.name, new.bandwidth, new.overlap) == ("m", Parameter(2.0, "B/s"), Parameter(0.5, "1"))
