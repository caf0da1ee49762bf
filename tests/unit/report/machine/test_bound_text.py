import io
import json
from dataclasses import replace

from commanalyzer.machine.parameters import Curve, MachineParameters, Parameter
from commanalyzer.report.machine import bound_text, show_bound
from commanalyzer.report.result.text import make_console
from commanalyzer.result.results import AnalysisResult, WorkCounts
from tests.samples import sample_decomposition, sample_result

BANDWIDTH = Parameter(1e9, "B/s", "measured", curve=Curve((2.0,), (), (1e9,)))
MACHINE = MachineParameters("cluster A", BANDWIDTH, throughput=Parameter(1e9, "Flop/s"))


def _result() -> AnalysisResult:
    """1 ms of work; every node sends 60 kB to the next."""
    items = [replace(sample_decomposition(p, pair_bytes=60_000), imbalance=1.0) for p in (2, 4, 16)]
    return replace(sample_result(*items), work=WorkCounts(1_000_000, 0, 0, 0))


def _shown(machine: MachineParameters, efficiency: float, *, quiet: bool = False) -> str:
    stream = io.StringIO()
    result = replace(_result(), program="heat.c", warnings=("in doubt",))
    show_bound(result.bound(machine), result, efficiency, make_console(stream), quiet=quiet)
    return " ".join(stream.getvalue().replace("│", " ").split())


def test_table() -> None:
    text = _shown(MACHINE, 0.8)
    assert "heat.c, 1 MFlop, on cluster A, bandwidth 1 GB/s and more (measured), throughput 1 GFlop/s" in text
    # p = 4: 250 us + 60 us; Eq. 4: 1 / (1 + 180 us / 1 ms)
    assert "4 metis cut 84.7 % 80.6 %" in text
    assert "3.23 310 us 60 us (bandwidth) computation" in text
    # p = 16: 62.5 + 60 us; T_o / T_1 is 0.24 at 4 nodes and 0.96 at 16: 0.25 still at 4
    assert "an efficiency of 80.0 % at best: 4 (analysed)" in text
    assert "Shortest time: 122 us on 16 nodes, 8.16 times faster than one" in text
    assert "bandwidth was not measured as far as 16 nodes" in text
    assert "no latency is known" in text and "warning: in doubt" in text
    # twice the bandwidth at 16 nodes: 62.5 + 30 us
    assert "67.6 %, x 0.76" in text


def test_other_answers() -> None:
    assert "No analysed node count has an efficiency of 99.9 %" in _shown(MACHINE, 0.999)
    assert "at best: 16 (analysed); more were not analysed" in _shown(MACHINE, 0.1)
    assert "at best: 4 (analysed), about 8 (interpolated)" in _shown(MACHINE, 0.67)
    assert "cluster A" not in _shown(MACHINE, 0.8, quiet=True)
    assert "no latency" not in _shown(MACHINE.updated(latency=Parameter(1e-6, "s")), 0.8)


def test_document() -> None:
    document = json.loads(bound_text(_result().bound(MACHINE), _result(), 0.8))
    assert document["schema"] == "commanalyzer.bound/1"
    assert document["provenance"]["inputs"] == [{"path": "größe.c", "sha256": "00ff"}]
    assert [point["nodes"] for point in document["points"]] == [1, 2, 4, 16]
    assert document["points"][2]["latency_aware"]["method"] == "metis cut"
    assert round(document["points"][2]["latency_aware"]["time_s"] * 1e6, 6) == 310
    assert document["points"][3]["network"]["extrapolated"] == ["bandwidth"]
    assert document["largest_nodes"] == 4
    assert len(document["changes"]) == 9
