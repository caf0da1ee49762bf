"""A whole sweep: what is asked for, what is there already, the rest analysed, the table written.

Hands points to an executor: as many as memory allows, each once, whatever happens to the others.

How much memory and time a point will need, from the points that are finished.

The value graph grows as a power law of the parameters without an offset, so its growth shows in small points
already; memory is an offset plus a multiple of it. With few points, exponents are drawn towards a cautious 2.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.errors import ConfigError, RuntimeBuildError
from commanalyzer.foundation.quantities import format_bytes
from commanalyzer.request import AnalysisRequest
from commanalyzer.result.provenance import collect_provenance, file_hash
from commanalyzer.scaling.sweep.executors import Engine, analyse_point
from commanalyzer.scaling.sweep.points import Point, PointSpec, filled, key_of, specifications
from commanalyzer.scaling.sweep.store import (
    PlannedPoint,
    PointError,
    PointRecord,
    SweepDirectory,
    SweepOutcome,
    SweepPlan,
    outcome_of,
    point_error,
    read_outcome,
    with_records,
    write_outcome,
)
from commanalyzer.scaling.sweep.table import parameter_values

_PRIOR_EXPONENT = 2.0
_PRIOR_WEIGHT = 0.1  # against residuals of logarithms
_LARGEST_EXPONENT = 6.0
_BYTES_PER_GRAPH_BYTE = 6.0  # at least: trace, graph, its simplified form and hypergraph at once
_SAFETY = 1.25


def fit_power_law(
    log_x: NDArray[np.float64], y: NDArray[np.float64]
) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """Power law of logarithms ``log_x``, float64[m, k], by least squares on those of y > 0, float64[m]."""
    from scipy.optimize import lsq_linear

    m, k = log_x.shape
    prior = np.hstack([np.zeros((k, 1)), _PRIOR_WEIGHT * np.eye(k)])
    matrix = np.vstack([np.hstack([np.ones((m, 1)), log_x]), prior])
    target = np.concatenate([np.log(y), np.full(k, _PRIOR_WEIGHT * _PRIOR_EXPONENT)])
    bounds = ([-np.inf, *[0.0] * k], [np.inf, *[_LARGEST_EXPONENT] * k])
    found = np.asarray(lsq_linear(matrix, target, bounds=bounds).x)
    return lambda log_at: np.asarray(np.exp(found[0] + log_at @ found[1:]))


@dataclass(frozen=True, slots=True)
class Needs:
    """What points need, by their place in the sweep."""

    memory_bytes: NDArray[np.float64]  # [points]; NaN before any point is finished
    wall_s: NDArray[np.float64]  # [points]; likewise
    is_extrapolated: bool  # at least two sizes stand behind it


def log_sizes(points: Sequence[Point]) -> NDArray[np.float64]:
    """float64[points, k] logarithms of the parameters that are positive numbers everywhere."""
    cells = zip(*([value for _, value in point.values] for point in points), strict=True)
    numbers = [np.asarray(c, np.float64) for c in map(parameter_values, cells) if c.dtype.kind == "f"]
    usable = [column for column in numbers if (column > 0).all() and np.isfinite(column).all()]
    return np.log(np.stack(usable, axis=1)) if usable else np.zeros((len(points), 0))


def needs_of(log_x: NDArray[np.float64], finished: Mapping[int, PointRecord]) -> Needs:
    """Needs of all points, from the finished ones by place; ``log_x`` is of :func:`log_sizes`."""
    known = [(i, record) for i, record in sorted(finished.items()) if record.lines]
    if not known:
        nothing = np.full(len(log_x), np.nan)
        return Needs(nothing, nothing, False)
    at = log_x[[i for i, _ in known]]
    graph = np.array([max(1.0, float(r.lines[0]["graph_bytes"])) for _, r in known])
    memory = np.array([float(r.memory_bytes) for _, r in known])
    wall_s = np.array([max(1e-3, r.wall_s) for _, r in known])
    return Needs(
        _memory(fit_power_law(at, graph)(log_x), graph, memory),
        fit_power_law(at, wall_s)(log_x),
        len(np.unique(at, axis=0)) > 1,
    )


def _memory(
    all_graphs: NDArray[np.float64], graph: NDArray[np.float64], memory: NDArray[np.float64]
) -> NDArray[np.float64]:
    from scipy.optimize import nnls

    (_, slope), _ = nnls(np.stack([np.ones_like(graph), graph], axis=1), memory)
    factor = max(float(slope), _BYTES_PER_GRAPH_BYTE)
    offset = max(0.0, float((memory - factor * graph).max()))
    return np.asarray(offset + _SAFETY * factor * all_graphs)


_POLL_S = 1.0
_MOST_IDLE_BREAKS = 3


@dataclass(frozen=True, slots=True)
class SweepStatus:
    """Where a sweep is."""

    total: int  # points of the sweep
    finished: int  # of these, with a result
    failed: int  # of these, without
    running: tuple[str, ...]  # what is being analysed, for people
    left_s: float | None  # estimated time left, seconds; ``None`` when nothing is known yet
    news: tuple[PointRecord, ...] = ()  # points that ended since the last time


Watch = Callable[[SweepStatus], None]


class Drive:
    """One run of a sweep.

    ``known``: records of those that are finished or failed already, by place. ``memory_budget_bytes``: what
    all points that run at once may need together; ``None`` for no limit. ``watch``: told about every change,
    with all records known by then.
    """

    def __init__(
        self,
        specs: Sequence[PointSpec],
        known: Mapping[int, PointRecord],
        directory: SweepDirectory,
        engine: Engine,
        memory_budget_bytes: int | None,
        watch: Watch,
    ) -> None:
        self.records = dict(known)
        self._directory = directory
        self._engine = engine
        self._budget_bytes = memory_budget_bytes if engine.is_local else None
        self._watch = watch
        self._total = len(specs)
        self._log_x = log_sizes([spec.point for spec in specs])
        small_first: list[int] = np.argsort(self._log_x.sum(axis=1), kind="stable").tolist()
        self._waiting = [specs[i] for i in small_first if i not in self.records]
        self._suspects: list[PointSpec] = []
        self._running: dict[Future[PointRecord], tuple[PointSpec, float]] = {}
        self._news: list[PointRecord] = []
        self._needs = needs_of(self._log_x, self.records)
        self._idle_breaks = 0

    def run(self) -> None:
        """Analyse all points that have no record; returns when every point has one."""
        executor = self._engine.start()
        try:
            while self._waiting or self._suspects or self._running:
                is_broken = self._submit(executor)
                self._tell()
                done, _ = wait(self._running, timeout=_POLL_S, return_when=FIRST_COMPLETED)
                if is_broken or any(isinstance(future.exception(), BrokenExecutor) for future in done):
                    executor = self._restarted(executor)
                else:
                    for future in done:
                        self._end(self._running.pop(future)[0], future)
            self._tell()
        except BaseException:
            self._engine.abandon(executor)
            raise
        self._engine.finish(executor)

    def _submit(self, executor: Executor) -> bool:
        """Start what may start; true if the executor turns out to be broken."""
        while spec := self._next():
            needs, budget = self._needs.memory_bytes[spec.index], self._budget_bytes
            if budget is not None and self._needs.is_extrapolated and needs > budget:
                self._refuse(spec, budget)
                continue
            try:
                future = executor.submit(self._engine.task, spec)
            except BrokenExecutor:
                self._waiting.insert(0, spec)
                return True
            self._running[future] = (spec, time.monotonic())
        return False

    def _next(self) -> PointSpec | None:
        """The next point, taken from its queue, if one may start now."""
        if self._suspects:  # one at a time, and alone
            return self._suspects.pop(0) if not self._running else None
        if not self._waiting or len(self._running) >= self._engine.slots:
            return None
        if self._running and not self._fits(self._waiting[0]):
            return None
        return self._waiting.pop(0)

    def _fits(self, spec: PointSpec) -> bool:
        if self._budget_bytes is None:
            return True
        together = [spec.index, *(running.index for running, _ in self._running.values())]
        # NaN before the first point is finished: then one runs alone.
        return bool(self._needs.memory_bytes[together].sum() <= self._budget_bytes)

    def _refuse(self, spec: PointSpec, budget: int) -> None:
        estimate = format_bytes(float(self._needs.memory_bytes[spec.index]))
        error = PointError(
            "MemoryEstimate",
            f"expected a point that needs at most {format_bytes(budget)} of memory, "
            f"found one that needs {estimate} as finished points grow",
            hint="raise --memory-budget and sweep again with --retry-failed, or leave the point out",
        )
        self._note(spec, PointRecord(spec.key, dict(spec.point.values), error), is_new=True)

    def _end(self, spec: PointSpec, future: Future[PointRecord]) -> None:
        error = future.exception()
        if error is None:
            self._note(spec, future.result())
        elif isinstance(error, Exception):
            self._note(spec, PointRecord(spec.key, dict(spec.point.values), point_error(error)), is_new=True)
        else:
            raise error

    def _restarted(self, executor: Executor) -> Executor:
        """A new executor after one lost a process: what ran then is tried again, one after the other."""
        running, self._running = self._running, {}
        self._idle_breaks = 0 if running else self._idle_breaks + 1
        if self._idle_breaks > _MOST_IDLE_BREAKS:
            raise RuntimeBuildError(
                "expected an executor that takes points, found one that is broken before it has any",
                hint="look for messages of its processes above",
            )
        wait(running)
        self._engine.finish(executor)
        alone = len(running) == 1
        for future, (spec, _) in running.items():
            if future.done() and not isinstance(future.exception(), BrokenExecutor):
                self._end(spec, future)
            elif alone:
                error = PointError(
                    "ProcessEnded",
                    "the process that analysed the point was ended from outside or crashed",
                    hint="it may have run out of memory: see --memory-budget and --jobs",
                )
                self._note(spec, PointRecord(spec.key, dict(spec.point.values), error), is_new=True)
            else:
                self._suspects.append(spec)
        return self._engine.start()

    def _note(self, spec: PointSpec, record: PointRecord, *, is_new: bool = False) -> None:
        if is_new:  # nobody has written it yet
            self._directory.write_record(record)
        self.records[spec.index] = record
        self._news.append(record)
        if record.is_finished:
            self._needs = needs_of(self._log_x, self.records)

    def _tell(self) -> None:
        failed = sum(not record.is_finished for record in self.records.values())
        status = SweepStatus(
            self._total,
            len(self.records) - failed,
            failed,
            tuple(spec.point.label for spec, _ in self._running.values()),
            self._left_s(self._needs),
            tuple(self._news),
        )
        self._news.clear()
        self._watch(status)

    def _left_s(self, needs: Needs) -> float | None:
        now_s = time.monotonic()
        waiting = [float(needs.wall_s[spec.index]) for spec in (*self._waiting, *self._suspects)]
        running = [
            max(0.0, float(needs.wall_s[spec.index]) - (now_s - start_s))
            for spec, start_s in self._running.values()
        ]
        every = waiting + running
        if not every or np.isnan(every).any():
            return None if every else 0.0
        return max(max(every), sum(every) / min(self._engine.slots, len(every)))


def with_limit(spec: PointSpec, memory_budget_bytes: int | None) -> PointSpec:
    """The point, its program not allowed more memory than all points together."""
    limit = spec.request.memory_limit_bytes
    if memory_budget_bytes is None or limit is not None:
        return spec
    return replace(spec, request=replace(spec.request, memory_limit_bytes=memory_budget_bytes))


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
    directory = SweepDirectory(sweep.directory)
    with _opened(sweep, directory, retry_failed) as (outcome, specs):
        directory.remove_drafts()
        limited = [with_limit(spec, memory_budget_bytes if engine.is_local else None) for spec in specs]
        saved_s = time.monotonic()

        def tell(status: SweepStatus) -> None:
            nonlocal saved_s
            if status.news and time.monotonic() - saved_s > _SAVE_EVERY_S:
                write_outcome(directory, with_records(outcome, drive.records))
                saved_s = time.monotonic()
            watch(status)

        drive = Drive(limited, outcome.known, directory, engine, memory_budget_bytes, tell)
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
    with _opened(sweep, SweepDirectory(sweep.directory), retry_failed) as (outcome, _):
        return outcome


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


@contextmanager
def _opened(
    sweep: Sweep, directory: SweepDirectory, retry_failed: bool
) -> Iterator[tuple[SweepOutcome, tuple[PointSpec, ...]]]:
    """Hold the directory of a sweep, its state written; also says what is to be done at each point."""
    plan, specs = _planned(sweep, filled(sweep.base, sweep.points), directory)
    directory.create()
    with directory.locked():
        for spec in specs if retry_failed else ():
            record = directory.record(spec.key)
            if record is not None and not record.is_finished:
                directory.record_path(spec.key).unlink(missing_ok=True)
        outcome = outcome_of(directory, plan)
        write_outcome(directory, outcome)
        yield outcome, specs


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
    asked = (sweep.command, sweep.points[0].names, base.nodes, base.models)
    return SweepPlan(asdict(provenance), *asked, planned), specs
