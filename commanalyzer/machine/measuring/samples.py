"""The measurements of a network, their raw timings, and the file that keeps these beside a machine file."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.documents import parse_json, reading, typed
from commanalyzer.foundation.errors import MachineModelError
from commanalyzer.foundation.files import write_atomically
from commanalyzer.foundation.progress import Progress
from commanalyzer.machine.measuring import kernels
from commanalyzer.machine.measuring.kernels import (
    Collective,
    ExchangePattern,
    Role,
    random_matchings,
    random_rings,
    rank_counts,
)
from commanalyzer.machine.measuring.mpi import MpiCommunicator

SAMPLES_KIND = "commanalyzer.machine-samples"
SAMPLES_SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Series:
    """Repetitions of one measurement."""

    # ``matching``, ``ring``, ``round_trip``, ``call``, ``send_overhead``, ``receive_overhead``, ``gap``,
    # ``allreduce``, ``bcast``, ``program``, or ``overlap.ROLE.PART`` with the roles ``send``, ``receive``,
    # ``exchange`` and the parts ``base``, ``work``, ``elapsed``
    benchmark: str
    num_ranks: int
    message_bytes: int
    num_messages: int  # messages that one rank sends in one repetition
    times_s: NDArray[np.float64]  # [ranks, repetitions], seconds; NaN where a rank was not timed

    def __post_init__(self) -> None:
        if self.times_s.ndim != 2:
            raise ValueError(f"expected times of ranks and repetitions, found shape {self.times_s.shape}")
        self.times_s.setflags(write=False)


def write_samples(
    path: Path, series: Iterable[Series], provenance: Mapping[str, object], *, force: bool = False
) -> None:
    """Write all raw timings as compressed JSON (``*.json.gz``), with library, placement, seed and version.

    Raises ``ArtifactError`` if the file exists or cannot be written.
    """
    document = {
        "kind": SAMPLES_KIND,
        "schema": SAMPLES_SCHEMA,
        "provenance": dict(provenance),
        "unit": "s",
        "series": [_encoded(item) for item in series],
    }
    data = gzip.compress(json.dumps(document).encode(), mtime=0)
    write_atomically(path, lambda draft: draft.write_bytes(data), force=force)


def read_samples(path: Path) -> tuple[tuple[Series, ...], dict[str, object]]:
    """Series and provenance of raw timings; ``MachineModelError`` if unreadable, of another kind or newer."""
    with reading(path, "a file of raw timings", error=MachineModelError):
        document = parse_json(gzip.decompress(path.read_bytes()))
        kind, schema = document["kind"], document["schema"]
        if (kind, schema) != (SAMPLES_KIND, SAMPLES_SCHEMA):
            raise ValueError(f"kind {kind!r}, schema {schema!r}")
        names = {"num_ranks": "ranks", "num_messages": "messages", "times_s": "times"}
        found = [item | {own: item[name] for own, name in names.items()} for item in document["series"]]
        series = tuple(typed(item, Series) for item in found)
        return series, typed(document["provenance"], dict[str, object])


def _encoded(series: Series) -> dict[str, object]:
    # JSON has no NaN; 7 digits are finer than any clock here.
    rows = [
        [float(f"{t:.6e}") if timed else None for t, timed in zip(row, ok, strict=True)]
        for row, ok in zip(series.times_s.tolist(), np.isfinite(series.times_s).tolist(), strict=True)
    ]
    return {
        "benchmark": series.benchmark,
        "ranks": series.num_ranks,
        "message_bytes": series.message_bytes,
        "messages": series.num_messages,
        "times": rows,
    }


Times = NDArray[np.float64]
PatternMaker = Callable[[int, int, int], ExchangePattern]

DEFAULT_SIZES_BYTES = (8, 64, 512, 4096, 32768, 262144, 2097152)
SMALL_MESSAGE_BYTES = 8
FEW_MESSAGES, MANY_MESSAGES = 4, 36
_CALLS = 200
_WINDOW_BYTES = 32 << 20
_PILOT_REPETITIONS = 2
_LEAST_REPETITIONS = 6
# SMB lengthens the work until an iteration takes 1.5 times the bare transfer; below it, hiding may not show.
_LEAST_WORK = 1.5
_WORK = 2.0
_CALIBRATION_UNITS = 64


@dataclass(frozen=True, slots=True)
class MeasurementPlan:
    """How much to measure."""

    message_bytes: tuple[int, ...] = DEFAULT_SIZES_BYTES  # message sizes, bytes, increasing multiples of 8
    num_repetitions: int = 100  # rounds of each measurement (Netgauge: 100)
    num_messages: int = 20  # messages per round and direction (Netgauge: 20); fewer where they exceed 32 MiB
    series_s: float = 1.0  # time for one measurement; it has fewer rounds if these take longer, never below 6
    seed: int = 1  # seed of the random patterns


def measure_network(comm: MpiCommunicator, plan: MeasurementPlan, progress: Progress) -> tuple[Series, ...]:
    """All series of the network, on rank 0; empty elsewhere. One rank per node is assumed."""
    found: list[Series] = []
    counts = rank_counts(comm.size)
    for count in counts:
        progress.stage(f"exchange and collectives, {count} ranks", len(plan.message_bytes))
        group = comm.split(comm.rank < count)
        if group is not None:
            found += _group_series(group, plan, progress)
    progress.stage("latency, overhead, gap")
    found += _small_message_series(comm, plan)
    progress.stage("overlap", len(plan.message_bytes))
    found += _overlap_series(comm, plan, progress)
    return tuple(found)


def window(plan: MeasurementPlan, message_bytes: int) -> int:
    """Messages per round and direction of one size, at least 2."""
    return max(2, min(plan.num_messages, _WINDOW_BYTES // message_bytes))


def _group_series(comm: MpiCommunicator, plan: MeasurementPlan, progress: Progress) -> Iterator[Series]:
    # Two ranks have one ring, and it is a matching.
    makers = (random_matchings, random_rings) if comm.size > 2 else (random_matchings,)
    for size in plan.message_bytes:
        for make in makers:
            yield from _exchange_series(comm, plan, make, size)
        for operation in get_args(Collective):
            times_s = _repeated(comm, plan, partial(kernels.collective_times, comm, operation, size))
            yield from _gathered(comm, operation, size, 1, times_s)
        progress.advance()


def _exchange_series(
    comm: MpiCommunicator, plan: MeasurementPlan, make: PatternMaker, size: int
) -> Iterator[Series]:
    messages = window(plan, size)

    def exchange(n: int) -> Times:
        return kernels.exchange_times(comm, make(comm.size, n, plan.seed), size, messages)

    name = make(comm.size, 1, plan.seed).name
    yield from _gathered(comm, name, size, messages, _repeated(comm, plan, exchange))


def _small_message_series(comm: MpiCommunicator, plan: MeasurementPlan) -> Iterator[Series]:
    size = SMALL_MESSAGE_BYTES

    def per_message(kernel: Callable[..., object], n: int) -> Times:
        """Time per additional message: what a batch costs beside its messages cancels."""
        few_s, many_s = (
            np.asarray(kernel(comm, _partners(comm, n, plan), size, messages))
            for messages in (FEW_MESSAGES, MANY_MESSAGES)
        )
        return np.asarray((many_s - few_s) / (MANY_MESSAGES - FEW_MESSAGES), dtype=np.float64)

    trips_s = _repeated(comm, plan, lambda n: kernels.round_trip_times(comm, _partners(comm, n, plan), size))
    yield from _gathered(comm, "round_trip", size, 1, trips_s)
    yield from _gathered(comm, "call", 0, 1, _repeated(comm, plan, partial(kernels.call_times, comm, _CALLS)))
    send_s, receive_s = _repeated(comm, plan, partial(per_message, kernels.overhead_times))
    yield from _gathered(comm, "send_overhead", size, MANY_MESSAGES, send_s)
    yield from _gathered(comm, "receive_overhead", size, MANY_MESSAGES, receive_s)
    gaps_s = _repeated(comm, plan, partial(per_message, kernels.stream_times))
    yield from _gathered(comm, "gap", size, MANY_MESSAGES, gaps_s)


def _overlap_series(comm: MpiCommunicator, plan: MeasurementPlan, progress: Progress) -> Iterator[Series]:
    for _ in range(2):  # the first time warms up
        times_s = kernels.work_times(comm, _CALIBRATION_UNITS, _LEAST_REPETITIONS)
    # The largest over the ranks, so that all use the same amount of work.
    unit_s = comm.largest(float(np.median(times_s))) / _CALIBRATION_UNITS
    for size in plan.message_bytes:
        for role in get_args(Role):
            yield from _overlap_of_role(comm, plan, role, size, unit_s)
        progress.advance()


def _overlap_of_role(
    comm: MpiCommunicator, plan: MeasurementPlan, role: Role, size: int, unit_s: float
) -> Iterator[Series]:
    def overlapped(n: int, units: int) -> Times:
        return kernels.overlapped_times(comm, _partners(comm, n, plan), role, size, units)

    base_s = _repeated(comm, plan, lambda n: overlapped(n, 0))
    longest_base_s = comm.largest(float(np.nanmedian(base_s)) if np.isfinite(base_s).any() else 0.0)
    units = max(1, round(_WORK * longest_base_s / unit_s))
    work_s = kernels.work_times(comm, units, _LEAST_REPETITIONS)
    # The unit may be shorter than it was when it was calibrated (a faster clock by now).
    shortest_work_s = -comm.largest(-float(np.median(work_s)))
    if shortest_work_s < _LEAST_WORK * longest_base_s:
        units = round(units * _WORK * longest_base_s / shortest_work_s)
    work_s = _repeated(comm, plan, lambda n: kernels.work_times(comm, units, n))
    elapsed_s = _repeated(comm, plan, lambda n: overlapped(n, units))
    for part, times_s in (("base", base_s), ("work", work_s), ("elapsed", elapsed_s)):
        yield from _gathered(comm, f"overlap.{role}.{part}", size, 1, times_s)


def _partners(comm: MpiCommunicator, num_rounds: int, plan: MeasurementPlan) -> NDArray[np.int64]:
    return random_matchings(comm.size, num_rounds, plan.seed).targets


def _repeated(comm: MpiCommunicator, plan: MeasurementPlan, kernel: Callable[[int], Times]) -> Times:
    """Times of ``kernel`` after a warm-up that also tells how many repetitions the time allows."""
    start_s = comm.clock_s()
    kernel(_PILOT_REPETITIONS)
    each_s = comm.largest(comm.clock_s() - start_s) / _PILOT_REPETITIONS
    affordable = int(plan.series_s / each_s) if each_s > 0 else plan.num_repetitions
    return kernel(max(_LEAST_REPETITIONS, min(plan.num_repetitions, affordable)))


def _gathered(
    comm: MpiCommunicator, benchmark: str, message_bytes: int, num_messages: int, times_s: Times
) -> Iterator[Series]:
    everyone_s = comm.gather(times_s)
    if comm.rank == 0:
        yield Series(benchmark, comm.size, message_bytes, num_messages, everyone_s)
