"""The directory of a sweep: what is finished, and who works there.

Layout::

    sweep.json            kind, schema, provenance, parameters, all points with their states
    table.csv             one line per (point, nodes, model)
    results/KEY.cmz       result of a point
    results/KEY.json      written last: the point is finished (or has failed), its lines of the table

A point is finished when its ``KEY.json`` is there. Both files are written completely or not at all, so a
killed sweep leaves nothing half-finished behind, and any process that sees the directory can finish points.

``sweep.json`` and ``table.csv``: the points of a sweep and what became of them.

Both are views of the records beside the results (:mod:`commanalyzer.scaling.sweep.store`) and can be made
again.
"""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from commanalyzer.foundation.documents import document_text, load_document, parse_json, reading, typed
from commanalyzer.foundation.errors import CommAnalyzerError, ConfigError
from commanalyzer.foundation.files import write_text
from commanalyzer.scaling.sweep.table import STATE_FILE, TABLE_FILE, Cell, SweepTable, table_from_lines

KIND = "commanalyzer.sweep"
POINT_KIND = "commanalyzer.sweep.point"
SCHEMA = 1
_LOCK_FILE = ".lock"


@dataclass(frozen=True, slots=True)
class PointError:
    """Why a point failed; fields as in :class:`~commanalyzer.foundation.errors.CommAnalyzerError`."""

    kind: str
    message: str
    where: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class PointRecord:
    """A point after its analysis."""

    key: str  # its name (:class:`commanalyzer.scaling.sweep.points.PointSpec`)
    parameters: Mapping[str, str]  # names and values of its program parameters
    error: PointError | None = None  # why it failed; ``None`` when it is finished
    lines: tuple[Mapping[str, Cell], ...] = ()  # its lines of the table; empty when it failed
    warnings: tuple[str, ...] = ()  # what the analysis had to say
    wall_s: float = 0.0  # time it took
    memory_bytes: int = 0  # largest memory of the program and of the analysis, added up

    @property
    def is_finished(self) -> bool:
        """It has a result."""
        return self.error is None


@dataclass(frozen=True, slots=True)
class SweepDirectory:
    """Files of a sweep in ``path``."""

    path: Path
    results: Path = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "results", self.path / "results")

    @property
    def state_path(self) -> Path:
        """State of the sweep."""
        return self.path / STATE_FILE

    @property
    def no_input(self) -> Path:
        """Empty file: standard input of programs that were not given one, in whichever process they run."""
        return self.results / ".no-input"

    def result_path(self, key: str) -> Path:
        """Result of a point."""
        return self.results / f"{key}.cmz"

    def record_path(self, key: str) -> Path:
        """Record of a point."""
        return self.results / f"{key}.json"

    def create(self) -> None:
        """Make it, or accept an earlier sweep's; ``ConfigError`` if it has other files or cannot be made."""
        try:
            path = self.path
            others = [p.name for p in path.iterdir() if p.name != _LOCK_FILE] if path.is_dir() else [path]
            is_used = path.exists() and bool(others)
            if is_used and not self.state_path.is_file():
                raise ConfigError(
                    "expected a new directory or that of a sweep, found another one with files",
                    where=str(self.path),
                )
            self.results.mkdir(parents=True, exist_ok=True)
            self.no_input.touch()
        except OSError as error:
            raise ConfigError(
                f"expected a directory that can be written, found: {error.strerror}", where=str(self.path)
            ) from error

    def record(self, key: str) -> PointRecord | None:
        """What is known of a point; ``None`` when it has to be analysed (again)."""
        try:
            data = parse_json(self.record_path(key).read_text(encoding="utf-8"))
            found = typed(data, PointRecord)
            if data["kind"] != POINT_KIND or data["schema"] > SCHEMA:
                return None
        except (OSError, ValueError, LookupError, TypeError):
            return None
        if found.is_finished and not self.result_path(key).is_file():
            return None
        return found

    def finished_recording(self, recording_key: str) -> PointRecord | None:
        """A finished point with this recording, counted in another way."""
        names = sorted(path.stem for path in self.results.glob(f"{recording_key}-*.json"))
        found = (self.record(name) for name in names)
        return next((record for record in found if record is not None and record.lines), None)

    def write_record(self, record: PointRecord) -> None:
        """Mark a point as finished or failed; ``ArtifactError`` if it cannot be written."""
        data = {"kind": POINT_KIND, "schema": SCHEMA, **asdict(record)}
        write_text(self.record_path(record.key), document_text(data), force=True)

    def remove_drafts(self) -> None:
        """Remove what killed processes were writing; only while nobody else works here."""
        for draft in (*self.path.glob(".*.tmp"), *self.results.glob(".*.tmp")):
            draft.unlink(missing_ok=True)

    @contextlib.contextmanager
    def locked(self, *, shared: bool = False) -> Iterator[None]:
        """Hold the directory: alone, or (tasks of a batch system) together with others of the same kind.

        The lock ends with the process, however it ends. Raises ``ConfigError`` if another sweep holds it.
        """
        with (self.path / _LOCK_FILE).open("a") as stream:
            try:
                fcntl.flock(stream, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise ConfigError(
                    "expected a directory that no other sweep works in, found one in use",
                    where=str(self.path),
                    hint="wait for the other one to end, or use another -o DIR",
                ) from error
            except OSError:
                # No locks on this file system: results are written atomically all the same.
                yield
                return
            yield


def point_error(error: BaseException) -> PointError:
    """Description of what a point failed with."""
    if isinstance(error, CommAnalyzerError):
        return PointError(type(error).__name__, error.message, error.where, error.hint)
    if isinstance(error, MemoryError):
        return PointError("MemoryError", "not enough memory", hint="run fewer points at once (--jobs 1)")
    return PointError(type(error).__name__, f"internal error: {type(error).__name__}: {error}")


@dataclass(frozen=True, slots=True)
class PlannedPoint:
    """A point by its key and program parameters."""

    key: str
    parameters: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """What a sweep is asked for."""

    provenance: Mapping[str, object]  # as in a result file
    command: tuple[str, ...]  # the command line, without the program's name
    parameters: tuple[str, ...]  # names of the program parameters
    nodes: tuple[int, ...]
    models: tuple[str, ...]
    points: tuple[PlannedPoint, ...]


@dataclass(frozen=True, slots=True)
class SweepOutcome:
    """A sweep as far as it is."""

    directory: Path
    plan: SweepPlan
    records: tuple[PointRecord | None, ...]  # one per point; ``None`` where it is not known yet

    @property
    def table(self) -> SweepTable:
        """Lines of all finished points, in the order of the points."""
        lines = [line for record in self.known.values() for line in record.lines]
        return table_from_lines(self.plan.parameters, lines)

    @property
    def known(self) -> dict[int, PointRecord]:
        """Records by place."""
        return {i: record for i, record in enumerate(self.records) if record is not None}

    @property
    def failed(self) -> tuple[PointRecord, ...]:
        """Points without a result."""
        return tuple(r for r in self.known.values() if not r.is_finished)

    @property
    def num_waiting(self) -> int:
        """Points not analysed yet."""
        return sum(record is None for record in self.records)

    @property
    def is_complete(self) -> bool:
        """Every point has a result."""
        return not self.failed and not self.num_waiting


def read_outcome(directory: SweepDirectory) -> SweepOutcome:
    """The sweep in a directory, as far as it is; ``ArtifactError`` if there is none, or damaged or newer."""
    hint = "make one with: commanalyzer sweep ... -o DIR"
    data = load_document(directory.state_path, KIND, SCHEMA, what="the directory of a sweep", hint=hint)
    hint = "sweep again with the same options: finished points are kept"
    with reading(directory.state_path, "a complete state of a sweep", hint=hint):
        plan = typed(data, SweepPlan)
    return outcome_of(directory, plan)


def outcome_of(directory: SweepDirectory, plan: SweepPlan) -> SweepOutcome:
    """The sweep as its records say."""
    return SweepOutcome(directory.path, plan, tuple(directory.record(p.key) for p in plan.points))


def write_outcome(directory: SweepDirectory, outcome: SweepOutcome) -> None:
    """Write ``sweep.json`` and ``table.csv``; ``ArtifactError`` if they cannot be written."""
    plan = outcome.plan
    points = [_point(p, r) for p, r in zip(plan.points, outcome.records, strict=True)]
    data = {"kind": KIND, "schema": SCHEMA, **asdict(plan), "points": points}
    write_text(directory.state_path, document_text(data), force=True)
    outcome.table.save(directory.path / TABLE_FILE, force=True)


def _point(planned: PlannedPoint, record: PointRecord | None) -> dict[str, object]:
    if record is None:
        state: dict[str, object] = {"state": "waiting"}
    elif record.error is None:
        state = {"state": "finished", "wall_s": record.wall_s, "warnings": list(record.warnings)}
    else:
        state = {"state": "failed", "wall_s": record.wall_s, "error": asdict(record.error)}
    return {"key": planned.key, "parameters": dict(planned.parameters), **state}


def with_records(outcome: SweepOutcome, records: Mapping[int, PointRecord]) -> SweepOutcome:
    """The same sweep with these records."""
    return replace(outcome, records=tuple(records.get(i) for i in range(len(outcome.records))))
