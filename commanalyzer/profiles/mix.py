"""Instruction types, vector lengths and data types of an instruction mix, and the groups of Table 2."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Float64 = NDArray[np.float64]

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
