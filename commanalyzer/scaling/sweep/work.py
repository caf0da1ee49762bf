"""Analyses one point; this is what executors run, in whichever process."""

from __future__ import annotations

import time
from dataclasses import fields, replace

from commanalyzer.foundation.work import DEFAULT_WEIGHTS
from commanalyzer.machine.parameters import MachineParameters
from commanalyzer.pipeline import analyze, repartition, with_throughput
from commanalyzer.request import AnalysisRequest, PartitionRequest
from commanalyzer.result.artifacts import load, save
from commanalyzer.result.provenance import peak_memory_bytes
from commanalyzer.result.results import AnalysisResult
from commanalyzer.scaling.sweep.costs import StageClock, division_costs, forget_peak_memory, stage_costs
from commanalyzer.scaling.sweep.lines import table_lines
from commanalyzer.scaling.sweep.spec import PointSpec
from commanalyzer.scaling.sweep.store import PointRecord, SweepDirectory, point_error
from commanalyzer.scaling.sweep.table import Cell
from commanalyzer.scaling.sweep.warm_up import warm_up

_KEPT_COSTS = ("compile_s", "graph_s", "tool_rss_bytes")  # of a recording that is used again


def analyse_point(spec: PointSpec) -> PointRecord:
    """Analyse a point and write its files; whatever goes wrong is its record's error.

    Raises:
        ArtifactError: If the record cannot be written.
    """
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
