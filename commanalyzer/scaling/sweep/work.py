"""Analyses one point; this is what executors run, in whichever process.

What an analysis itself costs: CPU time of its stages, child processes included, and its largest memory.

CPU time, because points run beside each other; the program's own runs are in the recording, not here.

Loads libraries and compiled kernels, so that the first point of a process does not pay for them.
"""

from __future__ import annotations

import math
import resource
import time
from collections import defaultdict
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from commanalyzer.division.libraries.hypergraph import Hypergraph, incidence
from commanalyzer.division.libraries.mtkahypar import partition_hypergraph
from commanalyzer.division.refinement.refine import connectivity, refine
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
