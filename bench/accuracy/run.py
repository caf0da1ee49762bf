"""Runs validation cases: builds and counts the MPI program, analyses the sequential one, compares.

Input: workloads. Output: one :class:`CaseRow` per workload, arguments and number of processes.

Runs cases, several at a time if wanted; a case that fails does not end the others.

Builds MPI programs with the wrappers of the ``mpich`` wheel and the bundled compiler.

Ablation: what each rule of the analysis contributes, by leaving it out.

Each variant is compared with the same counted bytes as the default, for the best decomposition that it finds
and at the decomposition of the MPI program.
"""

from __future__ import annotations

import math
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from bench.accuracy.cases import CaseProgram, Excess, Side, owners_by_blocks
from commanalyzer.checking.counting.launch import CountRequest, count, find_mpi
from commanalyzer.communication.balance import term_work
from commanalyzer.communication.charges import Charges
from commanalyzer.communication.matrix import Communication
from commanalyzer.communication.totals import totals_of
from commanalyzer.division.decompose import CountOptions
from commanalyzer.division.exact import Replay
from commanalyzer.division.selection import Latest
from commanalyzer.division.views import View
from commanalyzer.foundation.errors import CommAnalyzerError, CompileError, ConfigError, TargetRunError
from commanalyzer.foundation.files import scratch_directory
from commanalyzer.foundation.progress import Progress, SilentProgress
from commanalyzer.graph.storage.store import GraphStore
from commanalyzer.graph.value_graph import ValueGraph
from commanalyzer.pipeline import analyze, repartition
from commanalyzer.program.frontend.toolchain import bundled_compiler, bundled_toolchain, run_tool
from commanalyzer.recording.record import record
from commanalyzer.request import MODELS, AnalysisRequest, CompilerOptions, Model, PartitionRequest
from commanalyzer.result.comparison.compare import accuracy, compare
from commanalyzer.result.provenance import collect_provenance
from commanalyzer.result.results import AnalysisResult

_COMPILE_TIMEOUT_S = 300.0
# Sums must be those of the sequential program: no fused operations.
_OPTIONS = ("-O2", "-ffp-contract=off")


def mpi_tool(name: str) -> Path:
    """Program of the MPI beside this Python, else on the path; a :class:`ConfigError` if there is none."""
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.is_file() else shutil.which(name)
    if found is None:
        raise ConfigError(f"expected {name}, found none", hint="pip install mpich")
    return Path(found)


def build_mpi(sources: Sequence[Path], program: Path, flags: Sequence[str] = ()) -> Path:
    """Compile and link ``program``, all C or all C++; a :class:`CompileError`, or ConfigError without MPI."""
    is_c = all(source.suffix == ".c" for source in sources)
    wrapper = mpi_tool("mpicc" if is_c else "mpicxx")
    compiler = shlex.join(bundled_compiler("c" if is_c else "c++"))
    includes = [f"-I{folder}" for folder in dict.fromkeys(source.parent for source in sources)]
    done = run_tool(
        [str(wrapper), *_OPTIONS, *flags, *includes, "-o", str(program), *map(str, sources), "-lm"],
        timeout_s=_COMPILE_TIMEOUT_S,
        environment={"MPICH_CC" if is_c else "MPICH_CXX": compiler},
    )
    if not done.ok:
        raise CompileError(f"the MPI program does not compile:\n{done.last_lines()}", where=str(sources[0]))
    return program


T = TypeVar("T")
Case: TypeAlias = tuple[CaseProgram, tuple[str, ...]]  # with its arguments


@dataclass(frozen=True, slots=True)
class Failure:
    """Runs that could not be compared, and why."""

    workload: CaseProgram
    arguments: tuple[str, ...]
    reason: str


def each_case(
    run: Callable[[Case], Sequence[T]], cases: Sequence[Case], name: str, progress: Progress, jobs: int
) -> Iterator[T | Failure]:
    """Results of ``run`` in the order of ``cases``, as they are ready; ``jobs`` processes run side by side.

    With several, ``run`` has to be one that can be pickled. The stage called ``name`` has one step per case.
    """
    progress.stage(f"{name}: {len(cases)} cases", len(cases))
    guarded = partial(_guarded, run)
    if jobs == 1:
        for case in cases:
            yield from guarded(case)
            progress.advance()
        return
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        for results in pool.map(guarded, cases):
            yield from results
            progress.advance()


def _guarded(run: Callable[[Case], Sequence[T]], case: Case) -> list[T | Failure]:
    try:
        return list(run(case))
    except CommAnalyzerError as error:
        return [Failure(*case, error.text)]


HIGH = 0.9
_TIMEOUT_S = 600.0


@dataclass(frozen=True, slots=True)
class OwnDecomposition:
    """The prediction where values are divided as in the MPI program."""

    predicted_bytes: int  # lower end of the bracket
    high_bytes: int  # upper end
    excesses: Mapping[Excess, int]  # known differences and their bytes
    agreement: float  # of the matrices per pair of ranks, 0 to 1, no part relabelled

    def excess(self, side: Side) -> int:
        """Known bytes of one side that the other has not."""
        return sum(amount for item, amount in self.excesses.items() if item.side == side)


@dataclass(frozen=True, slots=True)
class CaseRow:
    """One comparison."""

    workload: CaseProgram  # its entry
    arguments: tuple[str, ...]
    nodes: int  # processes p
    counted_bytes: int  # bytes between ranks in the MPI program's main loop
    predicted_bytes: int  # what a programmer would write, model ``volume``
    high_bytes: int  # upper end
    paper_bytes: int | None  # best decomposition, model ``hpdc18``; ``None`` if its graph would be too large
    method: str  # what found that division
    imbalance: float  # of that division
    agreement: float  # of the matrices per pair of ranks after the best relabelling, 0 to 1
    least_method: str  # what found the least bytes, whoever can write it
    least_bytes: int  # these
    # at the MPI program's decomposition; ``None`` if the file does not say how it divides
    own: OwnDecomposition | None

    @property
    def accuracy(self) -> float:
        """Of what a programmer would write."""
        return accuracy(self.predicted_bytes, self.counted_bytes) or 0.0

    @property
    def least_accuracy(self) -> float:
        """Of the least found."""
        return accuracy(self.least_bytes, self.counted_bytes) or 0.0

    @property
    def paper_accuracy(self) -> float | None:
        """Of the paper's model; ``None`` if it was not counted."""
        return None if self.paper_bytes is None else accuracy(self.paper_bytes, self.counted_bytes)

    @property
    def own_accuracy(self) -> float | None:
        """At the MPI program's decomposition, known excesses subtracted; ``None`` without one."""
        if self.own is None:
            return None
        predicted = self.own.predicted_bytes - self.own.excess("predicted")
        return accuracy(predicted, self.counted_bytes - self.own.excess("counted"))


@dataclass(frozen=True, slots=True)
class CaseSelection:
    """Which cases to run."""

    workloads: tuple[str, ...] = ()  # names; empty for all
    nodes: tuple[int, ...] = ()  # numbers of processes; empty for all of the file
    quick: bool = False  # the smallest size of each entry only, up to 4 processes

    def sizes(self, workload: CaseProgram) -> tuple[tuple[str, ...], ...]:
        """Arguments to run."""
        return workload.sizes[:1] if self.quick else workload.sizes

    def processes(self, workload: CaseProgram) -> tuple[int, ...]:
        """Numbers of processes to run."""
        wanted = self.nodes or ((4, 8) if self.quick else tuple(workload.grids))
        fits = tuple(p for p in workload.grids if p in wanted)
        return fits[:1] if self.quick and not self.nodes else fits


def selected(workloads: Sequence[CaseProgram], selection: CaseSelection) -> tuple[CaseProgram, ...]:
    """Workloads of a selection; a :class:`ConfigError` if a name is unknown, or nothing is left to run."""
    names = {item.name for item in workloads}
    unknown = [name for name in selection.workloads if name not in names]
    if unknown:
        raise ConfigError(f"expected workloads of {', '.join(sorted(names))}, found {', '.join(unknown)}")
    wanted = set(selection.workloads) or names
    found = tuple(w for w in workloads if w.name in wanted and selection.processes(w))
    if not found:
        raise ConfigError("expected numbers of processes that a workload can use, found none that fits")
    return found


def validate(
    workloads: Sequence[CaseProgram], selection: CaseSelection, progress: Progress, jobs: int = 1
) -> Iterator[CaseRow | Failure]:
    """Rows of all selected cases, as they are ready; a case that fails does not end the others.

    ``jobs`` processes run cases side by side; the rows are the same. There is one step of progress per case.
    A :class:`ConfigError` if the selection is empty.
    """
    cases = [(w, arguments) for w in selected(workloads, selection) for arguments in selection.sizes(w)]
    yield from each_case(partial(_rows, selection), cases, "compare", progress, jobs)


def versions() -> tuple[str, ...]:
    """Tool, compiler and MPI, for the record."""
    mpi = find_mpi(mpi_tool("mpiexec"))
    compiler = bundled_toolchain().version
    made = collect_provenance(compiler=compiler, flags=(), input_hashes=(), seed=0)
    revision = f" revision {made.git_revision[:12]}" if made.git_revision else ""
    return (f"commanalyzer {made.tool_version}{revision}", compiler, mpi.version)


def request_for(
    workload: CaseProgram,
    arguments: Sequence[str],
    nodes: Sequence[int],
    models: tuple[Model, ...] = ("volume",),
) -> AnalysisRequest:
    """Analysis of the sequential program's main loop."""
    return AnalysisRequest(
        workload.sources,
        tuple(arguments),
        nodes=tuple(nodes),
        models=models,
        regions=(workload.region,),
        compiler=CompilerOptions(flags=workload.flags),
        program_output="discard",
        timeout_s=_TIMEOUT_S,
    )


def counted_run(workload: CaseProgram, arguments: Sequence[str], nodes: int, program: Path) -> AnalysisResult:
    """Counted bytes of the MPI program's main loop; a :class:`TargetRunError` if it fails."""
    command = (str(mpi_tool("mpiexec")), "-n", str(nodes), str(program))
    result = count(
        CountRequest(
            command=(*command, *workload.mpi_words(arguments, nodes)),
            region=workload.counted_region,
            timeout_s=_TIMEOUT_S,
            discard_output=True,
        )
    )
    if result.recording.exit_status:
        raise TargetRunError(
            f"expected the MPI program to succeed, found exit status {result.recording.exit_status}",
            where=" ".join((workload.name, *workload.mpi_words(arguments, nodes), f"on {nodes} ranks")),
        )
    return result


def _rows(selection: CaseSelection, case: Case) -> list[CaseRow]:
    workload, arguments = case
    nodes = selection.processes(workload)
    with scratch_directory() as folder:
        program = Path(folder) / "mpi"
        build_mpi(workload.mpi_sources, program, workload.flags)
        counted = [counted_run(workload, arguments, p, program) for p in nodes]
    predicted = _prediction(workload, arguments, nodes)
    replay = own_replay(workload, request_for(workload, arguments, nodes))
    return [_row(case, p, predicted, run, replay) for p, run in zip(nodes, counted, strict=True)]


def _row(
    case: Case, nodes: int, predicted: AnalysisResult, counted: AnalysisResult, own: Replay | None
) -> CaseRow:
    workload, arguments = case
    found = compare(predicted, counted, model="volume")
    paper = predicted.best(nodes, "hpdc18").comm_bytes if "hpdc18" in predicted.models else None
    least, chosen = predicted.best(nodes, "volume"), found.predicted
    return CaseRow(
        *(workload, arguments, nodes, found.counted.comm_bytes, chosen.comm_bytes),
        *(chosen.communication.high_bytes, paper, chosen.method, chosen.imbalance),
        *(found.relabelling.agreement, least.method, least.comm_bytes),
        own_decomposition(workload, arguments, nodes, own, found.counted.communication.comm_bytes),
    )


def _prediction(workload: CaseProgram, arguments: Sequence[str], nodes: Sequence[int]) -> AnalysisResult:
    """Analysis with both models; with ``volume`` only where the paper's graph would be too large."""
    try:
        return analyze(request_for(workload, arguments, nodes, MODELS), SilentProgress())
    except ConfigError:
        return analyze(request_for(workload, arguments, nodes), SilentProgress())


def own_replay(workload: CaseProgram, request: AnalysisRequest) -> Replay | None:
    """The run in the order that the blocks of the file describe, event by event; ``None`` without blocks."""
    if not workload.arrays:
        return None
    request = replace(request, arguments=workload.own_arguments(request.arguments))
    options = CountOptions(nodes=request.nodes, high=request.high)
    return Replay.of(request, record(request, SilentProgress()), None, options, SilentProgress())


def own_decomposition(
    workload: CaseProgram,
    arguments: Sequence[str],
    nodes: int,
    replay: Replay | None,
    counted: NDArray[np.int64],
) -> OwnDecomposition | None:
    """Prediction at the decomposition of the MPI program, against its matrix int64[p, p]."""
    if replay is None:
        return None
    found = _at_own_blocks(workload, arguments, nodes, replay)
    shared = int(np.minimum(found.comm_bytes, counted).sum())
    total = found.total_bytes + int(counted.sum())
    return OwnDecomposition(
        found.total_bytes,
        found.high_bytes,
        workload.excess_bytes(arguments, nodes),
        2 * shared / total if total else 1.0,
    )


def _at_own_blocks(
    workload: CaseProgram, arguments: Sequence[str], nodes: int, replay: Replay
) -> Communication:
    view, (values, grid) = replay.view, (workload.values(arguments, nodes), workload.extents(nodes))
    if math.prod(grid) != nodes:
        raise ConfigError(f"expected a process grid of {nodes}, found {workload.grids[nodes]}")
    assert isinstance(view.graph, ValueGraph)
    owners = owners_by_blocks(view.graph, view.removed, workload, grid, values)
    charges, _ = replay.charges(owners, nodes)
    return charges.communication(view.graph, owners)


_NO_HUBS = 1.0 - 1e-12  # a score that no value reaches


@dataclass(frozen=True, slots=True)
class Variant:
    """The default, or the default without one rule."""

    name: str  # what is left out
    control_flows: bool = True  # flows through the conditions of selections are recorded
    private_temporaries: bool = True  # workspaces are recorded as values of the element that they serve
    high: float = HIGH  # threshold of the singleton scores
    folds: bool = True  # contributions to a reduction are combined
    paper: bool = False  # the paper's model instead of ``volume``


VARIANTS = (
    Variant("default"),
    Variant("no control flows", control_flows=False),
    Variant("no private temporaries", private_temporaries=False),
    Variant("no folds", folds=False),
    Variant("no hubs", high=_NO_HUBS),
    Variant("model hpdc18", paper=True),
)


@dataclass(frozen=True, slots=True)
class AblationRow:
    """One variant of one case."""

    workload: CaseProgram  # its entry
    arguments: tuple[str, ...]
    nodes: int  # processes p
    variant: Variant  # what is left out
    best_accuracy: float | None  # of the best decomposition; ``None`` if the graph would be too large
    # at the MPI program's decomposition, known excesses subtracted; ``None`` without one
    own_accuracy: float | None


def ablate(
    workloads: Sequence[CaseProgram], selection: CaseSelection, progress: Progress, jobs: int = 1
) -> Iterator[AblationRow | Failure]:
    """Rows of all variants, smallest size of each selected entry; arguments and errors as of ``validate``."""
    chosen = selected(workloads, selection)
    yield from each_case(
        partial(_all_variants, selection), [(w, w.sizes[0]) for w in chosen], "ablation", progress, jobs
    )


def _all_variants(selection: CaseSelection, case: Case) -> list[AblationRow]:
    workload, arguments = case
    nodes = selection.processes(workload)
    with scratch_directory() as folder:
        program = build_mpi(workload.mpi_sources, Path(folder) / "mpi", workload.flags)
        runs = [counted_run(workload, arguments, p, program) for p in nodes]
    counted = [next(d.comm_bytes for d in run.decompositions if d.best) for run in runs]
    return [row for v in VARIANTS for row in _of_case(workload, arguments, nodes, counted, v)]


def _of_case(
    workload: CaseProgram,
    arguments: tuple[str, ...],
    nodes: tuple[int, ...],
    counted: Sequence[int],
    variant: Variant,
) -> Iterator[AblationRow]:
    request = replace(
        request_for(workload, arguments, nodes, ("hpdc18",) if variant.paper else ("volume",)),
        high=variant.high,
        control_flows=variant.control_flows,
        private_temporaries=variant.private_temporaries,
    )
    found = _of_variant(request, variant)
    replay = None if variant.paper else own_replay(workload, request)
    if replay is not None and not variant.folds:
        replay = replace(replay, view=_unfolded_view(replay.view))
    for p, total in zip(nodes, counted, strict=True):
        best = None if found is None else accuracy(found.best(p).comm_bytes, total)
        at_own = None if replay is None else _own_accuracy(workload, arguments, p, replay, total)
        yield AblationRow(workload, arguments, p, variant, best, at_own)


def _of_variant(request: AnalysisRequest, variant: Variant) -> AnalysisResult | None:
    """Analysis of a variant; ``None`` where the paper's graph would be too large."""
    try:
        result = analyze(request, SilentProgress())
    except ConfigError:
        return None
    if variant.folds:
        return result
    result = replace(result, store=GraphStore.of(_unfolded(result.graph)))
    return repartition(result, PartitionRequest(request.nodes), SilentProgress())


def _unfolded(graph: ValueGraph) -> ValueGraph:
    """No contributions may be combined: every source is sent to the sink's owner."""
    return replace(graph, rows=graph.rows._replace(row_fold=np.zeros_like(graph.rows.row_fold)))


def _unfolded_view(view: View) -> View:
    assert isinstance(view.graph, ValueGraph)
    graph = _unfolded(view.graph)
    charges = Latest[Charges](1 << 27)
    return replace(view, graph=graph, work=term_work(graph), totals=totals_of(graph), charges=charges)


def _own_accuracy(
    workload: CaseProgram, arguments: Sequence[str], nodes: int, replay: Replay, counted: int
) -> float | None:
    predicted = _at_own_blocks(workload, arguments, nodes, replay).total_bytes
    for item, amount in workload.excess_bytes(arguments, nodes).items():
        if item.side == "predicted":
            predicted -= amount
        else:
            counted -= amount
    return accuracy(predicted, counted)
