"""Exports: every file is read back by an independent reader."""

import csv
from pathlib import Path

import networkx
import numpy as np
import pytest
from scipy.io import mmread

from commanalyzer.communication.matrix import Communication
from commanalyzer.communication.volume import count_volume
from commanalyzer.division.coarsening.coarse import build_by_value
from commanalyzer.foundation.errors import ArtifactError
from commanalyzer.result.export import files
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


def test_empty_hypergraph(tmp_path: Path) -> None:
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


def test_graphml_needs_the_work_of_every_part(tmp_path: Path, communication: Communication) -> None:
    with pytest.raises(ArtifactError, match="work of 4 parts, found 2"):
        files.write_graphml(tmp_path / "m.graphml", communication, np.zeros(2))
