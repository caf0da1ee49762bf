"""A whole sweep: what is asked for, what is there already, the rest analysed, the table written."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.request import AnalysisRequest
from commanalyzer.result.provenance import collect_provenance, file_hash
from commanalyzer.scaling.sweep.drive import Drive, SweepStatus, Watch, with_limit
from commanalyzer.scaling.sweep.executors import Engine
from commanalyzer.scaling.sweep.points import Point, PointSpec, filled, key_of, specifications
from commanalyzer.scaling.sweep.store import (
    PlannedPoint,
    PointRecord,
    SweepDirectory,
    SweepOutcome,
    SweepPlan,
    known_records,
    outcome_of,
    read_outcome,
    with_records,
    write_outcome,
)
from commanalyzer.scaling.sweep.work import analyse_point

_SAVE_EVERY_S = 2.0


@dataclass(frozen=True, slots=True)
class Sweep:
    """What the user asks for."""

    base: AnalysisRequest  # analysis with parameters in braces
    points: tuple[Point, ...]
    directory: Path
    command: tuple[str, ...] = ()  # the command line, for provenance

    def __post_init__(self) -> None:
        if not self.points:
            raise ConfigError("expected at least one point, found none", where="--param")


def run_sweep(
    sweep: Sweep,
    engine: Engine,
    *,
    watch: Watch,
    memory_budget_bytes: int | None = None,
    retry_failed: bool = False,
) -> SweepOutcome:
    """Analyse what is not analysed yet, and write the table.

    ``watch`` is told about every change; ``memory_budget_bytes`` is what points that run at once on this
    machine may need together; ``retry_failed``: those that failed before are analysed again. Raises
    ``ConfigError`` if a parameter is used nowhere, or the directory is in use or not that of a sweep;
    ``CommAnalyzerError`` if no point has a program that compiles; ``ArtifactError`` if results cannot be
    written.
    """
    with _prepared(sweep, retry_failed) as (directory, outcome, specs):
        directory.remove_drafts()
        limited = [with_limit(spec, memory_budget_bytes if engine.is_local else None) for spec in specs]
        saver = _Saver(directory, outcome, watch)
        drive = Drive(limited, known_records(outcome), directory, engine, memory_budget_bytes, saver)
        saver.records = drive.records
        try:
            drive.run()
        finally:
            outcome = with_records(outcome, drive.records)
            write_outcome(directory, outcome)
    return outcome


def prepare_sweep(sweep: Sweep, *, retry_failed: bool = False) -> SweepOutcome:
    """Write the state of a sweep whose points a batch system will analyse.

    Raises ``ConfigError``: as :func:`run_sweep` says; ``ArtifactError`` if results cannot be written.
    """
    with _prepared(sweep, retry_failed) as (_, outcome, _):
        return outcome


@contextmanager
def _prepared(
    sweep: Sweep, retry_failed: bool
) -> Iterator[tuple[SweepDirectory, SweepOutcome, Sequence[PointSpec]]]:
    """The directory of a sweep, locked and with its state written."""
    directory = SweepDirectory(sweep.directory)
    plan, specs = _planned(sweep, filled(sweep.base, sweep.points), directory)
    directory.create()
    with directory.locked():
        for spec in specs if retry_failed else ():
            record = directory.record(spec.key)
            if record is not None and not record.is_finished:
                directory.record_path(spec.key).unlink(missing_ok=True)
        outcome = outcome_of(directory, plan)
        write_outcome(directory, outcome)
        yield directory, outcome, specs


def run_task(sweep: Sweep, index: int) -> PointRecord:
    """Analyse one point of a prepared sweep, unless it is finished or has failed.

    Raises ``ConfigError`` if there is no such point, or it is not what it was when the sweep was prepared;
    ``ArtifactError`` if there is no prepared sweep, or the record cannot be written.
    """
    directory = SweepDirectory(sweep.directory)
    plan = read_outcome(directory).plan
    if not 0 <= index < min(len(sweep.points), len(plan.points)):
        raise ConfigError(f"expected a point from 0 to {len(plan.points) - 1}, found {index}", where="--task")
    point, request = sweep.points[index], filled(sweep.base, sweep.points)[index]
    spec = PointSpec(index, point, request, key_of(point, request), directory.path.absolute())
    if spec.key != plan.points[index].key:
        raise ConfigError(
            "expected the program and options of the prepared sweep, found others",
            where=f"point {index} ({point.label})",
            hint="prepare it again: a source, a compiler or this tool has changed, or differs on this node",
        )
    with directory.locked(shared=True):
        return directory.record(spec.key) or analyse_point(spec)


def gather(path: Path) -> SweepOutcome:
    """Bring ``sweep.json`` and ``table.csv`` up to date with the finished points.

    Raises ``ArtifactError`` if there is no sweep, or the files cannot be written.
    """
    directory = SweepDirectory(path)
    outcome = read_outcome(directory)
    write_outcome(directory, outcome)
    return outcome


class _Saver:
    """Passes on what happens, and writes state and table now and then."""

    def __init__(self, directory: SweepDirectory, outcome: SweepOutcome, watch: Watch) -> None:
        self.records: Mapping[int, PointRecord] = {}
        self._directory, self._outcome, self._watch = directory, outcome, watch
        self._saved_s = time.monotonic()

    def __call__(self, status: SweepStatus) -> None:
        if status.news and time.monotonic() - self._saved_s > _SAVE_EVERY_S:
            write_outcome(self._directory, with_records(self._outcome, self.records))
            self._saved_s = time.monotonic()
        self._watch(status)


def _planned(
    sweep: Sweep, requests: Sequence[AnalysisRequest], directory: SweepDirectory
) -> tuple[SweepPlan, tuple[PointSpec, ...]]:
    specs = specifications(sweep.points, requests, directory.path)
    base = sweep.base
    files = sorted({path for request in requests for path in request.sources if path.is_file()})
    provenance = collect_provenance(
        compiler=base.compiler.command,
        flags=base.compiler.flags,
        input_hashes=[(str(path), file_hash(path)) for path in files],
        seed=base.seed,
    )
    planned = tuple(PlannedPoint(spec.key, dict(spec.point.values)) for spec in specs)
    names = sweep.points[0].names
    return SweepPlan(asdict(provenance), sweep.command, names, base.nodes, base.models, planned), specs
