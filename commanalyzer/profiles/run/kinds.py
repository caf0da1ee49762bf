"""What kind an instruction of the canonical module is: type, vector length, type of data."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from commanalyzer.profiles.mix import DATA_INDEX, GROUPS, INDEX, TYPES, VECTOR_LENGTHS
from commanalyzer.program.ir.model import Instruction, IrType

_NAMESAKES = ("int_arith_", "bitwise_", "conversion_", "control_", "misc_")
_OPCODES = {
    **{t.removeprefix(prefix): t for prefix in _NAMESAKES for t in TYPES if t.startswith(prefix)},
    **{f"f{t.removeprefix('fp_arith_')}": t for t in TYPES if t.startswith("fp_arith_")},
    "load": "load",
    "store": "store",
    "getelementptr": "address_arith_get_elem_ptr_arith",
    "alloca": "address_arith_alloca_arith",
    "icmp": "int_cmp",
    "shl": "bitwise_shift_left",
    "lshr": "bitwise_logical_shift_right",
    "ashr": "bitwise_arith_shift_right",
    "ptrtoaddr": "conversion_ptrtoint",
    "addrspacecast": "conversion_address_space_cast",
    "fneg": "fp_arith_sub",
    "fcmp": "fp_cmp",
    "callbr": "control_call",
    "br": "control_branch",
    "indirectbr": "control_indirectBr",
    "extractelement": "llvm_vector_extract_element",
    "insertelement": "llvm_vector_insert_element",
    "shufflevector": "llvm_vector_shuffle_vector",
    "extractvalue": "aggregate_extract_value",
    "insertvalue": "aggregate_insert_value",
    "atomicrmw": "atomic_memory",
    "cmpxchg": "atomic_memory",
    "phi": "phi",
    "fence": "sync",
}
# Intrinsics that are instructions of a machine; the first pattern that fits. A fused multiply-add is two.
_INTRINSICS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"fma|fmuladd", ("fp_arith_mul", "fp_arith_add")),
    (r"sqrt", ("fp_arith_div",)),
    (r"minnum|maxnum|minimum|maximum|minimumnum|maximumnum|is\.fpclass", ("fp_cmp",)),
    (r"fabs|copysign", ("bitwise_and",)),
    (r"floor|ceil|trunc|rint|nearbyint|round|roundeven|lrint|llrint|lround|llround", ("conversion_fptosi",)),
    (r"smin|smax|umin|umax|abs|scmp|ucmp", ("int_cmp",)),
    (r"fshl|fshr|bswap|bitreverse|sshl\.sat|ushl\.sat", ("bitwise_shift_left",)),
    (r"ctpop|ctlz|cttz", ("bitwise_and",)),
    (r"[su]mul\.with\.overflow|[su]mul\.fix.*", ("int_arith_mul",)),
    (r"[su]add\.(with\.overflow|sat)", ("int_arith_add",)),
    (r"[su]sub\.(with\.overflow|sat)", ("int_arith_sub",)),
    (r"vector\.reduce\..*", ("llvm_vector_shuffle_vector",)),
    (r"va_start|va_end|va_copy", ("misc_va_arg",)),
)
_PATTERNS = tuple((re.compile(rf"(?:{text})(?:\.|$)"), types) for text, types in _INTRINSICS)
# Facts for the compiler: no machine executes them.
_NO_CODE = re.compile(
    r"@llvm\.(?:dbg|lifetime|assume|experimental\.noalias|invariant|donothing|annotation|ptr\.annotation|"
    r"var\.annotation|expect|is\.constant|sideeffect|objectsize|stacksave|stackrestore|launder|strip)\b"
)
# Intrinsics that are calls of the C library.
_CALLS = re.compile(
    r"@llvm\.(?:experimental\.constrained\.)?(memcpy|memmove|memset|sin|cos|tan|asin|acos|atan|atan2|sinh|cosh|"
    r"tanh|exp|exp2|exp10|log|log2|log10|pow|powi|ldexp|frexp)\b"
)
_FLOATS = {
    "half": "float_16bits",
    "bfloat": "float_16bits",
    "float": "float_32bits",
    "double": "float_64bits",
    "x86_fp80": "float_80bits",
    "fp128": "float_128bits",
    "ppc_fp128": "float_128bits_powerpc",
}
_KINDS = {"struct": "struct_type", "array": "array_type", "ptr": "pointer_type"}

_CLASS_OF = {
    **dict.fromkeys(GROUPS["F0mem"], 0),
    **dict.fromkeys((*GROUPS["F0int"], *GROUPS["F0addr"]), 1),
    **dict.fromkeys(GROUPS["F0control"], 2),
    **dict.fromkeys(GROUPS["F0fp"], 3),
    "atomic_memory": 0,
}


@dataclass(frozen=True, slots=True)
class Kind:
    """Where an instruction counts."""

    # Types (``TYPES``) that it counts for, one each; empty for what no machine executes
    types: tuple[int, ...]
    length: int = 0  # index into ``VECTOR_LENGTHS``
    data: int = DATA_INDEX["misc"]  # index into ``DATA_TYPES``

    @property
    def parallelism_class(self) -> int:
        """0 memory, 1 integer, 2 control, 3 floating point, 4 other."""
        return _CLASS_OF.get(TYPES[self.types[0]], 4) if self.types else 4


def kind_of(instruction: Instruction) -> Kind:
    """Kind of an instruction."""
    opcode = instruction.opcode
    if opcode == "call" and instruction.callee.startswith("@llvm."):
        return _intrinsic(instruction)
    types = (INDEX[_OPCODES.get(opcode, "misc_other")],)
    if opcode in ("call", "invoke", "callbr", "ret", "br", "phi", "alloca", "landingpad"):
        return Kind(types)
    if opcode in ("store", "icmp", "fcmp", "extractelement"):
        return Kind(types, *data_of(instruction.operands[0].type))
    if instruction.type.kind == "void":
        return Kind(types)
    return Kind(types, *data_of(instruction.type))


def library_name(instruction: Instruction) -> str:
    """Name of the external function that a call of an intrinsic is, empty if it is none."""
    found = _CALLS.match(instruction.callee)
    return found[1] if found else ""


def _intrinsic(instruction: Instruction) -> Kind:
    name = instruction.callee
    if _NO_CODE.match(name):
        return Kind(())
    if _CALLS.match(name):
        return Kind((INDEX["control_call"],))
    stem = name.removeprefix("@llvm.").removeprefix("experimental.constrained.")
    for pattern, types in _PATTERNS:
        if pattern.match(stem):
            return Kind(tuple(INDEX[t] for t in types), *data_of(instruction.type))
    return Kind((INDEX["misc_other"],))


def data_of(type_: IrType) -> tuple[int, int]:
    """Indices of the vector length and the type of data."""
    if type_.kind == "vector":
        place = min(int(np.searchsorted(VECTOR_LENGTHS, type_.count)), len(VECTOR_LENGTHS) - 1)
        return place, _data(type_.elements[0])
    return 0, _data(type_)


def _data(type_: IrType) -> int:
    if type_.kind == "float":
        return DATA_INDEX[_FLOATS.get(type_.text, "misc")]
    if type_.kind == "int":
        return DATA_INDEX.get(f"int_{type_.bits}bits", DATA_INDEX["int_misc"])
    return DATA_INDEX[_KINDS.get(type_.kind, "misc")]
