"""Measures the overhead of every pair of range mappers, on real ranks or on a simulated network.

A matrix of floats is written with one mapper and read with the other by an addition of matrices, both
divided into blocks of rows. What moves between a pair of nodes is one message; the addition follows when all
have come.

Reference: Stawinoga et al., Section 4.3.

Bytes that move between nodes when the next task reads a buffer, from its range mappers.

Every node executes a block of work items along the first dimension, writes what the writing mapper grants to
its block, and reads what the reading mapper grants. What it reads and has not written is sent to it by the
node that wrote it; where several wrote an element, by the one whose block of rows holds it.

Reference: Stawinoga et al., Section 4: volume and kind of message passing depend on the pair of mappers
alone.

Communication overhead rho of pairs of range mappers: what ``machine measure --range-mappers`` writes.

rho is the share of a matrix addition's time that goes into moving what it reads: 0 where nothing moves,
nearly 1 where moving takes much longer than adding. So 1 - rho is the factor by which moving lowers the
speed-up.

Reference: Stawinoga et al., Section 4.3 and Table 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.documents import document_text, parse_json, reading, typed
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.foundation.files import write_text
from commanalyzer.foundation.progress import Progress
from commanalyzer.kernels.tasks.mappers import Box, RangeMapper, parse_mapper
from commanalyzer.machine.measuring.kernels import pairwise_times, timed
from commanalyzer.machine.measuring.mpi import MpiCommunicator
from commanalyzer.machine.simulation.platforms import Platform
from commanalyzer.machine.simulation.schedule import joined, replay, transfers

SCHEMA = "commanalyzer.range-mappers/1"
# Celerity forbids mappers for writing whose chunks overlap; all means here that every node wrote all.
WRITES = ("one-to-one", "slice(0)", "slice(1)", "all")
READS = ("one-to-one", "neighborhood(1,1)", "slice(0)", "slice(1)", "fixed(0:1,0:1)", "all")


@dataclass(frozen=True, slots=True)
class PairOverhead:
    """One combination."""

    write: str  # mapper of the last write
    read: str  # mapper of the read
    num_nodes: int
    moved_bytes: int  # between all nodes
    moving_s: float  # time of the exchange, seconds
    adding_s: float  # time of the addition on one of the nodes, seconds

    def __post_init__(self) -> None:
        if self.moving_s < 0 or not self.adding_s > 0:
            raise ValueError("a time that is negative")
        for name in ("write", "read"):
            object.__setattr__(self, name, str(parse_mapper(getattr(self, name))))

    @property
    def rho(self) -> float:
        """Communication overhead, in [0, 1)."""
        return self.moving_s / (self.moving_s + self.adding_s)


@dataclass(frozen=True, slots=True)
class OverheadTable:
    """Overheads of a machine."""

    machine: str
    elements: int  # side N of the N x N matrix of floats
    pairs: tuple[PairOverhead, ...]

    def rho(self, write: RangeMapper, read: RangeMapper, num_nodes: int) -> float:
        """Overhead of a pair at the nearest number of nodes; ``ConfigError`` if it was not measured."""
        wanted = (word_of(write), word_of(read))
        known = [
            p for p in self.pairs if (word_of(parse_mapper(p.write)), word_of(parse_mapper(p.read))) == wanted
        ]
        if not known:
            raise ConfigError(
                f"expected the overhead of {write} -> {read}, found none in the table of {self.machine}",
                hint="measure it with: commanalyzer machine measure --range-mappers",
            )
        return min(known, key=lambda p: abs(p.num_nodes - num_nodes)).rho


def word_of(mapper: RangeMapper) -> str:
    """What pairs are told apart by: the kind, and the dimension of a slice."""
    if mapper.kind == "irregular":
        return "all"  # what has to be declared for it
    return f"slice({mapper.dimension})" if mapper.kind == "slice" else mapper.kind


def save_overheads(table: OverheadTable, path: Path, *, force: bool = False) -> None:
    """Write a table; ``ArtifactError`` if the file exists (without ``force``) or cannot be written."""
    pairs = [{**asdict(pair), "rho": pair.rho} for pair in table.pairs]  # beside what it is computed from
    content = {"schema": SCHEMA, "machine": table.machine, "elements": table.elements, "pairs": pairs}
    write_text(path, document_text(content), force=force)


def load_overheads(path: Path) -> OverheadTable:
    """Table of a file; ``ArtifactError`` if it is missing or no such table."""
    hint = "commanalyzer machine measure --range-mappers -o FILE writes them"
    with reading(path, "overheads of range mappers", hint=hint):
        content = parse_json(path.read_text(encoding="utf-8"), is_finite=True, schema=SCHEMA)
        return typed(content, OverheadTable)


Int64 = NDArray[np.int64]
_ROWS = RangeMapper("one-to-one")


def chunks(items: Sequence[int], num_nodes: int) -> list[Box]:
    """Each node's work items, even shares of the first dimension; ``ConfigError`` without items or nodes."""
    if num_nodes < 1 or not items or min(items) < 1:
        raise ConfigError(f"expected work items and nodes, found {tuple(items)} on {num_nodes} nodes")
    ends = [items[0] * k // num_nodes for k in range(num_nodes + 1)]
    rest = tuple((0, extent) for extent in items[1:])
    return [((ends[k], ends[k + 1]), *rest) for k in range(num_nodes)]


def moved_bytes(
    write: RangeMapper,
    read: RangeMapper,
    shape: Sequence[int],
    element_bytes: int,
    writing: Sequence[Box],
    reading: Sequence[Box],
) -> Int64:
    """int64[p, p], bytes from the node of the row to that of the column.

    ``shape``: elements of the buffer per dimension; ``writing`` and ``reading``: work items of each node in
    the task that writes and in the one that reads.
    """
    size = tuple(shape)
    written = _boxes([write.region(chunk, size) for chunk in writing])
    wanted = _boxes([read.region(chunk, size) for chunk in reading])
    is_divided = _volumes(written, written).sum() == np.diagonal(_volumes(written, written)).sum()
    homes = written if is_divided else _boxes([_ROWS.region(c, size) for c in chunks(size, len(writing))])
    found = _volumes(homes, wanted)
    own = np.stack(
        [_volumes(homes, _meet(wanted[[k]], written[[k]]))[:, 0] for k in range(len(wanted))], axis=1
    )
    found = found - own
    np.fill_diagonal(found, 0)
    return np.asarray(found * element_bytes)


def _boxes(boxes: Sequence[Box]) -> Int64:
    """int64[p, d, 2]."""
    return np.array(boxes, dtype=np.int64)


def _meet(a: Int64, b: Int64) -> Int64:
    return np.stack((np.maximum(a[..., 0], b[..., 0]), np.minimum(a[..., 1], b[..., 1])), axis=-1)


def _volumes(a: Int64, b: Int64) -> Int64:
    """int64[p, q], elements that each box of ``a`` and each of ``b`` share."""
    common = _meet(a[:, None], b[None, :])
    return np.asarray(np.maximum(common[..., 1] - common[..., 0], 0).prod(axis=-1))


FLOAT_BYTES = 4
_LOADS_AND_STORE = 3  # of an addition of two matrices, per element
MOST_BYTES = 1 << 31  # that one rank sends and receives, else the benchmark takes memory that is not there


def pair_matrices(elements: int, num_nodes: int) -> dict[tuple[str, str], Int64]:
    """int64[p, p] bytes of every combination of mappers for an N x N matrix of floats.

    Raises ``ConfigError`` if there are fewer rows than nodes, or fewer than two nodes.
    """
    if num_nodes < 2 or elements < num_nodes:
        raise ConfigError(
            f"expected 2 nodes or more and a row for each, found {num_nodes} nodes and {elements} rows"
        )
    shape = (elements, elements)
    items = chunks(shape, num_nodes)
    return {
        (w, r): moved_bytes(parse_mapper(w), parse_mapper(r), shape, FLOAT_BYTES, items, items)
        for w in WRITES
        for r in READS
    }


def measure_on_ranks(
    comm: MpiCommunicator, elements: int, repetitions: int, progress: Progress, name: str
) -> OverheadTable | None:
    """Table of the ranks of a job, on rank 0; all ranks call it.

    At least 2 ranks, one per node; ``elements`` is the side of the matrix; of ``repetitions`` medians count.
    Raises ``ConfigError`` if there are too few ranks or rows, or the matrix is too large.
    """
    matrices = pair_matrices(elements, comm.size)
    most = max(int((m.sum(axis=0) + m.sum(axis=1)).max()) for m in matrices.values())
    if most > MOST_BYTES:
        raise ConfigError(
            f"expected at most {MOST_BYTES} bytes per rank, found {most}", hint="choose fewer --elements"
        )
    progress.stage("range mappers", len(matrices))
    a, b, added = np.ones((3, elements * elements // comm.size), dtype=np.float32)
    times_s = timed(comm, repetitions, lambda: np.add(a, b, out=added))
    adding_s = comm.largest(float(np.median(times_s)))
    pairs = []
    for (write, read), matrix in matrices.items():
        times_s = pairwise_times(comm, matrix, repetitions)
        rows = comm.gather(times_s)
        if comm.rank == 0:
            # what waits longest ends the exchange; without one there is nothing to wait for
            moving_s = float(np.median(rows.max(axis=0))) if matrix.any() else 0.0
            pairs.append(PairOverhead(write, read, comm.size, int(matrix.sum()), moving_s, adding_s))
        progress.advance()
    return OverheadTable(name, elements, tuple(pairs)) if comm.rank == 0 else None


def measure_on_platform(
    platform: Platform, num_nodes: int, elements: int, throughput: float, timeout_s: float
) -> OverheadTable:
    """Table of a simulated network.

    ``elements`` is the side of the matrix; an element of the addition takes four operations of
    ``throughput``. Raises ``ConfigError`` if there is no SimGrid, or there are too few hosts;
    ``TargetRunError`` if the simulation failed.
    """
    matrices = pair_matrices(elements, num_nodes)
    adding_s = (_LOADS_AND_STORE + 1) * elements * elements / num_nodes / throughput
    times_s = [_replayed_s(platform, m, timeout_s) if m.any() else 0.0 for m in matrices.values()]
    pairs = tuple(
        PairOverhead(write, read, num_nodes, int(matrix.sum()), moving_s, adding_s)
        for ((write, read), matrix), moving_s in zip(matrices.items(), times_s, strict=True)
    )
    return OverheadTable(platform.name, elements, pairs)


def _replayed_s(platform: Platform, matrix: Int64, timeout_s: float) -> float:
    p = len(matrix)
    sender, receiver = np.nonzero(matrix)
    exchanged = transfers(sender, receiver, np.zeros_like(sender), matrix[sender, receiver])
    return max(action.end_s for action in replay(platform, joined(p, exchanged), timeout_s))
