"""Segments of a module: stretches of instructions that are all executed if the first one is.

A segment is a basic block, cut behind calls (which may end the program, or run other segments first), and
behind so many accesses that the buffer of the run holds its words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from commanalyzer.profiles.run.kinds import library_name
from commanalyzer.program.ir.model import Block, Function, Instruction, IrType, Module
from commanalyzer.program.ir.types import size_bytes

MOST_ACCESSES = 2000
"""Of one segment; at most two words each, and runtime_shim/profile/profile.c has room for LONGEST words."""
_COPIES = ("memcpy", "memmove")


@dataclass(frozen=True, slots=True)
class Access:
    """An access to memory by an instruction.

    Attributes:
        instruction: Place of the instruction in its segment.
        pointer: Operand that holds the address.
        bytes: How many; 0 if ``length`` says it.
        length: Operand (i64) that holds the number of bytes, empty if it is constant.
        is_write: It is written.
    """

    instruction: int
    pointer: str
    bytes: int
    length: str = ""
    is_write: bool = False

    @property
    def words(self) -> int:
        """Words of the buffer that it takes."""
        return 1 if self.bytes else 2


@dataclass(slots=True)
class Segment:
    """A segment.

    Attributes:
        function: Number of its function.
        block: Number of its block in the module.
        label: Label of its block.
        instructions: In order.
        accesses: In order.
        is_entry: It is the first of its function.
        behind: The call that it begins behind; ``None`` at the beginning of a block.
    """

    function: int
    block: int
    label: str
    instructions: list[Instruction] = field(default_factory=list)
    accesses: list[Access] = field(default_factory=list)
    is_entry: bool = False
    behind: Instruction | None = None

    @property
    def last(self) -> Instruction:
        """The last instruction."""
        return self.instructions[-1]

    @property
    def words(self) -> int:
        """Words of the buffer per execution."""
        return 1 + sum(access.words for access in self.accesses)


def ends_segment(instruction: Instruction) -> bool:
    """Whether other code may run, or the program end, before the next instruction."""
    if instruction.opcode != "call":
        return False
    return not instruction.callee.startswith("@llvm.") and instruction.callee != "asm"


def split_edges(function: Function) -> dict[str, tuple[str, str]]:
    """Blocks that only jump on, with the blocks that lead there and that they lead to.

    The canonical form splits edges with them, machines have none: they are no code. Kept are those without
    which nobody could tell which way a branch went.
    """
    before: dict[str, list[str]] = {}
    for block in function.blocks:
        for target in block.terminator.targets:
            before.setdefault(target, []).append(block.label)
    empty = {
        block.label: (before[block.label][0], block.terminator.targets[0])
        for block in function.blocks[1:]
        if len(block.instructions) == 1
        and block.terminator.opcode == "br"
        and len(block.terminator.targets) == 1
        and len(before.get(block.label, [])) == 1
    }
    for block in function.blocks:
        ends = [followed(target, empty) for target in block.terminator.targets]
        if len(set(ends)) < len(ends):
            for target in block.terminator.targets:
                empty.pop(target, None)
    return empty


def followed(label: str, edges: Mapping[str, tuple[str, str]]) -> str:
    """The block that control goes to through split edges."""
    seen = {label}
    while label in edges and edges[label][1] not in seen:
        label = edges[label][1]
        seen.add(label)
    return label


def entered_from(label: str, edges: Mapping[str, tuple[str, str]]) -> str:
    """The block that control comes from through split edges."""
    seen = {label}
    while label in edges and edges[label][0] not in seen:
        label = edges[label][0]
        seen.add(label)
    return label


def segments_of(module: Module) -> list[Segment]:
    """Segments of a module, in the order of its text."""
    result: list[Segment] = []
    block_number = 0
    for number, function in enumerate(module.functions):
        edges = split_edges(function)
        for block in function.blocks:
            if block.label not in edges:
                result.extend(_of_block(function, number, block, block_number))
            block_number += 1
    return result


def _of_block(function: Function, number: int, block: Block, block_number: int) -> Iterator[Segment]:
    segment = Segment(number, block_number, block.label, is_entry=block is function.blocks[0])
    for instruction in block.instructions:
        for access in accesses_of(instruction, len(segment.instructions)):
            segment.accesses.append(access)
        segment.instructions.append(instruction)
        if instruction is block.terminator:
            continue
        if ends_segment(instruction) or len(segment.accesses) >= MOST_ACCESSES:
            yield segment
            segment = Segment(number, block_number, block.label, behind=instruction)
    yield segment


def accesses_of(instruction: Instruction, place: int) -> Iterator[Access]:
    """Accesses of an instruction at a place of its segment."""
    opcode, operands = instruction.opcode, instruction.operands
    if opcode == "load" and instruction.element_type is not None:
        yield Access(place, operands[0].text, _size(instruction.element_type))
    elif opcode == "store":
        yield Access(place, operands[1].text, _size(operands[0].type), is_write=True)
    elif opcode in ("atomicrmw", "cmpxchg"):
        yield Access(place, operands[0].text, _size(operands[1].type), is_write=True)
    elif opcode == "call" and (name := library_name(instruction)).startswith("mem"):
        length = operands[2].text
        bytes_, length = (int(length), "") if length.isdigit() else (0, f"{operands[2].type} {length}")
        if length or bytes_:
            if name in _COPIES:
                yield Access(place, operands[1].text, bytes_, length)
            yield Access(place, operands[0].text, bytes_, length, is_write=True)


def _size(type_: IrType) -> int:
    return max(size_bytes(type_), 1)
