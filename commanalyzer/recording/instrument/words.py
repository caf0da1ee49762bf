"""How many bytes of memory have one label: four, or one in programs that work on smaller values.

A program works on smaller values if its loops both load and store elements of fewer than four bytes at
indices, or through pointers that advance, which count in steps that are no multiple of four bytes.
"""

from __future__ import annotations

from collections.abc import Iterable

from commanalyzer.program.ir.model import Instruction, IrType
from commanalyzer.program.ir.types import alloc_size_bytes, field_offset_bytes, size_bytes
from commanalyzer.recording.instrument.labelling.values import FunctionValues, scalar_leaves

_WORD_BYTES = 4


def word_bytes(functions: Iterable[FunctionValues]) -> int:
    """Bytes of a word in recordings of a program."""
    found = {
        instruction.opcode
        for values in functions
        for block in values.function.blocks
        if values.cfg.loop_of(block.label) is not None
        for instruction in block.instructions
        if instruction.opcode in ("load", "store") and _is_small_element(values, instruction)
    }
    return 1 if len(found) == 2 else _WORD_BYTES


def _is_small_element(values: FunctionValues, access: Instruction) -> bool:
    is_load = access.opcode == "load"
    leaves = scalar_leaves(access.type if is_load else access.operands[0].type)
    is_small = any(size_bytes(leaf) < _WORD_BYTES for leaf, _ in leaves)
    return is_small and _steps(values, access.operands[not is_load].text, {})


def _steps(values: FunctionValues, pointer: str, passed: dict[str, None]) -> bool:
    """An index on the way to a pointer counts no multiples of four bytes, or a number in a circle is none."""
    definition = values.definitions.get(pointer)
    if definition is None or pointer in passed:
        return False
    made = definition.instruction
    if made.opcode in ("phi", "select"):
        passed[pointer] = None
        return any(
            _steps(values, operand.text, passed) for operand in made.operands if operand.type.kind == "ptr"
        )
    if made.opcode != "getelementptr" or made.element_type is None:
        return False
    offset, at = 0, IrType("array", "", elements=(made.element_type,))
    for operand in made.operands[1:]:
        index = int(operand.text) if operand.text.lstrip("-").isdigit() else None
        if index is not None:
            offset += field_offset_bytes(at, index)
        elif alloc_size_bytes(at.elements[0]) % _WORD_BYTES:
            return True
        at = at.elements[index or 0 if at.kind == "struct" else 0]
    return bool(passed and offset % _WORD_BYTES) or _steps(values, made.operands[0].text, passed)
