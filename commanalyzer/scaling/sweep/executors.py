"""Where points are analysed: processes of this machine, ranks of MPI, workers of Dask.

All are :class:`concurrent.futures.Executor`; any other one works too (:class:`Engine`).

Text of a batch script: one array task per point, and a last job that gathers.
"""

from __future__ import annotations

import importlib
import multiprocessing
import multiprocessing.connection
import os
import shlex
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import cast

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.scaling.sweep.points import PointSpec
from commanalyzer.scaling.sweep.store import PointRecord
from commanalyzer.scaling.sweep.work import analyse_point

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
