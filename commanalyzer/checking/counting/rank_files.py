"""Reads what the ranks wrote; layouts are those of ``runtime_shim/mpi/counter.h``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.errors import TraceError

MAGIC = 0x00315450434D4143
FINALIZED, ABORTED, SPAWNED = 1, 2, 4
HEADER = np.dtype(
    [
        ("magic", "<u8"),
        ("rank", "<i4"),
        ("size", "<i4"),
        ("flags", "<u4"),
        ("reserved", "<u4"),
        ("num_transfers", "<u8"),
        ("num_calls", "<u8"),
        ("text_bytes", "<u8"),
    ]
)
TRANSFER = np.dtype(
    [
        ("region", "<u4"),
        ("layer", "<u4"),
        ("source", "<i4"),
        ("target", "<i4"),
        ("bytes", "<i8"),
        ("messages", "<i8"),
    ]
)
CALL_KEYS = ("region", "layer", "name", "label", "root")
CALL_SUMS = ("operations", "given_bytes", "charged_bytes", "self_bytes", "unknown_bytes")
CALL = np.dtype([(name, "<u4") for name in CALL_KEYS[:4]] + [(name, "<i8") for name in ("root", *CALL_SUMS)])


@dataclass(frozen=True, slots=True)
class RankCounts:
    """Counts of one process.

    Attributes:
        rank: Its world rank.
        size: Size of its MPI_COMM_WORLD.
        flags: ``FINALIZED``, ``ABORTED``, ``SPAWNED``.
        transfers: ``TRANSFER`` records; region is an index into ``texts``.
        calls: ``CALL`` records; region, name and label are indices into ``texts``.
        texts: Strings.
    """

    rank: int
    size: int
    flags: int
    transfers: NDArray[np.void]
    calls: NDArray[np.void]
    texts: tuple[str, ...]


def read_rank_files(folder: Path) -> list[RankCounts]:
    """Counts of every process that reported, by rank.

    Raises:
        TraceError: If a file is damaged.
    """
    found = [read_rank_file(path) for path in sorted(folder.glob("*.counts"))]
    return sorted((item for item in found if item is not None), key=lambda item: item.rank)


def read_rank_file(path: Path) -> RankCounts | None:
    """Counts of one process; ``None`` when it was ended while it wrote them.

    Raises:
        TraceError: If the file is complete by its mark and yet too short.
    """
    data = path.read_bytes()
    if len(data) < HEADER.itemsize:
        return None
    header = np.frombuffer(data, HEADER, 1)[0]
    if int(header["magic"]) != MAGIC:
        return None
    num_transfers, num_calls = int(header["num_transfers"]), int(header["num_calls"])
    at_calls = HEADER.itemsize + num_transfers * TRANSFER.itemsize
    at_text = at_calls + num_calls * CALL.itemsize
    expected = at_text + int(header["text_bytes"])
    if len(data) != expected:
        raise TraceError(f"expected {expected} bytes of counts, found {len(data)}", where=str(path))
    return RankCounts(
        int(header["rank"]),
        int(header["size"]),
        int(header["flags"]),
        np.frombuffer(data, TRANSFER, num_transfers, HEADER.itemsize),
        np.frombuffer(data, CALL, num_calls, at_calls),
        tuple(data[at_text:].decode("utf-8", "replace").split("\0")[:-1]),
    )
