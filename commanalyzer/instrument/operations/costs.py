"""Static costs of instructions: operations of each kind (paper Section 4.2.3, W)."""

from __future__ import annotations

from commanalyzer.foundation.work import Operations
from commanalyzer.frontend.decisions import is_added
from commanalyzer.instrument.labelling.values import CallFacts
from commanalyzer.ir.libcalls import CallKind
from commanalyzer.ir.model import Instruction, IrType

# A sign is no operation of its own: compilers write a - b * c as a + (-b) * c, fused, in which b is negated.
_FLOPS = frozenset({"fadd", "fsub", "fmul", "fdiv", "frem"})
_INTEGER = frozenset({"add", "sub", "mul", "udiv", "sdiv", "urem", "srem"})
_LOGIC = frozenset({"shl", "lshr", "ashr", "and", "or", "xor", "icmp", "fcmp"})
_FLOATING_UPDATES = frozenset({"fadd", "fsub", "fmax", "fmin"})
_ACCESSES = {"load": 1, "store": 1, "atomicrmw": 2, "cmpxchg": 2}


def flops_of(instruction: Instruction, calls: CallFacts) -> int:
    """Floating-point operations of one execution; vector lanes count, fused multiply-add is 2."""
    lanes = _lanes(instruction.type)
    if instruction.opcode in _FLOPS:
        return lanes
    if instruction.opcode in ("call", "invoke"):
        known = calls.effect(instruction)
        return 0 if known is None else known.flops * lanes
    if instruction.opcode == "atomicrmw" and instruction.predicate in _FLOATING_UPDATES:
        return 1
    return 0


def operations_of(instruction: Instruction, calls: CallFacts) -> Operations:
    """Operations of one execution, of every kind; vector lanes count.

    Comparisons are operations of logic, whatever they compare: they are no floating-point operations (nor do
    hardware counters take them for such), but a sort would do nothing without them.
    """
    if is_added(instruction):
        return Operations()
    opcode, flops = instruction.opcode, flops_of(instruction, calls)
    moved = instruction.operands[0].type if opcode == "store" else instruction.type
    return Operations(flops, _integer_of(instruction, calls, flops), _ACCESSES.get(opcode, 0) * _lanes(moved))


def _integer_of(instruction: Instruction, calls: CallFacts, flops: int) -> int:
    lanes = _lanes(instruction.type)
    if instruction.opcode in _INTEGER or instruction.opcode in _LOGIC:
        return lanes
    if instruction.opcode in ("call", "invoke"):  # minimum, absolute value, bit counts, ...
        known = calls.effect(instruction)
        is_pure = known is not None and known.kind is CallKind.PURE and not known.reads_memory
        return lanes if is_pure and not flops and _is_integer(instruction.type) else 0
    is_update = instruction.opcode == "atomicrmw" and instruction.predicate != "xchg"
    return int(is_update and not flops)


def _lanes(type_: IrType) -> int:
    return type_.count if type_.kind == "vector" else 1


def _is_integer(type_: IrType) -> bool:
    """Whether it is an integer, several of them, or one with a flag (of an overflow)."""
    if type_.kind in ("vector", "struct"):
        return bool(type_.elements) and type_.elements[0].kind == "int"
    return type_.kind == "int"
