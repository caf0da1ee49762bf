"""The profile of an application run: one :class:`RankProfile` per thread or process (Table 1).

What was not measured is ``None`` or empty; :attr:`RankProfile.missing` says which fields a file did not have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

_CONVERSIONS = (
    *("trunc", "zext", "sext", "fptrunc", "fpext", "fptoui", "fptosi", "uitofp", "sitofp"),
    *("inttoptr", "ptrtoint", "bitcast", "address_space_cast"),
)
_ARITHMETIC = ("add", "sub", "mul", "udiv", "sdiv", "urem", "srem")
_BITWISE = ("and", "or", "xor", "shift_left", "logical_shift_right", "arith_shift_right")
_CONTROL = ("call", "ret", "branch", "switch", "indirectBr", "invoke", "resume", "unreachable")
TYPES: tuple[str, ...] = (
    *("load", "store"),
    *("address_arith_get_elem_ptr_arith", "address_arith_alloca_arith"),
    *(f"int_arith_{name}" for name in _ARITHMETIC),
    "int_cmp",
    *(f"bitwise_{name}" for name in _BITWISE),
    *(f"conversion_{name}" for name in _CONVERSIONS),
    *(f"fp_arith_{name}" for name in ("add", "sub", "mul", "div", "rem")),
    "fp_cmp",
    *(f"control_{name}" for name in _CONTROL),
    *(f"llvm_vector_{name}_vector" for name in ("shuffle",)),
    *(f"llvm_vector_{name}_element" for name in ("extract", "insert")),
    *("aggregate_extract_value", "aggregate_insert_value", "misc_select"),
    *("atomic_memory", "phi", "sync", "misc_landingpad", "misc_va_arg", "misc_other"),
)
"""Instruction types, called as in files without ``_instructions``."""
INDEX = {name: number for number, name in enumerate(TYPES)}
VECTOR_LENGTHS = (1, 2, 4, 8, 16)
"""Vector lengths that are told apart; others count for the next one, those beyond for the last."""
DATA_TYPES: tuple[str, ...] = (
    *("float_16bits", "float_32bits", "float_64bits", "float_80bits", "float_128bits"),
    *("float_128bits_powerpc", "float_64bits_mmx", "int_4bits", "int_8bits", "int_16bits", "int_32bits"),
    *("int_64bits", "int_misc", "struct_type", "array_type", "pointer_type", "misc"),
)
"""Types of data; ``misc`` is what has none, such as a branch."""
DATA_INDEX = {name: number for number, name in enumerate(DATA_TYPES)}
DATA_LENGTHS = (0, 4, 8, 16, 32, 64, 128)
"""Bits of the data types in the metrics of Table 2; 0 where the length depends on the machine."""
_LENGTH_OF = (16, 32, 64, 128, 128, 128, 64, 4, 8, 16, 32, 64, 0, 0, 0, 0, 0)
SHAPE = (len(TYPES), len(VECTOR_LENGTHS), len(DATA_TYPES))
SCALAR_TYPES = frozenset(
    {
        *(f"control_{name}" for name in _CONTROL),
        *("address_arith_alloca_arith", "atomic_memory", "phi", "sync", "misc_landingpad", "misc_va_arg"),
        "misc_other",
    }
)
"""Types of which files hold the number alone."""


def _members(prefix: str) -> tuple[str, ...]:
    return tuple(name for name in TYPES if name.startswith(prefix))


_DIVISIONS = ("int_arith_udiv", "int_arith_sdiv", "int_arith_urem", "int_arith_srem")
_ADDRESSES, _INTEGERS = _members("address_arith"), _members("int_arith")
GROUPS: dict[str, tuple[str, ...]] = {
    "F0mem": ("load", "store"),
    "F0load": ("load",),
    "F0store": ("store",),
    "F0addr": _ADDRESSES,
    "F0int": (*_INTEGERS, "int_cmp", *_members("bitwise"), *_members("conversion")),
    "F0intOnly": _INTEGERS,
    "F0intmul": ("int_arith_mul",),
    "F0intdiv": _DIVISIONS,
    "F0fp": (*_members("fp_arith"), "fp_cmp"),
    "F0fpmul": ("fp_arith_mul",),
    "F0fpdiv": ("fp_arith_div", "fp_arith_rem"),
    "F0control": _members("control"),
    "F0vector": _members("llvm_vector"),
    "F0other": (
        *_members("aggregate"), *_members("misc"), "atomic_memory", "phi", "sync",
    ),
}  # fmt: skip
"""Types of every fraction of Table 2. The seven groups mem, addr, int, fp, control, vector and other hold
every type once."""
TOTALS: dict[str, tuple[str, ...]] = {
    "int_arith_instructions": _INTEGERS,
    "bitwise_instructions": _members("bitwise"),
    "conversion_instructions": _members("conversion"),
    "address_arith_instructions": _ADDRESSES,
    "fp_arith_instructions": _members("fp_arith"),
    "control_instructions": _members("control"),
    "aggregate_nonvector_instructions": _members("aggregate"),
}
"""Sums that files hold beside the types themselves."""


def no_instructions() -> Float64:
    """A mix without instructions."""
    return np.zeros(SHAPE)


@dataclass(frozen=True, slots=True, eq=False)
class InstructionMix:
    """Executed instructions by kind; ``ValueError`` if the shape is another one, or a count is negative."""

    # [types, vector lengths, data types] (``TYPES``, ``VECTOR_LENGTHS``, ``DATA_TYPES``); whole numbers where
    # they were counted, any where they are predicted
    counts: Float64

    def __post_init__(self) -> None:
        if self.counts.shape != SHAPE or not (self.counts >= 0).all():
            raise ValueError(f"expected counts of shape {SHAPE} that are not negative")
        self.counts.setflags(write=False)

    @property
    def instructions(self) -> float:
        """All instructions (``LSys``)."""
        return float(self.counts.sum())

    def of(self, types: tuple[str, ...]) -> Float64:
        """float64[vector lengths, data types], instructions of these types."""
        return np.asarray(self.counts[[INDEX[name] for name in types]].sum(axis=0))

    def group(self, metric: str) -> Float64:
        """float64[vector lengths, data lengths], instructions of a group of Table 2 such as ``F0mem``."""
        result = np.zeros((len(VECTOR_LENGTHS), len(DATA_LENGTHS)))
        found = self.of(GROUPS[metric])
        columns = np.array([DATA_LENGTHS.index(bits) for bits in _LENGTH_OF])
        for place in range(len(DATA_LENGTHS)):
            result[:, place] = found[:, columns == place].sum(axis=1)
        return result


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
