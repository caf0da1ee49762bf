"""Sums in memory that LLVM carries in a register are read from memory again: canonical IR text in and out.

``for (k ...) c[i] += a[k] * b[k]`` with pointers that may alias stores every partial sum, but LLVM keeps what
it has just stored in a register that the loop carries around: ``x = phi [load, before], [x + term, latch]``.
What is stored then seems to be computed from a register, not from what lies there: neither would it be seen
that the sum may be combined in any order, nor could the loop be recorded as a whole.

The register is replaced by a load where that gives the same number whatever the pointers are: nothing else in
the loop writes memory, the store happens in every iteration at one address, and the loop begins with what
this address holds. Code generation moves the load out again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from commanalyzer.ir.cfg import ControlFlow, Loop, control_flow
from commanalyzer.ir.model import Block, Function, Instruction
from commanalyzer.ir.parser import parse_module

_STORED = re.compile(r"^  store \w+ (%[^ ,]+), ptr ", re.MULTILINE)
_CARRIED = re.compile(r"^  %[^ ]+ = phi .*$", re.MULTILINE)
_PLACE = re.compile(r", !dbg !\d+")
_WRITERS = frozenset(("call", "invoke", "callbr", "store", "atomicrmw", "cmpxchg", "fence", "va_arg"))
_ADDRESSING = frozenset(("getelementptr", "sext", "zext", "trunc", "icmp", "inttoptr"))
_NOT_PURE = re.compile(r"@llvm\.[\w.]*(?:load|gather|atomic|va_|stack|read|get)")
_MOST_STEPS = 4  # blocks in front of a loop that are looked at


def with_reloads(ir_text: str) -> str:
    """Return a module in which sums whose every partial result is stored are loaded from where they are."""
    stored = set(_STORED.findall(ir_text))
    if not any(stored & set(re.findall(r"%[^ ,]+", line)) for line in _CARRIED.findall(ir_text)):
        return ir_text  # parsing takes longer than this
    module = parse_module(ir_text)
    lines: list[str | None] = list(module.lines)
    for function in module.functions:
        blocks = {block.label: block for block in function.blocks}
        for phi, store, label in _carried_sums(function, blocks):
            first = next(i for i in blocks[label].instructions if i.opcode != "phi")
            old, written = module.lines[phi.first_line], module.lines[store.first_line]
            address = f"ptr {store.operands[1].text}"
            tail = _PLACE.sub("", written.partition(address)[2]) + "".join(_PLACE.findall(old))
            load = f"  {phi.name} = load {phi.type}, {address}{tail}"
            lines[phi.first_line] = None
            lines[first.first_line] = f"{load}\n{lines[first.first_line]}"
    return "\n".join(line for line in lines if line is not None)


def _carried_sums(
    function: Function, blocks: Mapping[str, Block]
) -> Iterator[tuple[Instruction, Instruction, str]]:
    """Yield the register that a loop carries, the store that writes it, and the loop's header."""
    stored = {i.operands[0].text for b in function.blocks for i in b.instructions if i.opcode == "store"}
    carried = (i for b in function.blocks for i in b.instructions if i.opcode == "phi")
    if not any(operand.text in stored for phi in carried for operand in phi.operands):
        return
    flow = control_flow(function)
    for loop in flow.loops.values():
        store = _only_store(loop, flow, blocks)
        if store is None:
            continue
        for phi in blocks[loop.header].instructions:
            if phi.opcode == "phi" and _is_carried(phi, store, loop, flow, blocks):
                yield phi, store, loop.header


def _only_store(loop: Loop, flow: ControlFlow, blocks: Mapping[str, Block]) -> Instruction | None:
    """The store of a loop that nothing else in it can interfere with: it happens in every iteration."""
    writers = [
        (label, i)
        for label in loop.blocks
        for i in blocks[label].instructions
        if i.opcode in _WRITERS and not _is_pure(i)
    ]
    if len(writers) != 1 or not _is_plain(writers[0][1], "store"):
        return None
    label, store = writers[0]
    return store if all(flow.dominates(label, latch) for latch in loop.latches) else None


def _is_carried(
    phi: Instruction, store: Instruction, loop: Loop, flow: ControlFlow, blocks: Mapping[str, Block]
) -> bool:
    """Whether ``phi`` is what lies at the address of ``store`` at the beginning of every iteration."""
    value, address = (operand.text for operand in store.operands)
    incoming = tuple(zip(phi.incoming, phi.operands, strict=True))
    inside = {operand.text for label, operand in incoming if label in loop.blocks}
    before = {(label, operand.text) for label, operand in incoming if label not in loop.blocks}
    if inside != {value} or len(before) != 1 or phi.type != store.operands[0].type:
        return False
    body = [i for label in loop.blocks for i in blocks[label].instructions]
    if any(i.name == address for i in body) or _decides_addresses({phi.name, value}, body):
        return False
    [(label, start)] = before
    return _holds(label, start, store, flow, blocks)


def _decides_addresses(names: set[str], body: list[Instruction]) -> bool:
    """Whether a counter is meant: loops are known by what their addresses are computed from."""
    return any(
        names & {operand.text for operand in i.operands}
        and (
            i.opcode in _ADDRESSING
            or (i.opcode in ("add", "sub") and any(not operand.is_local for operand in i.operands))
        )
        for i in body
    )


def _holds(
    label: str, start: str, store: Instruction, flow: ControlFlow, blocks: Mapping[str, Block]
) -> bool:
    """Whether ``start`` lies at the address of ``store`` at the end of a block: loaded or stored there."""
    address, type_ = store.operands[1].text, store.operands[0].type
    for _ in range(_MOST_STEPS):
        for i in reversed(blocks[label].instructions):
            if i.name == start and start:
                return _is_plain(i, "load") and i.operands[0].text == address and i.type == type_
            if i.opcode in _WRITERS and not _is_pure(i):
                written = tuple(operand.text for operand in i.operands)
                return _is_plain(i, "store") and written == (start, address) and i.operands[0].type == type_
        front = flow.predecessors[label]
        if len(front) != 1:
            return False
        label = front[0]
    return False


def _is_plain(instruction: Instruction, opcode: str) -> bool:
    return instruction.opcode == opcode and not instruction.flags & {"volatile", "atomic"}


def _is_pure(instruction: Instruction) -> bool:
    """Whether a call is an intrinsic that computes one number from others."""
    numbers = ("float", "int")
    return (
        instruction.opcode == "call"
        and instruction.callee.startswith("@llvm.")
        and _NOT_PURE.match(instruction.callee) is None
        and instruction.type.kind in numbers
        and all(operand.type.kind in numbers for operand in instruction.operands)
    )
