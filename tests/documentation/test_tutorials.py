"""Every command of the tutorials is run, and prints what the page says.

A ``console`` block holds commands behind ``$`` and what they print; ``...`` stands for anything
(times, and numbers that depend on the machine). A code block with a caption is a file of that name.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"^```(.+?)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CAPTION = re.compile(r"\A:caption: (\S+)\n+")
_LAX = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_TIMEOUT_S = 900


def _tutorials() -> list[Path]:
    return sorted(page for page in (ROOT / "docs" / "tutorials").glob("*.md") if page.stem != "index")


def _commands(block: str) -> Iterator[tuple[str, str]]:
    """Yield each command of a console block and what it prints."""
    for entry in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, output = entry.partition("\n")
        yield command, output


def _environment() -> dict[str, str]:
    """The commands of this Python come first; output is of one width and without colours."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "COLUMNS": "110", "NO_COLOR": "1"}


@pytest.mark.parametrize("page", _tutorials(), ids=lambda page: page.stem)
def test_tutorial_prints_what_it_says(page: Path, tmp_path: Path) -> None:
    (tmp_path / "workloads").symlink_to(ROOT / "workloads")
    num_commands = 0
    for kind, text in _BLOCK.findall(page.read_text(encoding="utf-8")):
        caption = _CAPTION.match(text)
        if caption:
            (tmp_path / caption[1]).write_text(text[caption.end() :], encoding="utf-8")
        elif kind == "console":
            for command, expected in _commands(text):
                _run(command, expected, tmp_path)
                num_commands += 1
    assert num_commands > 0


def _run(command: str, expected: str, folder: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, f"$ {command}\n{done.stdout}"
    matches = doctest.OutputChecker().check_output(expected, done.stdout, _LAX)
    assert matches, f"$ {command}\nexpected:\n{expected}\nfound:\n{done.stdout}"
