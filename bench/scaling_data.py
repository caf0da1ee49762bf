"""Data of the scaling table: bytes of small runs by analysis, of large runs by counting MPI programs."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from bench.accuracy.cases import CaseProgram, Side, owners_by_blocks
from bench.accuracy.run import HIGH, build_mpi, counted_run, request_for
from bench.scaling_cases import ScalingCase, node_counts, workload_of
from commanalyzer.communication.volume import charge_volume
from commanalyzer.division.views import volume_view
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.foundation.flows import Fold
from commanalyzer.foundation.progress import SilentProgress
from commanalyzer.recording.record import record
from tests.e2e.irregular_models import foreign_points, particles_in_cells, square_blocks
from tests.e2e.theory import WORD_BYTES

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class CaseData:
    """Bytes of one case; points are (nodes, size).

    Attributes:
        title: Of the case.
        points: Of the fit.
        comm_bytes: Analysed bytes at the MPI program's blocks, without what it is known not to send.
        targets: Of the prediction.
        counted_bytes: Counted bytes of the MPI program, without what it is known to send in excess.
    """

    title: str
    points: tuple[tuple[int, int], ...]
    comm_bytes: tuple[int, ...]
    targets: tuple[tuple[int, int], ...]
    counted_bytes: tuple[int, ...]


def collect(case: ScalingCase, say: Say) -> CaseData:
    """Analyse the small sizes, build and count the MPI program at the large one."""
    workload = workload_of(case)
    points: list[tuple[int, int]] = []
    found: list[int] = []
    for size in case.sizes:  # one analysis per size
        say(f"{case.title}: analyse n = {size}")
        counts = node_counts(case, workload, size)
        found += _analysed(case, workload, size, counts)
        points += [(p, size) for p in counts]
    targets = tuple((p, case.target) for p in node_counts(case, workload, case.target))
    with tempfile.TemporaryDirectory(prefix="commanalyzer-scaling-") as folder:
        program = Path(folder) / "mpi"
        build_mpi(workload.mpi_sources, program, workload.flags)
        counted = [_counted(workload, case.command(n), p, program, say) for p, n in targets]
    return CaseData(case.title, tuple(points), tuple(found), targets, tuple(counted))


def _analysed(case: ScalingCase, workload: CaseProgram, size: int, counts: Sequence[int]) -> list[int]:
    """Bytes at the MPI program's blocks on each number of processes, known differences taken out."""
    arguments = case.command(size)
    request = request_for(workload, workload.own_arguments(arguments), (2,))
    graph = record(request, SilentProgress()).store.graph()
    flat, hubs = volume_view(graph, HIGH)
    if not case.combines:
        # Sums at a place that is no hub are not combined on the way: every term is sent by itself.
        folds = np.where(hubs[flat.rows.row_sink], flat.rows.row_fold, int(Fold.NONE))
        flat = replace(flat, rows=flat.rows._replace(row_fold=folds))
    found = []
    for p in counts:  # one step per number of processes
        values, grid = workload.values(arguments, p), workload.extents(p)
        owners = owners_by_blocks(flat, hubs, workload, grid, values)
        total = charge_volume(flat, owners, p, hubs).communication(flat, owners).total_bytes
        known = _known(workload, arguments, p, "predicted")
        found.append(total - known - (particles_that_stay(arguments, p) if case.name == "pic" else 0))
    return found


def _known(workload: CaseProgram, arguments: tuple[str, ...], p: int, side: Side) -> int:
    """Known difference, bytes; those that are known for some runs only cannot be taken out of others."""
    plain = replace(workload, excesses=tuple(item for item in workload.excesses if item.bytes))
    amounts = plain.excess_bytes(arguments, p)
    return sum(amount for item, amount in amounts.items() if item.side == side)


def particles_that_stay(arguments: Sequence[str], nodes: int) -> int:
    """Bytes that ``pic`` needs more because a value keeps its owner: the validation's excess, at any size.

    Counted by the model in ``tests/e2e/irregular_models.py``: pairs of grid point and part when particles
    stay with their first part, less those of the program's fixed layer and its moves of particles, which
    change owner.
    """
    n, per_cell, steps, sweeps = map(int, arguments)
    q = math.isqrt(nodes)
    blocks = square_blocks(n, q)
    first = np.repeat(blocks, per_cell)
    corners = particles_in_cells(n, per_cell, steps, sweeps).corners
    owners = np.array([blocks[c[:, 0]] for c in corners])
    stay = sum(foreign_points(c, blocks, first) for c in corners)
    moves = int(np.count_nonzero(owners[1:] != owners[:-1]))
    return WORD_BYTES * (3 * stay - 3 * steps * (2 * n * q + q * q) - 4 * moves)


def _counted(workload: CaseProgram, arguments: tuple[str, ...], p: int, program: Path, say: Say) -> int:
    say(f"{workload.name} {' '.join(arguments)}: count on {p} ranks")
    result = counted_run(workload, arguments, p, program)
    return result.best(p).comm_bytes - _known(workload, arguments, p, "counted")


def save_data(data: Sequence[CaseData], path: Path) -> None:
    """Write what was collected, to fit again without running anything."""
    path.write_text(json.dumps([asdict(item) for item in data]) + "\n", encoding="utf-8")


def load_data(path: Path) -> dict[str, CaseData]:
    """Data by title; none if there is no such file."""
    if not path.exists():
        return {}
    entries = json.loads(path.read_text(encoding="utf-8"))
    return {entry["title"]: _read(entry) for entry in entries}


def _read(entry: Mapping[str, list[list[int]]]) -> CaseData:
    try:
        return CaseData(
            title=str(entry["title"]),
            points=tuple((p, n) for p, n in entry["points"]),
            comm_bytes=tuple(int(str(value)) for value in entry["comm_bytes"]),
            targets=tuple((p, n) for p, n in entry["targets"]),
            counted_bytes=tuple(int(str(value)) for value in entry["counted_bytes"]),
        )
    except KeyError as error:
        raise ConfigError(f"expected data of the scaling table, found no {error}") from error
