"""The structure of the package, read from its source: layers, adapters, sizes, output, import cost."""

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import commanalyzer
from commanalyzer.foundation import errors
from tests.tiers import FAST, FURTHER

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path(commanalyzer.__file__).resolve().parent  # the checkout's, or the installed one
# Lines that each part may have. Their sum only goes down: who adds somewhere takes away, first of all there.
BUDGETS = {
    "checking": 519,
    "cli": 3_123,
    "communication": 2_943,
    "division": 6_845,
    "foundation": 1_100,
    "graph": 5_597,
    "kernels": 6_626,
    "machine": 4_540,
    "profiles": 4_773,
    "program": 8_732,
    "recording": 10_580,
    "report": 6_949,
    "result": 2_558,
    "scaling": 5_920,
    ".": 770,
    "runtime_shim/include": 340,
    "runtime_shim/models": 1_212,
    "runtime_shim/mpi": 1_380,
    "runtime_shim/profile": 895,
    "runtime_shim/src": 4_781,
    "runtime_shim/supervisor": 115,
    "tests": 40_192,
}

# A module may import from its own group and from groups further up; ARCHITECTURE.md shows the same order. The
# longest prefix decides: the value graph is a value type that every stage may name, building it is a stage.
LAYERS = (
    ("foundation.errors",),
    ("foundation",),
    ("recording.abi",),
    ("machine", "graph.value_graph"),
    ("request", "program.ir"),
    ("program.frontend",),
    ("recording.instrument", "recording.interpreter"),
    ("recording.runtime", "recording.trace"),
    ("graph",),
    ("division", "communication"),
    ("machine.roofline",),
    ("report.figures",),
    ("result.results",),
    ("result.provenance", "result.export", "result.comparison", "result.confidence"),
    ("result.artifacts",),
    ("division.views",),
    ("result.causes",),
    ("result.comparison.difference",),
    ("recording.record", "division.decompose", "checking.counting", "kernels.patterns", "kernels.features"),
    ("kernels.tasks",),
    ("division.readings", "division.exact"),
    ("pipeline", "machine.simulation"),
    ("profiles",),
    ("scaling.sweep",),
    ("scaling.laws",),
    ("scaling.allocations",),
    ("kernels.composition", "profiles.classification", "kernels.learning"),
    ("profiles.extrapolation",),
    ("report",),
    ("api",),
    ("cli",),
    ("__main__",),
)
# A result answers questions by what is built on it, imported when it is asked.
ANSWERS = {
    "report.figures.methods": {"result.results"},
    "result.results": {
        *("result.causes", *(f"result.comparison.{name}" for name in ("compare", "difference"))),
        *("machine.simulation.platforms", "machine.simulation.run", "report.html.page"),
    },
}
# Libraries that misbehave or cost much when imported: one module each may touch them.
ADAPTERS = {
    "pymetis": {"division.libraries.metis"},
    "mtkahypar": {"division.libraries.mtkahypar"},
    "numba": {"foundation.compiled"},
    "h5py": {"result.artifacts"},
    "blosc": {"graph.storage.coding"},
    "mpi4py": {"machine.measuring.mpi", "scaling.sweep.executors"},
    "llvmlite": {
        "foundation.compiled",
        "program.frontend.canonicalize",
    },  # with Numba; the others are child processes
    "sklearn": {
        "profiles.classification.classify",
        "profiles.extrapolation.fitting",
        "kernels.learning.training",
    },
    "statsmodels": {"scaling.laws.regression"},
    "ziglang": set[str](),  # started as a program
}
MAY_SAY_ANY = {
    **{"foundation.compiled": "numba", "foundation.documents": "json", "graph.value_graph": "numpy"},
    **dict.fromkeys(("kernels.learning.training", "profiles.extrapolation.fitting"), "sklearn"),
    **{"division.libraries.mtkahypar": "mtkahypar", "cli.parameters.options": "click", "api": "typing"},
}  # and, until all of their arguments have types, modules of compiled loops
CHILD_PROCESSES = {"program.frontend.canonicalize"}
HEAVY = (
    *("numpy", "numba", "scipy", "h5py", "matplotlib", "jinja2", "pymetis", "mtkahypar", "networkx"),
    *("llvmlite", "mpi4py", "rich", "sklearn", "psutil", "tomlkit", "statsmodels"),
)


@dataclass(frozen=True)
class SourceFile:
    """A Python file: its name (without the package's), and what the checks look at.

    Attributes:
        imports: Everything imported anywhere, as dotted names (``from a import b`` yields ``a.b``).
        calls: Plainly called functions and functions called on a plain name (``sys.exit``).
    """

    name: str
    lines: int
    imports: frozenset[str]
    calls: frozenset[str]
    variables: frozenset[str]
    has_docstring: bool
    classes: tuple[str, ...]


def _read(path: Path, base: Path) -> SourceFile:
    """What the checks need; the tree is not kept, it would slow every later garbage collection down."""
    parts = path.relative_to(base).with_suffix("").parts
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text, filename=str(path))
    nodes = list(ast.walk(tree))
    called = [node for node in nodes if isinstance(node, ast.Call)]
    return SourceFile(
        name=".".join(parts[:-1] if parts[-1] == "__init__" else parts),
        lines=len(text.splitlines()),
        imports=frozenset(_imports(nodes)),
        calls=frozenset(_calls(called)),
        variables=frozenset(_variables(called)),
        has_docstring=bool(ast.get_docstring(tree)),
        classes=tuple(node.name for node in tree.body if isinstance(node, ast.ClassDef)),
    )


@cache
def _modules() -> tuple[SourceFile, ...]:
    return tuple(_read(path, PACKAGE) for path in sorted(PACKAGE.rglob("*.py")))


@cache
def _names() -> frozenset[str]:
    return frozenset(module.name for module in _modules())


def _imports(nodes: list[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide where a name comes from"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _calls(calls: list[ast.Call]) -> Iterator[str]:
    for node in calls:
        if isinstance(node.func, ast.Name):
            yield node.func.id
        elif isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
            yield f"{node.func.value.id}.{node.func.attr}"


def _variables(calls: list[ast.Call]) -> Iterator[str]:
    for node in calls:
        if ast.unparse(node.func) not in ("os.environ.get", "os.getenv"):
            continue
        if isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str):
            yield node.args[0].value


def _own_imports(module: SourceFile) -> set[str]:
    """Modules of the package that ``module`` imports; the empty name is the package root."""
    found = set()
    for name in module.imports:
        if name.split(".")[0] == "commanalyzer":
            target = name.removeprefix("commanalyzer").removeprefix(".")
            found.add(target if target in _names() else target.rpartition(".")[0])
    return found - ANSWERS.get(module.name, set())


def _layer(name: str) -> tuple[int, str]:
    """Position of a module's group, and the group's name."""
    matches = [
        (len(group), level, group)
        for level, groups in enumerate(LAYERS)
        for group in groups
        if name == group or name.startswith(f"{group}.")
    ]
    assert matches, f"{name} is in no layer: add it to LAYERS and to ARCHITECTURE.md"
    _, level, group = max(matches)
    return level, group


def _modules_except_root() -> list[SourceFile]:
    return [module for module in _modules() if module.name]


def test_every_layer_names_modules_that_exist() -> None:
    groups = [group for groups in LAYERS for group in groups]
    missing = [g for g in groups if not any(n == g or n.startswith(f"{g}.") for n in _names())]
    assert missing == []
    assert len(groups) == len(set(groups))


def _lines_of_parts() -> Counter[str]:
    """Lines of every room, the modules beside them (``.``), the folders of the recorder, and the tests."""
    lines: Counter[str] = Counter()
    for module in _modules():
        package = module.name.partition(".")[0]
        lines[package if package and (PACKAGE / package).is_dir() else "."] += module.lines
    for path in (ROOT / "runtime_shim").rglob("*.[chi]*"):
        lines[str(path.parent.relative_to(ROOT))] += len(path.read_text(encoding="utf-8").splitlines())
    for path in (ROOT / "tests").rglob("*.py"):
        lines["tests"] += len(path.read_text(encoding="utf-8").splitlines())
    return lines


def test_no_part_grows() -> None:
    lines = _lines_of_parts()
    above = {part: n for part, n in lines.items() if n > BUDGETS.get(part, 0)}
    assert above == {}, "take as many lines away as you add; the sum of budgets only goes down"
    assert BUDGETS.keys() == lines.keys()


def test_no_two_classes_share_a_name() -> None:
    count = Counter(name for module in _modules() for name in module.classes)
    assert [name for name, times in count.items() if times > 1] == []


def test_imports_point_up_the_layers() -> None:
    wrong = []
    for module in _modules_except_root():
        if not _own_imports(module):
            continue  # such as what says what a package is
        level, group = _layer(module.name)
        for target in sorted(_own_imports(module) - {""}):
            target_level, target_group = _layer(target)
            if target_group != group and target_level >= level:
                wrong.append((module.name, target))
    assert wrong == []


def test_no_import_cycles() -> None:
    graph = {module.name: _own_imports(module) - {module.name} for module in _modules_except_root()}
    try:
        order = list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(f"import cycle: {' -> '.join(error.args[1])}")
    assert set(order) - {""} == _names() - {""}


def test_nothing_inside_imports_from_the_package_root() -> None:
    assert [module.name for module in _modules_except_root() if "" in _own_imports(module)] == []


@pytest.mark.parametrize("library", sorted(ADAPTERS))
def test_libraries_are_touched_by_their_adapter_only(library: str) -> None:
    users = {m.name for m in _modules() if any(i.split(".")[0] == library for i in m.imports)}
    assert users <= ADAPTERS[library]


def test_any_is_said_where_a_library_has_no_types() -> None:
    said = {m.name for m in _modules() if "typing.Any" in m.imports and not m.name.endswith("kernels")}
    assert said == {*MAY_SAY_ANY, "communication.balance"}


def _may_talk(name: str) -> bool:
    return name.split(".")[0] in ("cli", "report", "__main__") or name in CHILD_PROCESSES


def test_only_the_command_line_and_reports_print_or_exit() -> None:
    loud = {"print", "sys.exit", "exit", "quit", "os._exit", "SystemExit", "input"}
    quiet = [module for module in _modules() if not _may_talk(module.name)]
    assert {m.name: found for m in quiet if (found := m.calls & loud)} == {}


def test_every_module_says_what_it_is() -> None:
    assert [module.name for module in _modules() if not module.has_docstring] == []


def _written_lines(path: Path) -> list[str]:
    """Lines of a file without imports, comments, blank ones and punctuation."""
    text = path.read_text(encoding="utf-8")
    imports = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)]
    left_out = {n for node in imports for n in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
    lines = [line.strip() for n, line in enumerate(text.splitlines(), 1) if n not in left_out]
    return [line for line in lines if any(c.isalnum() for c in line) and not line.startswith("#")]


def _runs(path: Path, length: int = 6) -> set[tuple[str, ...]]:
    lines = _written_lines(path)
    return {tuple(lines[n : n + length]) for n in range(len(lines) - length + 1)}


def test_oracles_share_no_code_with_the_package() -> None:
    own = {run for path in PACKAGE.rglob("*.py") for run in _runs(path)}
    assert len(own) > 10_000
    shared = {path.name: _runs(path) & own for path in (ROOT / "tests" / "reference").glob("*.py")}
    assert {name: runs for name, runs in shared.items() if runs} == {}


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


def test_the_architecture_shows_every_part_of_the_package() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    parts = {p.name + "/" if p.is_dir() else p.name for p in PACKAGE.iterdir() if not p.name.startswith("__")}
    hidden = {"py.typed", "_runtime_shim/"}
    assert sorted(part for part in parts - hidden if part not in page) == []


def test_every_exit_code_and_variable_is_explained() -> None:
    page = (ROOT / "docs" / "reference" / "options.md").read_text(encoding="utf-8")
    codes = {str(value) for name, value in vars(errors).items() if name.startswith("EXIT_")}
    assert sorted(code for code in codes if f"| {code} |" not in page) == []
    read = {name for module in _modules() for name in module.variables}
    assert "COMMANALYZER_CACHE" in read
    assert sorted(name for name in read if f"`{name}`" not in page) == []


def test_tiers_name_tests_that_exist() -> None:
    """A test that is renamed would else move to the default run, and be missed by nobody."""
    assert [path for path in FAST if not (ROOT / "tests" / path).exists()] == []
    for file, entries in FURTHER.items():
        text = (ROOT / "tests" / file).read_text(encoding="utf-8")
        names = {re.split(r"[/\[*]", entry)[0] for entry in entries.split()}
        assert [name for name in names if f"\ndef test_{name}" not in text] == [], file


def test_entrance_pages_stay_short() -> None:
    limits = {"README.md": 150, "ARCHITECTURE.md": 200}
    lines = {name: len((ROOT / name).read_text(encoding="utf-8").splitlines()) for name in limits}
    assert {name: n for name, n in lines.items() if n > limits[name]} == {}
