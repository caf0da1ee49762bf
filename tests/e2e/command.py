"""Runs the command line as a user does: its own process, its own temporary directory."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.forking import forks
from tests.native import ROOT

HEAT = ROOT / "workloads" / "heat2d" / "heat2d.c"


@dataclass(frozen=True, slots=True)
class Done:
    """A finished command."""

    status: int
    out: str
    err: str


def words(*arguments: object) -> list[str]:
    """The command line of ``commanalyzer``."""
    return [sys.executable, "-m", "commanalyzer", *map(str, arguments)]


def surroundings(folder: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Environment with temporary files in ``folder``/tmp and this package."""
    scratch = folder / "tmp"
    scratch.mkdir(exist_ok=True)
    return {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(scratch), "COLUMNS": "200", **(extra or {})}


def commanalyzer(
    folder: Path,
    *arguments: object,
    stdin: str = "",
    extra: Mapping[str, str] | None = None,
    before: Sequence[str] = (),
) -> Done:
    """Run ``commanalyzer`` in ``folder``; ``before`` are words of a command that starts it.

    With neither ``before`` nor ``extra`` variables it is a fork of a process that has imported the package.
    """
    if not before and not extra:
        return Done(*forks().run(folder, words(*arguments)[3:], surroundings(folder), stdin))
    done = subprocess.run(
        [*before, *words(*arguments)],
        cwd=folder,
        env=surroundings(folder, extra),
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def leftovers(folder: Path) -> list[str]:
    """Temporary files that a command left in ``folder``."""
    drafts = [path.name for path in folder.iterdir() if path.name.startswith(".")]
    return drafts + [path.name for path in (folder / "tmp").iterdir()]
