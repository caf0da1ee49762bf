"""Addresses and byte counts of the memory that a library call reads or writes, as code."""

from __future__ import annotations

from commanalyzer.instrument.code import FunctionPatch
from commanalyzer.ir.libcalls import ByteCount
from commanalyzer.ir.model import Instruction, Operand

_NO_LIMIT = -1


def pointer_value(patch: FunctionPatch, out: list[str], operand: Operand) -> str:
    """Address in a pointer argument, as an integer register."""
    if operand.type.kind == "ptr":
        return patch.address(out, operand.text)
    return "0"  # a scalar where the model expects a pointer: nothing is written through it


def byte_count(
    patch: FunctionPatch, out: list[str], instruction: Instruction, size: ByteCount, address: str = "0"
) -> str:
    """Number of bytes, as a register or a constant; ``address`` is where a text starts."""
    operands = instruction.operands
    if size.is_string:
        limit = str(_NO_LIMIT)
        if size.arguments:
            limit = _as_i64(patch, out, operands[size.arguments[0]])
        return patch.call(out, "ca_string_bytes", address, limit)
    factors = [_as_i64(patch, out, operands[index]) for index in size.arguments]
    for end, start in size.differences:
        ends = [pointer_value(patch, out, operands[index]) for index in (end, start)]
        factors.append(patch.compute(out, "sub", ends[0], ends[1]))
    if size.constant != 1 or not factors:
        factors.insert(0, str(size.constant))
    result = factors[0]
    for factor in factors[1:]:
        result = patch.compute(out, "mul", result, factor)
    return result


def _as_i64(patch: FunctionPatch, out: list[str], operand: Operand) -> str:
    if operand.type.bits == 64:
        return operand.text
    return patch.value(out, f"zext {operand.type} {operand.text} to i64")
