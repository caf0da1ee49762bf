import re
from pathlib import Path

import pytest

from commanalyzer.cli.main import main
from commanalyzer.machine.machine_file import load_machine, published_machines


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
