"""Content-keyed store of compiled results: one file per key, inserted atomically."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from commanalyzer.errors import ConfigError


def cache_directory() -> Path:
    """``$COMMANALYZER_CACHE``, else ``$XDG_CACHE_HOME/commanalyzer``, else ``~/.cache/commanalyzer``.

    Raises:
        ConfigError: If it cannot be created or written.
    """
    named = os.environ.get("COMMANALYZER_CACHE", "")
    base = os.environ.get("XDG_CACHE_HOME", "")
    try:
        path = Path(named or (Path(base) if base else Path.home() / ".cache") / "commanalyzer")
        path.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError) as error:
        raise _unusable(named or base or "~/.cache", error) from error
    if not os.access(path, os.W_OK | os.X_OK):
        raise _unusable(str(path), PermissionError("no write permission"))
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
    rename wins, with equal content.

    Args:
        key: From :func:`content_key`.
        suffix: File name suffix with its dot, may be empty.
        produce: Called with a path to write; whatever it raises is passed on and nothing is inserted.

    Raises:
        ConfigError: If the cache directory is not usable.
    """
    shelf = cache_directory() / key[:2]
    target = shelf / f"{key[2:]}{suffix}"
    if target.is_file():
        return target
    try:
        shelf.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="new-", dir=shelf) as scratch:
            # The suffix is kept: compilers choose what to do by it.
            draft = Path(scratch) / f"file{suffix}"
            produce(draft)
            draft.replace(target)
    except OSError as error:
        raise _unusable(str(shelf), error) from error
    return target


def _unusable(path: str, error: Exception) -> ConfigError:
    return ConfigError(
        f"the cache directory is not usable: {error}",
        where=path,
        hint="set COMMANALYZER_CACHE to a directory that can be written",
    )
