from __future__ import annotations

import errno
from dataclasses import fields, replace
from pathlib import Path

import h5py
import numpy as np
import pytest

from commanalyzer.artifacts import load, save
from commanalyzer.errors import ArtifactError
from commanalyzer.machine.curves import Curve
from commanalyzer.machine.parameters import MachineParameters, Parameter
from commanalyzer.report.json_document import json_document
from commanalyzer.results import AnalysisResult
from commanalyzer.vcg.graph import ValueGraph, empty_graph
from commanalyzer.vcg.store import GraphStore
from tests.samples import sample_decomposition, sample_result, with_hub

MACHINE = MachineParameters(
    "m",
    bandwidth=Parameter(1e9, "B/s", "measured", "2026-01-01", "n"),
    overlap=Parameter(0.5, "1", curve=Curve((2.0,), (8.0, 1e6), (0.1, 0.7))),
    latency=Parameter(1.5e-6, "s"),
    message_overhead=Parameter(3e-7, "s"),
    gap=Parameter(1e-7, "s"),
    allreduce=Parameter(1e-5, "s", curve=Curve((2.0, 4.0), (), (1e-5, 2e-5))),
    bcast=Parameter(1e-5, "s"),
)


def _assert_equal(found: AnalysisResult, expected: AnalysisResult) -> None:
    for f in fields(ValueGraph):
        left, right = getattr(found.graph, f.name), getattr(expected.graph, f.name)
        if isinstance(right, np.ndarray):
            np.testing.assert_array_equal(left, right)
            assert left.dtype == right.dtype
        else:
            assert left == right
    for left, right in zip(found.decompositions, expected.decompositions, strict=True):
        assert repr(left) == repr(right)
        np.testing.assert_array_equal(left.part, right.part)
        np.testing.assert_array_equal(left.object_bytes, right.object_bytes)
        np.testing.assert_array_equal(left.communication.comm_bytes, right.communication.comm_bytes)
        np.testing.assert_array_equal(left.communication.messages, right.communication.messages)
        np.testing.assert_array_equal(left.communication.peer_bytes, right.communication.peer_bytes)
        np.testing.assert_array_equal(left.communication.peer_messages, right.communication.peer_messages)
        assert left.communication.collectives == right.communication.collectives
        assert left.communication.high_bytes == right.communication.high_bytes
        assert (left.intensity, left.imbalance, left.efficiency_bound) == (
            right.intensity,
            right.imbalance,
            right.efficiency_bound,
        )
    for f in fields(AnalysisResult):
        if f.name not in ("store", "decompositions"):
            assert getattr(found, f.name) == getattr(expected, f.name), f.name


def test_round_trip(tmp_path: Path) -> None:
    result = sample_result(
        sample_decomposition(2, bound=0.5),
        sample_decomposition(4, model="hpdc18"),
        with_hub(sample_decomposition(3)),
        machine=MACHINE,
        warnings=("careful",),
        unmodelled=(("qsort", 3),),
    )
    result = replace(result, peak_memory_bytes=123)
    path = tmp_path / "r.cmz"
    save(result, path)
    _assert_equal(load(path), result)
    assert list(tmp_path.iterdir()) == [path]


def test_round_trip_without_decompositions_objects_and_sites(tmp_path: Path) -> None:
    result = replace(sample_result(), store=GraphStore.of(empty_graph()), decompositions=())
    save(result, tmp_path / "r.cmz")
    _assert_equal(load(tmp_path / "r.cmz"), result)


def test_round_trip_of_a_graph_without_singletons_counted(tmp_path: Path) -> None:
    result = replace(sample_result(), singletons=None)
    save(result, tmp_path / "r.cmz")
    _assert_equal(load(tmp_path / "r.cmz"), result)
    assert json_document(result)["singletons"] is None


def test_infinite_intensity_survives(tmp_path: Path) -> None:
    item = replace(sample_decomposition(2), intensity=float("inf"))
    save(sample_result(item), tmp_path / "r.cmz")
    assert load(tmp_path / "r.cmz").best(2).intensity == float("inf")


def test_no_overwrite_without_force(tmp_path: Path) -> None:
    path = tmp_path / "r.cmz"
    path.write_text("precious")
    with pytest.raises(ArtifactError) as caught:
        save(sample_result(), path)
    assert "--force" in caught.value.hint
    assert path.read_text() == "precious"
    save(sample_result(), path, force=True)
    assert load(path).program == "größe.c"


def test_truncated_and_damaged_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.cmz"
    save(sample_result(), path)
    data = path.read_bytes()
    step = max(1, len(data) // 50)
    for end in range(0, len(data) - 1, step):
        path.write_bytes(data[:end])
        with pytest.raises(ArtifactError):
            load(path)


def test_changed_array_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.cmz"
    save(sample_result(), path)
    with h5py.File(path, "r+") as file:
        file["graph/tables"][-1] += 1
    with pytest.raises(ArtifactError, match="source_role was changed"):
        load(path)


def test_files_with_plain_arrays_are_read(tmp_path: Path) -> None:
    """Schema 2 had one dataset per array of the graph, schema 1 no temporaries."""
    path, result = tmp_path / "r.cmz", sample_result()
    save(result, path)
    with h5py.File(path, "r+") as file:
        del file["graph/columns"], file["graph/pages"], file["graph/tables"]
        for f in fields(ValueGraph):
            value = getattr(result.graph, f.name)
            if isinstance(value, np.ndarray) and f.name != "is_temporary":
                file["graph"].create_dataset(f.name, data=value)
        file.attrs["schema"] = 1
    _assert_equal(load(path), result)
    with h5py.File(path, "r+") as file:
        file["graph/row_sink"][...] = 99
    with pytest.raises(ArtifactError, match="row_sink"):
        load(path)


@pytest.mark.parametrize("content", [b"", b"hello", b"\x7fELF" + bytes(100)])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.cmz"
    path.write_bytes(content)
    with pytest.raises(ArtifactError, match="another kind"):
        load(path)


def test_wrong_kind_newer_schema_missing_file(tmp_path: Path) -> None:
    path = tmp_path / "r.cmz"
    save(sample_result(), path)
    with h5py.File(path, "r+") as file:
        file.attrs["schema"] = 99
    with pytest.raises(ArtifactError, match="found 99"):
        load(path)
    with h5py.File(path, "w") as file:
        file.attrs["kind"] = "photo"
    with pytest.raises(ArtifactError, match="photo"):
        load(path)
    with pytest.raises(ArtifactError, match="No such file"):
        load(tmp_path / "none.cmz")
    with pytest.raises(ArtifactError, match="directory"):
        load(tmp_path)


def test_failed_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_args: object, **_options: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(h5py.Group, "create_dataset", full)
    with pytest.raises(ArtifactError, match="No space left"):
        save(sample_result(), tmp_path / "r.cmz")
    assert list(tmp_path.iterdir()) == []


def test_missing_directory(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="existing directory"):
        save(sample_result(), tmp_path / "none" / "r.cmz")
