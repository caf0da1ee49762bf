from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path

import h5py
import numpy as np
import pytest
from numpy.typing import NDArray

from commanalyzer.foundation.errors import ArtifactError
from commanalyzer.graph.storage.coding import encoded
from commanalyzer.graph.storage.store import GraphStore
from commanalyzer.machine.parameters import Curve, MachineParameters, Parameter
from commanalyzer.report.result.json_document import json_document
from commanalyzer.result.artifacts import SCHEMA, load, save
from commanalyzer.result.results import AnalysisResult
from tests.graphs import assert_same_graph
from tests.samples import sample_decomposition, sample_result, with_hub
from tests.sealed import change, put

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
    assert_same_graph(found.graph, expected.graph)
    for left, right in zip(found.decompositions, expected.decompositions, strict=True):
        assert repr(left) == repr(right)
        np.testing.assert_array_equal(left.part, right.part)
        np.testing.assert_array_equal(left.object_bytes, right.object_bytes)
        one, other = left.communication, right.communication
        for name in ("comm_bytes", "messages", "peer_bytes", "peer_messages"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        assert (one.collectives, one.high_bytes) == (other.collectives, other.high_bytes)
        for name in ("intensity", "imbalance", "efficiency_bound"):
            assert getattr(left, name) == getattr(right, name), name
    for f in fields(AnalysisResult):
        if f.name not in ("store", "decompositions"):
            assert getattr(found, f.name) == getattr(expected, f.name), f.name


SAMPLE = sample_result()
WHOLE = sample_result(
    sample_decomposition(2, bound=0.5),
    sample_decomposition(4, model="hpdc18"),
    with_hub(sample_decomposition(3)),
    machine=MACHINE,
    warnings=("careful",),
    unmodelled=(("qsort", 3),),
)


@pytest.mark.parametrize(
    "result",
    [
        replace(WHOLE, peak_memory_bytes=123),
        replace(SAMPLE, store=GraphStore.empty(), decompositions=()),
        replace(SAMPLE, singletons=None),
        sample_result(replace(sample_decomposition(2), intensity=float("inf"))),
    ],
    ids=["whole", "nothing divided", "singletons not counted", "no work"],
)
def test_round_trip(result: AnalysisResult, tmp_path: Path) -> None:
    path = tmp_path / "r.cmz"
    save(result, path)
    _assert_equal(load(path), result)
    assert list(tmp_path.iterdir()) == [path]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    saved = tmp_path / "r.cmz"
    save(sample_result(), saved)
    return saved


def test_truncated_and_damaged_files_are_refused(path: Path) -> None:
    data = path.read_bytes()
    for end in range(0, len(data) - 1, max(1, len(data) // 50)):
        path.write_bytes(data[:end])
        with pytest.raises(ArtifactError):
            load(path)


def test_changed_array_is_refused(path: Path) -> None:
    with h5py.File(path, "r+") as file:
        piece = file["graph/tables"].id.get_chunk_info(0)
        file["graph/tables"][-1] += 1
    with pytest.raises(ArtifactError, match="it was changed"):
        load(path)
    save(sample_result(), path, force=True)
    entry = [n.to_bytes(32, "little") + piece.byte_offset.to_bytes(8, "little") for n in (piece.size, 0)]
    path.write_bytes(path.read_bytes().replace(entry[0], entry[1]))  # in the index: its bytes, where it lies
    with pytest.raises(ArtifactError, match="expected whole pieces of tables, found an empty one"):
        load(path)


@pytest.mark.parametrize("content", [b"", b"hello", b"\x7fELF" + bytes(100)])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.cmz"
    path.write_bytes(content)
    with pytest.raises(ArtifactError, match="another kind"):
        load(path)


def test_wrong_kind_other_schema_missing_file(path: Path, tmp_path: Path) -> None:
    with h5py.File(path, "r+") as file:
        file.attrs["schema"] = 99
    with pytest.raises(ArtifactError, match="found 99"):
        load(path)
    with h5py.File(path, "r+") as file:
        file.attrs["schema"] = SCHEMA - 1
    with pytest.raises(ArtifactError, match="analyse again"):
        load(path)
    with h5py.File(path, "w") as file:
        file.attrs["kind"] = "photo"
    with pytest.raises(ArtifactError, match="photo"):
        load(path)
    with pytest.raises(ArtifactError, match="No such file"):
        load(tmp_path / "none.cmz")
    with pytest.raises(ArtifactError, match="directory"):
        load(tmp_path)


def _with_column(name: str, values: list[int]) -> AnalysisResult:
    """A result of which one column holds other entries: saving does not look at them."""
    result = sample_result()
    columns = {**result.store.columns, name: encoded(np.array(values, np.int64))}
    return replace(result, store=replace(result.store, columns=columns))


_NAN = int(np.array(np.nan).view(np.int64))


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("home_object", [0, 0, 1]),
        ("home_offset", [0, 8, 1 << 62]),
        ("width_bytes", [8, 0, 8]),
        ("versions", [1, -5, 1]),
        ("is_temporary", [0, 2, 0]),
        ("producer_site", [-1, 1, -1]),
        ("work_flops", [0, _NAN, 0]),
        ("row_sink", [3]),
        ("row_count", [0]),
        ("row_site", [1]),
        ("row_fold", [7]),
        ("row_terms", [3]),
        ("row_terms", [-2]),
        ("term_sources", [2, 1]),
        ("source", [0, -1]),
        ("source_role", [0, 3]),
    ],
)
def test_entries_out_of_range_are_refused(tmp_path: Path, name: str, values: list[int]) -> None:
    save(_with_column(name, values), tmp_path / "r.cmz")
    with pytest.raises(ArtifactError, match=name):
        load(tmp_path / "r.cmz")


@pytest.mark.parametrize(
    "pages", [[[0, 0, 0], [2, 2, 2]], [[0, 0, 0], [1, 3, 2], [1, 2, 2]], [[1, 0, 0], [1, 2, 2]], [[1, 2, 2]]]
)
def test_pages_that_are_not_those_of_the_rows_are_refused(path: Path, pages: list[list[int]]) -> None:
    change(path, lambda file: put(file, "graph/pages", np.array(pages)))
    with pytest.raises(ArtifactError, match="pages"):
        load(path)


def _external(file: h5py.File, secret: Path) -> None:
    size = secret.stat().st_size
    file["graph"].create_dataset("text", (size,), "uint8", external=[(str(secret), 0, size)])


def _virtual(file: h5py.File, secret: Path) -> None:
    layout = h5py.VirtualLayout((4,), "uint8")
    layout[:] = h5py.VirtualSource(str(secret), "text", (4,))
    file["graph"].create_virtual_dataset("text", layout)


def _soft(file: h5py.File, secret: Path) -> None:
    file["graph/text"] = h5py.SoftLink("/header")


def _linked(file: h5py.File, secret: Path) -> None:
    file["graph/text"] = h5py.ExternalLink(str(secret), "/text")


@pytest.mark.parametrize("elsewhere", [_external, _virtual, _soft, _linked])
def test_arrays_elsewhere_are_refused(tmp_path: Path, elsewhere: Callable[[h5py.File, Path], None]) -> None:
    path, secret = tmp_path / "r.cmz", tmp_path / "secret"
    save(sample_result(), path)
    secret.write_text("password")
    with h5py.File(path, "r+") as file:
        del file["graph/text"]
        elsewhere(file, secret)
    with pytest.raises(ArtifactError, match=r"text in the file itself") as caught:
        load(path)
    assert "password" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("header", np.frombuffer(b"{}", np.uint8)),
        ("header", np.frombuffer(b"[" * 100_000, np.uint8)),
        ("graph/sites", np.zeros((1, 8), np.int64)),
        ("graph/objects", np.full((1, 8), -1)),
        ("graph/objects", np.full((1, 8), 1 << 40)),
        ("graph/text", np.array([255], np.uint8)),
        ("graph/text", np.zeros(3)),
        ("decompositions/0/part", np.zeros(2, np.int32)),
        ("decompositions/0/part", np.full(3, 2, np.int32)),
        ("decompositions/0/messages", np.zeros((3, 3), np.int64)),
        ("decompositions/0/comm_bytes", np.full((2, 2), -1)),
        ("decompositions/0/object_bytes", np.zeros(2, np.int64)),
        ("decompositions/1/part", np.zeros(2, np.int32)),
    ],
)
def test_contradictory_arrays_are_refused(path: Path, name: str, array: NDArray[np.generic]) -> None:
    change(path, lambda file: put(file, name, array))
    with pytest.raises(ArtifactError):
        load(path)


@pytest.mark.parametrize("name", ["header", "graph/pages", "decompositions/0/messages"])
def test_nothing_can_be_changed_without_its_digest(path: Path, name: str) -> None:
    with h5py.File(path, "r+") as file:
        array = np.asarray(file[name][...])
        array.flat[1] ^= 1
        put(file, name, array)
    with pytest.raises(ArtifactError):
        load(path)


def test_no_flipped_bit_changes_what_is_read(path: Path) -> None:
    data, document = path.read_bytes(), json_document(sample_result())
    random = np.random.default_rng(1)
    for _ in range(150):
        changed = bytearray(data)
        for bit in random.integers(8 * len(data), size=2).tolist():
            changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        with suppress(ArtifactError):
            assert json_document(load(path)) == document
