"""The README's commands are commands of this version."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from commanalyzer.cli.main import _group

ROOT = Path(__file__).resolve().parents[1]
_COMMAND = re.compile(r"^(?:\$ )?commanalyzer ([a-z]+ .+)$", re.MULTILINE)
_INLINE = re.compile(r"[`&] ?commanalyzer ([a-z]+ [^`\n]+)")


def _documented() -> list[str]:
    """Every command line in the README and the workloads' pages, without ``commanalyzer``."""
    pages = [ROOT / "README.md", *sorted((ROOT / "workloads").rglob("README.md"))]
    found = []
    for page in pages:
        text = page.read_text(encoding="utf-8").replace("    commanalyzer", "commanalyzer")
        found += _COMMAND.findall(text) + _INLINE.findall(text)
    return sorted({line for line in found if not line.startswith("COMMAND") and "..." not in line})


def test_every_subcommand_has_an_example() -> None:
    context = click.Context(_group)
    assert {line.split()[0] for line in _documented()} == set(_group.list_commands(context))


@pytest.mark.parametrize("line", _documented())
def test_documented_command_is_accepted(line: str) -> None:
    name, *arguments = shlex.split(line)
    command = _group.get_command(click.Context(_group), name)
    assert command is not None
    context = command.make_context(name, arguments)
    assert context.params


@pytest.mark.parametrize("line", [line for line in _documented() if line.startswith("analyze")])
def test_documented_program_exists(line: str) -> None:
    sources = [word for word in shlex.split(line.split(" -- ")[0]) if word.endswith((".c", ".cpp"))]
    assert sources
    assert [source for source in sources if not (ROOT / source).is_file()] == []
