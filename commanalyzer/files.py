"""Atomic writing: a file is either complete under its name or not there."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from commanalyzer.errors import ArtifactError


def require_writable(path: Path, force: bool) -> None:
    """Raise unless ``path`` may be written; called early, so that no long run ends in vain.

    Raises:
        ArtifactError: If the file exists and ``force`` is false, or its directory cannot be written.
    """
    if path.is_dir():
        raise ArtifactError("expected a file to write, found a directory", where=str(path))
    if path.exists() and path.is_file() and not force:
        raise ArtifactError(
            "expected a new file, found an existing one", where=str(path), hint="overwrite it with --force"
        )
    folder = path.parent
    if not folder.is_dir():
        raise ArtifactError("expected an existing directory", where=str(folder), hint="create it first")
    _probe(path, folder)


def _probe(path: Path, folder: Path) -> None:
    if path.exists() and not path.is_file():
        return
    # Trying is the only sure test: permissions, read-only file systems, quota, root.
    draft = folder / f".{path.name}.{os.getpid()}.probe"
    try:
        draft.touch()
        draft.unlink()
    except OSError as error:
        raise ArtifactError(
            f"expected a place that can be written, found: {error.strerror}", where=str(path)
        ) from error


def write_atomically(path: Path, produce: Callable[[Path], None], *, force: bool = False) -> None:
    """Write ``path`` through a temporary file in the same directory, fsync and rename.

    Devices and pipes (``/dev/stdout``) are written directly.

    Args:
        path: File to write.
        produce: Writes the content to the path it is given.
        force: Replace an existing file.

    Raises:
        ArtifactError: If the file exists and ``force`` is false, or cannot be written (disk full).
    """
    require_writable(path, force)
    if path.exists() and not path.is_file():
        try:
            produce(path)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise _cannot_write(path, error) from error
        return
    # A link is followed, so that the file it points to is replaced and the link stays.
    target = path.resolve()
    draft = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        produce(draft)
        with draft.open("rb+") as stream:
            os.fsync(stream.fileno())
        draft.replace(target)
    except OSError as error:
        raise _cannot_write(path, error) from error
    finally:
        draft.unlink(missing_ok=True)


def _cannot_write(path: Path, error: OSError) -> ArtifactError:
    return ArtifactError(
        f"the file cannot be written: {error.strerror or error}",
        where=str(path),
        hint="check free space, quota and permissions",
    )


def write_text(path: Path, text: str, *, force: bool = False) -> None:
    """Write UTF-8 text atomically; see :func:`write_atomically`."""
    write_atomically(path, lambda draft: _put(draft, text), force=force)


def _put(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
