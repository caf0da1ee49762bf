"""Bounds and tables of a result in Python."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from commanalyzer.foundation.errors import ConfigError, MachineModelError
from commanalyzer.machine.parameters import MachineParameters, Parameter
from commanalyzer.result.results import WorkCounts
from tests.samples import sample_decomposition, sample_result

RESULT = replace(
    sample_result(
        sample_decomposition(2, pair_bytes=60_000),
        sample_decomposition(2, pair_bytes=90_000, method="blocks", best=False),
        sample_decomposition(2, pair_bytes=30_000, model="hpdc18"),
        sample_decomposition(4, pair_bytes=60_000, bound=0.5),
        machine=MachineParameters("m", throughput=Parameter(1e9, "Flop/s", "measured")),
    ),
    work=WorkCounts(1_000_000, 0, 0, 0),
)


def test_frame() -> None:
    pytest.importorskip("pandas")
    frame = RESULT.to_frame()
    assert frame["nodes"].tolist() == [2, 2, 2, 4]
    assert frame["comm_bytes"].tolist() == [60_000, 90_000, 30_000, 180_000]
    assert frame[frame.best & (frame.model == "volume")]["messages"].tolist() == [1, 3]
    assert frame["neighbours_max"].tolist() == [1, 1, 1, 2]
    assert frame["efficiency_bound"].isna().tolist() == [True, True, True, False]


def test_frame_without_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ConfigError) as caught:
        RESULT.to_frame()
    assert "pip install" in caught.value.hint


def test_bound_of_a_machine_file(tmp_path: Path) -> None:
    file = tmp_path / "m.toml"
    file.write_text('bandwidth = "1GB/s"')
    found = RESULT.bound(file)
    # 500 us + 60 us with the throughput that the analysis measured
    assert [p.num_nodes for p in found.points] == [1, 2, 4]
    assert found.points[1].time_s == pytest.approx(560e-6)
    assert found.points[1].method == "metis cut"
    fewer = RESULT.bound(file, nodes=[2], method="blocks")
    assert fewer.points[-1].time_s == pytest.approx(590e-6)
    # the paper's model does not tell hubs apart: its mean node sends 15 kB
    assert RESULT.bound(file, model="hpdc18").points[-1].time_s == pytest.approx(515e-6)


def test_bound_refused() -> None:
    machine = MachineParameters(bandwidth=Parameter(1e9, "B/s"))
    with pytest.raises(ConfigError, match="found a request for 3"):
        RESULT.bound(machine, nodes=[1, 3])
    with pytest.raises(ConfigError, match="found volume spirals"):
        RESULT.bound(machine, method="spirals")
    with pytest.raises(MachineModelError, match="no bandwidth"):
        RESULT.bound()
