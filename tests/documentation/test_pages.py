"""Commands in the documentation are commands of this version; links and files that it names exist."""

import ast
import re
import shlex
from pathlib import Path

import click
import pytest

from commanalyzer.cli.main import group
from commanalyzer.cli.result import FORMATS
from tests.native import ROOT
from tests.tiers import EXTENDED

_COMMAND = re.compile(r"^(?:\$ )?commanalyzer ([a-z-]+ .+)$", re.MULTILINE)
_INLINE = re.compile(r"[`&] ?commanalyzer ([a-z-]+ [^`\n]+)")
_TEST = re.compile(r"`([\w/]+\.py)::(\w+)`(?: \(([^)]*)\))?")


def _pages() -> list[Path]:
    """Everything that people read, but for the list of changes."""
    folders = ("commanalyzer", "runtime_shim", "tests", "workloads")
    readmes = [page for f in folders for page in sorted((ROOT / f).rglob("README.md"))]
    entrance = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")]
    return [*entrance, *sorted((ROOT / "docs").rglob("*.md")), *readmes]


def _documented(page: Path) -> list[str]:
    """Every command line of a page, without ``commanalyzer``."""
    text = page.read_text(encoding="utf-8").replace("    commanalyzer", "commanalyzer")
    found = {*_COMMAND.findall(text), *_INLINE.findall(text)}
    return sorted(line for line in found if not line.startswith("COMMAND") and "..." not in line)


def test_every_subcommand_has_an_example() -> None:
    context = click.Context(group)
    shown = {line.split()[0] for page in _pages() for line in _documented(page)}
    assert shown == set(group.list_commands(context))


@pytest.mark.parametrize("page", _pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_names_exists(page: Path) -> None:
    for line in _documented(page):
        _accept(line)
        if line.startswith("analyze") and "analyze ./" not in line:
            sources = [w for w in shlex.split(line.split(" -- ")[0]) if w.endswith((".c", ".cpp", ".f90"))]
            assert sources, line
            assert [source for source in sources if not list(ROOT.glob(source))] == [], line
    text = page.read_text(encoding="utf-8")
    targets = [t.partition("#") for t in re.findall(r"\]\(([^)\s]+)\)", text) if not t.startswith("http")]
    files = {path: (page.parent / path).resolve() if path else page for path, _, _ in targets}
    assert [path for path, file in files.items() if not file.exists()] == []
    assert [(path, name) for path, _, name in targets if name and name not in _anchors(files[path])] == []
    named = re.findall(
        r"`((?:docs|commanalyzer|examples|runtime_shim|tests|workloads|bench)/[\w./-]+)`", text
    )
    assert [name for name in named if not (ROOT / name).exists() and "N" not in name] == []


def _accept(line: str) -> None:
    """Read a command line as the command would."""
    name, *arguments = shlex.split(line)
    # commands remember the settings of the group they were first used with (-h)
    parent = click.Context(group, info_name="commanalyzer", **group.context_settings)
    command = group.get_command(parent, name)
    if isinstance(command, click.Group):
        parent = click.Context(command, parent=parent, info_name=name)
        command = command.get_command(parent, arguments.pop(0))
    assert command is not None, line
    context = command.make_context(name, arguments, parent=parent)
    assert context.params or not command.params, line


@pytest.mark.parametrize("name", FORMATS)
def test_every_export_format_is_explained(name: str) -> None:
    page = (ROOT / "docs" / "reference" / "options.md").read_text(encoding="utf-8")
    section = page.partition("## Export formats\n")[2].partition("\n## ")[0]
    assert f"`{name}`" in section


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


def test_what_recipes_name_is_in_the_files_that_they_name() -> None:
    """A name of the code stands in a file that its recipe names, or in one of the same folder."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("\n## Recipes\n")[2]
    missing, checked = [], 0
    for recipe in page.partition("\n## ")[0].split("\n### ")[1:]:
        words = re.findall(r"`([^`\s]+)`", recipe)
        paths = [
            path for word in words for path in (ROOT / word, *ROOT.glob(f"*/**/{word}")) if path.exists()
        ]
        folders = {path if path.is_dir() else path.parent for path in paths}
        text = "".join(p.read_text() for folder in folders for p in folder.glob("*.*") if p.is_file())
        text += " ".join(path.name for path in paths)
        names = [word for word in words if re.fullmatch(r"_?[A-Za-z]\w*(\.\w+)?", word) and word != "None"]
        missing += [w for w in names if w not in text and not all(map(text.__contains__, w.split(".")))]
        checked += len(names)
    assert missing == []
    assert checked > 30


def test_every_promise_is_held_by_the_default_run() -> None:
    named = {m[:2] for row in _rows("docs/explanation/promises.md", "\n") for m in _TEST.findall(row)}
    late = {
        (str(path.relative_to(ROOT / "tests")), node.name)
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
        for mark in map(ast.unparse, node.decorator_list)
        if mark in ("pytest.mark.slow", "pytest.mark.extended")
    }
    assert len(late) > 5
    assert sorted(named & late) == []
    assert [f"{file}::{name}" for file, name in named if f"{file}::{name}".startswith(EXTENDED)] == []


def _anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
