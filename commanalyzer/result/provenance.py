"""Collects where a result comes from."""

from __future__ import annotations

import datetime
import hashlib
import platform
import subprocess
from collections.abc import Sequence
from pathlib import Path

from commanalyzer.foundation.version import tool_version
from commanalyzer.result.results import Provenance

_ROOT = Path(__file__).resolve().parents[2]


def collect_provenance(
    *, compiler: str, flags: Sequence[str], input_hashes: Sequence[tuple[str, str]], seed: int
) -> Provenance:
    """Provenance of an analysis made now, here, by this version.

    Args:
        compiler: Version line of the compiler.
        flags: The user's compiler flags.
        input_hashes: (path as given, SHA-256) of each source.
        seed: Seed of the random choices.
    """
    return Provenance(
        tool_version=tool_version(),
        git_revision=_git_revision(),
        created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        host_class=_host_class(),
        compiler=compiler,
        flags=tuple(flags),
        input_hashes=tuple(input_hashes),
        seed=seed,
    )


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
    model = ""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    except OSError:
        model = platform.processor()
    return " ".join(part for part in (platform.system(), platform.machine(), model) if part)


def peak_memory_bytes() -> int:
    """Largest resident memory of this process so far."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0
