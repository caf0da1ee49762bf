"""Static costs of instructions: floating-point operations, loads, stores (paper Section 4.2.3, W)."""

from __future__ import annotations

from commanalyzer.instrument.values import CallFacts
from commanalyzer.ir.model import Instruction

_FLOPS = frozenset({"fadd", "fsub", "fmul", "fdiv", "frem", "fneg"})


def flops_of(instruction: Instruction, calls: CallFacts) -> int:
    """Floating-point operations of one execution; vector lanes count, fused multiply-add is 2."""
    lanes = instruction.type.count if instruction.type.kind == "vector" else 1
    if instruction.opcode in _FLOPS:
        return lanes
    if instruction.opcode in ("call", "invoke"):
        known = calls.effect(instruction)
        return 0 if known is None else known.flops * lanes
    if instruction.opcode == "atomicrmw" and instruction.predicate in ("fadd", "fsub", "fmax", "fmin"):
        return 1
    return 0
