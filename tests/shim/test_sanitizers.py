"""The shim and instrumented programs under AddressSanitizer and UBSan.

    python -m pytest tests/shim/test_sanitizers.py

AddressSanitizer needs a clang with its runtime (Debian: ``clang``); the bundled compiler has none. The driver
calls every hook. In instrumented programs everything is checked: the program's accesses, those of the hooks
that are inlined into it, and the rest of the shim. Blocks that the shim hands out have no red zones.
"""

import subprocess
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

from commanalyzer.graph.build import build_store
from commanalyzer.graph.contraction.workspaces import write_workspaces
from commanalyzer.graph.storage.store import GraphStore
from commanalyzer.program.frontend.compile import compile_sources
from commanalyzer.program.frontend.toolchain import bundled_toolchain, shim_directory
from commanalyzer.program.ir.libcalls import library_with
from commanalyzer.program.ir.parsing.parser import parse_module
from commanalyzer.recording.instrument.calls import with_thunks
from commanalyzer.recording.instrument.plan import PlanOptions, plan_module
from commanalyzer.recording.instrument.rewrite import rewrite
from commanalyzer.recording.trace import read_trace
from tests.native import ROOT
from tests.recorded import record_file
from tests.shim import sanitized
from tests.shim.conftest import Driver
from tests.shim.test_workspaces import SCRATCH, listed

_HERE = Path(__file__).resolve().parent
_SCENARIOS = (
    *("crowded", "fills", "frames", "heap", "many_labels", "mixed", "reallocation"),
    *("reductions", "registers", "replication", "rows", "running", "unknown"),
)
_IN_WORKSPACES = ("carried", "constants", "copies", "lifetimes", "updates")
_CORPUS = _HERE.parent / "e2e" / "corpus"
_WORKLOADS = ROOT / "workloads"
_PROGRAMS: dict[str, tuple[list[Path], tuple[str, ...]]] = {
    **{path.name: ([path], ()) for path in sorted(_CORPUS.glob("*.c*"))},
    "fem2d": ([_WORKLOADS / "fem2d" / "fem2d.c"], ("4", "2")),
    "hydro3d": (sorted((_WORKLOADS / "hydro3d").glob("*.cpp")), ("3", "2")),
}


def slow_but_few(names: list[str]) -> list[ParameterSet | str]:
    """Names, of which all but the first two are for the long run (``-m slow``)."""
    return [*names[:2], *(pytest.param(name, marks=pytest.mark.slow) for name in names[2:])]


@pytest.fixture(scope="module")
def checked_driver(driver: Driver, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The driver with both sanitizers."""
    sanitized.require_runtime()
    folder = tmp_path_factory.mktemp("asan-driver")
    objects = [
        sanitized.compile_checked(source, folder / f"{source.stem}.o", "-I", str(driver.folder))
        for source in (_HERE / "driver.c", *sorted((shim_directory() / "src").glob("*.c")))
    ]
    return sanitized.link_checked(objects, folder / "driver")


@pytest.fixture(scope="module")
def checked_shim(tmp_path_factory: pytest.TempPathFactory) -> sanitized.SanitizedShim:
    sanitized.require_runtime()
    return sanitized.build_shim(tmp_path_factory.mktemp("asan-shim"))


@pytest.mark.parametrize("scenario", [*_SCENARIOS, *_IN_WORKSPACES])
def test_hooks_run_clean(checked_driver: Path, scenario: str, tmp_path: Path) -> None:
    environment = {"COMMANALYZER_TRACE": str(tmp_path / "trace")}
    if scenario in _IN_WORKSPACES:
        (tmp_path / "workspace").write_bytes(listed(SCRATCH))
        environment["COMMANALYZER_WORKSPACE"] = str(tmp_path / "workspace")
    done = sanitized.run(checked_driver, scenario, **environment)
    assert (done.status, done.stderr) == (0, "")
    assert (tmp_path / "trace").stat().st_size > 4096


@pytest.mark.parametrize("name", slow_but_few(list(_PROGRAMS)))
def test_instrumented_programs_run_clean(
    checked_shim: sanitized.SanitizedShim, name: str, tmp_path: Path
) -> None:
    """Both recordings, the second one with all memory as workspace."""
    sources, arguments = _PROGRAMS[name]
    is_cplusplus = sources[0].suffix == ".cpp"
    # the sanitizers' runtime goes with clang's own C++ library
    frontend = compile_sources(sources, compiler="clang++" if is_cplusplus else "", flags=("-w",))
    library = library_with()
    module = with_thunks(parse_module(frontend.ir_text), library)
    plan = plan_module(module, PlanOptions(library=library))
    recording, plain = (
        checked_shim.program(text, kind, is_instrumented=kind == "recording", is_cplusplus=is_cplusplus)
        for kind, text in (("recording", rewrite(module, plan)), ("plain", frontend.ir_text))
    )
    expected = sanitized.run(plain, *arguments)
    assert expected.stderr == ""
    trace, workspace = tmp_path / "trace", tmp_path / "workspace"
    first = sanitized.run(recording, *arguments, COMMANALYZER_TRACE=str(trace))
    assert (first.status, first.stdout, first.stderr) == (expected.status, expected.stdout, "")
    recorded = read_trace(trace)
    graph = build_store(recorded, plan.sites).graph()
    assert graph.num_rows > 0
    mask = ~graph.is_register & (graph.home_object > 0)
    write_workspaces(workspace, GraphStore.of(graph), mask, plan.sites, recorded)
    named = {"COMMANALYZER_TRACE": str(trace), "COMMANALYZER_WORKSPACE": str(workspace)}
    second = sanitized.run(recording, *arguments, **named)
    assert (second.status, second.stdout, second.stderr) == (expected.status, expected.stdout, "")
    read_trace(trace)  # complete; where all values come from constants, such a recording has no rows


@pytest.mark.parametrize("name", slow_but_few(sorted(path.name for path in _CORPUS.glob("*.c*"))))
def test_instrumented_programs_trap_nowhere(name: str, tmp_path: Path) -> None:
    """With UBSan's checks in the program itself: recording changes no operand of a checked operation."""
    ir = tmp_path / "program.ll"
    tools = bundled_toolchain()
    compiler = tools.cxx if name.endswith(".cpp") else tools.cc
    checks = ("-fsanitize=undefined", "-fsanitize-trap=undefined", "-fno-sanitize=function,vptr")
    command = [*compiler, *tools.target_flags, "-O1", *checks, "-w", "-S", "-emit-llvm", str(_CORPUS / name)]
    subprocess.run([*command, "-o", str(ir)], check=True, capture_output=True)
    recorded = record_file(ir)
    assert "@llvm.ubsantrap" in "\n".join(recorded.module.lines)
    assert recorded.traced.stdout == recorded.plain.stdout
    assert recorded.traced.exit_status == recorded.plain.exit_status < 128  # no signal
