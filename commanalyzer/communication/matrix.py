"""Communication of one decomposition: the value that the counters produce and reports read.

Paper Section 4.2.3: entry (i, j) of the matrix is what part i sends to part j during the analysed region.

What the byte counter saw of an MPI program, besides the matrices: calls, self-sends, gaps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.errors import GraphInvariantError

LAYERS = ("point-to-point", "one-sided", "collectives")
MODEL = "counted"
WHOLE = "whole run"
OFF = "outside"  # what is sent while MPI_Pcontrol(0) holds


@dataclass(frozen=True, slots=True)
class CallCounts:
    """Calls of one kind on one communicator in one region, all ranks together.

    Attributes:
        region: Names of the open regions, outermost first; empty outside all marks.
        layer: One of ``LAYERS``.
        name: MPI function.
        communicator: Its name, or its members as world ranks.
        root: World rank of the root, -1 without one.
        operations: Calls; a collective counts once, not once per rank.
        given_bytes: Count times datatype size as passed by the ranks, summed over them.
        charged_bytes: Bytes between different ranks: what is in the matrix.
        self_bytes: Bytes that a rank sends to itself; in no matrix.
        unknown_bytes: Bytes to or from processes outside MPI_COMM_WORLD; in no matrix.
    """

    region: tuple[str, ...]
    layer: str
    name: str
    communicator: str
    root: int
    operations: int
    given_bytes: int
    charged_bytes: int
    self_bytes: int
    unknown_bytes: int


@dataclass(frozen=True, slots=True)
class CountedRun:
    """How an MPI program was counted.

    Attributes:
        mpi: MPI library, from its launcher.
        ranks: Size of MPI_COMM_WORLD.
        calls: One entry per (region, call, communicator, root), most bytes first.
        regions: Names of the marked regions, sorted.
        region: Region that the best decomposition covers; empty for the whole run.
    """

    mpi: str
    ranks: int
    calls: tuple[CallCounts, ...]
    regions: tuple[str, ...] = ()
    region: str = ""

    @property
    def self_bytes(self) -> int:
        """Bytes that ranks sent to themselves, whole run."""
        return sum(call.self_bytes for call in self.calls)

    @property
    def unknown_bytes(self) -> int:
        """Bytes that belong to no pair of ranks, whole run."""
        return sum(call.unknown_bytes for call in self.calls)


@dataclass(frozen=True, slots=True)
class Collective:
    """Exchange of the hub values of one array with the parts that use them.

    Attributes:
        kind: ``bcast`` (root sends its values to their readers) or ``reduce`` (contributions to the root).
        name: Name of the array.
        root: Part that owns the values.
        partners: Most parts that any of the values is exchanged with.
        rounds: Most often that any of the values is exchanged with one part.
        comm_bytes: All bytes, as in the matrix: one copy per partner and round.
    """

    kind: Literal["bcast", "reduce"]
    name: str
    root: int
    partners: int
    rounds: int
    comm_bytes: int

    @property
    def round_bytes(self) -> float:
        """Bytes that one partner exchanges in one round, on average."""
        return self.comm_bytes / max(self.partners * self.rounds, 1)


@dataclass(frozen=True, slots=True)
class Communication:
    """Bytes and messages between parts, for the whole analysed region.

    Attributes:
        comm_bytes: int64[p, p], bytes from row part to column part; the diagonal is zero.
        messages: int64[p, p], messages (one per pair and round).
        low_bytes: Provable lower end of the total where collapsed versions leave doubt.
        high_bytes: Upper end of the total; equal to ``low_bytes`` when the count is exact.
        singleton_bytes: Part of the total that is singleton (collective) communication, ``hpdc18`` only.
        collectives: Part of the total that belongs to hub values; ``None`` when it was not told apart.
        peer_bytes: int64[p, p], bytes without those of ``collectives``; ``None`` when that is all of them or
            not known.
        peer_messages: int64[p, p], messages without those of ``collectives``; ``None`` likewise.
        phase_bytes: int64[K, p, p], bytes that are exchanged in phase k of every step, where a phase cannot
            start before the one before has ended; what is in no phase may overlap any. ``None`` where fewer
            than two phases are known.
        phase_messages: int64[K, p, p], messages likewise.

    Reference: paper Algorithm 4 (COMM_MAT).
    """

    comm_bytes: NDArray[np.int64]
    messages: NDArray[np.int64]
    low_bytes: int
    high_bytes: int
    singleton_bytes: int = 0
    collectives: tuple[Collective, ...] | None = None
    peer_bytes: NDArray[np.int64] | None = None
    peer_messages: NDArray[np.int64] | None = None
    phase_bytes: NDArray[np.int64] | None = None
    phase_messages: NDArray[np.int64] | None = None

    def __repr__(self) -> str:
        return f"Communication(p={self.num_parts}, {self.total_bytes} B, {self.total_messages} messages)"

    def __post_init__(self) -> None:
        p = len(self.comm_bytes)
        if self.comm_bytes.shape != (p, p) or self.messages.shape != (p, p):
            raise GraphInvariantError("communication matrices must be square and of equal size")
        if np.any(np.diagonal(self.comm_bytes)) or np.any(self.comm_bytes < 0):
            raise GraphInvariantError("communication matrix needs a zero diagonal and no negative entry")
        if not self.low_bytes <= self.total_bytes <= self.high_bytes:
            raise GraphInvariantError(
                f"total {self.total_bytes} bytes lies outside its bracket "
                f"[{self.low_bytes}, {self.high_bytes}]"
            )
        self._check_peers()
        self._check_phases()
        self.comm_bytes.setflags(write=False)
        self.messages.setflags(write=False)

    def _check_peers(self) -> None:
        if self.peer_bytes is None or self.peer_messages is None:
            if self.collectives or self.peer_bytes is not self.peer_messages:
                raise GraphInvariantError("collectives need the peer matrices of bytes and messages")
            return
        apart = sum(item.comm_bytes for item in self.collectives or ())
        if np.any(self.peer_bytes > self.comm_bytes) or self.peer_bytes.sum() + apart != self.total_bytes:
            raise GraphInvariantError("bytes of peers and collectives must add up to the matrix")
        self.peer_bytes.setflags(write=False)
        self.peer_messages.setflags(write=False)

    def _check_phases(self) -> None:
        if self.phase_bytes is None or self.phase_messages is None:
            if self.phase_bytes is not self.phase_messages:
                raise GraphInvariantError("phases need both bytes and messages")
            return
        everything = self.comm_bytes if self.peer_bytes is None else self.peer_bytes
        shape = (len(self.phase_bytes), *everything.shape)
        if self.phase_bytes.shape != shape or self.phase_messages.shape != shape:
            raise GraphInvariantError("phases need matrices as large as the one of all communication")
        if np.any(self.phase_bytes < 0) or np.any(self.phase_bytes.sum(axis=0) > everything):
            raise GraphInvariantError("phases must not exchange more than all communication")
        self.phase_bytes.setflags(write=False)
        self.phase_messages.setflags(write=False)

    @property
    def num_parts(self) -> int:
        """Number of parts p."""
        return len(self.comm_bytes)

    @property
    def total_bytes(self) -> int:
        """Communication cost C in bytes (paper TOTALCOST)."""
        return int(self.comm_bytes.sum())

    @property
    def mean_message_bytes(self) -> float | None:
        """Mean size of a message, bytes; ``None`` when there are none."""
        messages = self.total_messages
        return self.total_bytes / messages if messages else None

    @property
    def total_messages(self) -> int:
        """All messages."""
        return int(self.messages.sum())
