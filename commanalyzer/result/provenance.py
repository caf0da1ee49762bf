"""Collects where a result comes from.

The program of a saved result, found again.

A result holds no instructions: what asks for them compiles and runs the program anew.
"""

from __future__ import annotations

import datetime
import hashlib
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.foundation.version import tool_version
from commanalyzer.program.frontend.drivers.embedded import is_elf
from commanalyzer.result.results import AnalysisResult, Provenance

_ROOT = Path(__file__).resolve().parents[2]


def collect_provenance(
    *, compiler: str, flags: Sequence[str], input_hashes: Sequence[tuple[str, str]], seed: int
) -> Provenance:
    """Provenance of an analysis made now, here, by this version; what is given is explained there."""
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    here = (tool_version(), _git_revision(), now, _host_class())
    return Provenance(*here, compiler, tuple(flags), tuple(input_hashes), seed)


def file_hash(path: Path) -> str:
    """SHA-256 of a file that was read in the analysis."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _git_revision() -> str:
    """Commit of the tool's source tree, empty when it is installed."""
    if not (_ROOT / ".git").exists():
        return ""
    try:
        done = subprocess.run(
            ["git", "-C", str(_ROOT), "rev-parse", "HEAD"], capture_output=True, timeout=5, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace").strip() if done.returncode == 0 else ""


def _host_class() -> str:
    """Kind of machine, not its name."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        model = platform.processor()
    return " ".join(part for part in (platform.system(), platform.machine(), model) if part)


def peak_memory_bytes() -> int:
    """Largest resident memory of this process so far."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


@dataclass(frozen=True, slots=True)
class ProgramOfResult:
    """What to compile and run."""

    sources: tuple[Path, ...]  # files of the program, unchanged since the analysis
    arguments: tuple[str, ...]  # its command line
    flags: tuple[str, ...]  # flags of the compiler


def require_same_program(result: AnalysisResult, sources: Sequence[Path], arguments: Sequence[str]) -> None:
    """A :class:`ConfigError` unless ``result`` is of these sources, unchanged, run with these arguments."""
    inputs = result.provenance.input_hashes[: 1 if all(map(is_elf, sources)) else None]  # then its sources
    hashes = sorted(digest for _, digest in inputs)
    if result.counted is not None or hashes != sorted(file_hash(path) for path in sources):
        named = ", ".join(name for name, _ in result.provenance.input_hashes) or result.program
        raise ConfigError(
            f"expected a division of the same program, found one of {named}, as it was then",
            where=", ".join(map(str, sources)),
        )
    if tuple(arguments) != result.command[1:]:
        raise ConfigError(
            f"expected the arguments of the division, {' '.join(result.command[1:]) or 'none'}, "
            f"found {' '.join(arguments) or 'none'}",
            where=result.program,
        )


def program_of(result: AnalysisResult, *, arguments: Sequence[str] = ()) -> ProgramOfResult:
    """The program of ``result``, with its own or other ``arguments``, such as those of a smaller problem.

    Of an executable, that alone. A :class:`ConfigError` if it has no files, or one is missing or changed.
    """
    hashes = result.provenance.input_hashes
    if result.counted is not None or not hashes:
        raise ConfigError("expected a result of analysed sources, found another", where=result.program)
    files, flags = (hashes[:1], ()) if is_elf(Path(hashes[0][0])) else (hashes, result.provenance.flags)
    for name, digest in files:
        path = Path(name)
        if not path.is_file() or file_hash(path) != digest:
            raise ConfigError(
                f"expected the file as it was analysed, found {'another' if path.is_file() else 'none'}",
                where=name,
                hint="run in the directory of the analysis, give the sources instead, or analyse again",
            )
    given = tuple(arguments) or result.command[1:]
    return ProgramOfResult(tuple(Path(name) for name, _ in files), given, flags)
