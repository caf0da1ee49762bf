"""``sweep.json`` and ``table.csv``: the points of a sweep and what became of them.

Both are views of the records beside the results (:mod:`commanalyzer.scaling.sweep.store`) and can be made
again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from commanalyzer.foundation.documents import document_text, reading, typed
from commanalyzer.foundation.files import write_text
from commanalyzer.scaling.sweep.store import KIND, SCHEMA, PointRecord, SweepDirectory, read_state
from commanalyzer.scaling.sweep.table import TABLE_FILE, SweepTable, table_from_lines


@dataclass(frozen=True, slots=True)
class PlannedPoint:
    """A point by its key and program parameters."""

    key: str
    parameters: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """What a sweep is asked for.

    Attributes:
        provenance: As in a result file.
        command: The command line, without the program's name.
        parameters: Names of the program parameters.
        nodes: Node counts.
        models: Communication models.
        points: All points, in order.
    """

    provenance: Mapping[str, Any]
    command: tuple[str, ...]
    parameters: tuple[str, ...]
    nodes: tuple[int, ...]
    models: tuple[str, ...]
    points: tuple[PlannedPoint, ...]


@dataclass(frozen=True, slots=True)
class SweepOutcome:
    """A sweep as far as it is.

    Attributes:
        directory: Where it is.
        plan: What it was asked for.
        records: One per point; ``None`` where it is not known yet.
    """

    directory: Path
    plan: SweepPlan
    records: tuple[PointRecord | None, ...]

    @property
    def table(self) -> SweepTable:
        """Lines of all finished points, in the order of the points."""
        lines = [line for record in self.records if record is not None for line in record.lines]
        return table_from_lines(self.plan.parameters, lines)

    @property
    def failed(self) -> tuple[PointRecord, ...]:
        """Points without a result."""
        return tuple(r for r in self.records if r is not None and not r.is_finished)

    @property
    def num_waiting(self) -> int:
        """Points not analysed yet."""
        return sum(record is None for record in self.records)

    @property
    def is_complete(self) -> bool:
        """Every point has a result."""
        return not self.failed and not self.num_waiting


def read_outcome(directory: SweepDirectory) -> SweepOutcome:
    """The sweep in a directory, with what is finished by now.

    Raises:
        ArtifactError: If there is none, or it is damaged or newer.
    """
    data = read_state(directory)
    hint = "sweep again with the same options: finished points are kept"
    with reading(directory.state_path, "a complete state of a sweep", hint=hint):
        plan = typed(data, SweepPlan)
    return outcome_of(directory, plan)


def outcome_of(directory: SweepDirectory, plan: SweepPlan) -> SweepOutcome:
    """The sweep as its records say."""
    return SweepOutcome(directory.path, plan, tuple(directory.record(p.key) for p in plan.points))


def write_outcome(directory: SweepDirectory, outcome: SweepOutcome) -> None:
    """Write ``sweep.json`` and ``table.csv``.

    Raises:
        ArtifactError: If they cannot be written.
    """
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


def known_records(outcome: SweepOutcome) -> dict[int, PointRecord]:
    """Records by place."""
    return {i: record for i, record in enumerate(outcome.records) if record is not None}


def with_records(outcome: SweepOutcome, records: Mapping[int, PointRecord]) -> SweepOutcome:
    """The same sweep with these records."""
    every: Sequence[PointRecord | None] = [records.get(i) for i in range(len(outcome.records))]
    return SweepOutcome(outcome.directory, outcome.plan, tuple(every))
