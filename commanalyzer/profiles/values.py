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
    """Parallelism of instructions in one order of execution.

    Attributes:
        span: float64[5], cycles by ``ILP_TYPES`` if every instruction takes one; per type, those in which one
            of that type starts later than all before.
        mean: float64[5], instructions per cycle, likewise.
    """

    span: Float64
    mean: Float64


@dataclass(frozen=True, slots=True, eq=False)
class Parallelism:
    """Parallelism of instructions for one window.

    Attributes:
        window: Instructions that are looked at together; 0 is no limit.
        out_of_order: Each starts when its operands are there.
        in_order: None starts before those in front of it.
    """

    window: int
    out_of_order: Spans
    in_order: Spans


@dataclass(frozen=True, slots=True, eq=False)
class Reuse:
    """Reuse distances: distinct lines between two accesses to the same one.

    Attributes:
        line_bytes: Bytes of a line.
        distance: int64[B], increasing: 0 and powers of two.
        count: float64[B], accesses with a distance above the previous entry and up to this one.
        accesses: All accesses, the first ones of every line included.
        error: Standard error of the cumulative distribution, the largest of all distances; 0 is exact.
        instruction_bytes: Bytes of an instruction, of instruction reuse; 0 of data.

    Raises:
        ValueError: If the distances do not increase.
    """

    line_bytes: int
    distance: Int64
    count: Float64
    accesses: float
    error: float = 0.0
    instruction_bytes: int = 0

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
    """Memory that a rank touches.

    Attributes:
        data_bytes: Distinct bytes.
        lines: Distinct cache lines.
        line_bytes: Bytes of a line.
        shared_bytes: Distinct bytes of all threads of the process.
        shared_lines: Distinct lines of all threads of the process.
    """

    data_bytes: float = 0.0
    lines: float = 0.0
    line_bytes: int = LINE_BYTES[0]
    shared_bytes: float = 0.0
    shared_lines: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Branches:
    """Predictability of conditional branches from the outcomes before them, all branches together.

    Attributes:
        history: int64[H], increasing: outcomes that are known.
        entropy: float64[H], bits that the next outcome still tells.
        misprediction: float64[H], least fraction of wrong predictions: of the more frequent outcome
            after each history.
        executed: Conditional branches.
    """

    history: Int64
    entropy: Float64
    misprediction: Float64
    executed: float = 0.0

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
    """What a rank sends and receives.

    Attributes:
        sent_bytes: Bytes to all others, point to point.
        sent_messages: Messages, likewise.
        source: int64[N], increasing: ranks that something is received from.
        received_bytes: float64[N].
        received_messages: float64[N].
        collective_bytes: Bytes of collectives by kind and direction, as files call them
            (``bcast_sent_bytes``).
    """

    sent_bytes: float
    sent_messages: float
    source: Int64
    received_bytes: Float64
    received_messages: Float64
    collective_bytes: Mapping[str, float] = field(default_factory=dict)

    @property
    def totals(self) -> tuple[float, float, float, float]:
        """Point to point: bytes sent and received, messages sent and received."""
        received = float(self.received_bytes.sum()), float(self.received_messages.sum())
        return self.sent_bytes, received[0], self.sent_messages, received[1]


@dataclass(frozen=True, slots=True, eq=False)
class RankProfile:
    """Profile of one thread (Table 1).

    Attributes:
        process_id: MPI rank, 0 without MPI.
        thread_id: OpenMP thread, 0 without OpenMP.
        mix: Executed instructions, without those of external libraries.
        register_reads: Registers read by all instructions.
        register_writes: Registers written by all instructions and read by one.
        parallelism: One entry per window.
        data_reuse: One entry per line size.
        instruction_reuse: Likewise.
        footprint: Memory that is touched.
        branches: Predictability of branches.
        exchange: Communication; ``None`` of a program that has none.
        mpi_calls: Calls by MPI function.
        openmp_calls: Calls by OpenMP function.
        library_calls: Calls by external function.
        missing: Fields of Table 1 that are not known, by their names in files.
    """

    process_id: int = 0
    thread_id: int = 0
    mix: InstructionMix = field(default_factory=lambda: InstructionMix(no_instructions()))
    register_reads: float = 0.0
    register_writes: float = 0.0
    parallelism: tuple[Parallelism, ...] = ()
    data_reuse: tuple[Reuse, ...] = ()
    instruction_reuse: tuple[Reuse, ...] = ()
    footprint: Footprint = field(default_factory=Footprint)
    branches: Branches | None = None
    exchange: Exchange | None = None
    mpi_calls: Mapping[str, float] = field(default_factory=dict)
    openmp_calls: Mapping[str, float] = field(default_factory=dict)
    library_calls: Mapping[str, float] = field(default_factory=dict)
    missing: frozenset[str] = frozenset()

    def reuse(self, line_bytes: int) -> Reuse | None:
        """Data reuse for lines of this size, ``None`` if it is not known."""
        return next((r for r in self.data_reuse if r.line_bytes == line_bytes), None)

    def window(self, window: int = DEFAULT_WINDOW) -> Parallelism | None:
        """Parallelism for this window, else the first one that is known (as readers of the format do)."""
        found = [p for p in self.parallelism if p.window == window] or list(self.parallelism)
        return found[0] if found else None


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """Profiles of all ranks of one run.

    Attributes:
        application: Name of the program.
        scale: Scaling parameters and their values.
        ranks: One entry per thread or process, at least one.
        remarks: What was approximated, one sentence each.

    Raises:
        ValueError: If there is no rank, or one is there twice.
    """

    application: str
    scale: Mapping[str, float]
    ranks: tuple[RankProfile, ...]
    remarks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        named = [(r.process_id, r.thread_id) for r in self.ranks]
        if not named or len(named) != len(set(named)):
            raise ValueError("expected at least one rank, and each process and thread once")
