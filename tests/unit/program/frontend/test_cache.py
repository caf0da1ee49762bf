import os
from pathlib import Path

import pytest

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.program.frontend.link import cache_directory, cached_file, content_key


def test_key_depends_on_boundaries() -> None:
    assert content_key(["ab", "c"]) != content_key(["a", "bc"])
    assert content_key(["a"]) == content_key([b"a"])
    assert content_key([]) != content_key([""])


def test_directory_precedence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("COMMANALYZER_CACHE", raising=False)
    assert cache_directory() == tmp_path / "home" / ".cache" / "commanalyzer"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_directory() == tmp_path / "xdg" / "commanalyzer"
    monkeypatch.setenv("COMMANALYZER_CACHE", str(tmp_path / "own"))
    assert cache_directory() == tmp_path / "own"


def test_produced_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMANALYZER_CACHE", str(tmp_path))
    calls: list[Path] = []

    def produce(path: Path) -> None:
        calls.append(path)
        path.write_text("x")

    first = cached_file("abcd", ".ll", produce)
    assert cached_file("abcd", ".ll", produce) == first == tmp_path / "ab" / "cd.ll"
    assert len(calls) == 1
    assert first.read_text() == "x"


def test_failure_inserts_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMANALYZER_CACHE", str(tmp_path))

    def fail(path: Path) -> None:
        path.write_text("half")
        raise ConfigError("no")

    with pytest.raises(ConfigError, match="no"):
        cached_file("abcd", "", fail)
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []


def test_unusable_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("")
    monkeypatch.setenv("COMMANALYZER_CACHE", str(blocker))
    with pytest.raises(ConfigError, match="cache directory") as caught:
        cache_directory()
    assert "COMMANALYZER_CACHE" in caught.value.hint


@pytest.mark.parametrize("damage", ["", "x", "other text"])
def test_a_damaged_file_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str) -> None:
    monkeypatch.setenv("COMMANALYZER_CACHE", str(tmp_path))
    contents = iter(["right text", "right again"])

    def produce(path: Path) -> None:
        path.write_text(next(contents))

    path = cached_file("abcd", ".o", produce)
    path.write_text(damage)
    assert cached_file("abcd", ".o", produce).read_text() == "right again"


def test_nobody_else_can_write_or_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMANALYZER_CACHE", str(tmp_path / "cache"))
    before = os.umask(0)
    try:
        path = cached_file("abcd", "", lambda draft: draft.touch(0o777))
    finally:
        os.umask(before)
    modes = [each.stat().st_mode & 0o777 for each in (path, path.parent, tmp_path / "cache")]
    assert modes == [0o700, 0o700, 0o700]


def test_a_directory_others_can_write_to_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o777)
    monkeypatch.setenv("COMMANALYZER_CACHE", str(tmp_path))
    with pytest.raises(ConfigError, match="others can write"):
        cache_directory()
