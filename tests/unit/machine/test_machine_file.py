from pathlib import Path

import pytest

from commanalyzer.foundation.errors import ArtifactError
from commanalyzer.machine.machine_file import write_machine
from commanalyzer.machine.parameters import Curve, MachineParameters, Parameter, read_machine

RATES = Curve((2.0, 4.0), (8.0, 4096.0), (1e6, 2e9, 9.5e5, 1.9e9))
MACHINE = MachineParameters(
    name='cluster "A"',
    bandwidth=Parameter(1.234e10, "B/s", "measured", "2026-01-31", "matchings", RATES),
    overlap=Parameter(0.57, "1", "given", curve=Curve((), (8.0, 64.0), (0.0, 0.99))),
    throughput=Parameter(3.2e9, "Flop/s", "assumed", note="a note with\nlines and \\ and 'quotes'"),
    latency=Parameter(1.002e-5, "s", "measured", "2026-01-31"),
    message_overhead=Parameter(2.12e-7, "s"),
    gap=Parameter(9e-9, "s"),
    allreduce=Parameter(0.01054, "s", "measured", curve=Curve((2.0, 4.0, 8.0), (), (1e-6, 0.5, 20.0))),
    bcast=Parameter(3.6e1, "s"),
)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "m.toml"
    write_machine(path, MACHINE, {"library": "MPICH", "ranks": 2, "remarks": ["one host"]})
    found = read_machine(path)
    assert found.name == MACHINE.name
    assert found.parameters.keys() == MACHINE.parameters.keys()
    for key, expected in MACHINE.parameters.items():
        parameter = found.parameters[key]
        # texts have 12 digits: binary rounding may differ in the last place
        assert parameter.value == pytest.approx(expected.value, rel=1e-12), key
        assert (parameter.unit, parameter.source) == (expected.unit, expected.source)
        assert (parameter.date, parameter.note) == (expected.date, expected.note)
        assert (parameter.curve is None) == (expected.curve is None)
        if parameter.curve is not None and expected.curve is not None:
            assert parameter.curve.nodes == expected.curve.nodes
            assert parameter.curve.message_bytes == expected.curve.message_bytes
            assert parameter.curve.values == pytest.approx(expected.curve.values, rel=1e-12)


def test_values_are_written_for_people(tmp_path: Path) -> None:
    path = tmp_path / "m.toml"
    write_machine(path, MACHINE, {})
    lines = path.read_text().splitlines()
    for line in (
        'kind = "commanalyzer.machine"',
        "schema = 1",
        'value = "12.34GB/s"',
        'values = ["1MB/s", "2GB/s", "950kB/s", "1.9GB/s"]',
        "nodes = [2, 4]",
        "date = 2026-01-31",
        "value = 0.57",
        'value = "3.2GFlop/s"',
        'value = "10.02us"',
        'value = "212ns"',
        'value = "10.54ms"',
        'values = ["1us", "500ms", "20s"]',
    ):
        assert line in lines
    assert not any(line.startswith("[provenance") for line in lines)


def test_an_existing_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "m.toml"
    path.write_text("mine")
    with pytest.raises(ArtifactError, match="existing"):
        write_machine(path, MACHINE, {})
    assert path.read_text() == "mine"
