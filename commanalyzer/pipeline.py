"""The only module that knows all stages: requests in, results out."""

from __future__ import annotations

import datetime
import shlex
from dataclasses import fields, replace

from commanalyzer.division.decompose import Counted, CountOptions, decompose
from commanalyzer.division.exact import counted_exactly
from commanalyzer.division.readings import decompose_both, widened
from commanalyzer.foundation.progress import Progress
from commanalyzer.graph.build import weights_in_use, with_weights
from commanalyzer.machine.parameters import MachineParameters, Parameter
from commanalyzer.recording.record import RecordedProgram, planned, record
from commanalyzer.request import AnalysisRequest, PartitionRequest
from commanalyzer.result.provenance import collect_provenance, file_hash, peak_memory_bytes
from commanalyzer.result.results import AnalysisResult, Recording, WorkCounts

_TIMED = "counted operations over CPU time of the plain run"
_SHORTEST_TIMING_S = 0.01  # below it, CPU time is dominated by starting the process


def analyze(request: AnalysisRequest, progress: Progress, jobs: int = 1) -> AnalysisResult:
    """Result of one analysis.

    Args:
        request: What to analyse.
        progress: Told about stages.
        jobs: Cores used for dividing; the result does not depend on it.

    Raises:
        CommAnalyzerError: A subclass says what went wrong and what to do.
    """
    recorded = record(request, progress)
    machine = with_throughput(request, recorded.recording, recorded.work)
    options, work = _count_options(request, machine, jobs), recorded.work.amount
    if recorded.other is None:
        counted = decompose(recorded.store, work, options, progress)
    else:
        counted, doubt = decompose_both(recorded.store, recorded.other, work, options, progress)
        recorded = replace(recorded, recording=replace(recorded.recording, doubt=doubt))
    counted = counted_exactly(counted, request, recorded, options, progress)
    result = _with_divisions(_undivided(request, recorded, machine), counted)
    if machine.bandwidth is None or machine.throughput is not None:
        return result
    reason = "a region has no time of its own" if request.regions else "its plain run is too short"
    text = f"no efficiency bound: the throughput of {shlex.quote(result.program)} was not measured ({reason})"
    return replace(result, warnings=(*result.warnings, f"{text}; give --throughput"))


def repartition(
    result: AnalysisResult, request: PartitionRequest, progress: Progress, jobs: int = 1
) -> AnalysisResult:
    """The same recording, decomposed anew; the program is not run; ``jobs`` as of :func:`analyze`.

    Raises:
        CommAnalyzerError: A subclass says what went wrong and what to do.
    """
    machine = result.machine.replaced_by(request.machine)
    options = _count_options(request, machine, jobs)
    store, work = result.store, result.work
    weights = weights_in_use(store.sites, request.work_weights or work.weights)
    if weights != work.weights:
        store, work = with_weights(store, weights), replace(work, weights=weights)
        if machine.throughput is not None and machine.throughput.note == _TIMED:
            machine = machine.updated(throughput=_timed(work, result.recording))
    counted = widened(decompose(store, work.amount, options, progress), result.recording.doubt)
    return _with_divisions(replace(result, store=store, work=work, machine=machine), counted)


def explain(request: AnalysisRequest, *, line: int, occurrence: int = 1) -> str:
    """Dynamic slice and value-flow chain of one executed store, as text (paper Figure 5).

    Raises:
        CommAnalyzerError: If the program does not compile, or the line stores nothing.
    """
    from commanalyzer.recording.interpreter.run import explain_store, format_explanation

    module, plan = planned(request)
    stdin = b"" if request.stdin is None else request.stdin.read_bytes()
    return format_explanation(
        explain_store(
            module,
            request.arguments,
            stdin,
            source_line=line,
            occurrence=occurrence,
            control_flows=request.control_flows,
            word_bytes=plan.sites.word_bytes,
        )
    )


def explain_loops(request: AnalysisRequest) -> str:
    """How the recorder runs each loop when it repeats, as text; the program is compiled, not run.

    Raises:
        CommAnalyzerError: If the program does not compile.
    """
    from commanalyzer.recording.instrument.loops.repeats import loops_text

    module, plan = planned(request)
    return loops_text(module, plan.patches)


def _count_options(
    request: AnalysisRequest | PartitionRequest, machine: MachineParameters, jobs: int
) -> CountOptions:
    asked = {f.name: getattr(request, f.name) for f in fields(CountOptions) if hasattr(request, f.name)}
    return CountOptions(**{**asked, "machine": machine, "jobs": jobs})


def with_throughput(request: AnalysisRequest, recording: Recording, work: WorkCounts) -> MachineParameters:
    """R from the plain run, unless it was given (paper Section 5: run the single-node implementation).

    A region has no time of its own: its work over the time of the whole run would be too low.
    """
    machine, seconds = request.machine, recording.native_s
    if machine.throughput is not None or request.regions or not work.amount:
        return machine
    if seconds is None or seconds < _SHORTEST_TIMING_S:
        return machine
    return machine.updated(throughput=_timed(work, recording))


def _timed(work: WorkCounts, recording: Recording) -> Parameter:
    """R by the plain run: its work, in whatever operations that is, over its time."""
    assert recording.native_s
    today, unit = datetime.datetime.now(datetime.UTC).date().isoformat(), f"{work.unit.capitalize()}/s"
    return Parameter(work.amount / recording.native_s, unit, "measured", today, _TIMED)


def _with_divisions(result: AnalysisResult, counted: Counted) -> AnalysisResult:
    return replace(
        result,
        singletons=counted.singletons,
        vcg_words=counted.vcg_words,
        decompositions=counted.decompositions,
        warnings=(*result.recording.warnings, *counted.warnings),
        left_out=counted.left_out,
        peak_memory_bytes=peak_memory_bytes() + counted.helper_bytes,
    )


def _undivided(
    request: AnalysisRequest, recorded: RecordedProgram, machine: MachineParameters
) -> AnalysisResult:
    frontend = recorded.frontend
    program = request.sources[0].name
    return AnalysisResult(
        program=program,
        command=(program, *request.arguments),
        provenance=collect_provenance(
            compiler=frontend.toolchain.version,
            flags=frontend.flags,
            input_hashes=(
                *((i.path, i.sha256) for i in frontend.inputs),
                *((str(path), file_hash(path)) for path in request.library_models),
            ),
            seed=request.seed,
        ),
        work=recorded.work,
        recording=recorded.recording,
        store=recorded.store,
        singletons=None,
        vcg_words=0,
        machine=machine,
        decompositions=(),
        regions=request.regions,
    )
