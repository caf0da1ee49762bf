"""Runs the command line as a user does: its own process, its own temporary directory."""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.forking import forks
from tests.native import ROOT, run

HEAT = ROOT / "workloads" / "heat2d" / "heat2d.c"


@dataclass(frozen=True, slots=True)
class Done:
    """A finished command."""

    status: int
    out: str
    err: str


def words(*arguments: object) -> list[str]:
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

    Without ``before`` it is a fork of a process that has imported the package.
    """
    environment = surroundings(folder, extra)
    if not before:
        return Done(*forks().run(folder, words(*arguments)[3:], environment, stdin))
    done = run(*before, *words(*arguments), cwd=folder, env=environment, input=stdin, timeout_s=300)
    return Done(done.status, done.stdout, done.stderr)


def succeed(folder: Path, *arguments: object, **options: Any) -> Done:
    """As :func:`commanalyzer`; the command must succeed."""
    done = commanalyzer(folder, *arguments, **options)
    assert done.status == 0, done.err
    return done


def refuse(folder: Path, *arguments: object, says: str | Sequence[str], status: int = 1, **more: Any) -> None:
    """As :func:`commanalyzer`; the command must end with this status, and say this among its errors."""
    done = commanalyzer(folder, *arguments, **more)
    assert done.status == status, done.err
    for text in [says] if isinstance(says, str) else says:
        assert text in done.err


def leftovers(folder: Path) -> list[str]:
    """Temporary files that a command left in ``folder``."""
    drafts = [path.name for path in folder.iterdir() if path.name.startswith(".")]
    return drafts + [path.name for path in (folder / "tmp").iterdir()]
