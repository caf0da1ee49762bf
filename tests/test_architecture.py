"""The structure of the package, read from its source: layers, adapters, sizes, output, import cost."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import commanalyzer
from commanalyzer import errors

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path(commanalyzer.__file__).resolve().parent  # the checkout's, or the installed one
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60

# A module may import from its own group and from groups further up; the README shows the same order. The
# longest prefix decides: the value graph is a value type that every stage may name, building it is a stage.
LAYERS = (
    ("version", "errors"),
    ("quantities", "files", "progress", "compiled", "abi"),
    ("machine", "vcg.graph"),
    ("request", "ir"),
    ("frontend",),
    ("instrument", "interpreter"),
    ("runtime", "trace"),
    ("vcg",),
    ("partition", "communication"),
    ("roofline",),
    ("report.figures",),
    ("results",),
    ("provenance", "export", "comparison"),
    ("artifact_header",),
    ("artifacts",),
    ("record", "decompose", "counting"),
    ("pipeline", "simulation"),
    ("sweep",),
    ("laws",),
    ("validation",),
    ("api", "report"),
    ("cli",),
    ("__main__",),
)
# Libraries that misbehave or cost much when imported: one module each may touch them.
ADAPTERS = {
    "pymetis": {"partition.metis_call"},
    "mtkahypar": {"partition.mtkahypar_call"},
    "numba": {"compiled"},
    "h5py": {"artifacts"},
    "mpi4py": {"machine.mpi", "sweep.executors"},
    "llvmlite": {"frontend.canonicalize", "runtime.merge"},  # both run as child processes only
    "ziglang": set[str](),  # started as a program
}
CHILD_PROCESSES = {"frontend.canonicalize", "runtime.merge"}
HEAVY = (
    "numpy",
    "numba",
    "scipy",
    "h5py",
    "matplotlib",
    "jinja2",
    "pymetis",
    "mtkahypar",
    "networkx",
    "llvmlite",
    "mpi4py",
    "rich",
    "psutil",
    "tomlkit",
)


@dataclass(frozen=True)
class SourceFile:
    """A module of the package: name without the package's, path, text and syntax tree."""

    name: str
    path: Path
    text: str
    tree: ast.Module


def _read(path: Path, base: Path) -> SourceFile:
    parts = path.relative_to(base).with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    text = path.read_text(encoding="utf-8")
    return SourceFile(name, path, text, ast.parse(text, filename=str(path)))


MODULES = tuple(_read(path, PACKAGE) for path in sorted(PACKAGE.rglob("*.py")))
TESTS = tuple(_read(path, ROOT) for path in sorted((ROOT / "tests").rglob("*.py")))
NAMES = frozenset(module.name for module in MODULES)


def _imports(tree: ast.AST) -> Iterator[str]:
    """Everything imported anywhere in ``tree``, as dotted names (``from a import b`` yields ``a.b``)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide where a name comes from"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _own_imports(module: SourceFile) -> set[str]:
    """Modules of the package that ``module`` imports; the empty name is the package root."""
    found = set()
    for name in _imports(module.tree):
        if name.split(".")[0] == "commanalyzer":
            target = name.removeprefix("commanalyzer").removeprefix(".")
            found.add(target if target in NAMES else target.rpartition(".")[0])
    return found


def _layer(name: str) -> tuple[int, str]:
    """Position of a module's group, and the group's name."""
    matches = [
        (len(group), level, group)
        for level, groups in enumerate(LAYERS)
        for group in groups
        if name == group or name.startswith(f"{group}.")
    ]
    assert matches, f"{name} is in no layer: add it to LAYERS and to the README"
    _, level, group = max(matches)
    return level, group


def _functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))


def _modules_except_root() -> list[SourceFile]:
    return [module for module in MODULES if module.name]


def test_every_layer_names_modules_that_exist() -> None:
    groups = [group for groups in LAYERS for group in groups]
    missing = [g for g in groups if not any(n == g or n.startswith(f"{g}.") for n in NAMES)]
    assert missing == []
    assert len(groups) == len(set(groups))


@pytest.mark.parametrize("module", _modules_except_root(), ids=lambda m: m.name)
def test_imports_point_up_the_layers(module: SourceFile) -> None:
    level, group = _layer(module.name)
    wrong = []
    for target in sorted(_own_imports(module) - {""}):
        target_level, target_group = _layer(target)
        if target_group != group and target_level >= level:
            wrong.append(target)
    assert wrong == []


def test_no_import_cycles() -> None:
    graph = {module.name: _own_imports(module) - {module.name} for module in _modules_except_root()}
    try:
        order = list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(f"import cycle: {' -> '.join(error.args[1])}")
    assert set(order) - {""} == NAMES - {""}


def test_nothing_inside_imports_from_the_package_root() -> None:
    assert [module.name for module in _modules_except_root() if "" in _own_imports(module)] == []


@pytest.mark.parametrize("library", sorted(ADAPTERS))
def test_libraries_are_touched_by_their_adapter_only(library: str) -> None:
    users = {m.name for m in MODULES if any(i.split(".")[0] == library for i in _imports(m.tree))}
    assert users <= ADAPTERS[library]


def _calls(tree: ast.AST) -> set[str]:
    """Names of plainly called functions and of functions called on a plain name (``sys.exit``)."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name):
                found.add(node.func.id)
            elif isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
                found.add(f"{node.func.value.id}.{node.func.attr}")
    return found


def _may_talk(name: str) -> bool:
    return name.split(".")[0] in ("cli", "report", "__main__") or name in CHILD_PROCESSES


def test_only_the_command_line_and_reports_print_or_exit() -> None:
    loud = {"print", "sys.exit", "exit", "quit", "os._exit", "SystemExit", "input"}
    quiet = [module for module in MODULES if not _may_talk(module.name)]
    assert {m.name: found for m in quiet if (found := _calls(m.tree) & loud)} == {}


@pytest.mark.parametrize("source", [*MODULES, *TESTS], ids=lambda m: m.name or "commanalyzer")
def test_files_and_functions_are_short(source: SourceFile) -> None:
    lengths = {f.name: (f.end_lineno or f.lineno) - f.lineno + 1 for f in _functions(source.tree)}
    assert len(source.text.splitlines()) <= MAX_FILE_LINES
    assert {name: lines for name, lines in lengths.items() if lines > MAX_FUNCTION_LINES} == {}


@pytest.mark.parametrize(
    "path", sorted((ROOT / "runtime_shim").rglob("*.[chi]*")), ids=lambda path: str(path.name)
)
def test_shim_files_are_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_FILE_LINES


def test_every_module_says_what_it_is() -> None:
    assert [module.name for module in MODULES if not ast.get_docstring(module.tree)] == []


def test_help_does_not_import_heavy_libraries() -> None:
    code = (
        "import sys\n"
        "import commanalyzer, commanalyzer.cli.main\n"
        f"print(*[name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT, timeout=60
    )
    assert done.stdout.split() == []


def test_the_readme_shows_every_part_of_the_package() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    parts = {p.name + "/" if p.is_dir() else p.name for p in PACKAGE.iterdir() if not p.name.startswith("__")}
    hidden = {"py.typed", "_runtime_shim/"}
    assert sorted(part for part in parts - hidden if part not in readme) == []


def test_the_readme_explains_every_exit_code_and_variable() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    codes = {str(value) for name, value in vars(errors).items() if name.startswith("EXIT_")}
    assert sorted(code for code in codes if f"| {code} |" not in readme) == []
    read = {
        node.args[0].value
        for module in MODULES
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("os.environ.get", "os.getenv")
        if isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str)
    }
    assert "COMMANALYZER_CACHE" in read
    assert sorted(name for name in read if f"`{name}`" not in readme) == []
