"""Measures one workload: recording against the plain program, size of the graph, time of every stage."""

from __future__ import annotations

import statistics
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bench.memory import touch_memory
from commanalyzer.communication.totals import totals_of
from commanalyzer.communication.volume import charge_volume
from commanalyzer.division.views import volume_view
from commanalyzer.foundation.heap import give_back
from commanalyzer.foundation.progress import SilentProgress
from commanalyzer.machine.parameters import MachineParameters
from commanalyzer.pipeline import repartition
from commanalyzer.recording.abi import EVERY, Mechanisms
from commanalyzer.recording.record import RecordedProgram, compile_request, record
from commanalyzer.recording.runtime import build_native, run_target
from commanalyzer.request import AnalysisRequest, PartitionRequest
from commanalyzer.result.artifacts import save
from commanalyzer.result.provenance import collect_provenance
from commanalyzer.result.results import AnalysisResult, SingletonCounts

HIGH = 0.9


@dataclass(slots=True)
class StageClock:
    """Progress that adds up the wall-clock seconds of each stage."""

    seconds: dict[str, float] = field(default_factory=dict)
    _name: str = ""
    _start_s: float = 0.0

    def stage(self, name: str, steps: int = 1) -> None:
        """End the running stage, begin ``name``."""
        now = time.perf_counter()
        if self._name:
            self.seconds[self._name] = self.seconds.get(self._name, 0.0) + now - self._start_s
        self._name, self._start_s = name, now

    def advance(self, steps: int = 1) -> None:
        """Do nothing."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Recording of one run; medians over the repetitions.

    Attributes:
        case: Name and arguments.
        plain_s: CPU time of the plain program, seconds.
        recorded_s: CPU time of all recordings of one analysis, seconds.
        recordings: How often it is recorded: twice where it has private temporaries.
        spread: Largest less least recorded time, over the median.
        plain_bytes: Peak memory of the plain program.
        recorded_bytes: Peak memory of the recorded one.
    """

    case: str
    plain_s: float
    recorded_s: float
    recordings: int
    spread: float
    plain_bytes: int
    recorded_bytes: int

    @property
    def ratio(self) -> float:
        """Recorded over plain CPU time."""
        return self.recorded_s / self.plain_s


@dataclass(frozen=True, slots=True)
class Stages:
    """The graph of one run and what is done with it.

    Attributes:
        flows: Distinct flows.
        graph_bytes: Memory of the coded graph.
        file_bytes: Size of the result file with this graph.
        graph_s: Reading the trace and building the graph, seconds.
        divide_s: Whole portfolio of divisions for 16 nodes; ``None`` if left out.
        count_s: Counting one division.
    """

    flows: int
    graph_bytes: int
    file_bytes: int
    graph_s: float
    divide_s: float | None
    count_s: float


@dataclass(frozen=True, slots=True)
class Measured:
    """One workload: a short run and longer ones of the same data, and the graph of the short run."""

    runs: tuple[Cost, ...]
    stages: Stages

    @property
    def added_ratios(self) -> tuple[float | None, ...]:
        """What each second costs that a run takes longer than the one before; ``None`` if it does not."""
        pairs = zip(self.runs, self.runs[1:], strict=False)
        added = ((b.recorded_s - a.recorded_s, b.plain_s - a.plain_s) for a, b in pairs)
        return (None, *(recorded / plain if plain > 0 else None for recorded, plain in added))


def measure(
    request: AnalysisRequest,
    name: str,
    repeat: int,
    *,
    longer: Sequence[AnalysisRequest] = (),
    divide: bool = True,
    mechanisms: Mechanisms = EVERY,
) -> Measured:
    """Run one workload plainly and recorded, ``repeat`` times in turn; and longer runs likewise."""
    short, run, graph_s = cost_of(request, name, repeat, mechanisms)
    stages = Stages(
        run.store.num_flows,
        run.store.nbytes,
        _file_size(run, request),
        graph_s,
        _seconds_of_division(run, request) if divide else None,
        _seconds_of_count(run),
    )
    del run
    return Measured((short, *(cost_of(one, name, repeat, mechanisms)[0] for one in longer)), stages)


def cost_of(
    request: AnalysisRequest, name: str, repeat: int, mechanisms: Mechanisms = EVERY
) -> tuple[Cost, RecordedProgram, float]:
    """Cost of recording, the last recording, and the seconds that building its graph took."""
    plain, recorded, peak_bytes = [], [], 0
    for number in range(repeat):
        clock = StageClock()
        give_back()
        touch_memory()
        run = record(request, clock, mechanisms=mechanisms)
        clock.stage("")
        plain.append(run.recording.native_s or 0.0)
        recorded.append(run.recording.instrumented_s)
        peak_bytes = max(peak_bytes, run.recording.peak_rss_bytes)
        if number < repeat - 1:
            del run  # large graphs exist once
    cost = Cost(
        " ".join((name, *request.arguments)),
        statistics.median(plain),
        statistics.median(recorded),
        2 if "record the private temporaries" in clock.seconds else 1,
        (max(recorded) - min(recorded)) / statistics.median(recorded),
        _plain_memory(request),
        peak_bytes,
    )
    return cost, run, clock.seconds["build the value graph"]


def _plain_memory(request: AnalysisRequest) -> int:
    native = build_native(compile_request(request)[0])
    run = run_target(native, request.arguments, stdin=subprocess.DEVNULL, capture=True)
    return run.peak_rss_bytes


def _result(run: RecordedProgram, request: AnalysisRequest) -> AnalysisResult:
    made = collect_provenance(compiler="", flags=(), input_hashes=(), seed=0)
    command = (request.sources[0].name, *request.arguments)
    return AnalysisResult(
        command[0],
        command,
        made,
        run.work,
        run.recording,
        run.store,
        SingletonCounts(),
        0,
        MachineParameters(),
        (),
    )


def _file_size(run: RecordedProgram, request: AnalysisRequest) -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "result.cmz"
        save(_result(run, request), path)
        return path.stat().st_size


def _seconds_of_division(run: RecordedProgram, request: AnalysisRequest) -> float:
    start = time.perf_counter()
    repartition(_result(run, request), PartitionRequest(request.nodes), SilentProgress())
    return time.perf_counter() - start


def _seconds_of_count(run: RecordedProgram) -> float:
    """Count a division of the homes into 16 equal runs, a hard one where flows are irregular: most cross."""
    flat, hubs = volume_view(run.store.graph(), HIGH)
    totals = totals_of(flat)  # all divisions share them
    part = (np.arange(flat.num_vertices) * 16 // max(flat.num_vertices, 1)).astype(np.int32)
    seconds = []
    for _ in range(2):  # the first may compile kernels
        start = time.perf_counter()
        charge_volume(flat, part, 16, hubs, totals)
        seconds.append(time.perf_counter() - start)
    return min(seconds)
