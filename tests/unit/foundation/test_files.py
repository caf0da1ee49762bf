import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from commanalyzer.foundation.errors import ArtifactError
from commanalyzer.foundation.files import require_writable, scratch_directory, write_text


def test_write_and_replace(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_text(path, "größe")
    assert path.read_text(encoding="utf-8") == "größe"
    with pytest.raises(ArtifactError, match="existing one"):
        write_text(path, "x")
    write_text(path, "x", force=True)
    assert path.read_text() == "x"
    assert list(tmp_path.iterdir()) == [path]


def test_link_is_followed(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    write_text(link, "new", force=True)
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_devices_are_written_directly() -> None:
    write_text(Path("/dev/null"), "x")
    assert Path("/dev/null").is_char_device()


def test_refused_places(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="directory"):
        require_writable(tmp_path, force=True)
    with pytest.raises(ArtifactError, match="existing directory"):
        require_writable(tmp_path / "none" / "a", force=False)
    with pytest.raises(ArtifactError, match="can be written"):
        require_writable(Path("/proc/result"), force=False)


def test_leftovers_of_killed_processes_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    code = "import os; from commanalyzer.foundation.files import scratch_directory as s; e = s()"
    code += "; e.__enter__(); os._exit(0)"
    subprocess.run([sys.executable, "-c", code], env={**os.environ, "TMPDIR": str(tmp_path)}, check=True)
    (left,) = tmp_path.iterdir()
    (left / "trace").write_text("large")
    with scratch_directory() as mine:
        assert left.is_dir()  # it may be about to be locked
        hour_ago = time.time() - 3600
        for path in (left, Path(mine)):
            os.utime(path, (hour_ago, hour_ago))
        (tmp_path / "commanalyzer-else").mkdir()
        os.utime(tmp_path / "commanalyzer-else", (hour_ago, hour_ago))
        with scratch_directory():
            assert not left.exists()
            assert Path(mine).is_dir()
    assert [path.name for path in tmp_path.iterdir()] == ["commanalyzer-else"]
