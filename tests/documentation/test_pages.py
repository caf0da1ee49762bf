"""Commands in the documentation are commands of this version; links and files that it names exist."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path

import click
import pytest

from commanalyzer.cli.analysis.export import FORMATS
from commanalyzer.cli.main import group

ROOT = Path(__file__).resolve().parents[2]
_COMMAND = re.compile(r"^(?:\$ )?commanalyzer ([a-z-]+ .+)$", re.MULTILINE)
_INLINE = re.compile(r"[`&] ?commanalyzer ([a-z-]+ [^`\n]+)")
_TEST = re.compile(r"`([\w/]+\.py)::(\w+)`(?: \(([^)]*)\))?")


def _pages() -> list[Path]:
    """Everything that people read, but for the list of changes."""
    folders = ("commanalyzer", "runtime_shim", "tests", "workloads")
    readmes = [page for f in folders for page in sorted((ROOT / f).rglob("README.md"))]
    entrance = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")]
    return [*entrance, *sorted((ROOT / "docs").rglob("*.md")), *readmes]


def _documented() -> list[str]:
    """Every command line in the documentation, without ``commanalyzer``."""
    found = []
    for page in _pages():
        text = page.read_text(encoding="utf-8").replace("    commanalyzer", "commanalyzer")
        found += _COMMAND.findall(text) + _INLINE.findall(text)
    return sorted({line for line in found if not line.startswith("COMMAND") and "..." not in line})


def test_every_subcommand_has_an_example() -> None:
    context = click.Context(group)
    assert {line.split()[0] for line in _documented()} == set(group.list_commands(context))


@pytest.mark.parametrize("line", _documented())
def test_documented_command_is_accepted(line: str) -> None:
    name, *arguments = shlex.split(line)
    # commands remember the settings of the group they were first used with (-h)
    parent = click.Context(group, info_name="commanalyzer", **group.context_settings)
    command = group.get_command(parent, name)
    if isinstance(command, click.Group):
        parent = click.Context(command, parent=parent, info_name=name)
        command = command.get_command(parent, arguments.pop(0))
    assert command is not None
    context = command.make_context(name, arguments, parent=parent)
    assert context.params or not command.params


@pytest.mark.parametrize("name", FORMATS)
def test_every_export_format_is_explained(name: str) -> None:
    page = (ROOT / "docs" / "reference" / "options.md").read_text(encoding="utf-8")
    section = page.partition("## Export formats\n")[2].partition("\n## ")[0]
    assert f"`{name}`" in section


def _analysed_sources() -> list[str]:
    """Analyses of source files, not of an executable."""
    return [line for line in _documented() if line.startswith("analyze") and "analyze ./" not in line]


@pytest.mark.parametrize("line", _analysed_sources())
def test_documented_program_exists(line: str) -> None:
    suffixes = (".c", ".cpp", ".f90")
    sources = [word for word in shlex.split(line.split(" -- ")[0]) if word.endswith(suffixes)]
    assert sources
    assert [source for source in sources if not list(ROOT.glob(source))] == []


def _rows(page: str, after: str = "") -> list[str]:
    """Rows of a page's table, behind a title, without its head and the names of its groups."""
    text = (ROOT / page).read_text(encoding="utf-8")
    section = text.partition(after)[2].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [row for row in rows if not row.startswith("| **")]


def _functions(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize(
    ("rows", "least"),
    [
        pytest.param(_rows("tests/README.md", "\n## Supported constructs\n"), 50, id="constructs"),
        pytest.param(_rows("docs/explanation/promises.md", "\n"), 25, id="promises"),
    ],
)
def test_every_row_names_tests_that_exist(rows: list[str], least: int) -> None:
    assert len(rows) > least
    assert [row for row in rows if not _TEST.search(row.split(" | ")[-1])] == []
    named = sorted({match for row in rows for match in _TEST.findall(row)})
    files = {file: ROOT / "tests" / file for file, _, _ in named}
    assert [file for file, path in files.items() if not path.is_file()] == []
    defined = {file: _functions(path) for file, path in files.items()}
    assert [f"{file}::{name}" for file, name, _ in named if name not in defined[file]] == []
    texts = {file: path.read_text(encoding="utf-8") for file, path in files.items()}
    cases = [
        (file, case.removesuffix("..."))
        for file, _, cases in named
        for case in re.findall(r"`([^`]+)`", cases)
    ]
    assert [case for file, case in cases if f'"{case}' not in texts[file]] == []
    assert {name for _, name, _ in named if not name.startswith("test_")} == set()


def _anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", _pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8"))
    inside = [target.partition("#") for target in targets if not target.startswith("http")]
    files = {path: (page.parent / path).resolve() if path else page for path, _, _ in inside}
    assert [path for path, file in files.items() if not file.exists()] == []
    broken = [(path, name) for path, _, name in inside if name and name not in _anchors(files[path])]
    assert broken == []


@pytest.mark.parametrize("page", _pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_a_page_names_exist(page: Path) -> None:
    named = re.findall(
        r"`((?:docs|commanalyzer|examples|runtime_shim|tests|workloads)/[\w./-]+)`",
        page.read_text(encoding="utf-8"),
    )
    assert [name for name in named if not (ROOT / name).exists() and "N" not in name] == []
