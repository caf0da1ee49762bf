"""What ``atomicrmw`` computes."""

from __future__ import annotations

from commanalyzer.program.ir.constants import signed
from commanalyzer.program.ir.model import IrType
from commanalyzer.recording.interpreter.instructions.arithmetic import binary
from commanalyzer.recording.interpreter.libc.mathlib import FUNCTIONS
from commanalyzer.recording.interpreter.values import Data, as_float, as_int


def modify(operation: str, type_: IrType, old: Data, operand: Data) -> Data:
    """Return the new value of ``atomicrmw``."""
    a, b = old, operand
    if operation in ("add", "sub", "and", "or", "xor", "fadd", "fsub"):
        return binary(operation, type_, a, b)
    if operation == "nand":
        return as_int(binary("and", type_, a, b)) ^ ((1 << type_.bits) - 1)
    if operation in ("fmin", "fmax"):
        return FUNCTIONS[operation](as_float(a), as_float(b))
    choose = max if operation in ("max", "umax") else min
    x, y = as_int(a), as_int(b)
    if operation in ("max", "min"):
        x, y = signed(x, type_.bits), signed(y, type_.bits)
    return choose(x, y) & ((1 << type_.bits) - 1)
