"""Communication of one decomposition: the value that the counters produce and reports read.

Paper Section 4.2.3: entry (i, j) of the matrix is what part i sends to part j during the analysed region. Of
an MPI program, also what its byte counter saw besides the matrices: calls, self-sends, gaps.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
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
    """Calls of one kind on one communicator in one region, all ranks together."""

    region: tuple[str, ...]  # names of the open regions, outermost first; empty outside all marks
    layer: str  # one of ``LAYERS``
    name: str  # MPI function
    communicator: str  # its name, or its members as world ranks
    root: int  # world rank of the root, -1 without one
    operations: int  # calls; a collective counts once, not once per rank
    given_bytes: int  # count times datatype size as passed by the ranks, summed over them
    charged_bytes: int  # between different ranks: what is in the matrix
    self_bytes: int  # that a rank sends to itself; in no matrix
    unknown_bytes: int  # to or from processes outside MPI_COMM_WORLD; in no matrix


@dataclass(frozen=True, slots=True)
class CountedRun:
    """How an MPI program was counted."""

    mpi: str  # library, from its launcher
    ranks: int  # size of MPI_COMM_WORLD
    calls: tuple[CallCounts, ...]  # one entry per (region, call, communicator, root), most bytes first
    regions: tuple[str, ...] = ()  # names of the marked regions, sorted
    region: str = ""  # that the best decomposition covers; empty for the whole run

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
    """Exchange of the hub values of one array with the parts that use them."""

    # Root sends its values to their readers, or contributions go to the root.
    kind: Literal["bcast", "reduce"]
    name: str  # of the array
    root: int  # part that owns the values
    partners: int  # most parts that any of the values is exchanged with
    rounds: int  # most often that any of the values is exchanged with one part
    comm_bytes: int  # all, as in the matrix: one copy per partner and round

    @property
    def round_bytes(self) -> float:
        """Bytes that one partner exchanges in one round, on average."""
        return self.comm_bytes / max(self.partners * self.rounds, 1)


@dataclass(frozen=True, slots=True)
class Communication:
    """Bytes and messages between p parts, for the whole analysed region (paper Algorithm 4, COMM_MAT)."""

    comm_bytes: NDArray[np.int64]  # [p, p], from row part to column part; the diagonal is zero
    messages: NDArray[np.int64]  # [p, p], one per pair and round
    low_bytes: int  # provable lower end of the total where collapsed versions leave doubt
    high_bytes: int  # upper end of the total; equal to ``low_bytes`` when the count is exact
    singleton_bytes: int = 0  # of the total, singleton (collective) communication, ``hpdc18`` only
    # Of hub values; ``None`` when these were not told apart.
    collectives: tuple[Collective, ...] | None = None
    # Without ``collectives``; ``None`` when that is all, or not known.
    peer_bytes: NDArray[np.int64] | None = None
    peer_messages: NDArray[np.int64] | None = None  # likewise
    # [K, p, p], exchanged in phase k of every step, where a phase cannot start before the one before has
    # ended; what is in no phase may overlap any. ``None`` where fewer than two phases are known.
    phase_bytes: NDArray[np.int64] | None = None
    phase_messages: NDArray[np.int64] | None = None  # likewise

    def __repr__(self) -> str:
        return f"Communication(p={self.num_parts}, {self.total_bytes} B, {self.total_messages} messages)"

    def __post_init__(self) -> None:
        p = len(self.comm_bytes)
        if self.comm_bytes.shape != (p, p) or self.messages.shape != (p, p):
            raise GraphInvariantError("communication matrices must be square and of equal size")
        if np.any(np.diagonal(self.comm_bytes)) or np.any(self.comm_bytes < 0):
            raise GraphInvariantError("communication matrix needs a zero diagonal and no negative entry")
        if not self.low_bytes <= self.total_bytes <= self.high_bytes:
            bracket = f"[{self.low_bytes}, {self.high_bytes}]"
            raise GraphInvariantError(f"total {self.total_bytes} bytes lies outside its bracket {bracket}")
        self._check_peers()
        self._check_phases()
        for value in (getattr(self, f.name) for f in fields(self)):
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    def _check_peers(self) -> None:
        if self.peer_bytes is None or self.peer_messages is None:
            if self.collectives or self.peer_bytes is not self.peer_messages:
                raise GraphInvariantError("collectives need the peer matrices of bytes and messages")
            return
        apart = sum(item.comm_bytes for item in self.collectives or ())
        if np.any(self.peer_bytes > self.comm_bytes) or self.peer_bytes.sum() + apart != self.total_bytes:
            raise GraphInvariantError("bytes of peers and collectives must add up to the matrix")

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
