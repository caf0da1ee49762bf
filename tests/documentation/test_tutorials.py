"""The samples of tutorials and how-to pages are run, and print what the page says.

A ``console`` block holds commands behind ``$`` and what they print, a ``pycon`` block Python behind ``>>>``;
``...`` stands for anything (times, and numbers that depend on the machine). A code block with a caption is a
file of that name. How-to pages begin with ``heat2d.cmz`` of the first analysis; their blocks of ``sh`` and
``python`` are not run.
"""

import doctest
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.native import ROOT

_BLOCK = re.compile(r"^```(.+?)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CAPTION = re.compile(r"\A:caption: (\S+)\n+")
_LAX = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_TIMEOUT_S = 900
# Blocks that need MPI, SimGrid, a cluster, minutes, or files of the reader's.
_NOT_RUN = {
    **dict.fromkeys(("count-mpi", "languages", "simulate"), 1),
    **dict.fromkeys(("allocations", "bound", "build-systems", "compose"), 2),
    "extrapolate": 4,
}


def _pages(folder: str) -> list[Path]:
    return sorted(page for page in (ROOT / "docs" / folder).glob("*.md") if page.stem != "index")


def _blocks(page: Path) -> list[tuple[str, str]]:
    return _BLOCK.findall(page.read_text(encoding="utf-8"))


def _pages_with_samples() -> list[Path]:
    howto = [page for page in _pages("how-to") if {"console", "pycon"} & dict(_blocks(page)).keys()]
    return [*_pages("tutorials"), *howto]


def _commands(block: str) -> Iterator[tuple[str, str]]:
    """Yield each command of a console block and what it prints."""
    for entry in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, output = entry.partition("\n")
        yield command, output


def _environment() -> dict[str, str]:
    """The commands of this Python come first; output is of one width and without colours."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "COLUMNS": "110", "NO_COLOR": "1"}


@pytest.fixture(scope="module")
def first_result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The result that the first tutorial saves. What it prints is checked with its page alone."""
    folder = tmp_path_factory.mktemp("first")
    (folder / "workloads").symlink_to(ROOT / "workloads")
    first = next(
        text for kind, text in _blocks(ROOT / "docs/tutorials/first-analysis.md") if kind == "console"
    )
    _run(next(_commands(first))[0], "...", folder)
    return folder / "heat2d.cmz"


@pytest.mark.parametrize("page", _pages_with_samples(), ids=lambda page: page.stem)
def test_page_prints_what_it_says(page: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if page.parent.name == "how-to":
        shutil.copy(request.getfixturevalue("first_result"), tmp_path)
    num_samples = _run_blocks(_blocks(page), tmp_path, request.getfixturevalue("monkeypatch"))
    assert num_samples > 0


def test_samples_that_are_not_run_are_known() -> None:
    kinds = {page.stem: [kind for kind, _ in _blocks(page)] for page in _pages("how-to")}
    found = {name: k.count("sh") + k.count("python") for name, k in kinds.items()}
    assert {name: n for name, n in found.items() if n} == _NOT_RUN


def _run_blocks(blocks: list[tuple[str, str]], folder: Path, patch: pytest.MonkeyPatch) -> int:
    """Run the samples of a page in a folder; say how many there are."""
    (folder / "workloads").symlink_to(ROOT / "workloads")
    patch.chdir(folder)
    num_samples = 0
    names: dict[str, object] = {}
    for kind, text in blocks:
        caption = _CAPTION.match(text)
        if caption:
            (folder / caption[1]).write_text(text[caption.end() :], encoding="utf-8")
        elif kind == "console":
            for command, expected in _commands(text):
                _run(command, expected, folder)
                num_samples += 1
        elif kind == "pycon":
            sample = doctest.DocTestParser().get_doctest(text, names, "page", None, None)
            said: list[str] = []
            result = doctest.DocTestRunner(optionflags=_LAX).run(sample, out=said.append, clear_globs=False)
            names.update(sample.globs)
            assert result.failed == 0, "".join(said)
            num_samples += result.attempted
    return num_samples


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
