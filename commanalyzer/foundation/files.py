"""Files that are complete under their names or not there, and directories that vanish with their process."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from commanalyzer.foundation.errors import ArtifactError

_SCRATCH = "commanalyzer-run-"
_YOUNG_S = 60.0  # a directory is locked as soon as it was made; younger ones are left alone


@contextlib.contextmanager
def scratch_directory() -> Iterator[str]:
    """Name of a directory that nobody else may use and that vanishes at the end.

    It is locked as long as this process lives. What processes that were killed have left is removed before.
    """
    remove_leftovers()
    with tempfile.TemporaryDirectory(prefix=_SCRATCH) as name:
        lock = os.open(name, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with contextlib.suppress(OSError):  # not every file system can; then nobody removes it
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield name
        finally:
            os.close(lock)


def remove_leftovers() -> None:
    """Remove directories of :func:`scratch_directory` whose processes are gone."""
    for path in Path(tempfile.gettempdir()).glob(f"{_SCRATCH}*"):
        with contextlib.suppress(OSError):
            state = path.lstat()
            if state.st_uid != os.geteuid() or time.time() - state.st_mtime < _YOUNG_S:
                continue
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(lock)


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
    if not path.parent.is_dir():
        raise ArtifactError("expected an existing directory", where=str(path.parent), hint="create it first")
    if path.exists() and not path.is_file():
        return
    draft = path.with_name(f".{path.name}.{os.getpid()}.probe")
    try:  # the only sure test: permissions, read-only file systems, quota, root
        draft.touch()
        draft.unlink()
    except OSError as error:
        raise ArtifactError(
            f"expected a place that can be written, found: {error.strerror}", where=str(path)
        ) from error


def write_atomically(path: Path, produce: Callable[[Path], object], *, force: bool = False) -> None:
    """Write ``path`` through a temporary file in the same directory, fsync and rename.

    Devices and pipes (``/dev/stdout``) are written directly. ``produce`` writes the content to the path it is
    given; ``force`` replaces an existing file. An :class:`ArtifactError` if there is one without it, or the
    file cannot be written (disk full).
    """
    require_writable(path, force)
    is_file = path.is_file() or not path.exists()
    # A link is followed, so that the file it points to is replaced and the link stays.
    target = path.resolve() if is_file else path
    draft = target.with_name(f".{target.name}.{os.getpid()}.tmp") if is_file else path
    try:
        produce(draft)
        if is_file:
            with draft.open("rb+") as stream:
                os.fsync(stream.fileno())
            draft.replace(target)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise ArtifactError(
            f"the file cannot be written: {error.strerror or error}",
            where=str(path),
            hint="check free space, quota and permissions",
        ) from error
    finally:
        if is_file:
            draft.unlink(missing_ok=True)


def write_text(path: Path, text: str, *, force: bool = False) -> None:
    """Write UTF-8 text atomically; see :func:`write_atomically`."""
    write_atomically(path, lambda draft: draft.write_text(text, encoding="utf-8"), force=force)
