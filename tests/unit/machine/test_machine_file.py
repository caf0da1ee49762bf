import re
from pathlib import Path

import pytest

from commanalyzer.cli.main import main
from commanalyzer.foundation.errors import ArtifactError, MachineModelError
from commanalyzer.machine import machine_file
from commanalyzer.machine.machine_file import load_machine, published_machines, write_machine
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


def test_what_is_written_is_for_people_and_read_back(tmp_path: Path) -> None:
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
    write_machine(path, MACHINE, {}, force=True)
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


def test_names_and_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "published"
    folder.mkdir()
    (folder / "fast.toml").write_text('name = "fast one"')
    (folder / "slow.toml").write_text('name = "slow one"')
    monkeypatch.setattr(machine_file, "_PUBLISHED", folder)
    monkeypatch.chdir(tmp_path)
    assert list(published_machines()) == ["fast", "slow"]
    assert load_machine("fast").name == load_machine(Path("fast")).name == "fast one"
    assert load_machine("published/slow.toml").name == "slow one"
    Path("fast").write_text('name = "mine"')
    assert load_machine("fast").name == "mine"
    with pytest.raises(MachineModelError, match="fast, slow"):
        load_machine("fats")
    with pytest.raises(MachineModelError, match="No such file"):
        load_machine("fast.tml")


@pytest.mark.parametrize(("name", "path"), published_machines().items())
def test_every_number_says_where_it_is_from(name: str, path: Path) -> None:
    machine = load_machine(name)
    assert machine.name
    assert machine.bandwidth is not None
    for parameter in machine.parameters.values():
        assert parameter.source.startswith(("measured", "assumed"))
        assert re.fullmatch(r"(19|20)\d\d", parameter.date) or parameter.source.startswith("assumed")
        assert len(parameter.note) > 20
    # the citation: authors, title, place and year in comments
    comments = " ".join(line[1:] for line in path.read_text().splitlines() if line.startswith("#"))
    assert re.search(r"\b(19|20)\d\d\b", comments)


def test_they_are_listed_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["machine", "list"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in published_machines())
    assert main(["machine", "show", "hpdc18-opa"]) == 0
    shown = capsys.readouterr().out
    assert "57.0 %" in shown
    assert "Figure 7" in shown
    assert main(["machine", "show", "nowhere"]) == 1
    assert "hpdc18-opa" in capsys.readouterr().err


def test_the_cluster_of_the_paper() -> None:
    machine = load_machine("hpdc18-opa")
    assert machine.overlap is not None
    assert machine.overlap.value == 0.57  # Section 6.1.1
    assert machine.overlap.source == "measured"
    assert machine.bandwidth is not None
    # one Omni-Path link; the paper prints no number for B_c
    assert (machine.bandwidth.value, machine.bandwidth.source) == (12.5e9, "assumed")


def test_interconnects_as_cited() -> None:
    fugaku = load_machine("fugaku-tofud")
    assert fugaku.bandwidth is not None
    assert fugaku.latency is not None
    assert (fugaku.bandwidth.value, fugaku.latency.value) == pytest.approx((38.1e9, 0.49e-6))
    summit, myrinet = (load_machine(name).bandwidth for name in ("summit-edr", "myri10g-clos512"))
    assert summit is not None
    assert myrinet is not None
    assert summit.value == 2 * 100e9 / 8
    assert myrinet.value == 0.38 * 10e9 / 8
