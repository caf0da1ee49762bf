"""What a preview computes, and whether the loop's stores leave alone what it reads.

Input: facts of a function and a loop. Output: the instructions that addresses and conditions come from, and
the pairs of accesses that must lie apart for the preview to see what the loop will see. Most do by the
types that the compiler noted (``!tbaa``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from commanalyzer.program.ir.cfg import Loop
from commanalyzer.program.ir.libcalls import CallKind
from commanalyzer.program.ir.loops.induction import NestNumbers, round_number
from commanalyzer.program.ir.model import BasicBlock, Instruction, IrType, Module
from commanalyzer.program.ir.types import alloc_size_bytes
from commanalyzer.recording.instrument.labelling.values import FunctionValues
from commanalyzer.recording.instrument.loops.loop_code import Obstacle

_TAG = re.compile(r"!tbaa !(\d+)")
_NODE = re.compile(r"!(\d+)")
_NAME = re.compile(r'!\{!"')


def are_apart(module: Module, a: Instruction, b: Instruction) -> bool:
    """Two loads or stores never touch the same value.

    By the rules of C's effective types (and what other front ends say in their place): scalar types
    neither of which contains the other, as ``char`` contains all.
    """
    first, second = _chain(module, a), _chain(module, b)
    return bool(first and second) and first[0] not in second and second[0] not in first


def _chain(module: Module, access: Instruction) -> list[int]:
    """The accessed scalar type and the types that contain it, up to the root."""
    found, metadata = _TAG.search(module.lines[access.first_line]), module.metadata
    nodes = [int(n) for n in _NODE.findall(metadata.get(int(found[1]), ""))] if found else []
    if len(nodes) < 2:
        return []
    chain = [nodes[1]]
    for _ in range(32):
        text = metadata.get(chain[-1], "")
        parents = _NODE.findall(text) if _NAME.match(text) else []
        if not parents:
            return chain
        chain.append(int(parents[0]))
    return []


MOST_OVERLAPS = 128
_OWN_STORE = "what it reads to find an address or a branch may come from its own store"
_COMPUTING = frozenset(
    {
        "phi", "add", "sub", "mul", "shl", "lshr", "ashr", "and", "or", "xor", "udiv", "sdiv", "urem", "srem",
        "icmp", "select", "sext", "zext", "trunc", "getelementptr", "ptrtoint", "inttoptr", "freeze", "load",
        "fadd", "fsub", "fmul", "fdiv", "frem", "fneg", "fcmp", "fpext", "fptrunc", "sitofp", "uitofp",
        "fptosi", "fptoui",
    }
)  # fmt: skip
_INTEGER_CALLS = ("@llvm.smax.", "@llvm.smin.", "@llvm.umax.", "@llvm.umin.", "@llvm.abs.")


@dataclass(frozen=True, slots=True)
class ByteRange:
    """Bytes ``first`` to ``end`` (exclusive) from the address in a register."""

    address: str
    first: int
    end: int


@dataclass(frozen=True, slots=True)
class Overlap:
    """What a preview reads and what its loop writes, which are apart unless the program says otherwise."""

    read: ByteRange
    written: ByteRange


def operands_of(instructions: Iterable[Instruction]) -> Iterator[str]:
    """Registers that the instructions read."""
    for instruction in instructions:
        yield from (o.text for o in instruction.operands if o.is_local)


def preview_slice(
    values: FunctionValues, roots: Iterable[str], defined: dict[str, Instruction]
) -> dict[str, Instruction]:
    """Instructions that the roots are computed by; an obstacle is raised if one cannot be done twice."""
    found: dict[str, Instruction] = {}
    pending = list(roots)
    while pending:
        name = pending.pop()
        if name not in defined or name in found:
            continue
        instruction = defined[name]
        if not is_number(instruction.type) or not _is_computing(values, instruction):
            what = f"the result of {instruction.callee.removeprefix('@') or instruction.opcode}"
            raise Obstacle(f"{what} decides an address or a branch", instruction)
        found[name] = instruction
        pending.extend(operands_of([instruction]))
    return found


def is_number(type_: IrType) -> bool:
    """A preview can hold such a value."""
    if type_.kind == "float":
        return type_.text in ("float", "double")
    return type_.kind in ("int", "ptr") and type_.bits <= 64


def _is_computing(values: FunctionValues, instruction: Instruction) -> bool:
    if instruction.opcode in _COMPUTING or instruction.callee.startswith(_INTEGER_CALLS):
        return True
    if instruction.opcode != "call" or instruction.type.kind != "float":
        return False
    known = values.calls.effect(instruction)
    if known is None or known.kind is not CallKind.PURE or known.reads or known.writes or known.calls:
        return False
    return all(is_number(o.type) for o in instruction.operands)


def overlaps(
    values: FunctionValues,
    loop: Loop,
    blocks: Sequence[BasicBlock],
    computed: dict[str, Instruction],
    module: Module,
) -> tuple[Overlap, ...]:
    """Pairs of places that must be found apart before the preview, which does ``computed``, is believed.

    By the types of accesses, which the module says, most pairs are. Raises an obstacle if there are too many,
    or some that may meet in every run.
    """
    numbers = NestNumbers(values.function, values.cfg, loop)
    loads = [i for i in computed.values() if i.opcode == "load"]
    found: dict[Overlap, None] = {}
    for written in (i for b in blocks for i in b.instructions if i.opcode in ("store", "call")):
        place = _written(values, written)
        if place is None:
            raise Obstacle("how much memory it writes at once is not known", written)
        for load in loads if place.end else ():
            if are_apart(module, load, written):
                continue
            if written.opcode == "store" and _never_meet(values, loop, numbers, load, written):
                continue
            read = ByteRange(load.operands[0].text, 0, alloc_size_bytes(load.type))
            if _base(values, read.address) == _base(values, place.address):
                raise Obstacle(_OWN_STORE, load, written)
            found[Overlap(read, place)] = None
    if len(found) > MOST_OVERLAPS:
        raise Obstacle("too many loads and stores to compare")
    return tuple(found)


def _written(values: FunctionValues, instruction: Instruction) -> ByteRange | None:
    """Bytes that a store or call writes: none for other calls; ``None`` if they are not known."""
    if instruction.opcode == "store":
        value, address = instruction.operands
        return ByteRange(address.text, 0, alloc_size_bytes(value.type))
    known = values.calls.effect(instruction)
    if known is None or known.kind not in (CallKind.COPY, CallKind.FILL):
        return ByteRange("", 0, 0)
    size = instruction.operands[2].text if len(instruction.operands) > 2 else ""
    is_usual = instruction.callee.startswith(("@llvm.mem", "@memcpy", "@memmove", "@memset"))
    return ByteRange(instruction.operands[0].text, 0, int(size)) if is_usual and size.isdigit() else None


def _base(values: FunctionValues, name: str) -> str:
    """The pointer that an address is computed from."""
    while name in values.definitions:
        instruction = values.definitions[name].instruction
        if instruction.opcode != "getelementptr":
            break
        name = instruction.operands[0].text
    return name


def _never_meet(
    values: FunctionValues, loop: Loop, numbers: NestNumbers, load: Instruction, store: Instruction
) -> bool:
    """The load reads nothing that the store wrote before.

    It is an update in place, which reads before it writes, and no later round reads what it wrote; or they
    are different members of structures that lie one behind the other: apart in all rounds.
    """
    read, written = numbers.polynomial(load.operands[0]), numbers.polynomial(store.operands[1])
    stride = None if written is None else written.coefficient(round_number(loop.header))
    if read is None or written is None or stride is None:
        return False
    loaded, stored = alloc_size_bytes(load.type), alloc_size_bytes(store.operands[0].type)
    ahead = read - written
    if not ahead.is_constant or not stride.is_constant or not (step := abs(stride.constant)):
        return False
    is_left_behind = step >= max(loaded, stored) and stride.constant * ahead.constant >= 0
    if is_left_behind and _is_first(values, loop, load, store):
        return True
    if written.symbols & {round_number(inner) for inner in loop.blocks - {loop.header}}:
        return False  # rounds of an inner loop may make up for those of this one
    inside = ahead.constant % step
    return inside >= stored and inside + loaded <= step


def _is_first(values: FunctionValues, loop: Loop, load: Instruction, store: Instruction) -> bool:
    """Each round of the loop, in no inner one, loads before it stores."""
    blocks = values.function.blocks
    read_in = values.block_of(load.name)
    written_in = next(b.label for b in blocks if b.first_line <= store.first_line <= b.last_line)
    loops = values.cfg.innermost_loop
    if {loops[read_in], loops[written_in]} != {loop.header}:
        return False
    if read_in == written_in:
        return load.first_line < store.first_line
    return values.cfg.dominates(read_in, written_in)
