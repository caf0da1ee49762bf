"""Previews: loops whose addresses depend on index arrays or values, run once without their stores.

Where the addresses and branches of a loop nest are no polynomials, but are computed from what the nest loads
and does not write, a copy of the nest that does nothing else runs first. It hashes the integers and pointers
that it loads and the outcomes of comparisons of other numbers, and notes the lowest and highest address of
every access; then the loop's effect may be known as in
:mod:`commanalyzer.recording.instrument.loops.repeats`, with the executions of its blocks.

A preview does what the loop is going to do if no store of the nest changes what the preview loads: by the
types of the accesses, because a round reads before it writes, or because the ranges of addresses that the
preview noted are apart (:func:`overlaps`). While what it loads does not change (the recorder keeps it,
see ``snapshots.c``), it need not be made again. A time loop is not previewed as a whole: its rounds repeat,
it does not.

What a preview computes, and whether the loop's stores leave alone what it reads.

Input: facts of a function and a loop. Output: the instructions that addresses and conditions come from, and
the pairs of accesses that must lie apart for the preview to see what the loop will see. Most do by the
types that the compiler noted (``!tbaa``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from commanalyzer.program.ir.cfg import Loop
from commanalyzer.program.ir.libcalls import CallKind
from commanalyzer.program.ir.loops.induction import LoopEnds, NestNumbers, Polynomial, loop_ends, round_number
from commanalyzer.program.ir.model import BasicBlock, Instruction, IrType, Module, Operand
from commanalyzer.program.ir.types import alloc_size_bytes
from commanalyzer.recording.instrument.code import FunctionPatch
from commanalyzer.recording.instrument.labelling.values import FunctionValues
from commanalyzer.recording.instrument.loops.loop_code import LoopCode, Obstacle, loop_code

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


DECIDING = ("load", "fcmp", "fptosi", "fptoui")  # the rest is computed from these
NOTHING = "computes nothing that is recorded"
_MAX_TRACKED = 192
_MOST_READS = 32
_BITS_PER_SIZE = 2
_PROTECTING = frozenset({"@mprotect", "@pkey_mprotect"})


class _Registers:
    """Integers and addresses as they stand in the program; which conditions were asked for."""

    def __init__(self) -> None:
        self.conditions: dict[str, None] = {}  # in the order of the program: the same text in every run

    def polynomial(self, operand: Operand) -> Polynomial | None:
        text = operand.text
        if operand.type.kind not in ("int", "ptr") or operand.type.bits > 64:
            return None
        if text.lstrip("-").isdigit():
            return Polynomial.number(int(text))
        return Polynomial.of(text)

    def decides(self, condition: str) -> bool:
        self.conditions[condition] = None
        return True


@dataclass(frozen=True, slots=True)
class PreviewReads:
    """Loads of a preview that is made again only if what they found has changed.

    ``sizes`` are the bytes that are loaded, per address as the program prints it; ``steady`` those addresses
    that are read in every round of an inner loop through which they advance by a constant.
    """

    sizes: Mapping[str, int]
    steady: frozenset[str]

    @property
    def packed_sizes(self) -> int:
        """Logarithms of the sizes (1, 2, 4 or 8) in the order of the addresses, 2 bits each."""
        logarithms = (size.bit_length() - 1 for size in self.sizes.values())
        return sum(logarithm << (_BITS_PER_SIZE * k) for k, logarithm in enumerate(logarithms))


@dataclass(frozen=True, slots=True)
class Previewed:
    """A loop that can be previewed: its edges, its blocks in printed order, what its inserted code does."""

    loop: Loop
    ends: LoopEnds
    blocks: list[BasicBlock]
    code: LoopCode
    tracked: dict[str, tuple[int, int]]  # per address register, first byte and end of what is accessed there
    computed: dict[str, Instruction]  # instructions of the preview
    outside: dict[str, IrType]  # registers from outside that it reads, with their types
    overlaps: tuple[Overlap, ...]  # what must be found apart for the preview to be right
    # addresses of inner loops that advance by a constant: noted in the first and last round
    steady: dict[str, Steady]
    advancing: dict[str, Steady]  # the same of the loop itself
    reads: PreviewReads | None  # what it reads, if it need not be made again while that does not change

    @property
    def watched(self) -> tuple[str, ...]:
        """Registers of the preview whose least and largest value is noted."""
        ends = [p.address for o in self.overlaps for p in (o.read, o.written)]
        return tuple(name for name in dict.fromkeys([*self.tracked, *ends]) if name in self.computed)

    @property
    def follows_values(self) -> bool:
        """What the loop does depends on numbers that are computed, too: it may differ every time."""
        return any(o.type.kind == "float" for i in self.computed.values() for o in i.operands)


@dataclass(frozen=True, slots=True)
class Steady:
    """An address that is ``first`` in the first round of a loop and advances by ``stride`` bytes per round.

    ``types`` are those of the registers in ``first``.
    """

    header: str
    ends: LoopEnds
    first: Polynomial
    stride: int
    types: Mapping[str, IrType]


def previewed(
    values: FunctionValues,
    patch: FunctionPatch,
    loop: Loop,
    edges: LoopEnds,
    blocks: list[BasicBlock],
    module: Module,
) -> Previewed:
    """What a preview of ``loop``, which has no side effects other than stores, would have to do.

    Raises an obstacle if it cannot know enough or would be useless.
    """
    registers = _Registers()
    code = loop_code(patch, blocks, registers)
    if not code.has_effect:
        raise Obstacle(NOTHING)
    tracked = _tracked(code)
    if tracked is None:
        copies = (i for b in blocks for i in b.instructions if i.callee.startswith("@llvm.mem"))
        unsized = (i for i in copies if not i.operands[2].text.isdigit())
        raise Obstacle("how many bytes it copies or sets is only known when it runs", *unsized)
    if len(tracked) > _MAX_TRACKED:
        raise Obstacle(f"accesses memory in more than {_MAX_TRACKED} ways")
    roots = [*tracked, *registers.conditions]
    roots += [o.text for b in blocks for o in b.terminator.operands if o.is_local]
    defined = {i.name: i for b in blocks for i in b.instructions if i.name}
    computed = preview_slice(values, roots, defined)
    if not _advances(values, loop, tracked, defined):
        raise Obstacle("all its rounds work on the same memory, as time steps do")
    pairs = overlaps(values, loop, blocks, computed, module)
    ends = [p.address for pair in pairs for p in (pair.read, pair.written)]
    roots += [name for name in ends if name not in roots]
    computed = preview_slice(values, roots, defined)
    loaded = [i.operands[0].text for i in computed.values() if i.opcode == "load"]
    found = {n: s for n in (*tracked, *ends, *loaded) if (s := _steady(values, loop, n)) is not None}
    advancing = {name: own for name, own in found.items() if own.header == loop.header}
    steady = {name: inner for name, inner in found.items() if name not in advancing}
    reads = _preview_reads(values, computed.values(), steady)
    names = dict.fromkeys([*roots, *operands_of(computed.values())])
    outer = (n for n in names if n.startswith("%") and not n.startswith("%ca.") and n not in defined)
    outside = {name: values.type_of(name) for name in outer}
    return Previewed(loop, edges, blocks, code, tracked, computed, outside, pairs, steady, advancing, reads)


def _steady(values: FunctionValues, nest: Loop, name: str) -> Steady | None:
    """How an address register advances in the loop of the nest that computes it."""
    definition = values.definitions.get(name)
    inner = values.cfg.loop_of(definition.block) if definition is not None else None
    if definition is None or inner is None or inner.header not in nest.blocks:
        return None
    ends = loop_ends(values.cfg, inner)
    if ends is None or not values.cfg.dominates(definition.block, ends.exiting):
        return None
    numbers = NestNumbers(values.function, values.cfg, inner)
    address = numbers.polynomial(Operand(definition.instruction.type, name))
    number = round_number(inner.header)
    stride = None if address is None else address.coefficient(number)
    if address is None or stride is None or not stride.is_constant:
        return None
    return Steady(inner.header, ends, address.without([number]), stride.constant, numbers.types)


def _tracked(code: LoopCode) -> dict[str, tuple[int, int]] | None:
    """Per address register, first byte and end of everything there."""
    result: dict[str, tuple[int, int]] = {}
    if any(not size.is_constant for _, size in code.blocks):
        return None
    for address, size in (*code.accesses, *((a, s.constant) for a, s in code.blocks)):
        symbols = [m for m in address.terms if m]
        if len(symbols) != 1 or len(symbols[0]) != 1 or address.terms[symbols[0]] != 1:
            return None
        start, stop = address.constant, address.constant + size
        first, end = result.get(symbols[0][0], (start, stop))
        result[symbols[0][0]] = min(first, start), max(end, stop)
    return result


def _advances(
    values: FunctionValues, loop: Loop, tracked: Iterable[str], defined: dict[str, Instruction]
) -> bool:
    """Addresses differ from round to round, and not because pointers are exchanged: no time loop."""
    phis = [i for i in defined.values() if i.opcode == "phi" and values.block_of(i.name) == loop.header]
    feeding = preview_slice(values, tracked, defined)
    steps = [p for p in phis if p.name in feeding]
    for phi in steps:
        if phi.type.kind == "ptr":
            around = [o.text for o, p in zip(phi.operands, phi.incoming, strict=True) if p in loop.blocks]
            if any(name not in defined or defined[name].opcode != "getelementptr" for name in around):
                return False
    return bool(steps)


def _preview_reads(
    values: FunctionValues, computed: Iterable[Instruction], steady: Mapping[str, Steady]
) -> PreviewReads | None:
    """What a preview reads; ``None`` if it is not worth while to keep it, or too much."""
    instructions = list(computed)
    if any(o.type.kind == "float" for i in instructions for o in i.operands):
        return None  # numbers are what programs compute: they change
    sizes: dict[str, int] = {}
    elsewhere: set[str] = set()
    for load in (i for i in instructions if i.opcode == "load"):
        address, block = load.operands[0].text, values.block_of(load.name)
        sizes[address] = max(sizes.get(address, 0), alloc_size_bytes(load.type))
        # a load in the loop through which its address advances, not in a loop inside it, is in every round
        exiting, loops = steady[address].ends.exiting if address in steady else "", values.cfg.innermost_loop
        if not exiting or loops[block] != loops[exiting] or not values.cfg.dominates(block, exiting):
            elsewhere.add(address)
    return PreviewReads(sizes, frozenset(sizes.keys() - elsewhere)) if len(sizes) <= _MOST_READS else None


def may_protect_memory(module: Module) -> bool:
    """The program may forbid itself to read its memory: nobody else may look at it then."""
    return any(declaration.name in _PROTECTING for declaration in module.declarations)
