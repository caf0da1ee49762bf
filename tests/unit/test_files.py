from __future__ import annotations

from pathlib import Path

import pytest

from commanalyzer.errors import ArtifactError
from commanalyzer.files import require_writable, write_text


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
