"""Local arrays: moved from the stack to storage that belongs to their function.

The stack hands the same address to unrelated functions; a home must not. All local arrays of a function live
in one frame per recursion depth, at addresses that stay the same in every call.
"""

from __future__ import annotations

from commanalyzer.instrument.code import FunctionPatch
from commanalyzer.instrument.sites import DebugInfo, ObjectRecord, SiteTable
from commanalyzer.ir.model import Function, Instruction
from commanalyzer.ir.types import alignment_bytes, alloc_size_bytes

_ALIGNMENT = 64


def plan_frame(function: Function, patch: FunctionPatch, sites: SiteTable, debug: DebugInfo) -> None:
    """Replace the fixed-size allocas of the entry block; variable-length arrays stay on the stack."""
    allocas = [i for i in function.blocks[0].instructions if _is_fixed(i)]
    if not allocas:
        return
    names = {r.value.split()[-1]: r.variable for r in function.debug_records if r.kind == "declare"}
    number = len(sites.frames)
    offset = 0
    records = []
    for alloca in allocas:
        assert alloca.element_type is not None
        alignment = max(16, alignment_bytes(alloca.element_type))
        offset = (offset + alignment - 1) // alignment * alignment
        variable, place = "", debug.subprogram_place(function)
        if alloca.name in names:
            variable, place = debug.variable(names[alloca.name])
        size = alloc_size_bytes(alloca.element_type) * _count(alloca)
        key = f"{function.name}/{alloca.name}"
        records.append(ObjectRecord(key, variable or alloca.name[1:], function.name, place, offset, size))
        patch.replaced[alloca.first_line] = (
            f"  {alloca.name} = getelementptr inbounds i8, ptr %ca.frame, i64 {offset}"
        )
        offset += size
    size = (offset + _ALIGNMENT - 1) // _ALIGNMENT * _ALIGNMENT
    sites.frames.append(tuple(records))
    patch.entry += [
        "  %ca.stack = alloca i8, align 1",
        "  %ca.stack.address = ptrtoint ptr %ca.stack to i64",
        f"  %ca.frame = call ptr @ca_frame(i32 {number}, i64 {size}, i64 %ca.stack.address)",
    ]
    patch.used_hooks.add("ca_frame")
    patch.is_noinline = True
    moved = {alloca.name for alloca in allocas}
    for block in function.blocks:
        for instruction in block.instructions:
            # lifetime markers may only name stack slots
            if instruction.callee.startswith("@llvm.lifetime.") and instruction.operands[-1].text in moved:
                patch.replaced[instruction.first_line] = ""


def _count(alloca: Instruction) -> int:
    return int(alloca.operands[0].text) if alloca.operands else 1


def _is_fixed(instruction: Instruction) -> bool:
    if instruction.opcode != "alloca" or "inalloca" in instruction.flags:
        return False
    return not instruction.operands or instruction.operands[0].text.isdigit()
