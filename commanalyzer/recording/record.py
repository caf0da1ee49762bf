"""Source to value graph: compiles, instruments, runs and reads back.

Input: an :class:`AnalysisRequest`. Output: :class:`RecordedProgram`, everything later stages need.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from commanalyzer.division.regular.rules import are_called, parse_rule, require_called
from commanalyzer.foundation.errors import TargetRunError, TraceError
from commanalyzer.foundation.files import scratch_directory
from commanalyzer.foundation.progress import Progress
from commanalyzer.foundation.quantities import format_percent
from commanalyzer.foundation.work import DEFAULT_WEIGHTS, Operations, WorkWeights
from commanalyzer.graph.build import build_store, weights_in_use
from commanalyzer.graph.contraction.workspaces import (
    filled_from_workspaces,
    places_copied_to,
    readings,
    workspace_pieces,
    write_workspaces,
)
from commanalyzer.graph.storage.spill import Spill
from commanalyzer.graph.storage.store import GraphStore
from commanalyzer.graph.timeline import Timeline
from commanalyzer.graph.value_graph import Bool, HomeKind, Int64, Site
from commanalyzer.program.frontend.compile import FrontendResult, compile_sources
from commanalyzer.program.frontend.decisions import with_decisions
from commanalyzer.program.ir.libcalls import library_with
from commanalyzer.program.ir.model import Module
from commanalyzer.program.ir.names.addresses import source_name
from commanalyzer.program.ir.names.debug_info import is_fortran
from commanalyzer.program.ir.parsing.parser import parse_module
from commanalyzer.recording.abi import EVERY, PIECE, Mechanisms
from commanalyzer.recording.instrument.calls import with_thunks
from commanalyzer.recording.instrument.plan import ModulePlan, PlanOptions, plan_module
from commanalyzer.recording.instrument.rewrite import rewrite
from commanalyzer.recording.instrument.sites import SiteTable
from commanalyzer.recording.runtime import (
    ProgramRuns,
    TargetRun,
    build_instrumented,
    build_native,
    build_recorder,
    require_success,
)
from commanalyzer.recording.trace import Trace, read_trace
from commanalyzer.request import DEFAULT_IMBALANCE, AnalysisRequest
from commanalyzer.result.results import PROCESSES, Recording, WorkCounts

_MOST_COPIED = 2  # recordings for workspaces that are filled by copies from others; each shows the next


@dataclass(frozen=True, slots=True)
class RecordedProgram:
    """A program after its run."""

    frontend: FrontendResult  # canonical program and how it was compiled
    store: GraphStore  # value communication graph in coded form
    work: WorkCounts
    recording: Recording
    other: GraphStore | None  # the graph with the other reading of memory in doubt; ``None`` where nothing is
    workspaces: bytes  # what the recorder was told of private temporaries; empty for nothing
    sites: SiteTable  # what the numbers of a trace of it mean
    # instrumented module that records the order of events; empty where nobody may ask for it
    ordered_text: str = ""


def compile_program(request: AnalysisRequest) -> FrontendResult:
    """Canonical program of a request, as text; errors as of :func:`compile_sources`."""
    compiler = request.compiler
    return compile_sources(
        request.sources,
        compiler=compiler.command,
        flags=compiler.flags,
        regions=request.regions,
        fortran=compiler.fortran,
    )


def compile_request(
    request: AnalysisRequest, *, has_decisions: bool = False
) -> tuple[FrontendResult, Module]:
    """Canonical program of a request, compiled and parsed, with decisions if asked.

    Errors are those of :func:`compile_sources` and the IR parser.
    """
    frontend = compile_program(request)
    library = library_with(*request.library_models)
    module = parse_module(frontend.ir_text)
    return frontend, with_thunks(with_decisions(module) if has_decisions else module, library)


def planned(request: AnalysisRequest) -> tuple[Module, ModulePlan]:
    """Program of a request and how it is instrumented; errors as :func:`compile_request`."""
    frontend, module = compile_request(request, has_decisions=request.control_flows)
    library = library_with(*request.library_models)
    return module, plan_module(module, PlanOptions(request.control_flows, frontend.region_functions, library))


def record(
    request: AnalysisRequest, progress: Progress, *, mechanisms: Mechanisms = EVERY
) -> RecordedProgram:
    """Run the program of ``request`` natively and instrumented, and build its graph.

    ``mechanisms`` make recording fast; the graph does not depend on them. Subclasses of CommAnalyzerError
    that are raised say which stage failed and what to do.
    """
    library = library_with(*request.library_models)  # complain before anything takes time
    progress.stage("compile", 1)
    frontend, module = compile_request(request, has_decisions=request.control_flows)
    progress.stage("instrument", 1)
    options = PlanOptions(request.control_flows, frontend.region_functions, library, mechanisms)
    flags = request.compiler.link_flags
    with ThreadPoolExecutor(max_workers=1) as builder, scratch_directory() as scratch:
        building = builder.submit(build_native, frontend, flags)
        until = time.monotonic() + request.plan_timeout_s
        plan = plan_module(module, options, until)
        text = rewrite(module, plan)
        # in the order of events, each loop runs with its hooks whenever it repeats
        hooks = {name: replace(patch, repeated=[]) for name, patch in plan.patches.items()}
        ordered_text = "" if request.exact is False else rewrite(module, replace(plan, patches=hooks))
        left_s = until - time.monotonic()
        runs = ProgramRuns.of(request, Path(scratch))
        progress.stage("run the program", 1)
        plain = runs.plain(building.result())
        require_success(plain, request.sources[0].name, allow_failure=request.allow_failure)
        instrumented, late = build_recorder(text, frontend, flags, plain.cpu_s, left_s)
        recorder = _Recorder(runs, instrumented, plan.sites, Path(scratch), progress)
        said = replace(frontend, diagnostics=(*frontend.diagnostics, *late))
        recorded = recorder.recorded()
        found = _finished(request, said, plan, plain, recorder.done, recorded)
        return replace(found, ordered_text=ordered_text)


def record_order(
    request: AnalysisRequest, before: RecordedProgram, progress: Progress
) -> tuple[GraphStore, Timeline]:
    """Record a program event by event; as :func:`record`, which said what was recorded ``before``.

    Returns the graph, whose vertices may be numbered in another way, and when its rows happened.
    """
    native_s, flags = before.recording.native_s or 0.0, request.compiler.link_flags
    instrumented = build_instrumented(
        before.ordered_text, before.frontend, flags, is_ordered=True, native_s=native_s
    )
    with scratch_directory() as scratch:
        runs = ProgramRuns.of(request, Path(scratch))
        recorder = _Recorder(runs, instrumented, before.sites, Path(scratch), progress)
        found = recorder.record("record the order of events", before.workspaces)
        if found.trace.statistics.dropped_rows:
            raise TraceError("expected the order of all events, found that the recorder had no room for some")
        return found.store, Timeline.of(found.trace, before.sites)


@dataclass(frozen=True, slots=True)
class _Recorded:
    """A recording and its graph.

    ``other`` and ``workspaces`` as in :class:`RecordedProgram`; ``left_out`` says how many words might be
    private temporaries, but were not read in this way.
    """

    trace: Trace
    store: GraphStore
    workspaces: bytes = b""
    other: GraphStore | None = None
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class _Recorder:
    """Records a program as often as its private temporaries ask for; ``done`` are all of its recordings."""

    runs: ProgramRuns
    instrumented: Path
    sites: SiteTable
    directory: Path
    progress: Progress
    done: list[TargetRun] = field(default_factory=list)

    def recorded(self) -> _Recorded:
        """The recording in which every lifetime of a word of a workspace is a vertex of its own.

        Which words these are is found in a first one, without names: the only one where there are none.
        """
        first, request = self.record("record the program"), self.runs.request
        arrays = [o.name for o in first.store.objects if HomeKind.UNKNOWN < o.kind < HomeKind.REGISTER]
        for name in (*request.private, *request.shared):  # no graph has an array of which all is private
            require_called(arrays, name, "--private or --shared")
        if not request.private_temporaries:
            return first
        places = places_copied_to(first.trace, first.store.vertices(), self.sites)
        likely, other = self._as_told(first.store, *_decided(first.store, *readings(first.store, places)))
        shown, more = self._named(first, likely), np.zeros(0, PIECE)
        for _ in range(_MOST_COPIED if shown is not first else 0):
            (filled,) = self._as_told(shown.store, filled_from_workspaces(shown.store), is_private=False)
            if not filled.any():
                break
            made = workspace_pieces(shown.store.vertices(), filled, self.sites, shown.trace)
            more = np.concatenate((more, made))
            shown = self._named(first, likely, more)
        if np.array_equal(likely, other):
            return shown
        known = self._named(first, other, more, is_optional=shown is first)
        if shown is first and known.trace.statistics.unnamed_lifetimes:
            return replace(shown, left_out=int(np.count_nonzero(other)))
        return replace(shown, other=known.store)

    def _as_told(self, store: GraphStore, *masks: Bool, is_private: bool = True) -> tuple[Bool, ...]:
        """Words that are workspaces by what is seen and by what the user says of memory, for each reading."""
        request, known = self.runs.request, [place.name for place in store.objects]
        divided = (parse_rule(text).name for text in request.decompose)
        said = request.private, (*request.shared, *divided)
        private, shared = (np.array(are_called(known, *names), np.bool_) for names in said)
        home = store.vertices().home_object
        return tuple((mask | (is_private & private[home])) & ~shared[home] for mask in masks)

    def _named(
        self, first: _Recorded, mask: Bool, more: NDArray[np.void] | None = None, *, is_optional: bool = False
    ) -> _Recorded:
        """Record with the lifetimes named of the words in ``mask`` (vertices of ``first``), and ``more``."""
        if not mask.any():
            return first
        path = self.directory / "workspace"
        write_workspaces(path, first.store, mask, self.sites, first.trace, more, is_optional=is_optional)
        return self.record("record the private temporaries", path.read_bytes())

    def record(self, stage: str, workspaces: bytes = b"") -> _Recorded:
        """Record once more, told of words whose lifetimes are named, and build the graph."""
        self.progress.stage(stage, 1)
        path, told, request = self.directory / "trace", self.directory / "workspace", self.runs.request
        told.write_bytes(workspaces)
        run = self.runs.recorded(self.instrumented, path, workspace=told if workspaces else None)
        trace = read_trace(path)
        # the recorder's own peak: from outside, ours would be mixed into it
        self.done.append(replace(run, peak_rss_bytes=trace.statistics.peak_rss_bytes or run.peak_rss_bytes))
        self.progress.stage("build the value graph", 1)
        store = build_store(
            trace,
            self.sites,
            spill=Spill.within(request.memory_limit_bytes),
            weights=request.work_weights or DEFAULT_WEIGHTS,
        )
        return _Recorded(trace, store, workspaces)


def _decided(store: GraphStore, likely: Bool, other: Bool) -> tuple[Bool, Bool]:
    """Both readings with all words of a temporary of Fortran of which one of them has some.

    What the compiler allocated for a statement holds nothing behind it: there is no doubt.
    """
    is_made = [
        place.kind is HomeKind.HEAP and place.name.startswith("temporary") and is_fortran(place.file)
        for place in store.objects
    ]
    home = store.vertices().home_object
    found = np.bincount(home[likely | other], minlength=len(is_made)) > 0
    every = (found & np.array(is_made, np.bool_))[home]
    return likely | every, other | every


def _finished(
    request: AnalysisRequest,
    frontend: FrontendResult,
    plan: ModulePlan,
    plain: TargetRun,
    runs: Sequence[TargetRun],
    recorded: _Recorded,
) -> RecordedProgram:
    trace, store, exit_status = recorded.trace, recorded.store, runs[-1].exit_status
    calls = zip(plan.sites.externals, map(int, trace.external_calls), strict=False)
    unmodelled = tuple((n, c) for n, c in calls if c)
    started = [f"{name} ({n}x)" for name, n in unmodelled if name in plan.options.library.thread_starters]
    if started:  # threads would record into each other
        raise TargetRunError(
            f"expected a sequential program, found one that started threads: {', '.join(started)}",
            hint="analyse the sequential version (one thread, without -fopenmp)",
        )
    work = work_counts(trace, plan.sites, store.sites, request.work_weights or DEFAULT_WEIGHTS)
    ends = plain.exit_status, exit_status
    recording = Recording(
        native_s=plain.cpu_s,
        instrumented_s=sum(run.cpu_s for run in runs),
        peak_rss_bytes=max(run.peak_rss_bytes for run in runs),
        spilled_bytes=trace.statistics.spilled_bytes,
        exit_status=exit_status,
        unmodelled_calls=unmodelled,
        dropped_events=trace.statistics.dropped_rows + trace.statistics.hash_collisions,
        steering=int(_times(recorded.trace, plan.sites, "steering").sum()),
        warnings=(*frontend.diagnostics, *_warnings(request, unmodelled, ends, recorded, work, plan.sites)),
    )
    return RecordedProgram(frontend, store, work, recording, recorded.other, recorded.workspaces, plan.sites)


def work_counts(trace: Trace, table: SiteTable, sites: tuple[Site, ...], weights: WorkWeights) -> WorkCounts:
    """Operations executed in the analysed region: block executions times what a block contains.

    ``sites`` are those of its graph, which say what operations serve values; ``weights`` are the user's.
    """
    counters = np.asarray(trace.block_counters).astype(np.int64)
    costs = [(b.flops, b.loads, b.stores, b.instructions) for b in table.blocks]
    totals = counters[: len(costs)] @ np.array(costs[: len(counters)], np.int64).reshape(-1, 4)
    served = sum((s.operations for s in sites), Operations())
    used = weights_in_use(sites, weights)
    flops, loads, stores, instructions = (int(t) for t in totals)
    return WorkCounts(flops, loads, stores, instructions, served.integer, served.memory, used)


def _times(trace: Trace, table: SiteTable, name: str) -> Int64:
    """int64[B], what blocks have of something, times how often each was executed."""
    counted = np.asarray(trace.block_counters)[: len(table.blocks)].astype(np.int64)
    return counted * np.array([getattr(block, name) for block in table.blocks[: len(counted)]], np.int64)


def _uncounted(trace: Trace, table: SiteTable) -> Iterator[str]:
    """What the flows of values do not have: who compares only to know what to do needs what is compared."""
    times, flops, converges = (_times(trace, table, name) for name in ("steering", "flops", "converges"))
    if times.any():
        most = source_name(table.blocks[int(times.argmax())].function)
        yield (
            f"{times.sum()} comparisons of elements (most in {most}) only decide what is done next, as in a "
            "search or a sort: what they need of other nodes is not counted, so bytes may be too low"
        )
    converging = np.where(converges > 0, flops, 0)
    if converging.sum() > DEFAULT_IMBALANCE * flops.sum():
        most = source_name(table.blocks[int(converging.argmax())].function)
        share = format_percent(converging.sum() / flops.sum())
        yield (
            f"{share} of the floating-point operations (most in {most}) are in loops that what they compute "
            "ends: all elements are taken to need as many iterations, so parts may be less even than is shown"
        )


def _warnings(
    request: AnalysisRequest,
    called: Sequence[tuple[str, int]],
    ends: tuple[int, int],
    recorded: _Recorded,
    work: WorkCounts,
    table: SiteTable,
) -> Sequence[str]:
    """What has to be said of a recording; ``ends`` are the exit statuses alone and recorded."""
    result, statistics = [], recorded.trace.statistics
    if ends[0] != ends[1]:
        result.append(
            f"the program ended with status {ends[0]} alone and {ends[1]} recorded: "
            "its behaviour is not the same in every run"
        )
    elif ends[1]:
        result.append(f"the program ended with status {ends[1]}")
    processes = [name for name, _ in called if name in PROCESSES]
    if processes:
        result.append(
            f"the program started other processes ({', '.join(processes)}): they were not recorded, so what "
            "they compute and send is missing, and no library model brings it back"
        )
    if statistics.unaligned_copies:
        result.append(
            f"{statistics.unaligned_copies} memory copies shifted bytes within words: such numbers begin "
            "anew where they arrive, and bytes of the way there are missing; copies of text do not matter"
        )
    if statistics.unnamed_lifetimes:
        result.append(
            f"{statistics.unnamed_lifetimes} stores to private temporaries (see --private) count as one "
            "with the store before, because there are too many: bytes may be too high"
        )
    if recorded.left_out:
        result.append(
            f"{recorded.left_out} words may be private temporaries (they are computed anew at times): "
            "counted as shared data (bytes may be too high), as a graph with each content would be too large"
        )
    result += _uncounted(recorded.trace, table)
    if recorded.store.num_rows == 0:
        what = "the program stores no values (what stays in registers is not divided)"
        if request.regions:
            what = "the region stores no values" if work.instructions else "the region was never entered"
        elif ends[1]:
            what = "the program ended before it stored values; its arguments go behind --"
        result.append(f"nothing was recorded: {what}")
    return result
