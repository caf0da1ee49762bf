"""Where points are analysed: processes of this machine, ranks of MPI, workers of Dask.

All are :class:`concurrent.futures.Executor`; any other one works too (:class:`Engine`).

Text of a Slurm script: one array task per point, and a last job that gathers.
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
#SBATCH --job-name=sweep
#SBATCH --array={array}
#SBATCH --ntasks=1
#SBATCH --output={log}
{extra}#
# {points} points, one array task each. Submit with:  bash {name}
# (submits the array and, after it, a job that gathers the table)
set -eu
cd {folder}
if [ -z "${{SLURM_JOB_ID:-}}" ]; then
    array=$(sbatch --parsable {name})
    sbatch --array=0-0 --dependency="afterany:${{array%%;*}}" {name} gather
    exit
fi
if [ "${{1:-}}" = gather ]; then
    exec {tool} sweep --gather {directory}
fi
exec {tool} sweep --task "$SLURM_ARRAY_TASK_ID" {arguments}
"""


def slurm_script(
    *,
    script: Path,
    indices: Sequence[int],
    tool: Sequence[str],
    arguments: Sequence[str],
    directory: Path,
    folder: Path,
    options: Sequence[str] = (),
) -> str:
    """Script that analyses points.

    ``arguments`` are those of ``commanalyzer sweep`` as the user gave them, ``folder`` is the absolute
    working directory, ``options`` are further ones of ``sbatch``.
    """
    extra = "".join(f"#SBATCH {option}\n" for option in options)
    return _SCRIPT.format(
        array=array_ranges(indices),
        log=shlex.quote(str(directory.absolute() / "slurm-%A_%a.log")),
        extra=extra,
        points=len(indices),
        name=shlex.quote(str(script.absolute())),
        folder=shlex.quote(str(folder)),
        tool=shlex.join(tool),
        directory=shlex.quote(str(directory.absolute())),
        arguments=shlex.join(arguments),
    )


def array_ranges(indices: Sequence[int]) -> str:
    """Increasing indices as ``sbatch --array`` wants them: ``0-3,7,9-10``."""
    ranges: list[list[int]] = []
    for index in indices:
        if ranges and ranges[-1][1] == index - 1:
            ranges[-1][1] = index
        else:
            ranges.append([index, index])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in ranges)


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
