"""The profile of an application run: one :class:`RankProfile` per thread or process (Table 1).

What was not measured is ``None`` or empty; :attr:`RankProfile.missing` says which fields a file did not have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from commanalyzer.profiles.mix import InstructionMix, no_instructions

Float64 = NDArray[np.float64]
Int64 = NDArray[np.int64]

ILP_TYPES = ("all", "mem", "int", "ctrl", "fp")
DEFAULT_WINDOW = 54
"""Instructions that are looked at together: the window of files and of ``ILP0`` (Section A.3)."""
LINE_BYTES = (64, 128)
"""Cache lines of ``D0dreuse`` and ``D0dreuse128`` (Table 2)."""


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """Parallelism of instructions in one order of execution."""

    # [5], cycles by ``ILP_TYPES`` if every instruction takes one; per type, those in which one of that type
    # starts later than all before
    span: Float64
    mean: Float64  # [5], instructions per cycle, likewise


@dataclass(frozen=True, slots=True, eq=False)
class Parallelism:
    """Parallelism of instructions for one window."""

    window: int  # instructions that are looked at together; 0 is no limit
    out_of_order: Spans  # each starts when its operands are there
    in_order: Spans  # none starts before those in front of it


@dataclass(frozen=True, slots=True, eq=False)
class Reuse:
    """Distinct lines between two accesses to the same; ``ValueError`` if the distances do not increase."""

    line_bytes: int
    distance: Int64  # [B], increasing: 0 and powers of two
    count: Float64  # [B], accesses with a distance above the previous entry and up to this one
    accesses: float  # all accesses, the first ones of every line included
    # Standard error of the cumulative distribution, the largest of all distances; 0 is exact
    error: float = 0.0
    instruction_bytes: int = 0  # bytes of an instruction, of instruction reuse; 0 of data

    def __post_init__(self) -> None:
        if len(self.distance) != len(self.count) or (np.diff(self.distance) <= 0).any():
            raise ValueError("expected increasing reuse distances with one count each")

    @property
    def cdf(self) -> Float64:
        """float64[B], fraction of all accesses with at most each distance."""
        return np.cumsum(self.count) / max(self.accesses, 1.0)

    def at_most(self, lines: float) -> float:
        """Fraction of accesses with a distance below ``lines``: hits of a fully associative LRU cache.

        Between two entries, distances are taken as evenly spread in their logarithm.
        """
        if not len(self.distance) or lines <= 0:
            return 0.0
        known = np.log2(1.0 + self.distance.astype(np.float64))
        return float(np.interp(np.log2(max(lines, 1.0)), known, self.cdf))


@dataclass(frozen=True, slots=True)
class Footprint:
    """Memory that a rank touches."""

    data_bytes: float = 0.0  # distinct bytes
    lines: float = 0.0  # distinct cache lines
    line_bytes: int = LINE_BYTES[0]
    shared_bytes: float = 0.0  # distinct bytes of all threads of the process
    shared_lines: float = 0.0  # distinct lines of all threads of the process


@dataclass(frozen=True, slots=True, eq=False)
class Branches:
    """Predictability of conditional branches from the outcomes before them, all branches together."""

    history: Int64  # [H], increasing: outcomes that are known
    entropy: Float64  # [H], bits that the next outcome still tells
    # [H], least fraction of wrong predictions: of the more frequent outcome after each history
    misprediction: Float64
    executed: float = 0.0  # conditional branches

    @property
    def last_entropy(self) -> float:
        """Entropy with the longest history (``H0branch``)."""
        return float(self.entropy[-1]) if len(self.entropy) else 0.0

    @property
    def best_misprediction(self) -> float:
        """Misprediction with the longest history."""
        return float(self.misprediction[-1]) if len(self.misprediction) else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Exchange:
    """What a rank sends and receives."""

    sent_bytes: float  # bytes to all others, point to point
    sent_messages: float  # messages, likewise
    source: Int64  # [N], increasing: ranks that something is received from
    received_bytes: Float64  # [N]
    received_messages: Float64  # [N]
    # Bytes of collectives by kind and direction, as files call them (``bcast_sent_bytes``)
    collective_bytes: Mapping[str, float] = field(default_factory=dict)

    @property
    def totals(self) -> tuple[float, float, float, float]:
        """Point to point: bytes sent and received, messages sent and received."""
        received = float(self.received_bytes.sum()), float(self.received_messages.sum())
        return self.sent_bytes, received[0], self.sent_messages, received[1]


@dataclass(frozen=True, slots=True, eq=False)
class RankProfile:
    """Profile of one thread (Table 1)."""

    process_id: int = 0  # MPI rank, 0 without MPI
    thread_id: int = 0  # OpenMP thread, 0 without OpenMP
    # Executed instructions, without those of external libraries
    mix: InstructionMix = field(default_factory=lambda: InstructionMix(no_instructions()))
    register_reads: float = 0.0  # registers read by all instructions
    register_writes: float = 0.0  # registers written by all instructions and read by one
    parallelism: tuple[Parallelism, ...] = ()  # one entry per window
    data_reuse: tuple[Reuse, ...] = ()  # one entry per line size
    instruction_reuse: tuple[Reuse, ...] = ()  # likewise
    footprint: Footprint = field(default_factory=Footprint)
    branches: Branches | None = None
    exchange: Exchange | None = None  # communication; ``None`` of a program that has none
    mpi_calls: Mapping[str, float] = field(default_factory=dict)  # calls by MPI function
    openmp_calls: Mapping[str, float] = field(default_factory=dict)  # calls by OpenMP function
    library_calls: Mapping[str, float] = field(default_factory=dict)  # calls by external function
    missing: frozenset[str] = frozenset()  # fields of Table 1 that are not known, by their names in files

    def reuse(self, line_bytes: int) -> Reuse | None:
        """Data reuse for lines of this size, ``None`` if it is not known."""
        return next((r for r in self.data_reuse if r.line_bytes == line_bytes), None)

    def window(self, window: int = DEFAULT_WINDOW) -> Parallelism | None:
        """Parallelism for this window, else the first one that is known (as readers of the format do)."""
        found = [p for p in self.parallelism if p.window == window] or list(self.parallelism)
        return found[0] if found else None


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """Profiles of all ranks of one run; ``ValueError`` if there is no rank, or one is there twice."""

    application: str
    scale: Mapping[str, float]  # scaling parameters and their values
    ranks: tuple[RankProfile, ...]  # one entry per thread or process, at least one
    remarks: tuple[str, ...] = ()  # what was approximated, one sentence each

    def __post_init__(self) -> None:
        named = [(r.process_id, r.thread_id) for r in self.ranks]
        if not named or len(named) != len(set(named)):
            raise ValueError("expected at least one rank, and each process and thread once")
