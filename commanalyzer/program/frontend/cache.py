"""Content-keyed store of compiled results: one file per key, inserted atomically, and a note of its content.

Code from here is run, so nobody else may write here. A file that is not what its note says (a crash of the
system can truncate it) is made again.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from commanalyzer.foundation.errors import ConfigError

_OWN = stat.S_IRWXU
_looked_at: dict[Path, tuple[int, int, int]] = {}


def cache_directory() -> Path:
    """``$COMMANALYZER_CACHE``, else ``$XDG_CACHE_HOME/commanalyzer``, else ``~/.cache/commanalyzer``.

    Raises ConfigError if it cannot be created or written.
    """
    named = os.environ.get("COMMANALYZER_CACHE", "")
    base = os.environ.get("XDG_CACHE_HOME", "")
    try:
        path = Path(named or (Path(base) if base else Path.home() / ".cache") / "commanalyzer")
        path.mkdir(mode=_OWN, parents=True, exist_ok=True)
        state = path.stat()
    except (OSError, RuntimeError) as error:
        raise _unusable(named or base or "~/.cache", error) from error
    if not os.access(path, os.W_OK | os.X_OK):
        raise _unusable(str(path), PermissionError("no write permission"))
    user = os.geteuid()
    if state.st_mode & stat.S_IWOTH or (user and state.st_uid not in (user, 0)):
        raise _unusable(str(path), PermissionError("others can write to it, and what lies here is run"))
    return path


def content_key(parts: Iterable[str | bytes]) -> str:
    """Hexadecimal SHA-256 over ``parts``; lengths are hashed too, so moving a boundary changes the key."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogateescape") if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def cached_file(key: str, suffix: str, produce: Callable[[Path], None]) -> Path:
    """Path of the cached file for ``key``; ``produce`` writes it when it is not there yet.

    Two processes may produce the same file at once: each writes its own temporary file and the last
    rename wins, with equal content. What ``produce`` raises is passed on, and nothing is inserted. Raises
    ConfigError if the cache directory is not usable.
    """
    shelf = cache_directory() / key[:2]
    target = shelf / f"{key[2:]}{suffix}"
    if _is_complete(target):
        return target
    try:
        shelf.mkdir(mode=_OWN, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="new-", dir=shelf) as scratch:
            # The suffix is kept: compilers choose what to do by it.
            draft, note = Path(scratch) / f"file{suffix}", Path(scratch) / "note"
            produce(draft)
            draft.chmod(draft.stat().st_mode & _OWN)
            note.write_text(_content(draft))
            note.chmod(_OWN & ~stat.S_IXUSR)
            for path, place in ((draft, target), (note, _note_of(target))):
                with path.open("rb") as stream:
                    os.fsync(stream.fileno())  # it is not empty under its name after a crash of the system
                path.replace(place)
    except OSError as error:
        raise _unusable(str(shelf), error) from error
    return target


def _note_of(target: Path) -> Path:
    return target.with_name(f"{target.name}.note")


def _content(path: Path) -> str:
    """What tells a file from others: its size and SHA-256."""
    data = path.read_bytes()
    return f"{len(data)} {hashlib.sha256(data).hexdigest()}\n"


def _is_complete(target: Path) -> bool:
    """The file is there and holds what its note says; looked at once in each process, as long as it stays."""
    try:
        state = target.stat()
        known = (state.st_ino, state.st_size, state.st_mtime_ns)
        if _looked_at.get(target) != known:
            if _note_of(target).read_text() != _content(target):
                return False
            _looked_at[target] = known
    except (OSError, ValueError):
        return False
    return True


def _unusable(path: str, error: Exception) -> ConfigError:
    return ConfigError(
        f"the cache directory is not usable: {error}",
        where=path,
        hint="set COMMANALYZER_CACHE to a directory that can be written",
    )
