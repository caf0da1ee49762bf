import io
from pathlib import Path

import numpy as np
import pytest

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.report.checking import comparison_document, show_comparison
from commanalyzer.report.result.json_document import json_text
from commanalyzer.report.result.text import make_console, show_result
from commanalyzer.result.artifacts import load, save
from commanalyzer.result.comparison.compare import accuracy, compare, ratio
from tests.counted import counted_from
from tests.samples import sample_decomposition, sample_result

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


def test_a_counted_run_survives_saving(tmp_path: Path) -> None:
    path = tmp_path / "counted.cmz"
    save(COUNTED, path)
    found = load(path)
    assert found.counted == COUNTED.counted
    assert found.matrix(3).tolist() == COUNTED.matrix(3).tolist()
    assert found.graph.num_vertices == 0


def test_a_counted_run_is_shown_without_invented_numbers() -> None:
    stream = io.StringIO()
    show_result(COUNTED, make_console(stream))
    text = stream.getvalue()
    assert "MPI_Send" in text and "MPI_COMM_WORLD" in text
    assert "nan" not in text and "efficiency" not in text
    assert '"intensity": null, "imbalance": null' in json_text(COUNTED)
