"""Runs one program without recording and with both recordings and says whether it behaved the same."""

import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from commanalyzer.foundation.errors import CommAnalyzerError, TargetRunError
from commanalyzer.graph.build import build_store
from commanalyzer.graph.contraction.workspaces import readings, write_workspaces
from commanalyzer.graph.storage.store import GraphStore
from commanalyzer.program.frontend.compile import compile_sources
from commanalyzer.program.ir.libcalls import library_with
from commanalyzer.program.ir.parsing.parser import parse_module
from commanalyzer.recording.instrument.plan import PlanOptions, plan_module
from commanalyzer.recording.instrument.rewrite import rewrite
from commanalyzer.recording.instrument.sites import SiteTable
from commanalyzer.recording.instrument.thunks import with_thunks
from commanalyzer.recording.runtime.build import build_instrumented, build_native
from commanalyzer.recording.runtime.launch import RunLimits, TargetRun, run_target
from commanalyzer.recording.trace import Trace, read_trace

PLAIN_LIMITS = RunLimits(timeout_s=2.0)
TRACED_LIMITS = RunLimits(timeout_s=120.0)


@dataclass(frozen=True)
class Outcome:
    """Result for one program; ``problem`` is empty when both runs agree."""

    seed: int
    source: str
    problem: str
    is_skipped: bool = False


def compare(
    seed: int, text: str, prepare: Callable[[Path], Path], flags: tuple[str, ...] = (), suffix: str = ".c"
) -> Outcome:
    """Compare the runs of one program.

    Args:
        prepare: Called with the source's path; returns what to analyse (the source, or IR made of it).
    """
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / f"program{suffix}"
        source.write_text(text)
        try:
            problem = _difference(prepare(source), flags, Path(folder))
        except (CommAnalyzerError, AssertionError, LookupError, ValueError, TypeError) as error:
            return Outcome(seed, text, f"{type(error).__name__}: {error}")
    return Outcome(seed, text, problem or "", is_skipped=problem is None)


def _difference(program: Path, flags: tuple[str, ...], folder: Path) -> str | None:
    """What differs; ``None`` if the plain program does not end in time."""
    frontend = compile_sources([program], flags=flags)
    module = with_thunks(parse_module(frontend.ir_text), library_with())
    plan = plan_module(module, PlanOptions())
    executable = build_instrumented(rewrite(module, plan), frontend)
    plain = _run(build_native(frontend), PLAIN_LIMITS, {})
    if isinstance(plain, str) and "signal" not in plain:
        return None
    trace, workspace = folder / "trace", folder / "workspace"
    environment = {"COMMANALYZER_TRACE": str(trace)}
    difference = _recorded_difference(executable, plain, environment)
    if difference:
        return difference
    if isinstance(plain, str):
        return ""  # a signal ended the recording, too
    _write_workspaces(workspace, read_trace(trace), plan.sites)
    environment["COMMANALYZER_WORKSPACE"] = str(workspace)
    difference = _recorded_difference(executable, plain, environment)
    if difference:
        return f"with workspaces: {difference}"
    build_store(read_trace(trace), plan.sites).graph()
    return ""


def _recorded_difference(executable: Path, plain: TargetRun | str, environment: dict[str, str]) -> str:
    """How the recorded run differs from the plain one."""
    expected, found = _behaviour(plain), _behaviour(_run(executable, TRACED_LIMITS, environment))
    return "" if expected == found else f"{expected} became {found}"


def _behaviour(run: TargetRun | str) -> str:
    return run if isinstance(run, str) else f"{run.exit_status} {run.stdout!r}"


def _write_workspaces(path: Path, trace: Trace, sites: SiteTable) -> None:
    """The program's workspaces; all its memory, to try the recorder, if it has none."""
    graph = build_store(trace, sites).graph()
    store = GraphStore.of(graph)
    found = readings(store)[0]
    mask = found if found.any() else ~graph.is_register & (graph.home_object > 0)
    write_workspaces(path, store, mask, sites, trace)


def _run(executable: Path, limits: RunLimits, environment: dict[str, str]) -> TargetRun | str:
    """The run, or why it did not end by itself."""
    try:
        return run_target(
            executable,
            (),
            stdin=subprocess.DEVNULL,
            limits=limits,
            capture=True,
            environment=environment,
            label="the program",
        )
    except TargetRunError as error:
        return str(error)
