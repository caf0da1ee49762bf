"""The measurement as a job: every rank calls :func:`run_job`, rank 0 writes the files."""

from __future__ import annotations

import datetime
import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from commanalyzer.foundation.errors import EXIT_INTERNAL, CommAnalyzerError, MachineModelError
from commanalyzer.foundation.files import require_writable
from commanalyzer.foundation.progress import Progress
from commanalyzer.foundation.version import tool_version
from commanalyzer.machine.catalog import find_machine
from commanalyzer.machine.machine_file import write_machine
from commanalyzer.machine.measuring.campaign import MeasurementPlan
from commanalyzer.machine.measuring.estimate import estimate_throughput
from commanalyzer.machine.measuring.measurement import Measurement, measure_machine
from commanalyzer.machine.measuring.mpi import MpiCommunicator, launcher_rank, world
from commanalyzer.machine.measuring.samples import Series, write_samples
from commanalyzer.machine.measuring.throughput import run_times
from commanalyzer.machine.parameters import MachineParameters, Parameter

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
    comm: MpiCommunicator,
    request: MeasurementRequest,
    progress: Progress,
    say_failure: Callable[[str], None],
) -> Measurement | None:
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


def _write(request: MeasurementRequest, prepared: _Prepared, measurement: Measurement | None) -> JobResult:
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
