"""Where points are analysed: processes of this machine, ranks of MPI, workers of Dask.

All are :class:`concurrent.futures.Executor`; any other one works too (:class:`Engine`).

Text of a batch script: one array task per point, and a last job that gathers.

Analyses one point; this is what executors run, in whichever process.

What an analysis itself costs: CPU time of its stages, child processes included, and its largest memory.

CPU time, because points run beside each other; the program's own runs are in the recording, not here.

Loads libraries and compiled kernels, so that the first point of a process does not pay for them.
"""

from __future__ import annotations

import importlib
import math
import multiprocessing
import multiprocessing.connection
import os
import resource
import shlex
import signal
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from types import FrameType
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from commanalyzer.division.libraries.hypergraph import Hypergraph, incidence
from commanalyzer.division.libraries.mtkahypar import partition_hypergraph
from commanalyzer.division.refinement.refine import connectivity, refine
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.foundation.work import DEFAULT_WEIGHTS
from commanalyzer.machine.parameters import MachineParameters
from commanalyzer.pipeline import analyze, repartition, with_throughput
from commanalyzer.request import AnalysisRequest, PartitionRequest
from commanalyzer.result.artifacts import load, save
from commanalyzer.result.provenance import peak_memory_bytes
from commanalyzer.result.results import AnalysisResult
from commanalyzer.scaling.sweep.points import PointSpec
from commanalyzer.scaling.sweep.store import PointRecord, SweepDirectory, point_error
from commanalyzer.scaling.sweep.table import Cell, table_lines


@cache
def warm_up() -> int:
    """Divide a path of four values; once per process. Returns the metric, 1."""
    path = Hypergraph(
        np.array([0, 2, 4, 6]), np.array([0, 1, 1, 2, 2, 3]), np.ones(3, dtype=np.int64), np.ones(4)
    )
    found = partition_hypergraph(path, 2, imbalance=0.5)
    owner = refine(path, incidence(path), found, 2, imbalance=0.5)
    return connectivity(path, owner, 2)


_COMPILING = ("compile", "instrument")
_GRAPH = "build the value graph"
_COUNTING = "partition and count"
_STEPS = 2  # per (nodes, model): candidates found and counted, then refined ones


Spent: TypeAlias = NDArray[np.float64]  # [2], seconds on the clock, and of processors


class StageClock:
    """Progress that takes the time of stages and of the steps of each."""

    def __init__(self) -> None:
        self._spent: defaultdict[str, Spent] = defaultdict(lambda: np.zeros(2))
        self._steps: defaultdict[str, list[Spent]] = defaultdict(list)
        self._name = ""
        self._last = _now()

    def stage(self, name: str, steps: int = 1) -> None:
        """End the running stage, begin ``name``."""
        del steps
        self._spend()
        self._name = name

    def advance(self, steps: int = 1) -> None:
        """A step of the running stage is done."""
        del steps
        self._steps[self._name].append(self._spend())

    def finish(self) -> None:
        """End the last stage."""
        self._spend()

    def cpu_s(self, *names: str) -> float:
        """CPU time of stages, seconds."""
        return float(sum(self._spent[name][1] for name in names))

    def steps(self, name: str) -> tuple[Spent, ...]:
        """Time of the steps of a stage."""
        return tuple(self._steps[name])

    def _spend(self) -> Spent:
        now = _now()
        spent, self._last = now - self._last, now
        self._spent[self._name] += spent
        return spent


def _now() -> Spent:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return np.array([time.perf_counter(), sum(usage.ru_utime + usage.ru_stime for usage in usages)])


def stage_costs(clock: StageClock) -> dict[str, float]:
    """``compile_s`` and ``graph_s``."""
    return {"compile_s": clock.cpu_s(*_COMPILING), "graph_s": clock.cpu_s(_GRAPH)}


def division_costs(result: AnalysisResult, clock: StageClock) -> dict[tuple[int, str], tuple[float, float]]:
    """(``partition_s``, ``count_s``) of every (nodes, model): finding candidates, and the rest.

    The stage goes through the models one after the other, each for all node counts. The CPU time of a step is
    split as its wall time is, of which each decomposition knows its own part.
    """
    pairs = [(nodes, model) for model in result.models for nodes in result.nodes]
    steps = clock.steps(_COUNTING)
    if len(steps) != _STEPS * len(pairs):
        return dict.fromkeys(pairs, (math.nan, math.nan))
    found_s: defaultdict[tuple[int, str], float] = defaultdict(float)
    for item in result.decompositions:
        found_s[item.nodes, item.model] += item.seconds
    costs = {}
    for index, pair in enumerate(pairs):
        wall_s, cpu_s = np.sum(steps[_STEPS * index : _STEPS * (index + 1)], axis=0).tolist()
        share = min(1.0, found_s[pair] / wall_s) if wall_s > 0 else 0.0
        costs[pair] = (share * cpu_s, (1.0 - share) * cpu_s)
    return costs


def forget_peak_memory() -> None:
    """Let the peak start anew that is read afterwards: a worker analyses one point after the other."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return  # not allowed here: the peak is then that of the process


_KEPT_COSTS = ("compile_s", "graph_s", "tool_rss_bytes")  # of a recording that is used again


def analyse_point(spec: PointSpec) -> PointRecord:
    """Analyse a point; what goes wrong is its record's error; ``ArtifactError`` if that cannot be written."""
    directory = SweepDirectory(spec.directory)
    known = directory.record(spec.key)
    if known is not None and known.is_finished:
        return known
    warm_up()
    start_s = time.perf_counter()
    forget_peak_memory()
    try:
        record = _finished(spec, directory)
    except Exception as error:  # noqa: BLE001 one point must not end the others
        record = PointRecord(spec.key, dict(spec.point.values), point_error(error))
    record = replace(record, wall_s=time.perf_counter() - start_s)
    directory.write_record(record)
    return record


def _finished(spec: PointSpec, directory: SweepDirectory) -> PointRecord:
    clock, exact = StageClock(), bool(spec.request.exact)  # all points alike: laws must not mix two counts
    earlier = None if exact else directory.finished_recording(spec.recording_key)
    if earlier is None:
        stdin = spec.request.stdin or directory.no_input
        result = analyze(replace(spec.request, stdin=stdin, exact=exact), clock)
    else:
        result = _counted_anew(load(directory.result_path(earlier.key)), spec.request, clock)
    clock.finish()
    path = directory.result_path(spec.key)
    save(result, path, force=True)
    if earlier is None:
        own: dict[str, Cell] = {**stage_costs(clock), "tool_rss_bytes": peak_memory_bytes()}
    else:
        own = {name: earlier.lines[0][name] for name in _KEPT_COSTS}
    lines = table_lines(
        result,
        dict(spec.point.values),
        per_point=own,
        per_division=division_costs(result, clock),
        file=str(path.relative_to(directory.path)),
    )
    memory_bytes = result.recording.peak_rss_bytes + peak_memory_bytes()
    found = PointRecord(spec.key, dict(spec.point.values), lines=lines, warnings=result.warnings)
    return replace(found, memory_bytes=memory_bytes)


def _counted_anew(result: AnalysisResult, request: AnalysisRequest, clock: StageClock) -> AnalysisResult:
    """The same recording, with the node counts, models and machine of ``request``."""
    machine = with_throughput(request, result.recording, result.work)
    counting = PartitionRequest(**{f.name: getattr(request, f.name) for f in fields(PartitionRequest)})
    weights = request.work_weights or DEFAULT_WEIGHTS
    # the machine is that of the result, with its throughput
    counting = replace(counting, machine=MachineParameters(), work_weights=weights)
    again = repartition(replace(result, machine=machine), counting, clock)
    return replace(again, warnings=tuple(dict.fromkeys((*result.warnings, *again.warnings))))


_SCRIPT = """\
#!/bin/bash
{directives}
#
# {count} points, one array task each. Submit with:  bash {script}
# (submits the array and, after it, a job that gathers the table)
set -euo pipefail
cd {folder}
points=({points})
if [ -z "${{{job}:-}}" ]; then
    array=$({array})
    {after}
    exit
fi
if [ "${{{task}:-0}}" = 0 ]; then
    exec {tool} sweep --gather {directory}
fi
exec {tool} sweep --task "${{points[{task} - 1]}}" {arguments}
"""


BATCH_SYSTEMS = {
    "slurm": (
        *("#SBATCH ", "--job-name=sweep", "--ntasks=1", "--output={logs}/slurm-%A_%a.log"),
        *("SLURM_JOB_ID", "SLURM_ARRAY_TASK_ID", "sbatch --parsable --array=1-{count} {script}"),
        'sbatch --dependency="afterany:${{array%%;*}}" {script}',
    ),
    "pbs": (
        *("#PBS ", "-N sweep", "-j oe", "-o {logs}/"),
        *("PBS_JOBID", "PBS_ARRAY_INDEX", "qsub -J 1-{last} {script}"),
        'qsub -W depend="afterany:$array" {script}',
    ),
    "lsf": (
        *("#BSUB ", "-J sweep", "-n 1", "-o {logs}/lsf-%J_%I.log", "LSB_JOBID", "LSB_JOBINDEX"),
        r"bsub -J 'sweep[1-{count}]' <{script} | sed 's/[^<]*<\([0-9]*\)>.*/\1/'",
        'bsub -w "ended($array)" <{script}',
    ),
}
"""What begins a directive, directives, variables with a job's and a task's number, and what submits.

The last but one prints the number of an array, the last runs the script once more when its tasks ended.
Tasks count from 1: LSF has no task 0, that is a job of its own. An array of PBS has two or a step.
"""


def batch_script(
    system: str,
    *,
    script: Path,
    indices: Sequence[int],
    tool: Sequence[str],
    arguments: Sequence[str],
    directory: Path,
    folder: Path,
    options: Sequence[str] = (),
) -> str:
    """Script that analyses points, for one of :data:`BATCH_SYSTEMS`.

    ``arguments`` are those of ``commanalyzer sweep`` as the user gave them, ``folder`` is the absolute
    working directory, ``options`` are further directives.
    """
    count, (start, *directives, job, task, array, after) = len(indices), BATCH_SYSTEMS[system]
    names = {"script": script.absolute(), "folder": folder, "directory": directory.absolute()}
    quoted = {name: shlex.quote(str(path)) for name, path in names.items()}
    begun = [start + word.format(logs=names["directory"]) for word in directives]
    further = ((f"\n{start}" if o.startswith("-") else " ") + shlex.quote(o) for o in options)
    return _SCRIPT.format(
        **quoted,
        directives="".join(("\n".join(begun), *further)),
        count=count,
        points=" ".join(map(str, indices)),
        job=job,
        task=task,
        array=array.format(count=count, last=count if count > 1 else "2:2", **quoted),
        after=after.format(**quoted),
        tool=shlex.join(tool),
        arguments=shlex.join(arguments),
    )


_NO_LIMIT = 1_000_000
_GRACE_S = 10.0  # for a worker to end its program and remove its files


@dataclass(frozen=True, slots=True)
class Engine:
    """A kind of executor."""

    start: Callable[[], Executor]  # makes a new one; called again when one broke
    task: Callable[[PointSpec], PointRecord] = analyse_point  # what it runs
    slots: int = _NO_LIMIT  # points it is given at a time
    is_local: bool = False  # points run on this machine and share its memory
    finish: Callable[[Executor], None] = Executor.shutdown  # ends it, when it has nothing to do any more
    # Ends what it is running, after an interrupt
    abandon: Callable[[Executor], None] = lambda executor: executor.shutdown(wait=False, cancel_futures=True)


def process_engine(jobs: int) -> Engine:
    """Processes of this machine.

    They are spawned, not forked: no locks or threads of libraries are inherited, and a sweep that is killed
    takes its lock with it.
    """
    mine = set(multiprocessing.active_children())

    def start() -> Executor:
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(jobs, mp_context=context, initializer=_prepare_worker)

    def abandon(executor: Executor) -> None:
        executor.shutdown(wait=False, cancel_futures=True)
        for child in set(multiprocessing.active_children()) - mine:
            child.terminate()

    return Engine(start, _analyse_in_worker, jobs, is_local=True, abandon=abandon)


def executor_engine(executor: Executor) -> Engine:
    """The user's own executor, which stays theirs: it is never shut down."""
    return Engine(lambda: executor, finish=lambda _: None, abandon=lambda _: None)


@contextmanager
def mpi_engine() -> Iterator[Engine | None]:
    """The other ranks of ``mpiexec``; ``None`` on those ranks, when all their work is done.

    Raises ``ConfigError`` if there is only one rank.
    """
    from mpi4py import MPI
    from mpi4py.futures import MPICommExecutor

    size = MPI.COMM_WORLD.Get_size()
    if size < 2:
        raise ConfigError(
            "expected at least 2 ranks (one hands out points), found 1",
            where="--mpi",
            hint="start with: mpiexec -n RANKS commanalyzer sweep ... --mpi",
        )
    with MPICommExecutor(MPI.COMM_WORLD, root=0) as executor:
        # One point per rank: what waits here can still be shown as waiting.
        ready = cast("Executor | None", executor)
        yield None if ready is None else Engine(lambda: ready, slots=size - 1)


def dask_engine(address: str) -> Engine:
    """Workers of a Dask scheduler; they need this package and the same directories.

    Raises ``ConfigError`` if Dask is not installed or the scheduler does not answer.
    """
    try:
        # Not a plain import: type checkers must do without it as well.
        distributed = importlib.import_module("distributed")
    except ImportError as error:
        raise ConfigError(
            "expected Dask to be installed, found no distributed",
            where="--dask",
            hint='pip install "commanalyzer[dask]"',
        ) from error
    try:
        client = distributed.Client(address, timeout="10s", set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise ConfigError(
            f"expected a Dask scheduler, found none: {error}", where=f"--dask {address}"
        ) from error
    # Results are files: computing a point twice is never wanted, nor remembering its record.
    return Engine(lambda: cast(Executor, client.get_executor(pure=False, retries=0)))


_is_busy = threading.Event()


def _analyse_in_worker(spec: PointSpec) -> PointRecord:
    _is_busy.set()
    try:
        return analyse_point(spec)
    except KeyboardInterrupt:
        # The program and temporary files are gone; so is, or soon will be, whoever waits for the record.
        os.kill(os.getpid(), signal.SIGKILL)
        raise
    finally:
        _is_busy.clear()


def _prepare_worker() -> None:
    """End with the sweep, however that ends, and end the analysed program first."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, _end_worker)
    # Ctrl-C reaches the whole group: the sweep decides. (Programs would inherit that it is ignored.)
    signal.signal(signal.SIGINT, lambda number, frame: None)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_follow, args=(parent.sentinel,), daemon=True).start()


def _end_worker(number: int, frame: FrameType | None) -> None:
    del number, frame
    if _is_busy.is_set():
        raise KeyboardInterrupt
    os.kill(os.getpid(), signal.SIGKILL)


def _follow(sentinel: int) -> None:
    """Wait for the end of the parent process, then end this one."""
    multiprocessing.connection.wait([sentinel])
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_GRACE_S)
    os.kill(os.getpid(), signal.SIGKILL)
