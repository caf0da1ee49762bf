import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from commanalyzer.foundation.errors import ConfigError, MachineModelError
from commanalyzer.report.checking import comparison_text, show_comparison
from commanalyzer.report.result.text import make_console
from commanalyzer.result.comparison.compare import measured_runs, parse_times
from commanalyzer.result.results import AnalysisResult, WorkCounts
from tests.counted import counted_from
from tests.samples import sample_decomposition, sample_machine, sample_result

# R = 1 GFlop/s, B_c = 1 GB/s, no latency
MACHINE = sample_machine(bandwidth=1e9, throughput=1e9, latency=1e-6)

COUNTED = counted_from(np.array([[0, 160_000], [0, 0]]))


def _prediction() -> AnalysisResult:
    """1 ms of work; node 0 sends 60 kB to node 1, and with four nodes also 1 to 2 and 2 to 3."""
    items = [sample_decomposition(p, pair_bytes=60_000) for p in (2, 4)]
    return replace(sample_result(*items), work=WorkCounts(1_000_000, 0, 0, 0))


@pytest.mark.parametrize("text", ["1=10.2s,4=800ms, 2 = 5.5", "times.csv"])
def test_times(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("times.csv").write_text("nodes,seconds\n1, 10.2\n\n2,5.5 # second try\n4,0.8\n")
    assert parse_times(text) == {1: 10.2, 2: 5.5, 4: 0.8}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("4", "4"),
        ("none.csv", "none.csv"),
        ("4=", "4="),
        ("x=1", "x=1"),
        ("0=1s", "0=1s"),
        ("2=0", "2=0"),
        ("2=-1", "2=-1"),
        ("2=5GB", "2=5GB"),
        ("2=1,2=2", "2 twice"),
    ],
)
def test_times_refused(text: str, found: str) -> None:
    with pytest.raises(ConfigError, match=found):
        parse_times(text)


def test_gap_by_hand() -> None:
    # Sent in one direction on 2 nodes: bound 500 + 60 + 1 us. Of the counted run only the mean node is
    # known: it sends 80 kB in half a message, so it must take 500 + 80.5 us.
    runs = measured_runs(_prediction(), COUNTED.best(2), {2: 700e-6, 4: 400e-6}, MACHINE)
    two, four = runs.points
    assert two.efficiency == pytest.approx(1000 / 1400)
    assert two.bound.time_s == pytest.approx(561e-6)
    assert two.reached == pytest.approx(561 / 700)
    assert two.counted_s == pytest.approx(580.5e-6)
    assert two.traffic_excess_s == pytest.approx(19.5e-6)
    assert two.other_excess_s == pytest.approx(119.5e-6)
    # 250 + 60 us, and 1 us for the streams; that run was not counted
    assert four.bound.time_s == pytest.approx(311e-6)
    assert four.traffic_excess_s is None
    assert four.other_excess_s == pytest.approx(89e-6)
    assert runs.remarks == ()


def test_time_on_one_node_is_the_throughput() -> None:
    runs = measured_runs(_prediction(), COUNTED.best(2), {1: 2e-3, 2: 1.2e-3}, MACHINE)
    assert runs.machine.throughput is not None
    assert runs.machine.throughput.value == pytest.approx(5e8)
    one, two = runs.points
    assert (one.efficiency, one.reached) == (1.0, 1.0)
    assert two.serial_s == pytest.approx(2e-3)
    assert two.bound.time_s == pytest.approx(1.061e-3)
    assert runs.remarks == ()


def test_wrong_units_are_noticed() -> None:
    (remark,) = measured_runs(_prediction(), COUNTED.best(2), {1: 1.0, 2: 0.6}, MACHINE).remarks
    assert "0.001 times the throughput" in remark
    (remark,) = measured_runs(_prediction(), COUNTED.best(2), {2: 300e-6}, MACHINE).remarks
    assert "faster (300 us) than the bound allows (561 us)" in remark


def test_refused() -> None:
    with pytest.raises(ConfigError, match="found 3 ") as caught:
        measured_runs(_prediction(), COUNTED.best(2), {3: 1.0}, MACHINE)
    assert "--nodes 3" in caught.value.hint
    with pytest.raises(MachineModelError, match="no bandwidth"):
        measured_runs(_prediction(), COUNTED.best(2), {2: 1.0})


def test_text_and_document() -> None:
    stream = io.StringIO()
    comparison = _prediction().compare(COUNTED, times="1=1ms,2=700us,4=400us", machine=MACHINE)
    show_comparison(comparison, make_console(stream), quiet=True)
    text = stream.getvalue()
    assert "80.1 %" in text
    assert "19.5 us," in text
    assert "not counted, 89 us" in text
    entries = json.loads(comparison_text(comparison))["measured"]
    assert [entry["nodes"] for entry in entries] == [1, 2, 4]
    assert entries[1]["traffic_excess_s"] == pytest.approx(19.5e-6)
    reached = "100.0 % on 1, 80.1 % on 2, 77.8 % on 4"
    assert repr(comparison.measured) == f"MeasuredRuns(of the bound is reached: {reached})"
    assert "measured" not in json.loads(comparison_text(_prediction().compare(COUNTED)))
