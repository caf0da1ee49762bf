"""Python interface: analyse, save and load, with the options of the command line as keywords."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, Unpack, overload

from commanalyzer.division.libraries.concurrency import usable_cores
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.foundation.files import scratch_directory
from commanalyzer.foundation.progress import Progress, SilentProgress
from commanalyzer.foundation.work import WorkWeights
from commanalyzer.machine.machine_file import as_machine
from commanalyzer.machine.parameters import MachineParameters, Quantity
from commanalyzer.pipeline import analyze as _analyze
from commanalyzer.program.frontend.inputs.numba_function import write_program
from commanalyzer.request import (
    DEFAULT_NODES,
    AnalysisRequest,
    Coarsen,
    CompilerOptions,
    Effort,
    Model,
    Nodes,
    ProgramOutput,
    node_counts,
    several,
)
from commanalyzer.result.artifacts import load as load
from commanalyzer.result.artifacts import save as save
from commanalyzer.result.results import AnalysisResult
from commanalyzer.scaling.allocations.advice import AllocationOptions as AllocationOptions
from commanalyzer.scaling.allocations.advice import AllocationReport, find_allocations
from commanalyzer.scaling.laws.document import LawsDocument, load_laws
from commanalyzer.scaling.laws.projection import Division
from commanalyzer.scaling.sweep.executors import executor_engine, process_engine
from commanalyzer.scaling.sweep.points import Axis, check_name, grid
from commanalyzer.scaling.sweep.run import Sweep, run_sweep
from commanalyzer.scaling.sweep.table import SweepTable
from commanalyzer.scaling.sweep.table import load_table as load_table

if TYPE_CHECKING:
    from commanalyzer.report.scaling.laws_text import ProjectionReport

PathLike: TypeAlias = str | os.PathLike[str]


class AnalyzeOptions(TypedDict, total=False):
    """Options of an analysis; what is left out is as on the command line."""

    nodes: Nodes
    """Node counts p: ``16``, ``[4, 16]`` or a text as on the command line, ``"4,16"``, ``"2..64x2"``."""
    model: Model | Sequence[Model]
    """Communication model or several; the first is the leading one."""
    high: float
    """Threshold of the singleton scores (paper Section 4.2.2), in (0, 1)."""
    regions: Sequence[str]
    """Functions or marks to restrict the analysis to."""
    control_flows: bool
    """Conditions that select between values are flows."""
    private_temporaries: bool
    """Workspaces are told apart from arrays (a second recording where there are any)."""
    private: Sequence[str]
    """Memory that is used for one element after the other, whatever is seen."""
    shared: Sequence[str]
    """Memory that holds an array, whatever is seen."""
    library_models: PathLike | Sequence[PathLike]
    """File or files that say what further library functions do."""
    cc: str
    """The user's clang; otherwise ``$CC`` or the bundled one."""
    fc: str
    """The user's flang; otherwise ``$COMMANALYZER_FC`` or one on the search path."""
    cflags: Sequence[str]
    """Compiler flags."""
    ldflags: Sequence[str]
    """Linker flags."""
    machine: MachineParameters | PathLike | None
    """Machine of the efficiency bound, its file, or the name of a published one."""
    stdin: PathLike | None
    """File for the program's standard input; None for our own."""
    program_output: ProgramOutput
    """Where the program's standard output goes."""
    timeout_s: float | None
    """Limit of each run of the program, seconds; None for no limit."""
    plan_timeout_s: float
    """Limit of planning and building what records, seconds; after it, the cheapest is built."""
    memory_limit_bytes: int | None
    """Limit of the program's resident memory and of what dividing is expected to need, bytes."""
    disk_limit_bytes: int | None
    """Limit of what one recording may take of the disk, bytes; None for half of what is free."""
    seed: int
    """Seed of every random choice."""
    check: bool
    """Verify conservation laws on the way."""
    imbalance: float
    """Allowed excess of the largest part's work over the mean, in (0, 1)."""
    decompose: str | Sequence[str]
    """Divisions of arrays, one more candidate: ``u=block2d``, ``x=block:4x4``, ``x=cyclic:16``."""
    owner_map: PathLike | None
    """File with the owners of array elements, one more candidate."""
    coarsen: Coarsen
    """Find divisions on a coarse graph: of large ones (``auto``), ``never``, always with so many vertices."""
    work_weights: WorkWeights | None
    """What operations of each kind count for in the work that is balanced; None for the default."""
    effort: Effort
    """How long to look for divisions: ``quick``, ``normal``, ``thorough``; the same result everywhere."""
    time_limit_s: float | None
    """Wall-clock limit of looking for divisions, seconds: the best until then counts."""
    allow_failure: bool
    """Analyse a program that ends with another status than 0, too."""
    exact: bool | None
    """Count event by event what crosses; by default where a bracket is wide and the run short."""


def analyze(
    sources: PathLike | Sequence[PathLike],
    args: Sequence[str | int | float] = (),
    *,
    progress: Progress | None = None,
    jobs: int | None = None,
    **options: Unpack[AnalyzeOptions],
) -> AnalysisResult:
    """Result of analysing a program; raises a :class:`CommAnalyzerError` that says what is wrong.

    Args:
        sources: One file or several (C, C++, Fortran, LLVM IR), or an executable that carries its IR.
        args: Arguments of the program.
        progress: Told about stages.
        jobs: Cores used for dividing; all that there are otherwise.
        options: See :class:`AnalyzeOptions`.
    """
    request = _request(sources, args, options)
    return _analyze(request, progress or SilentProgress(), jobs or usable_cores())


def analyze_function(
    function: object, args: Sequence[object] = (), **options: Unpack[AnalyzeOptions]
) -> AnalysisResult:
    """Result of analysing one call of a Python function that Numba compiles.

    Args:
        function: A function, plain or compiled by ``numba.njit``.
        args: numpy arrays (contiguous, 1-D or more) and numbers. The arrays are not changed.
        options: See :class:`AnalyzeOptions`.

    Raises:
        ConfigError: If Numba is missing, cannot compile the function, or an argument is not supported.
    """
    options.setdefault("program_output", "discard")
    with scratch_directory() as folder:
        sources, data = write_program(function, args, Path(folder))
        return analyze(sources, [str(data)], **options)


def analyze_sweep(
    sources: PathLike | Sequence[PathLike],
    args: Sequence[str | int | float] = (),
    *,
    parameters: Mapping[str, Sequence[str | int | float]],
    output: PathLike,
    executor: Executor | None = None,
    jobs: int | None = None,
    memory_budget_bytes: int | None = None,
    retry_failed: bool = False,
    **options: Unpack[AnalyzeOptions],
) -> SweepTable:
    """Analyse a program for all combinations of parameters; returns the table of the points that worked.

    Args:
        sources: As for :func:`analyze`.
        args: Arguments of the program, with parameters in braces: ``["{n}", 20]``.
        parameters: Values of each parameter.
        output: Directory of the sweep; what is finished there is not done again.
        executor: Runs the points, and is not shut down; processes of this machine otherwise.
        jobs: Number of these processes; one per core otherwise.
        memory_budget_bytes: What points that run at once may need together.
        retry_failed: Analyse points again that failed before.
        options: See :class:`AnalyzeOptions`; texts may have parameters in braces.

    Raises:
        CommAnalyzerError: If the sweep cannot be made. Failures of single points are in its ``sweep.json``.
    """
    axes = [Axis(name, tuple(map(str, values))) for name, values in parameters.items()]
    for axis in axes:
        check_name(axis.name, "parameters")
    outcome = run_sweep(
        Sweep(_request(sources, args, options), grid(axes), Path(output)),
        process_engine(jobs or usable_cores()) if executor is None else executor_engine(executor),
        watch=lambda status: None,
        memory_budget_bytes=memory_budget_bytes,
        retry_failed=retry_failed,
    )
    return outcome.table


def fit(
    data: SweepTable | AnalysisResult | PathLike | Sequence[AnalysisResult | PathLike],
    metrics: str | Sequence[str] = (),
    *,
    model: str = "",
    parameters: Sequence[str] = (),
    arguments: Mapping[str, int] | None = None,
    families: str | Sequence[str] = (),
) -> LawsDocument:
    """Scaling laws over node counts and problem sizes.

    Args:
        data: Table of a sweep, its directory, a CSV file, or results of several sizes, loaded or as files.
        metrics: Columns to fit; bytes, messages, intensity, work and more when empty.
        model: Communication model; the leading one when empty.
        parameters: Columns that are parameters; all that are known when empty.
        arguments: For results: the number of each argument of the program that is a parameter, ``{"n": 1}``.
        families: Only these families of formulas: ``polynomial``, ``lattice``, ``pmnf``, ``power``.
    """
    from commanalyzer.scaling.laws.data import of_table, read_observations
    from commanalyzer.scaling.laws.fit import fit_observations

    inputs: list[Path | AnalysisResult] = []
    if isinstance(data, SweepTable):
        seen = of_table(data, model, parameters=parameters)
    else:
        given = (data,) if isinstance(data, AnalysisResult | str | os.PathLike) else data
        inputs = [item if isinstance(item, AnalysisResult) else Path(item) for item in given]
        seen = read_observations(inputs, model=model, parameters=parameters, arguments=arguments)
    files = [item for item in inputs if isinstance(item, Path)]
    return fit_observations(seen, files, several(metrics), several(families))


@overload
def advise(
    laws: LawsDocument | PathLike,
    sizes: Mapping[str, float],
    machine: MachineParameters | PathLike | None = None,
    nodes: Nodes = ...,
    *,
    weak: str = "",
    efficiency: float = ...,
    deadline_s: float | None = None,
    division: Division | None = None,
    cores: int = ...,
    allocations: None = None,
    **parameters: Quantity | None,
) -> ProjectionReport: ...
@overload
def advise(
    laws: LawsDocument | AnalysisResult | PathLike,
    sizes: Mapping[str, float],
    machine: MachineParameters | PathLike | None = None,
    nodes: Nodes = ...,
    *,
    weak: str = "",
    efficiency: float = ...,
    deadline_s: float | None = None,
    division: Division | None = None,
    cores: int = ...,
    allocations: AllocationOptions,
    **parameters: Quantity | None,
) -> AllocationReport: ...
def advise(
    laws: LawsDocument | AnalysisResult | PathLike,
    sizes: Mapping[str, float],
    machine: MachineParameters | PathLike | None = None,
    nodes: Nodes = "1..1024x2",
    *,
    weak: str = "",
    efficiency: float = 0.8,
    deadline_s: float | None = None,
    division: Division | None = None,
    cores: int = 1,
    allocations: AllocationOptions | None = None,
    **parameters: Quantity | None,
) -> ProjectionReport | AllocationReport:
    """How many nodes to ask for: ``advice`` and ``curves`` of bounds, from laws; or allocations.

    Args:
        laws: Of :func:`fit`, or their file; for allocations also a result, its file, or a halo file.
        sizes: Problem to run, ``{"n": 4096}``.
        machine: Machine of the bounds, its file or name.
        nodes: Node counts to consider.
        weak: Parameter that weak scaling grows, for a second curve; empty for none.
        efficiency: Least acceptable efficiency.
        deadline_s: Limit of the run, seconds; ``None`` without.
        division: Laws of ``regular`` divisions or of the ``best`` found; the usual ones when ``None``.
        cores: Cores of a node, for core-hours of bounds.
        allocations: Asks for ``found``, all nodes x processes per node, and the ``decision`` instead.
        parameters: What goes before the machine's own: ``throughput="3.2GFlop/s"``.
    """
    from commanalyzer.report.scaling.laws_text import project_laws

    if not 0.0 < efficiency < 1.0:
        raise ConfigError(f"expected an efficiency between 0 and 1, found {efficiency}")
    known = Path(laws) if isinstance(laws, str | os.PathLike) else laws
    run = (as_machine(machine, **parameters), node_counts(nodes), sizes)
    if allocations is not None:
        return find_allocations(known, *run, allocations, efficiency, deadline_s, division)
    if isinstance(known, AnalysisResult):
        raise ConfigError("expected laws, found a result", hint="fit makes laws; allocations take a result")
    return project_laws(
        known if isinstance(known, LawsDocument) else load_laws(known),
        *run,
        weak=weak,
        division=division,
        efficiency=efficiency,
        deadline_s=deadline_s,
        cores=cores,
    )


def _request(
    sources: PathLike | Sequence[PathLike], args: Sequence[str | int | float], options: AnalyzeOptions
) -> AnalysisRequest:
    given: dict[str, Any] = {**options, "sources": sources}
    flags, link_flags = (tuple(given.pop(name, ())) for name in ("cflags", "ldflags"))
    compiler = CompilerOptions(given.pop("cc", ""), flags, link_flags, given.pop("fc", ""))
    return AnalysisRequest(
        arguments=tuple(map(str, args)),
        nodes=node_counts(given.pop("nodes", DEFAULT_NODES)),
        models=several(given.pop("model", "volume")),
        regions=tuple(given.pop("regions", ())),
        machine=as_machine(given.pop("machine", None)),
        compiler=compiler,
        decompose=several(given.pop("decompose", ())),
        **given,  # options that are called like the fields of the request
    )
