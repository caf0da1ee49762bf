"""Which instruction counts for which static feature.

Reference: N. Stawinoga et al., *A portable compiler-runtime approach for scalability prediction*, FGCS 2026,
Section 3.2 and Table 1. The section says "15 values" and lists 14; these are the 14.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from commanalyzer.program.ir.model import Instruction, IrType

Counts = NDArray[np.float64]  # float64[len(COUNTED)]

KINDS = (
    *("bitwise", "int_addsub", "int_mul"),
    *("f32_addsub", "f32_mul", "f32_div", "f64_addsub", "f64_mul", "f64_div"),
    *("load", "store", "other"),
)
TOTAL, COALESCED = "total", "coalesced"
# what is counted per kernel: instructions by kind, all of them, accesses that are coalesced
COUNTED = (*KINDS, TOTAL, COALESCED)
PLACE: Mapping[str, int] = {name: place for place, name in enumerate(COUNTED)}

_INTEGER = {
    **dict.fromkeys(("and", "or", "xor", "shl", "lshr", "ashr"), "bitwise"),
    **dict.fromkeys(("add", "sub"), "int_addsub"),
    "mul": "int_mul",
}
_FLOATING = {"fadd": "addsub", "fsub": "addsub", "fneg": "addsub", "fmul": "mul", "fdiv": "div"}
_FUSED = ("@llvm.fmuladd.", "@llvm.fma.")
# They make no code: remarks for the optimiser, and names of what the debugger shows.
_REMARKS = ("@llvm.dbg.", "@llvm.lifetime.", "@llvm.assume", "@llvm.experimental.noalias", "@llvm.invariant.")


def kinds_of(instruction: Instruction) -> tuple[str, ...]:
    """Kinds that an instruction counts for; none for jumps and remarks, two for a fused multiply and add."""
    opcode = instruction.opcode
    if opcode == "br" and len(instruction.targets) < 2:
        return ()  # blocks follow each other in memory; those of split edges exist in this form only
    if opcode in ("load", "store"):
        return (opcode,)
    if opcode in ("atomicrmw", "cmpxchg"):
        return ("load", "store")
    if opcode in _INTEGER:
        return (_INTEGER[opcode],)
    if opcode in _FLOATING:
        return (_width(instruction.type) + _FLOATING[opcode],)
    if opcode in ("call", "invoke"):
        return _of_call(instruction)
    return ("other",)


def counts_of(instruction: Instruction) -> Counts:
    """float64[len(COUNTED)], what one execution adds; every element of a vector operation counts."""
    found = np.zeros(len(COUNTED))
    for kind in kinds_of(instruction):
        found[PLACE[kind]] += max(instruction.type.count, 1) if instruction.type.kind == "vector" else 1
    found[PLACE[TOTAL]] = found.sum()
    return found


def _of_call(instruction: Instruction) -> tuple[str, ...]:
    if instruction.callee.startswith(_REMARKS):
        return ()
    if instruction.callee.startswith(_FUSED):
        width = _width(instruction.type)
        return (f"{width}mul", f"{width}addsub")
    return ("other",)


def _width(type_: IrType) -> str:
    """``f32_`` for numbers of up to 32 bits, ``f64_`` for longer ones."""
    element = type_.elements[0] if type_.kind == "vector" else type_
    return "f32_" if element.bits <= 32 else "f64_"
