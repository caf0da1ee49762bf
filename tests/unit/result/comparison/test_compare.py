import io
import itertools
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from commanalyzer.foundation.errors import ConfigError, MachineModelError
from commanalyzer.report.checking import comparison_document, comparison_text, show_comparison
from commanalyzer.report.result.json_document import json_text
from commanalyzer.report.result.text import make_console, show_result
from commanalyzer.result.comparison.compare import (
    EXACT_PARTS,
    accuracy,
    best_relabelling,
    compare,
    measured_runs,
    parse_times,
    ratio,
    reorder,
)
from commanalyzer.result.results import AnalysisResult, WorkCounts
from tests.counted import counted_from
from tests.samples import sample_decomposition, sample_machine, sample_result

# The sample predicts 40 bytes 0 -> 1 -> 2; the program sent 50 and 20 the other way round.
COUNTED = counted_from(
    np.array([[0, 0, 3], [20, 0, 0], [0, 50, 0]]), np.array([[0, 0, 1], [2, 0, 0], [0, 4, 0]])
)
PREDICTED = sample_result(
    sample_decomposition(3), sample_decomposition(3, method="blocks", best=False, pair_bytes=50)
)


def test_numbers_of_a_comparison() -> None:
    found = compare(PREDICTED, COUNTED)
    assert found.ratio == 80 / 73
    assert found.accuracy == 1 - 7 / 73
    assert found.relabelling.order.tolist() == [2, 1, 0]
    assert found.predicted_bytes.tolist() == [[0, 0, 0], [40, 0, 0], [0, 40, 0]]
    assert found.relabelling.agreement == 2 * (20 + 40) / (80 + 73)
    assert found.largest_differences(9) == [(1, 0, 40, 20), (2, 1, 40, 50), (0, 2, 0, 3)]
    assert found.largest_differences(1) == [(1, 0, 40, 20)]


def test_the_document_of_a_comparison() -> None:
    document = comparison_document(compare(PREDICTED, COUNTED, method="blocks"))
    assert document["schema"] == "commanalyzer.comparison/1"
    assert document["predicted"] == {
        **{"model": "volume", "method": "blocks", "comm_bytes": 100, "messages": 2, "intensity": 20.0},
        "comm_matrix": [[0, 0, 0], [50, 0, 0], [0, 50, 0]],
    }
    assert document["counted"] == {
        **{"part_of_run": "whole run", "comm_bytes": 73, "messages": 7, "intensity": 73 / 5},
        "comm_matrix": [[0, 0, 3], [20, 0, 0], [0, 50, 0]],
    }
    assert document["accuracy"] == 1 - 27 / 73
    assert document["agreement_is_exact"] is True
    assert document["objects"] == [{"name": "u", "function": "", "file": "größe.c", "line": 3, "bytes": 100}]
    assert document["candidates"] == [
        {"model": "volume", "method": "metis cut", "comm_bytes": 80, "accuracy": 1 - 7 / 73},
        {"model": "volume", "method": "blocks", "comm_bytes": 100, "accuracy": 1 - 27 / 73},
    ]


def test_the_text_of_a_comparison() -> None:
    stream = io.StringIO()
    show_comparison(compare(PREDICTED, COUNTED), make_console(stream))
    text = " ".join(stream.getvalue().split())
    assert "Agreement of the matrices per pair of ranks: 78.4 %" in text
    assert "parts that play ranks 0, 1, ...: 2 1 0" in text
    assert "1 -> 0 40 B 20 B +20 B" in text
    assert "u (größe.c:3)" in text


def test_a_comparison_says_whether_the_program_sends_more_than_it_must() -> None:
    found = compare(PREDICTED, COUNTED, method="blocks")  # brackets: 80 to 88 and 100 to 108, counted: 73
    assert found.verdict == (
        "More than it must send? No, as far as is known: the program sends 73 B, 27 B to 35 B (27.0 %) less "
        "than blocks, 7 B to 15 B (8.8 %) less than metis cut, the least found; "
        "ranks that send more than predicted: 0 to 2 (+3 B)."
    )
    assert repr(found).endswith(found.verdict)
    stream = io.StringIO()
    show_comparison(found, make_console(stream), quiet=True)
    assert " ".join(stream.getvalue().split()).endswith(found.verdict)
    document = comparison_document(found)
    assert document["verdict"] == found.verdict and document["is_worse"] is False
    assert document["excess_bytes"] == [-35, -27] and document["excess_bytes_over_least"] == [-15, -7]


@pytest.mark.parametrize(("sent", "is_worse"), [(80, False), (84, None), (88, None), (89, True)])
def test_inside_a_bracket_nothing_is_said(sent: int, is_worse: bool | None) -> None:
    matrix = np.diag([40, sent - 40], 1)
    found = compare(PREDICTED, counted_from(matrix, np.sign(matrix)))
    assert found.is_worse is is_worse
    assert ("? It cannot be said: " in found.verdict) == (is_worse is None)


def test_accuracy_and_ratio_without_counted_bytes() -> None:
    assert accuracy(5, 0) is None and ratio(5, 0) is None
    assert accuracy(95, 100) == 0.95
    assert accuracy(300, 100) == -1.0


def test_wrong_kinds_and_sizes_are_refused() -> None:
    with pytest.raises(ConfigError, match="first result, found a counted MPI run"):
        compare(COUNTED, COUNTED)
    with pytest.raises(ConfigError, match="second result, found a prediction"):
        compare(PREDICTED, PREDICTED)
    with pytest.raises(ConfigError, match="a prediction for 3 nodes, found 2"):
        compare(sample_result(), COUNTED)
    with pytest.raises(ConfigError, match="region loop"):
        compare(PREDICTED, COUNTED, region="loop")


def test_a_counted_run_is_shown_without_invented_numbers() -> None:
    stream = io.StringIO()
    show_result(COUNTED, make_console(stream))
    text = stream.getvalue()
    assert "MPI_Send" in text and "MPI_COMM_WORLD" in text
    assert "nan" not in text and "efficiency" not in text
    assert '"intensity": null, "imbalance": null' in json_text(COUNTED)


Matrix = NDArray[np.int64]


@st.composite
def matrices(draw: st.DrawFn) -> tuple[Matrix, Matrix]:
    p = draw(st.integers(1, 5))
    seed = draw(st.integers(0, 10_000))
    found = np.random.default_rng(seed).integers(0, 9, (2, p, p))
    found[:, np.arange(p), np.arange(p)] = 0
    return found[0], found[1]


def _agreement(predicted: Matrix, counted: Matrix) -> float:
    total = int(predicted.sum() + counted.sum())
    return 2 * int(np.minimum(predicted, counted).sum()) / total if total else 1.0


@given(matrices())
def test_few_parts_get_the_best_of_all_numberings(pair: tuple[Matrix, Matrix]) -> None:
    predicted, counted = pair
    found = best_relabelling(predicted, counted)
    orders = itertools.permutations(range(len(counted)))
    best = max(_agreement(reorder(predicted, np.array(order)), counted) for order in orders)
    assert found.is_exact
    assert found.agreement == best == _agreement(reorder(predicted, found.order), counted)


def _grid(*shape: int) -> Matrix:
    """Neighbours of a grid of blocks send each other 1000 bytes."""
    index = np.arange(int(np.prod(shape))).reshape(shape)
    found = np.zeros((index.size, index.size), dtype=np.int64)
    for axis in range(len(shape)):
        lower = np.moveaxis(index, axis, 0)[:-1].ravel()
        upper = np.moveaxis(index, axis, 0)[1:].ravel()
        found[lower, upper] = found[upper, lower] = 1000
    return found


@pytest.mark.parametrize("shape", [(8,), (4, 4), (3, 3, 3), (27,), (8, 8), (4, 4, 4)])
def test_hidden_numberings_of_grids_are_found(shape: tuple[int, ...]) -> None:
    counted = _grid(*shape)
    p = len(counted)
    assert p > EXACT_PARTS
    hidden = np.random.default_rng(p).permutation(p)
    found = best_relabelling(reorder(counted, hidden), counted)
    assert found.agreement == 1.0
    assert not found.is_exact
    assert sorted(found.order.tolist()) == list(range(p))


def test_parts_keep_their_numbers_where_nothing_is_gained() -> None:
    same = np.array([[0, 5, 0], [5, 0, 5], [0, 5, 0]])
    assert best_relabelling(same, same).order.tolist() == [0, 1, 2]


# R = 1 GFlop/s, B_c = 1 GB/s, no latency
MACHINE = sample_machine(bandwidth=1e9, throughput=1e9, latency=1e-6)

MEASURED_RUN = counted_from(np.array([[0, 160_000], [0, 0]]))


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
    runs = measured_runs(_prediction(), MEASURED_RUN.best(2), {2: 700e-6, 4: 400e-6}, MACHINE)
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
    runs = measured_runs(_prediction(), MEASURED_RUN.best(2), {1: 2e-3, 2: 1.2e-3}, MACHINE)
    assert runs.machine.throughput is not None
    assert runs.machine.throughput.value == pytest.approx(5e8)
    one, two = runs.points
    assert (one.efficiency, one.reached) == (1.0, 1.0)
    assert two.serial_s == pytest.approx(2e-3)
    assert two.bound.time_s == pytest.approx(1.061e-3)
    assert runs.remarks == ()


def test_wrong_units_are_noticed() -> None:
    (remark,) = measured_runs(_prediction(), MEASURED_RUN.best(2), {1: 1.0, 2: 0.6}, MACHINE).remarks
    assert "0.001 times the throughput" in remark
    (remark,) = measured_runs(_prediction(), MEASURED_RUN.best(2), {2: 300e-6}, MACHINE).remarks
    assert "faster (300 us) than the bound allows (561 us)" in remark


def test_refused() -> None:
    with pytest.raises(ConfigError, match="found 3 ") as caught:
        measured_runs(_prediction(), MEASURED_RUN.best(2), {3: 1.0}, MACHINE)
    assert "--nodes 3" in caught.value.hint
    with pytest.raises(MachineModelError, match="no bandwidth"):
        measured_runs(_prediction(), MEASURED_RUN.best(2), {2: 1.0})


def test_text_and_document() -> None:
    stream = io.StringIO()
    comparison = _prediction().compare(MEASURED_RUN, times="1=1ms,2=700us,4=400us", machine=MACHINE)
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
    assert "measured" not in json.loads(comparison_text(_prediction().compare(MEASURED_RUN)))
