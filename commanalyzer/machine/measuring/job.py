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
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.errors import EXIT_INTERNAL, CommAnalyzerError, MachineModelError, TargetRunError
from commanalyzer.foundation.files import require_writable
from commanalyzer.foundation.progress import Progress
from commanalyzer.foundation.quantities import format_percent
from commanalyzer.foundation.version import tool_version
from commanalyzer.machine.machine_file import load_machine, write_machine
from commanalyzer.machine.measuring.hosts import JobHosts, RankPlace, this_place
from commanalyzer.machine.measuring.kernels import Role
from commanalyzer.machine.measuring.mpi import MpiCommunicator, launcher_rank, world
from commanalyzer.machine.measuring.samples import MeasurementPlan, Series, measure_network, write_samples
from commanalyzer.machine.parameters import KINDS, Curve, MachineParameters, Parameter
from commanalyzer.machine.statistics import (
    MedianInterval,
    availability,
    median_interval,
    significant,
    slowest,
)

# An overlap of 1 would make communication free; a measurement cannot tell it from 0.99.
_LARGEST_OVERLAP = 0.99


def estimate_network(
    series: Sequence[Series], *, name: str, date: str, flags: Sequence[str] = ()
) -> tuple[MachineParameters, tuple[str, ...]]:
    """Parameters of the network, and remarks about those that could not be told.

    ``flags`` say what spoils the numbers, before the note of every parameter; ``date`` is an ISO date.
    """
    prefix = f"[{', '.join(flags)}] " if flags else ""
    found = {
        "bandwidth": _bandwidth(series),
        "overlap": _overlap(series),
        "latency": _latency(series),
        "message_overhead": _message_overhead(series),
        "gap": _gap(series),
        "allreduce": _collective(series, "allreduce"),
        "bcast": _collective(series, "bcast"),
    }
    known, remarks = {}, []
    for key, p in found.items():
        if not _is_plausible(key, p.value):
            remarks.append(f"{key} was left out: {p.value:.3g} {KINDS[key].unit} is noise")
            continue
        curve = p.curve
        if curve is not None and not all(_is_plausible(key, value) for value in curve.values):
            curve = None
            remarks.append(f"{key} has no values over ranks and message sizes: some of them are noise")
        known[key] = Parameter(p.value, KINDS[key].unit, "measured", date, prefix + p.note, curve)
    return MachineParameters(name).updated(**known), tuple(remarks)


def estimate_throughput(flops: float, times_s: NDArray[np.float64], *, date: str, note: str) -> Parameter:
    """R of one program: its operations over the median time of its runs.

    ``flops`` are those of one run, from the analysis; ``note`` says what was run, and how.
    """
    time = median_interval(times_s)
    value = significant(flops / time.median)
    return Parameter(value, "Flop/s", "measured", date, f"{note}; wall time {_interval(time, 'throughput')}")


def _is_plausible(key: str, value: float) -> bool:
    """A machine file may hold it: differences of times may be negative, waiting for a core may take long."""
    return KINDS[key].low <= value <= KINDS[key].high


def _bandwidth(series: Sequence[Series]) -> Parameter:
    matchings = _select(series, "matching")
    curve = _curve(matchings, _rate)
    last = matchings[-1]
    seconds = median_interval(np.nanmean(last.times_s, axis=0))  # without idle ranks
    sent = last.num_messages * last.message_bytes
    note = (
        f"harmonic mean over ranks and {last.times_s.shape[1]} random perfect matchings, each rank sends and "
        f"receives {last.num_messages} messages of {last.message_bytes} B at once; bytes sent per rank; "
        f"median round {KINDS['bandwidth'].show(sent / seconds.median)}, "
        f"{format_percent(seconds.confidence)} CI [{KINDS['bandwidth'].show(sent / seconds.high)}, "
        f"{KINDS['bandwidth'].show(sent / seconds.low)}]"
    )
    rings = _select(series, "ring")
    if rings:
        note += f"; random rings {KINDS['bandwidth'].show(_rate(rings[-1]))}"
    return Parameter(curve.values[-1], "B/s", note=note, curve=curve)


def _rate(item: Series) -> float:
    # Over the mean time of all rounds and ranks that took part: the harmonic mean of their rates.
    return item.num_messages * item.message_bytes / float(np.nanmean(item.times_s))


def _overlap(series: Sequence[Series]) -> Parameter:
    """O_c: both sides of a transfer count alike, as a program sends and receives (paper Section 5)."""
    send, receive, exchange = (np.array(_overlap_of(series, role)) for role in get_args(Role))
    sizes = tuple(float(item.message_bytes) for item in _select(series, "overlap.send.base"))
    found = np.minimum(np.maximum((send + receive) / 2.0, exchange), _LARGEST_OVERLAP)
    note = (
        "mean over message sizes; per size the mean of post-work-wait while sending and while receiving "
        "(SMB), or that of an exchange (IMB-NBC) if it is larger; means over sizes: "
        f"send {send.mean():.2f}, receive {receive.mean():.2f}, exchange {exchange.mean():.2f}"
    )
    values = tuple(significant(float(value)) for value in found)
    return Parameter(significant(float(found.mean())), "1", note=note, curve=Curve((), sizes, values))


def _overlap_of(series: Sequence[Series], role: Role) -> list[float]:
    """Hidden share of the transfer for each message size."""
    base, work, elapsed = (
        [float(np.nanmedian(item.times_s)) for item in _select(series, f"overlap.{role}.{part}")]
        for part in ("base", "work", "elapsed")
    )
    return [availability(b, w, e) for b, w, e in zip(base, work, elapsed, strict=True)]


def _latency(series: Sequence[Series]) -> Parameter:
    (trips,), (calls,) = _select(series, "round_trip"), _select(series, "call")
    call_s = median_interval(calls.times_s).median
    half = median_interval(trips.times_s / 2.0 - call_s)
    note = (
        f"half a ping-pong of {trips.message_bytes} B less {KINDS['gap'].show(call_s)} for an empty call, "
        f"median {_interval(half, 'latency')}"
    )
    return Parameter(significant(half.median), "s", note=note)


def _message_overhead(series: Sequence[Series]) -> Parameter:
    send, receive = (
        median_interval(_select(series, key)[0].times_s) for key in ("send_overhead", "receive_overhead")
    )
    note = (
        "mean of posting a send and of taking in a message that has arrived, per additional message of a "
        f"batch: send {_interval(send, 'message_overhead')}, receive {_interval(receive, 'message_overhead')}"
    )
    return Parameter(significant((send.median + receive.median) / 2.0), "s", note=note)


def _gap(series: Sequence[Series]) -> Parameter:
    (item,) = _select(series, "gap")
    gap = median_interval(item.times_s)
    note = f"per additional {item.message_bytes} B message of a stream, median {_interval(gap, 'gap')}"
    return Parameter(significant(gap.median), "s", note=note)


def _collective(series: Sequence[Series], name: str) -> Parameter:
    items = _select(series, name)
    curve = _curve(items, lambda item: median_interval(slowest(item.times_s)).median)
    largest = next(item for item in items if item.num_ranks == items[-1].num_ranks)
    time = median_interval(slowest(largest.times_s))
    note = (
        f"slowest rank, median over repetitions; value: {largest.num_ranks} ranks, "
        f"{largest.message_bytes} B, {_interval(time, name)}"
    )
    return Parameter(significant(time.median), "s", note=note, curve=curve)


def _select(series: Iterable[Series], benchmark: str) -> list[Series]:
    """Series of one benchmark by rank count, then message size."""
    found = [item for item in series if item.benchmark == benchmark]
    return sorted(found, key=lambda item: (item.num_ranks, item.message_bytes))


def _curve(items: Sequence[Series], summary: Callable[[Series], float]) -> Curve:
    return Curve(
        nodes=tuple(sorted({float(item.num_ranks) for item in items})),
        message_bytes=tuple(sorted({float(item.message_bytes) for item in items})),
        values=tuple(significant(summary(item)) for item in items),
    )


def _interval(found: MedianInterval, key: str) -> str:
    show = KINDS["latency" if key == "throughput" else key].show
    return (
        f"{show(found.median)}, {format_percent(found.confidence)} CI "
        f"[{show(found.low)}, {show(found.high)}] of {found.num_values}"
    )


# A program started by a rank must not take itself for a part of the measurement's MPI job.
_JOB_PREFIXES = ("PMI", "OMPI_", "PRTE_", "HYD", "MPI_", "MPIR", "PALS_")


def run_times(command: Sequence[str], num_runs: int) -> NDArray[np.float64]:
    """Wall time of ``num_runs`` runs after one that is not timed, seconds.

    The program's output is discarded; threads and other settings are those of the environment. Raises
    ``MachineModelError`` if there is no such program; ``TargetRunError`` if a run fails.
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


@dataclass(frozen=True, slots=True)
class MachineMeasurement:
    """What was measured."""

    machine: MachineParameters
    series: tuple[Series, ...]  # raw timings
    remarks: tuple[str, ...]  # what a reader of the numbers must know, one sentence each
    provenance: Mapping[str, object]  # library, hosts, settings, version


def measure_machine(
    world: MpiCommunicator, library: str, plan: MeasurementPlan, name: str, progress: Progress
) -> MachineMeasurement | None:
    """The measured network on rank 0, ``None`` on the other ranks.

    With several hosts, the first rank of each takes part: the parameters are those of nodes.

    ``library`` is the version line of the message-passing library; ``progress`` is told of every stage.
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
    """What to measure and where to write it."""

    output: Path  # machine file
    name: str
    plan: MeasurementPlan
    base: str = ""  # machine whose parameters are kept where none is measured, empty for none
    command: tuple[str, ...] = ()  # plain run of the analysed program; empty for no throughput
    # Tells the floating-point operations of that run; called on rank 0 only
    flops: Callable[[], float] = float
    num_runs: int = 5
    force: bool = False

    @property
    def samples(self) -> Path:
        """File of the raw timings, beside the machine file."""
        return self.output.with_name(f"{self.output.stem}.samples.json.gz")


@dataclass(frozen=True, slots=True)
class JobResult:
    """What was written."""

    machine: MachineParameters  # the machine, with the parameters of the base
    remarks: tuple[str, ...]  # what a reader of the numbers must know
    files: tuple[Path, ...]


def run_job(
    request: MeasurementRequest, progress: Progress, say_failure: Callable[[str], None]
) -> JobResult | None:
    """Measure and write; the result on rank 0, ``None`` on the others.

    ``say_failure`` is told what ended the measurement on this rank, before all ranks are ended. Raises
    ``CommAnalyzerError``: on rank 0, if a file cannot be written, the base machine is not usable, or the
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


# Base, throughput and its timings: what rank 0 does before MPI starts, for a program must not be run from
# within an MPI job.
_Prepared = tuple[MachineParameters, Parameter | None, tuple[Series, ...]]


def _prepare(request: MeasurementRequest, progress: Progress) -> _Prepared:
    for path in (request.output, request.samples):
        require_writable(path, request.force)
    base = load_machine(request.base) if request.base else MachineParameters()
    if not request.command:
        return base, None, ()
    flops = request.flops()
    progress.stage(f"run {shlex.join(request.command)}")
    times_s = run_times(request.command, request.num_runs)
    threads = os.environ.get(_THREADS, "not set")
    note = f"{shlex.join(request.command)}, {_THREADS} {threads}; counted operations over wall time"
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    throughput = estimate_throughput(flops, times_s, date=today, note=note)
    return base, throughput, (Series("program", 1, 0, 0, times_s[None, :]),)


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
        say_failure(f"rank {comm.rank}: {type(error).__name__}: {error}")
        time.sleep(0.2)  # the launcher, which ends all ranks at once, reads it before
        comm.abort(EXIT_INTERNAL)
        raise


def _write(
    request: MeasurementRequest, prepared: _Prepared, measurement: MachineMeasurement | None
) -> JobResult:
    alone = MachineMeasurement(MachineParameters(request.name), (), (), {"tool_version": tool_version()})
    found = measurement or alone
    base, throughput, timings = prepared
    machine = base.updated_from(found.machine.updated(throughput=throughput))
    series, about = (*timings, *found.series), dict(found.provenance)
    write_samples(request.samples, series, about, force=request.force)
    write_machine(request.output, machine, about | {"samples": request.samples.name}, force=request.force)
    return JobResult(machine, found.remarks, (request.output, request.samples))
