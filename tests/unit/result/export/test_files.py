"""Exports: every file is read back by an independent reader."""

import csv
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest
from scipy.io import mmread

from commanalyzer.communication.matrix import Communication
from commanalyzer.division.coarsening.coarse import build_by_value
from commanalyzer.foundation.errors import ArtifactError, FitError
from commanalyzer.result.export import files
from commanalyzer.result.export.files import Measurement, write_extrap, write_extrap_text
from commanalyzer.scaling.laws.document import import_models, measurements, second_opinion
from commanalyzer.scaling.laws.formula import law_text
from tests.counts import count_volume
from tests.graphs import build, folded, grid, grid_parts, row


@pytest.fixture(name="communication")
def _communication() -> Communication:
    return count_volume(grid(8, count=3), grid_parts(8, 2, 2), 4)


def test_metis_graph(tmp_path: Path) -> None:
    g = build(4, [row(1, 0, count=2), row(2, 1)], widths={0: 4}, inputs=[0], work={1: 2.0, 2: 2.0})
    path = tmp_path / "a.graph"
    files.write_metis_graph(path, build_by_value(g, np.zeros(4, dtype=np.bool_)).adjacency)
    # Vertex weights 1 (no work) or 1000 (mean work); 0-1: one version of 4 bytes; 1-2: a use of 8; 3: alone.
    assert path.read_text().splitlines() == ["4 2 011", "1 2 4", "1000 1 4 3 8", "1000 2 8", "1"]


def test_hypergraph_of_values_and_reductions(tmp_path: Path) -> None:
    # 0 is read by 1 and 2 (three versions, at most two uses each); 3 = 1 + 2.
    g = build(4, [row(0, count=3), row(1, 0, count=2), row(2, 0), folded(3, [1], [2])], widths={3: 4})
    path = tmp_path / "a.hgr"
    files.write_hmetis(path, g)
    lines = path.read_text().splitlines()
    assert lines == ["2 4 11", "16 1 2 3", "4 2 3 4", "1", "1", "1", "1"]
    files.write_hmetis(tmp_path / "a.hgr", build(2, []))
    assert (tmp_path / "a.hgr").read_text() == "0 2 11\n1\n1\n"


def test_connectivity_of_expand_nets_is_the_volume() -> None:
    g, part = grid(8, count=3), grid_parts(8, 2, 2)
    weight, pointer, pins = files.hypergraph_nets(g)
    cost = sum(
        int(w) * (len(set(part[pins[a:b]].tolist())) - 1)
        for w, a, b in zip(weight, pointer[:-1], pointer[1:], strict=True)
    )
    assert cost == count_volume(g, part, 4).total_bytes == 4 * 8 * 8 * 3


def test_matrix_market(tmp_path: Path, communication: Communication) -> None:
    path = tmp_path / "m.mtx"
    files.write_matrix_market(path, communication)
    assert path.read_text().startswith("%%MatrixMarket matrix coordinate integer general\n")
    assert mmread(path).toarray().tolist() == communication.comm_bytes.tolist()


def test_matrix_csv(tmp_path: Path, communication: Communication) -> None:
    path = tmp_path / "m.csv"
    files.write_matrix_csv(path, communication)
    with path.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    back = np.zeros((4, 4), dtype=np.int64)
    messages = np.zeros((4, 4), dtype=np.int64)
    for r in rows:
        back[int(r["sender"]), int(r["receiver"])] = int(r["bytes"])
        messages[int(r["sender"]), int(r["receiver"])] = int(r["messages"])
    assert back.tolist() == communication.comm_bytes.tolist()
    assert messages.tolist() == communication.messages.tolist()


def test_graphml(tmp_path: Path, communication: Communication) -> None:
    path = tmp_path / "m.graphml"
    files.write_graphml(path, communication, np.array([1.0, 2.0, 3.0, 4.5]))
    back = networkx.read_graphml(path, node_type=int)
    assert dict(back.nodes(data="work_flops")) == {0: 1.0, 1: 2.0, 2: 3.0, 3: 4.5}
    assert back[0][1] == {"bytes": int(communication.comm_bytes[0, 1]), "messages": 3}
    assert back.number_of_edges() == np.count_nonzero(communication.comm_bytes)
    with pytest.raises(ArtifactError, match="work of 4 parts, found 2"):
        files.write_graphml(tmp_path / "m.graphml", communication, np.zeros(2))


POINTS = [
    Measurement({"p": p, "n": 256}, ["main", "halo"], "comm_bytes", [10.0 * p, 11.0 * p]) for p in (4, 16)
]


def test_json_lines(tmp_path: Path) -> None:
    write_extrap(tmp_path / "a.jsonl", POINTS)
    head = '{"params": {"p": %d, "n": 256}, "callpath": "main->halo", "metric": "comm_bytes", "value": %s}'
    expected = [head % (4, "[40.0, 44.0]"), head % (16, "[160.0, 176.0]")]
    assert (tmp_path / "a.jsonl").read_text() == "\n".join(expected) + "\n"


def test_text(tmp_path: Path) -> None:
    more = [Measurement(m.parameters, ["main"], "messages", [3.0]) for m in POINTS]
    write_extrap_text(tmp_path / "a.txt", [*POINTS, *more])
    assert (tmp_path / "a.txt").read_text().splitlines() == [
        *("PARAMETER p n", "POINTS (4 256) (16 256)"),
        *("METRIC comm_bytes", "REGION main->halo", "DATA 40.0 44.0", "DATA 160.0 176.0"),
        *("METRIC messages", "REGION main", "DATA 3.0", "DATA 3.0"),
    ]
    write_extrap_text(tmp_path / "a.txt", [Measurement({"p": p}, ["main"], "b", [1.0]) for p in (2.0, 4.5)])
    assert (tmp_path / "a.txt").read_text().splitlines()[:2] == ["PARAMETER p", "POINTS 2 4.5"]


def test_what_text_cannot_hold(tmp_path: Path) -> None:
    other = Measurement({"p": 64, "n": 256}, ["main"], "messages", [3.0])
    with pytest.raises(ArtifactError, match="the same points"):
        write_extrap_text(tmp_path / "a.txt", [*POINTS, other])
    five = Measurement(dict.fromkeys("abcde", 1.0), ["main"], "m", [1.0])
    with pytest.raises(ArtifactError, match="at most 4 parameters"):
        write_extrap_text(tmp_path / "a.txt", [five])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([Measurement({"q": 1}, ["main"], "m", [1.0])], "expected parameters"),
        ([Measurement({"p": 1}, ["a->b"], "m", [1.0])], "names without '->'"),
        ([Measurement({"p": 1}, [], "m", [1.0])], "needs names"),
        ([Measurement({"p": 1}, ["main"], "m", [])], "has no value"),
        ([], "found none"),
    ],
)
@pytest.mark.parametrize("write", [write_extrap, write_extrap_text])
def test_what_no_file_can_hold(
    tmp_path: Path, write: Callable[..., None], wrong: list[Measurement], message: str
) -> None:
    good = [Measurement({"p": 1}, ["main"], "m", [1.0])] if wrong else []
    with pytest.raises(ArtifactError, match=message):
        write(tmp_path / "a.txt", [*good, *wrong])
    assert list(tmp_path.iterdir()) == []


def _experiment(path: Path, constant: float, compound: dict[str, Any], parameters: list[str]) -> Path:
    function = {"constant_coefficient": constant, "compound_terms": [compound]}
    rows = [
        {"coordinate": [4.0, 16.0][: len(parameters)], "mean": 1.0},
        {"coordinate": [64.0, 96.0][: len(parameters)]},
    ]
    document = {
        "Extra-P": "4.2.5",
        "parameters": parameters,
        "measurements": {"main": {"comm_bytes": rows}},
        "modelers": [
            {"models": {"main": {"comm_bytes": {"hypothesis": {"function": function, "SMAPE": 3.0}}}}}
        ],
    }
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("experiment.json", json.dumps(document))
    return path


def _simple(kind: str, exponent: str) -> dict[str, str]:
    return {"term_type": kind, "exponent": exponent}


def test_models_of_several_parameters_are_imported(tmp_path: Path) -> None:
    halves = {"coefficient": 2.0, "simple_terms": [_simple("polynomial", "1/2"), _simple("logarithm", "1")]}
    one = {"coefficient": 1.0, "simple_terms": [_simple("polynomial", "1")]}
    compound = {"coefficient": 3.0, "parameter_term_pairs": {"0": halves, "1": one}}
    (law,) = import_models(_experiment(tmp_path / "m.extra-p", 5.0, compound, ["p", "n"]))
    assert law_text(law) == "6 n sqrt(p) log2(p) + 5"
    assert law.predict({"p": 16.0, "n": 10.0})[0] == pytest.approx(5 + 6 * 10 * 4 * 4)
    assert (law.lowest, law.highest, law.num_points) == ((4.0, 16.0), (64.0, 96.0), 2)


def test_models_of_one_parameter_are_imported(tmp_path: Path) -> None:
    compound = {"coefficient": 4.0, "simple_terms": [_simple("polynomial", "-1/3")]}
    path = _experiment(tmp_path / "m.extra-p", 0.0, compound, ["p"])
    assert law_text(import_models(path)[0]) == "4 p^(-1/3)"


def test_other_files_are_refused(tmp_path: Path) -> None:
    plain = tmp_path / "a.extra-p"
    plain.write_text("no archive")
    with pytest.raises(ArtifactError, match="Extra-P 4 experiment"):
        import_models(plain)
    with pytest.raises(ArtifactError, match="No such file"):
        import_models(tmp_path / "none.extra-p")
    strange = {"coefficient": 4.0, "simple_terms": [_simple("sine", "1")]}
    path = _experiment(tmp_path / "m.extra-p", 0.0, strange, ["p"])
    with pytest.raises(ArtifactError, match="no function of kind 'sine'"):
        import_models(path)


def test_an_extra_p_that_fails_says_why(tmp_path: Path) -> None:
    x, y = np.array([[2.0], [4.0]]), {"comm_bytes": np.array([1.0, 2.0])}
    with pytest.raises(FitError, match="to run"):
        second_opinion(str(tmp_path / "extrap"), x, ["p"], y)
    program = tmp_path / "extrap"
    program.write_text("#!/bin/sh\necho no such option >&2\nexit 4\n")
    program.chmod(0o755)
    with pytest.raises(FitError, match="status 4: no such option"):
        second_opinion(str(program), x, ["p"], y)


def test_measurements_keep_the_order_of_points() -> None:
    found = measurements(np.array([[4.0, 2.0], [8.0, 3.0]]), ["p", "n"], {"b": np.array([5.0, 6.0])})
    assert [(dict(m.parameters), m.metric, m.values) for m in found] == [
        ({"p": 4.0, "n": 2.0}, "b", [5.0]),
        ({"p": 8.0, "n": 3.0}, "b", [6.0]),
    ]
