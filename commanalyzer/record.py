"""Source to value graph: compiles, instruments, runs and reads back.

Input: an :class:`AnalysisRequest`. Output: :class:`RecordedProgram`, everything later stages need.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

import numpy as np
import psutil

from commanalyzer.errors import TargetRunError
from commanalyzer.frontend.compile import FrontendResult, compile_sources
from commanalyzer.frontend.executable import compile_executable, has_executable
from commanalyzer.instrument.plan import ModulePlan, PlanOptions, plan_module
from commanalyzer.instrument.rewrite import rewrite
from commanalyzer.instrument.sites import SiteTable
from commanalyzer.instrument.thunks import with_thunks
from commanalyzer.ir.libcalls import LibraryModel
from commanalyzer.ir.library_files import library_with
from commanalyzer.ir.model import Module
from commanalyzer.ir.parser import parse_module
from commanalyzer.progress import Progress
from commanalyzer.request import AnalysisRequest
from commanalyzer.results import Recording, WorkCounts
from commanalyzer.runtime.build import build_instrumented, build_native
from commanalyzer.runtime.launch import RunLimits, TargetRun, run_target, spool_stdin
from commanalyzer.trace.reader import Trace, read_trace
from commanalyzer.vcg.build import build_store
from commanalyzer.vcg.graph import ValueGraph
from commanalyzer.vcg.spill import Spill
from commanalyzer.vcg.store import GraphStore
from commanalyzer.vcg.workspaces import find_workspaces, write_workspaces

_STANDARD_ERROR = 2  # descriptor: sys.stderr may be replaced (notebooks, test runners)
_PROCESSES = frozenset(("fork", "vfork", "clone", "posix_spawn", "posix_spawnp", "system", "popen"))
_RECORDER_FAILED = 113  # exit status of the shim when it cannot reserve its memory


@dataclass(frozen=True, slots=True)
class RecordedProgram:
    """A program after its run.

    Attributes:
        frontend: Canonical program and how it was compiled.
        store: Value communication graph in coded form.
        work: Operations of the analysed region.
        recording: Recording quality.
    """

    frontend: FrontendResult
    store: GraphStore
    work: WorkCounts
    recording: Recording

    @property
    def graph(self) -> ValueGraph:
        """The graph, expanded."""
        return self.store.graph()


def compile_program(request: AnalysisRequest) -> FrontendResult:
    """Canonical program of a request, as text.

    Raises:
        CommAnalyzerError: As :func:`compile_sources` says.
    """
    compiler = request.compiler
    compile_inputs = compile_executable if has_executable(request.sources) else compile_sources
    return compile_inputs(
        request.sources,
        compiler=compiler.command,
        flags=compiler.flags,
        regions=request.regions,
        fortran=compiler.fortran,
    )


def compile_request(request: AnalysisRequest) -> tuple[FrontendResult, Module]:
    """Canonical program of a request, as text and parsed.

    Raises:
        CommAnalyzerError: As :func:`compile_sources` and the IR parser say.
    """
    frontend = compile_program(request)
    library = library_with(*request.library_models)
    return frontend, with_thunks(parse_module(frontend.ir_text), library)


def record(request: AnalysisRequest, progress: Progress) -> RecordedProgram:
    """Run the program of ``request`` natively and instrumented, and build its graph.

    Raises:
        CommAnalyzerError: A subclass says which stage failed and what to do.
    """
    library_with(*request.library_models)  # complain before anything takes time
    progress.stage("compile", 1)
    frontend, module = compile_request(request)
    progress.stage("instrument", 1)
    library = library_with(*request.library_models)
    options = PlanOptions(request.control_flows, frontend.region_functions, library)
    plan = plan_module(module, options)
    link_flags = request.compiler.link_flags
    instrumented = build_instrumented(rewrite(module, plan), frontend, link_flags)
    native = build_native(frontend, link_flags)
    with tempfile.TemporaryDirectory(prefix="commanalyzer-") as scratch:
        directory = Path(scratch)
        stdin = spool_stdin(request.stdin, directory)
        progress.stage("run the program", 1)
        plain = _run(native, request, stdin, discard=True)
        progress.stage("record the program", 1)
        trace_path = directory / "trace"
        traced = _run(instrumented, request, stdin, trace=trace_path)
        progress.stage("build the value graph", 1)
        trace = read_trace(trace_path)
        traced = _with_own_peak(traced, trace)
        store = _built(request, trace, plan.sites)
        mask = find_workspaces(store) if request.private_temporaries else np.zeros(0, np.bool_)
        if mask.any():
            progress.stage("record the private temporaries", 1)
            workspace = directory / "workspace"
            write_workspaces(workspace, store, mask, plan.sites)
            del store
            again = _run(instrumented, request, stdin, trace=trace_path, workspace=workspace, discard=True)
            progress.stage("build the value graph", 1)
            trace = read_trace(trace_path)
            again = _with_own_peak(again, trace)
            peak_rss_bytes = max(traced.peak_rss_bytes, again.peak_rss_bytes)
            traced = replace(traced, cpu_s=traced.cpu_s + again.cpu_s, peak_rss_bytes=peak_rss_bytes)
            store = _built(request, trace, plan.sites)
        return _finished(request, frontend, plan, trace, store, plain, traced)


def _built(request: AnalysisRequest, trace: Trace, sites: SiteTable) -> GraphStore:
    spill = Spill.within(request.memory_limit_bytes)
    return build_store(trace, sites, has_regions=bool(request.regions), spill=spill)


def _with_own_peak(run: TargetRun, trace: Trace) -> TargetRun:
    """The run with the peak memory that the recorder saw; from outside, ours would be mixed into it."""
    return replace(run, peak_rss_bytes=trace.statistics.peak_rss_bytes or run.peak_rss_bytes)


def recorder_environment(trace: Path, memory_limit_bytes: int | None) -> dict[str, str]:
    """What the recorder is told: its file, and the memory beyond half of which it uses that file.

    Args:
        trace: File to write.
        memory_limit_bytes: Limit of the run's memory; without one, a quarter of what the machine has left.
    """
    allowed = memory_limit_bytes or psutil.virtual_memory().available // 4  # the rest is for the graph
    return {"COMMANALYZER_TRACE": str(trace), "COMMANALYZER_MEMORY": f"{allowed:020d}"}


def _run(
    executable: Path,
    request: AnalysisRequest,
    stdin: Path | None,
    *,
    trace: Path | None = None,
    workspace: Path | None = None,
    discard: bool = False,
) -> TargetRun:
    environment = {} if trace is None else recorder_environment(trace, request.memory_limit_bytes)
    if workspace is not None:
        environment["COMMANALYZER_WORKSPACE"] = str(workspace)
    limits = RunLimits(request.timeout_s, request.memory_limit_bytes)
    output = "discard" if discard else request.program_output
    with _input(stdin) as stream:
        run = run_target(
            executable,
            request.arguments,
            stdin=stream,
            stdout={"discard": subprocess.DEVNULL, "stderr": _STANDARD_ERROR}.get(output),
            stderr=subprocess.DEVNULL if discard else None,
            environment=environment,
            limits=limits,
            label=request.sources[0].name,
        )
    if run.exit_status == _RECORDER_FAILED and trace is not None and not trace.exists():
        raise TargetRunError(
            "the recorder could not reserve its address space (see its message above)",
            hint="allow overcommitted memory (vm.overcommit_memory 0 or 1) and unlimited address space",
        )
    return run


@contextmanager
def _input(path: Path | None) -> Iterator[IO[bytes] | None]:
    if path is None:
        yield None
        return
    with path.open("rb") as stream:
        yield stream


def _finished(
    request: AnalysisRequest,
    frontend: FrontendResult,
    plan: ModulePlan,
    trace: Trace,
    store: GraphStore,
    plain: TargetRun,
    traced: TargetRun,
) -> RecordedProgram:
    calls = [int(c) for c in trace.external_calls]
    unmodelled = tuple((n, c) for n, c in zip(plan.sites.externals, calls, strict=False) if c)
    _require_one_thread(unmodelled, plan.options.library)
    statistics = trace.statistics
    work = work_counts(trace, plan.sites)
    warnings = _warnings(request, unmodelled, plain, traced, trace, store, work)
    recording = Recording(
        native_s=plain.cpu_s,
        instrumented_s=traced.cpu_s,
        peak_rss_bytes=traced.peak_rss_bytes,
        spilled_bytes=statistics.spilled_bytes,
        exit_status=traced.exit_status,
        unmodelled_calls=unmodelled,
        dropped_events=statistics.dropped_rows + statistics.hash_collisions,
        warnings=(*frontend.diagnostics, *warnings),
    )
    return RecordedProgram(frontend, store, work, recording)


def _require_one_thread(called: Sequence[tuple[str, int]], library: LibraryModel) -> None:
    """Raise if the program started threads: they would record into each other.

    Raises:
        TargetRunError: As said.
    """
    started = [f"{name} ({count}x)" for name, count in called if name in library.thread_starters]
    if started:
        raise TargetRunError(
            f"expected a sequential program, found one that started threads: {', '.join(started)}",
            hint="analyse the sequential version (one thread, without -fopenmp)",
        )


def work_counts(trace: Trace, table: SiteTable) -> WorkCounts:
    """Operations executed in the analysed region: block executions times what a block contains."""
    counters = np.asarray(trace.block_counters).astype(np.int64)
    costs = np.array(
        [(b.flops, b.loads, b.stores, b.instructions) for b in table.blocks] or [(0, 0, 0, 0)],
        dtype=np.int64,
    )
    totals = counters[: len(costs)] @ costs[: len(counters)]
    return WorkCounts(*(int(t) for t in totals))


def _warnings(
    request: AnalysisRequest,
    called: Sequence[tuple[str, int]],
    plain: TargetRun,
    traced: TargetRun,
    trace: Trace,
    store: GraphStore,
    work: WorkCounts,
) -> Sequence[str]:
    result = []
    if plain.exit_status != traced.exit_status:
        result.append(
            f"the program ended with status {plain.exit_status} alone and {traced.exit_status} recorded: "
            "its behaviour is not the same in every run"
        )
    elif traced.exit_status:
        result.append(f"the program ended with status {traced.exit_status}")
    processes = [name for name, _ in called if name in _PROCESSES]
    if processes:
        result.append(f"the program started other processes ({', '.join(processes)}): they were not recorded")
    if trace.statistics.unaligned_copies:
        result.append(
            f"{trace.statistics.unaligned_copies} memory copies between differently aligned addresses: "
            "the values they moved were not followed"
        )
    if trace.statistics.unnamed_lifetimes:
        result.append(
            f"{trace.statistics.unnamed_lifetimes} stores to workspaces were not told apart: "
            "there are too many different ones"
        )
    if store.num_rows == 0:
        what = "the region was never entered" if request.regions else "the program stores no values"
        result.append(f"nothing was recorded: {what}")
    elif work.flops == 0:
        result.append("the program executes no floating-point operations: intensity has no meaning")
    return result
