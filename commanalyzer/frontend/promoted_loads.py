"""Loads of sums in memory that the optimiser moved in front of the loop, moved back beside their stores.

``for (k ...) c[i] += a[k] * b[k]`` with pointers that may alias keeps its store in the loop, while the load
becomes a register that the loop carries around: ``x = phi [load, before], [x + term, latch]``. What is stored
then seems to be computed from a register, not from what lies there: neither would it be seen that the sum may
be combined in any order, nor could the loop be recorded as a whole.

The register holds what lies at the pointer if nothing else in the loop writes memory. Only then it is loaded
again; code generation moves it out again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from commanalyzer.ir.cfg import ControlFlow, Loop, control_flow
from commanalyzer.ir.model import Block, Function, Instruction
from commanalyzer.ir.parser import parse_module

_MARK = ".promoted"  # what LLVM calls such a load
_WRITERS = frozenset(("call", "invoke", "store", "atomicrmw", "cmpxchg", "fence", "va_arg"))


def with_loads_in_loops(ir_text: str) -> str:
    """Module text with the loads of sums beside their stores.

    Args:
        ir_text: Module in canonical form.
    """
    if _MARK not in ir_text:
        return ir_text
    module = parse_module(ir_text)
    lines = list(module.lines)
    for function in module.functions:
        for phi, load, header in _promoted(function):
            text = lines[load.first_line].replace(load.name, phi.name, 1)
            lines[phi.first_line] = ""
            first = next(i for i in header.instructions if i.opcode != "phi")
            lines[first.first_line] = f"{text}\n{lines[first.first_line]}"
    return "\n".join(line for line, old in zip(lines, module.lines, strict=True) if line or not old)


def _promoted(function: Function) -> Iterator[tuple[Instruction, Instruction, Block]]:
    """Yield the carried register, the load in front of the loop, and the loop's header."""
    blocks = {block.label: block for block in function.blocks}
    if not any(_MARK in i.name for block in function.blocks for i in block.instructions):
        return
    flow = control_flow(function)
    for loop in flow.loops.values():
        writers = [
            (blocks[label], i)
            for label in loop.blocks
            for i in blocks[label].instructions
            if i.opcode in _WRITERS and not _is_pure(i)
        ]
        if len(writers) != 1 or not _is_plain(writers[0][1], "store"):
            continue
        block, store = writers[0]
        if not all(flow.dominates(block.label, latch) for latch in loop.latches):
            continue
        header = blocks[loop.header]
        for phi in (i for i in header.instructions if i.opcode == "phi"):
            load = _load_before(phi, store, loop, flow, blocks)
            if load is not None:
                yield phi, load, header


def _load_before(
    phi: Instruction, store: Instruction, loop: Loop, flow: ControlFlow, blocks: dict[str, Block]
) -> Instruction | None:
    """The load from the pointer of ``store`` that enters the loop as ``phi``, which ``store`` writes back."""
    value, pointer = (operand.text for operand in store.operands)
    entering = {b: o.text for b, o in zip(phi.incoming, phi.operands, strict=True) if b not in loop.blocks}
    carried = {o.text for b, o in zip(phi.incoming, phi.operands, strict=True) if b in loop.blocks}
    if carried != {value} or len(entering) != 1 or phi.type != store.operands[0].type:
        return None
    [(before, name)] = entering.items()
    last = [i for i in blocks[before].instructions if i.opcode in _WRITERS or i.name == name]
    if not last or last[-1].name != name or not _is_plain(last[-1], "load"):
        return None
    load = last[-1]
    if load.operands[0].text != pointer or load.type != phi.type:
        return None
    return load


def _is_plain(instruction: Instruction, opcode: str) -> bool:
    return instruction.opcode == opcode and not instruction.flags & {"volatile", "atomic"}


def _is_pure(instruction: Instruction) -> bool:
    """Whether a call is an intrinsic that computes one number from others."""
    numbers = ("float", "int")
    return (
        instruction.opcode == "call"
        and re.match(r"@llvm\.(?!.*(?:load|gather|atomic|va_|stack))", instruction.callee) is not None
        and instruction.type.kind in numbers
        and all(operand.type.kind in numbers for operand in instruction.operands)
    )
