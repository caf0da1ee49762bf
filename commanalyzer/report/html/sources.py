"""Source files of a result: found again, and only believed if they are what was analysed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from commanalyzer.result.provenance import file_hash
from commanalyzer.result.results import Provenance


@dataclass(frozen=True, slots=True)
class Source:
    """A source file as far as it can be shown.

    Attributes:
        file: Name as in the result.
        lines: Its lines; empty when it is not shown.
        reason: Why it is not shown, empty when it is.
    """

    file: str
    lines: tuple[str, ...]
    reason: str = ""


def find_source(file: str, provenance: Provenance, folders: Sequence[Path]) -> Source:
    """Return the file if it is there and has the hash of the analysis.

    Args:
        file: Name as in the result, absolute or relative to where the analysis ran.
        provenance: Hashes of the analysed files.
        folders: Where to look; a file may also lie there without its leading directories.
    """
    wanted = {digest for name, digest in provenance.input_hashes if _same(name, file)}
    if not wanted:
        return Source(file, (), "not among the hashed inputs of the analysis (a header or a library)")
    present = [path for path in _places(file, folders) if path.is_file()]
    for path in present:
        try:
            if file_hash(path) in wanted:
                return Source(file, tuple(path.read_text(encoding="utf-8", errors="replace").splitlines()))
        except OSError:
            continue
    if present:
        return Source(file, (), "changed since the analysis")
    return Source(file, (), "not found (--source names a directory to look in)")


def _same(name: str, file: str) -> bool:
    return name == file or Path(name).parts[-2:] == Path(file).parts[-2:]


def _places(file: str, folders: Sequence[Path]) -> list[Path]:
    """Every directory with every ending of the path, the longest first."""
    path = Path(file)
    if path.is_absolute():
        return [
            path,
            *(folder.joinpath(*path.parts[k:]) for folder in folders for k in range(1, len(path.parts))),
        ]
    return [folder.joinpath(*path.parts[k:]) for folder in folders for k in range(len(path.parts))]
