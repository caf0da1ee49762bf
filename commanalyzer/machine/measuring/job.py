"""The measurement as a job: every rank calls :func:`run_job`, rank 0 writes the files.

One measurement of a machine: hosts, raw timings, parameters and where they come from.

Throughput of one node for one program: wall time of plain runs, operations of its analysis.
"""

from __future__ import annotations

import datetime
import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.errors import EXIT_INTERNAL, CommAnalyzerError, MachineModelError, TargetRunError
from commanalyzer.foundation.files import require_writable
from commanalyzer.foundation.progress import Progress
from commanalyzer.foundation.version import tool_version
from commanalyzer.machine.machine_file import find_machine, write_machine
from commanalyzer.machine.measuring.campaign import MeasurementPlan, measure_network
from commanalyzer.machine.measuring.communicator import Communicator
from commanalyzer.machine.measuring.estimate import estimate_network, estimate_throughput
from commanalyzer.machine.measuring.hosts import JobHosts, RankPlace, this_place
from commanalyzer.machine.measuring.mpi import MpiCommunicator, launcher_rank, world
from commanalyzer.machine.measuring.samples import Series, write_samples
from commanalyzer.machine.parameters import MachineParameters, Parameter

# A program started by a rank must not take itself for a part of the measurement's MPI job.
_JOB_PREFIXES = ("PMI", "OMPI_", "PRTE_", "HYD", "MPI_", "MPIR", "PALS_")


def run_times(command: Sequence[str], num_runs: int) -> NDArray[np.float64]:
    """Wall time of ``num_runs`` runs after one that is not timed, seconds.

    The program's output is discarded; threads and other settings are those of the environment.

    Args:
        command: Program and arguments.
        num_runs: At least 1.

    Raises:
        MachineModelError: If there is no such program.
        TargetRunError: If a run fails.
    """
    program = shutil.which(command[0])
    if program is None:
        raise MachineModelError("expected a program to run, found none", where=command[0])
    environment = {k: v for k, v in os.environ.items() if not k.startswith(_JOB_PREFIXES)}
    times_s = np.empty(num_runs + 1)
    for index in range(num_runs + 1):
        start_s = time.perf_counter()
        try:
            done = subprocess.run(
                [program, *command[1:]],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=environment,
                check=False,
            )
        except OSError as error:
            raise TargetRunError(f"the program cannot be started: {error.strerror}", where=program) from error
        times_s[index] = time.perf_counter() - start_s
        if done.returncode:
            last = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
            raise TargetRunError(
                f"expected a successful run, found exit status {done.returncode}: {last}", where=program
            )
    return times_s[1:]


R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class MachineMeasurement:
    """What was measured.

    Attributes:
        machine: Parameters of the network.
        series: Raw timings.
        remarks: What a reader of the numbers must know, one sentence each.
        provenance: Library, hosts, settings, version.
    """

    machine: MachineParameters
    series: tuple[Series, ...]
    remarks: tuple[str, ...]
    provenance: Mapping[str, object]


def measure_machine(
    world: Communicator[R], library: str, plan: MeasurementPlan, name: str, progress: Progress
) -> MachineMeasurement | None:
    """The measured network on rank 0, ``None`` on the other ranks.

    With several hosts, the first rank of each takes part: the parameters are those of nodes.

    Args:
        world: All ranks, at least 2.
        library: Version line of the message-passing library.
        plan: How much to measure.
        name: What to call the machine.
        progress: Told of every stage.
    """
    texts = world.gather_texts(this_place().to_text())
    hosts = JobHosts(tuple(RankPlace.from_text(text) for text in texts))
    group = world if hosts.num_hosts == 1 else world.split(world.rank in hosts.leaders)
    if group is None:
        return None
    series = measure_network(group, plan, progress)
    if world.rank != 0:
        return None
    today = datetime.datetime.now(datetime.UTC)
    date = today.date().isoformat()
    machine, remarks = estimate_network(series, name=name, date=date, flags=hosts.flags)
    remarks = (*hosts.remarks(), *remarks)
    return MachineMeasurement(machine, series, remarks, _provenance(hosts, library, plan, today, remarks))


def _provenance(
    hosts: JobHosts, library: str, plan: MeasurementPlan, today: datetime.datetime, remarks: tuple[str, ...]
) -> dict[str, object]:
    first = hosts.places[0]
    return {
        "tool_version": tool_version(),
        "created": today.isoformat(timespec="seconds"),
        "library": library,
        "ranks": len(hosts.places),
        "hosts": hosts.num_hosts,
        "most_ranks_per_host": hosts.most_ranks_per_host,
        "hardware_threads_per_host": first.host_cpus,
        "cores_per_rank": len(first.cores),
        "is_pinned": hosts.is_pinned,
        "is_oversubscribed": hosts.is_oversubscribed,
        "is_busy": hosts.is_busy,
        "seed": plan.seed,
        "most_repetitions": plan.num_repetitions,
        "most_messages": plan.num_messages,
        "remarks": list(remarks),
    }


_THREADS = "OMP_NUM_THREADS"


@dataclass(frozen=True, slots=True)
class MeasurementRequest:
    """What to measure and where to write it.

    Attributes:
        output: Machine file.
        name: What to call the machine.
        plan: How much to measure.
        base: Machine whose parameters are kept where none is measured, empty for none.
        command: Plain run of the analysed program; empty for no throughput.
        flops: Tells the floating-point operations of that run; called on rank 0 only.
        num_runs: Timed runs.
        force: Replace existing files.
    """

    output: Path
    name: str
    plan: MeasurementPlan
    base: str = ""
    command: tuple[str, ...] = ()
    flops: Callable[[], float] = float
    num_runs: int = 5
    force: bool = False

    @property
    def samples(self) -> Path:
        """File of the raw timings, beside the machine file."""
        return self.output.with_name(f"{self.output.stem}.samples.json.gz")


@dataclass(frozen=True, slots=True)
class JobResult:
    """What was written.

    Attributes:
        machine: The machine, with the parameters of the base.
        remarks: What a reader of the numbers must know.
        files: Files that were written.
    """

    machine: MachineParameters
    remarks: tuple[str, ...]
    files: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class _Prepared:
    """What rank 0 does before MPI starts: a program must not be run from within an MPI job."""

    base: MachineParameters
    throughput: Parameter | None
    series: tuple[Series, ...]


def run_job(
    request: MeasurementRequest, progress: Progress, say_failure: Callable[[str], None]
) -> JobResult | None:
    """Measure and write; the result on rank 0, ``None`` on the others.

    Args:
        request: The same on all ranks.
        progress: Told of every stage.
        say_failure: Told what ended the measurement on this rank, before all ranks are ended.

    Raises:
        CommAnalyzerError: On rank 0, if a file cannot be written, the base machine is not usable, or the
            program cannot be run; on the other ranks that rank 0 failed. On all, if MPI is not usable.
    """
    prepared, failure = None, None
    if launcher_rank() == 0:
        try:
            prepared = _prepare(request, progress)
        except CommAnalyzerError as error:
            failure = error
    comm = world()
    if any(comm.gather_texts("failed" if failure is not None else "")):
        raise failure or MachineModelError("rank 0 could not begin")
    measurement = _measure_together(comm, request, progress, say_failure)
    if prepared is None:
        return None
    return _write(request, prepared, measurement)


def _prepare(request: MeasurementRequest, progress: Progress) -> _Prepared:
    for path in (request.output, request.samples):
        require_writable(path, request.force)
    base = find_machine(request.base) if request.base else MachineParameters()
    if not request.command:
        return _Prepared(base, None, ())
    flops = request.flops()
    progress.stage(f"run {shlex.join(request.command)}")
    times_s = run_times(request.command, request.num_runs)
    threads = os.environ.get(_THREADS, "not set")
    note = f"{shlex.join(request.command)}, {_THREADS} {threads}; counted operations over wall time"
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    throughput = estimate_throughput(flops, times_s, date=today, note=note)
    return _Prepared(base, throughput, (Series("program", 1, 0, 0, times_s[None, :]),))


def _measure_together(
    comm: MpiCommunicator, request: MeasurementRequest, progress: Progress, say_failure: Callable[[str], None]
) -> MachineMeasurement | None:
    if comm.size == 1:
        if request.command:
            return None
        raise MachineModelError(
            "expected at least 2 ranks to measure a network, found 1",
            hint="mpiexec -n RANKS commanalyzer machine measure ..., one rank per node; or --program RESULT "
            "-- COMMAND for the throughput alone",
        )
    try:
        return measure_machine(comm, comm.library, request.plan, request.name, progress)
    except Exception as error:
        # The others wait for this rank: without it they would wait for ever.
        say_failure(f"rank {comm.rank}: {type(error).__name__}: {error}")
        comm.abort(EXIT_INTERNAL)
        raise


def _write(
    request: MeasurementRequest, prepared: _Prepared, measurement: MachineMeasurement | None
) -> JobResult:
    network = measurement.machine if measurement is not None else MachineParameters(request.name)
    remarks = measurement.remarks if measurement is not None else ()
    provenance = dict(measurement.provenance) if measurement is not None else {"tool_version": tool_version()}
    series = (*prepared.series, *(measurement.series if measurement is not None else ()))
    machine = prepared.base.updated_from(network.updated(throughput=prepared.throughput))
    write_samples(request.samples, series, provenance, force=request.force)
    write_machine(
        request.output, machine, provenance | {"samples": request.samples.name}, force=request.force
    )
    return JobResult(machine, remarks, (request.output, request.samples))
