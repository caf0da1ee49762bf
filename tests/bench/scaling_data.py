"""Data of the scaling table: bytes of small runs by analysis, bytes of large runs by counting real MPI programs."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from commanalyzer.errors import ConfigError
from commanalyzer.progress import SilentProgress
from commanalyzer.record import record
from commanalyzer.validation.cases import Workload
from commanalyzer.validation.mpi_build import build_mpi
from commanalyzer.validation.run import counted_run, own_decomposition, request_for
from tests.bench.scaling_cases import ScalingCase, node_counts, workload_of

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
        found += _analysed(workload, case.command(size), counts)
        points += [(p, size) for p in counts]
    targets = tuple((p, case.target) for p in node_counts(case, workload, case.target))
    with tempfile.TemporaryDirectory(prefix="commanalyzer-scaling-") as folder:
        program = Path(folder) / "mpi"
        build_mpi(workload.mpi_sources, program, workload.flags)
        counted = [_counted(workload, case.command(n), p, program, say) for p, n in targets]
    return CaseData(case.title, tuple(points), tuple(found), targets, tuple(counted))


def _analysed(workload: Workload, arguments: tuple[str, ...], counts: Sequence[int]) -> list[int]:
    own = workload.own_arguments(arguments)
    graph = record(request_for(workload, own, (2,)), SilentProgress()).graph
    nothing = {p: np.zeros((p, p), dtype=np.int64) for p in counts}
    found = [own_decomposition(workload, arguments, p, graph, nothing[p]) for p in counts] if not (
        _has_counts(workload)
    ) else [own_decomposition(_without_counts(workload), arguments, p, graph, nothing[p]) for p in counts]
    return [item.predicted_bytes - item.excess("predicted") for item in found if item is not None]


def _has_counts(workload: Workload) -> bool:
    return any(not item.bytes for item in workload.excesses)


def _without_counts(workload: Workload) -> Workload:
    """Differences that are known for some runs only cannot be taken out of others."""
    from dataclasses import replace

    return replace(workload, excesses=tuple(item for item in workload.excesses if item.bytes))


def _counted(workload: Workload, arguments: tuple[str, ...], p: int, program: Path, say: Say) -> int:
    say(f"{workload.name} {' '.join(arguments)}: count on {p} ranks")
    result = counted_run(workload, arguments, p, program)
    amounts = _without_counts(workload).excess_bytes(arguments, p)
    known = sum(amount for item, amount in amounts.items() if item.side == "counted")
    return result.best(p).comm_bytes - known


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
