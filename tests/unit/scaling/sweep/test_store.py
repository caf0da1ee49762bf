import multiprocessing
from pathlib import Path

import pytest

from commanalyzer.foundation.errors import ArtifactError, CompileError, ConfigError
from commanalyzer.scaling.sweep import store
from tests.unit.scaling.sweep.records import record


@pytest.fixture
def directory(tmp_path: Path) -> store.SweepDirectory:
    made = store.SweepDirectory(tmp_path / "out")
    made.create()
    return made


def finish(directory: store.SweepDirectory, found: store.PointRecord) -> None:
    directory.result_path(found.key).touch()
    directory.write_record(found)


def test_records_come_back(directory: store.SweepDirectory) -> None:
    failed = store.PointRecord(
        "k-1", {"n": "4"}, store.point_error(CompileError("no", where="a.c", hint="fix")), wall_s=0.5
    )
    directory.write_record(failed)
    assert directory.record("k-1") == failed and not failed.is_finished
    done = record(8)
    directory.write_record(done)
    assert directory.record(done.key) is None, "its result is missing"
    finish(directory, done)
    assert directory.record(done.key) == done
    assert directory.finished_recording("0008") == done
    assert directory.finished_recording("k") is None and directory.finished_recording("000") is None


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"kind": "commanalyzer.sweep.point", "schema": 1}', '{"kind": 3}']
)
def test_a_damaged_record_is_no_record(directory: store.SweepDirectory, text: str) -> None:
    finish(directory, record(8))
    directory.record_path("0008-0").write_text(text)
    assert directory.record("0008-0") is None


def test_directories_of_others_are_not_touched(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(ConfigError, match="found another one with files"):
        store.SweepDirectory(tmp_path).create()
    with pytest.raises(ConfigError, match="found another one with files"):
        store.SweepDirectory(tmp_path / "thesis.tex").create()
    with pytest.raises(ConfigError, match="Not a directory"):
        store.SweepDirectory(tmp_path / "thesis.tex" / "out").create()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["thesis.tex"]


def test_two_sweeps_do_not_share_a_directory(directory: store.SweepDirectory) -> None:
    with directory.locked():
        for shared in (False, True):
            with pytest.raises(ConfigError, match="found one in use"), directory.locked(shared=shared):
                pass
    with (
        directory.locked(shared=True),
        directory.locked(shared=True),
        pytest.raises(ConfigError, match="found one in use"),
        directory.locked(),
    ):
        pass


def hold(path: Path, ready: str) -> None:
    with store.SweepDirectory(path).locked():
        Path(ready).touch()
        multiprocessing.Event().wait()


def test_a_killed_sweep_holds_no_lock(directory: store.SweepDirectory, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    process = multiprocessing.get_context("fork").Process(target=hold, args=(directory.path, str(ready)))
    process.start()
    while not ready.exists():
        process.join(0.01)
    with pytest.raises(ConfigError, match="in use"), directory.locked():
        pass
    process.kill()
    process.join()
    with directory.locked():
        pass


def plan() -> store.SweepPlan:
    points = tuple(store.PlannedPoint(f"{n:04d}-0", {"n": str(n)}) for n in (8, 16, 32))
    return store.SweepPlan({"seed": 1}, ("sweep", "a.c"), ("n",), (4,), ("volume",), points)


def test_state_and_table_are_views_of_the_records(directory: store.SweepDirectory) -> None:
    finish(directory, record(16))
    directory.write_record(store.PointRecord("0008-0", {"n": "8"}, store.point_error(MemoryError())))
    outcome = store.outcome_of(directory, plan())
    assert (len(outcome.failed), outcome.num_waiting, outcome.is_complete) == (1, 1, False)
    store.write_outcome(directory, outcome)
    assert store.read_outcome(directory) == outcome
    assert store.read_outcome(directory).table.column("n").tolist() == [16.0]
    finish(directory, record(8))
    finish(directory, record(32))
    complete = store.read_outcome(directory)
    assert complete.is_complete and complete.table.column("n").tolist() == [8.0, 16.0, 32.0]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "no JSON"),
        ("[]", "found another"),
        ('{"kind": "commanalyzer.sweep", "schema": 99}', "found 99"),
        ('{"kind": "commanalyzer.sweep", "schema": 1}', "missing required field provenance"),
    ],
)
def test_another_state_is_refused(directory: store.SweepDirectory, text: str, found: str) -> None:
    directory.state_path.write_text(text)
    with pytest.raises(ArtifactError, match=found):
        store.read_outcome(directory)


def test_no_state_is_no_sweep(directory: store.SweepDirectory) -> None:
    with pytest.raises(ArtifactError, match="No such file"):
        store.read_outcome(directory)


def test_drafts_of_killed_processes_go(directory: store.SweepDirectory) -> None:
    finish(directory, record(8))
    for draft in (directory.path / ".sweep.json.7.tmp", directory.results / ".0008-0.cmz.7.tmp"):
        draft.touch()
    directory.remove_drafts()
    left = {path.name for path in directory.results.iterdir()}
    assert left == {".no-input", "0008-0.cmz", "0008-0.json"}
    assert list(directory.path.glob(".*.tmp")) == []
