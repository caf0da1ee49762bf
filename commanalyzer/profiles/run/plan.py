"""What a profile run is told about a program, and the program's instrumented text.

Input: the canonical module. Output: :class:`RunPlan`, laid out as in
``runtime_shim/profile/profile.h``.

Segments of a module: stretches of instructions that are all executed if the first one is.

A segment is a basic block, cut behind calls (which may end the program, or run other segments first), and
behind so many accesses that the buffer of the run holds its words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from commanalyzer.profiles.values import DATA_INDEX, GROUPS, INDEX, SHAPE, TYPES, VECTOR_LENGTHS
from commanalyzer.program.ir.model import BasicBlock, Function, Instruction, IrType, Module
from commanalyzer.program.ir.types import size_bytes
from commanalyzer.recording.instrument.code import FunctionPatch
from commanalyzer.recording.instrument.rewrite import patched

_NAMESAKES = ("int_arith_", "bitwise_", "conversion_", "control_", "misc_")
_OPCODES = {
    **{t.removeprefix(prefix): t for prefix in _NAMESAKES for t in TYPES if t.startswith(prefix)},
    **{f"f{t.removeprefix('fp_arith_')}": t for t in TYPES if t.startswith("fp_arith_")},
    "load": "load",
    "store": "store",
    "getelementptr": "address_arith_get_elem_ptr_arith",
    "alloca": "address_arith_alloca_arith",
    "icmp": "int_cmp",
    "shl": "bitwise_shift_left",
    "lshr": "bitwise_logical_shift_right",
    "ashr": "bitwise_arith_shift_right",
    "ptrtoaddr": "conversion_ptrtoint",
    "addrspacecast": "conversion_address_space_cast",
    "fneg": "fp_arith_sub",
    "fcmp": "fp_cmp",
    "callbr": "control_call",
    "br": "control_branch",
    "indirectbr": "control_indirectBr",
    "extractelement": "llvm_vector_extract_element",
    "insertelement": "llvm_vector_insert_element",
    "shufflevector": "llvm_vector_shuffle_vector",
    "extractvalue": "aggregate_extract_value",
    "insertvalue": "aggregate_insert_value",
    "atomicrmw": "atomic_memory",
    "cmpxchg": "atomic_memory",
    "phi": "phi",
    "fence": "sync",
}
# Intrinsics that are instructions of a machine; the first pattern that fits. A fused multiply-add is two.
_INTRINSICS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"fma|fmuladd", ("fp_arith_mul", "fp_arith_add")),
    (r"sqrt", ("fp_arith_div",)),
    (r"minnum|maxnum|minimum|maximum|minimumnum|maximumnum|is\.fpclass", ("fp_cmp",)),
    (r"fabs|copysign", ("bitwise_and",)),
    (r"floor|ceil|trunc|rint|nearbyint|round|roundeven|lrint|llrint|lround|llround", ("conversion_fptosi",)),
    (r"smin|smax|umin|umax|abs|scmp|ucmp", ("int_cmp",)),
    (r"fshl|fshr|bswap|bitreverse|sshl\.sat|ushl\.sat", ("bitwise_shift_left",)),
    (r"ctpop|ctlz|cttz", ("bitwise_and",)),
    (r"[su]mul\.with\.overflow|[su]mul\.fix.*", ("int_arith_mul",)),
    (r"[su]add\.(with\.overflow|sat)", ("int_arith_add",)),
    (r"[su]sub\.(with\.overflow|sat)", ("int_arith_sub",)),
    (r"vector\.reduce\..*", ("llvm_vector_shuffle_vector",)),
    (r"va_start|va_end|va_copy", ("misc_va_arg",)),
)
_PATTERNS = tuple((re.compile(rf"(?:{text})(?:\.|$)"), types) for text, types in _INTRINSICS)
# Facts for the compiler: no machine executes them.
_NO_CODE = re.compile(
    r"@llvm\.(?:dbg|lifetime|assume|experimental\.noalias|invariant|donothing|annotation|ptr\.annotation|"
    r"var\.annotation|expect|is\.constant|sideeffect|objectsize|stacksave|stackrestore|launder|strip)\b"
)
# Intrinsics that are calls of the C library.
_CALLS = re.compile(
    r"@llvm\.(?:experimental\.constrained\.)?(memcpy|memmove|memset|sin|cos|tan|asin|acos|atan|atan2|sinh|cosh|"
    r"tanh|exp|exp2|exp10|log|log2|log10|pow|powi|ldexp|frexp)\b"
)
_FLOATS = {
    "half": "float_16bits",
    "bfloat": "float_16bits",
    "float": "float_32bits",
    "double": "float_64bits",
    "x86_fp80": "float_80bits",
    "fp128": "float_128bits",
    "ppc_fp128": "float_128bits_powerpc",
}
_DATA_NAMES = {"struct": "struct_type", "array": "array_type", "ptr": "pointer_type"}

_CLASS_OF = {
    **dict.fromkeys(GROUPS["F0mem"], 0),
    **dict.fromkeys((*GROUPS["F0int"], *GROUPS["F0addr"]), 1),
    **dict.fromkeys(GROUPS["F0control"], 2),
    **dict.fromkeys(GROUPS["F0fp"], 3),
    "atomic_memory": 0,
}


@dataclass(frozen=True, slots=True)
class Kind:
    """Where an instruction counts."""

    # Types (``TYPES``) that it counts for, one each; empty for what no machine executes
    types: tuple[int, ...]
    length: int = 0  # index into ``VECTOR_LENGTHS``
    data: int = DATA_INDEX["misc"]  # index into ``DATA_TYPES``

    @property
    def parallelism_class(self) -> int:
        """0 memory, 1 integer, 2 control, 3 floating point, 4 other."""
        return _CLASS_OF.get(TYPES[self.types[0]], 4) if self.types else 4


def kind_of(instruction: Instruction) -> Kind:
    """Kind of an instruction."""
    opcode = instruction.opcode
    if opcode == "call" and instruction.callee.startswith("@llvm."):
        return _intrinsic(instruction)
    types = (INDEX[_OPCODES.get(opcode, "misc_other")],)
    if opcode in ("call", "invoke", "callbr", "ret", "br", "phi", "alloca", "landingpad"):
        return Kind(types)
    if opcode in ("store", "icmp", "fcmp", "extractelement"):
        return Kind(types, *data_of(instruction.operands[0].type))
    if instruction.type.kind == "void":
        return Kind(types)
    return Kind(types, *data_of(instruction.type))


def library_name(instruction: Instruction) -> str:
    """Name of the external function that a call of an intrinsic is, empty if it is none."""
    found = _CALLS.match(instruction.callee)
    return found[1] if found else ""


def _intrinsic(instruction: Instruction) -> Kind:
    name = instruction.callee
    if _NO_CODE.match(name):
        return Kind(())
    if _CALLS.match(name):
        return Kind((INDEX["control_call"],))
    stem = name.removeprefix("@llvm.").removeprefix("experimental.constrained.")
    for pattern, types in _PATTERNS:
        if pattern.match(stem):
            return Kind(tuple(INDEX[t] for t in types), *data_of(instruction.type))
    return Kind((INDEX["misc_other"],))


def data_of(type_: IrType) -> tuple[int, int]:
    """Indices of the vector length and the type of data."""
    if type_.kind == "vector":
        place = min(int(np.searchsorted(VECTOR_LENGTHS, type_.count)), len(VECTOR_LENGTHS) - 1)
        return place, _data(type_.elements[0])
    return 0, _data(type_)


def _data(type_: IrType) -> int:
    if type_.kind == "float":
        return DATA_INDEX[_FLOATS.get(type_.text, "misc")]
    if type_.kind == "int":
        return DATA_INDEX.get(f"int_{type_.bits}bits", DATA_INDEX["int_misc"])
    return DATA_INDEX[_DATA_NAMES.get(type_.kind, "misc")]


MOST_ACCESSES = 2000
"""Of one segment; at most two words each, and runtime_shim/profile/profile.h has room for LONGEST words."""
_COPIES = ("memcpy", "memmove")
_ADDRESS_BITS = 48
"""Of a word; the others say how many bytes are accessed, if they can (``runtime_shim/profile/profile.h``)."""


@dataclass(frozen=True, slots=True)
class Access:
    """An access to memory by an instruction."""

    instruction: int  # place of the instruction in its segment
    pointer: str  # operand that holds the address
    bytes: int  # how many; 0 if ``length`` says it
    length: str = ""  # number of bytes with its type, where a word does not hold it

    @property
    def words(self) -> int:
        """Words of the buffer that it takes."""
        return 1 if self.bytes else 2


@dataclass(slots=True)
class CodeSegment:
    """A segment."""

    function: int  # number of its function
    block: int  # number of its block in the module
    label: str  # label of its block
    instructions: list[Instruction] = field(default_factory=list)  # in order
    accesses: list[Access] = field(default_factory=list)  # in order
    is_entry: bool = False  # it is the first of its function
    behind: Instruction | None = None  # the call that it begins behind; ``None`` at the beginning of a block

    @property
    def words(self) -> int:
        """Words of the buffer per execution."""
        return sum(access.words for access in self.accesses)


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


def followed(label: str, edges: Mapping[str, tuple[str, str]], way: int = 1) -> str:
    """The block that control goes to through split edges, or (``way`` 0) that it comes from."""
    seen = {label}
    while label in edges and edges[label][way] not in seen:
        label = edges[label][way]
        seen.add(label)
    return label


def segments_of(module: Module) -> list[CodeSegment]:
    """Segments of a module, in the order of its text."""
    result: list[CodeSegment] = []
    block_number = 0
    for number, function in enumerate(module.functions):
        edges = split_edges(function)
        for block in function.blocks:
            if block.label not in edges:
                result.extend(_of_block(function, number, block, block_number))
            block_number += 1
    return result


def _of_block(function: Function, number: int, block: BasicBlock, block_number: int) -> Iterator[CodeSegment]:
    segment = CodeSegment(number, block_number, block.label, is_entry=block is function.blocks[0])
    for instruction in block.instructions:
        segment.accesses += accesses_of(instruction, len(segment.instructions))
        segment.instructions.append(instruction)
        if instruction is block.terminator:
            continue
        if ends_segment(instruction) or len(segment.accesses) >= MOST_ACCESSES:
            yield segment
            segment = CodeSegment(number, block_number, block.label, behind=instruction)
    yield segment


def accesses_of(instruction: Instruction, place: int) -> Iterator[Access]:
    """Accesses of an instruction at a place of its segment."""
    opcode, operands = instruction.opcode, instruction.operands
    if opcode == "load" and instruction.element_type is not None:
        yield _access(place, operands[0].text, instruction.element_type)
    elif opcode == "store":
        yield _access(place, operands[1].text, operands[0].type)
    elif opcode in ("atomicrmw", "cmpxchg"):
        yield _access(place, operands[0].text, operands[1].type)
    elif opcode == "call" and (name := library_name(instruction)).startswith("mem"):
        length = operands[2].text
        if length != "0":
            pointers = operands[1::-1] if name in _COPIES else operands[:1]
            yield from (_access(place, pointer.text, operands[2].type, length) for pointer in pointers)


def _access(place: int, pointer: str, accessed: IrType, length: str = "") -> Access:
    """Of so many bytes, a number of this type; without ``length`` those of the type."""
    bytes_ = length or str(max(size_bytes(accessed), 1))
    if bytes_.isdigit() and int(bytes_) < 1 << 64 - _ADDRESS_BITS:
        return Access(place, pointer, int(bytes_))
    return Access(place, pointer, 0, f"{accessed} {length}" if length else f"i64 {bytes_}")


Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]

INSTRUCTION_BYTES = 4
"""Bytes of an instruction in the model of instruction memory: that of machines with fixed lengths; those of
x86-64 have about as many on average. With twice as many, twice as many lines are distinct."""
_NONE = -1
_PLAIN, _BRANCH, _CALL, _RETURN = range(4)
_KINDS = {"phi": 1, "load": 2, "store": 3, "call": 4, "invoke": 4, "ret": 5, "atomicrmw": 6, "cmpxchg": 6}
_PHI = 1


@dataclass(frozen=True, slots=True)
class SegmentFacts:
    """What one execution of each segment counts."""

    mix_segment: Int64  # [M], segment of each entry
    mix_type: Int64  # [M], place in the flattened mix
    reads: Int64  # [S], registers that are read
    writes: Int64  # [S], registers that are written and read somewhere
    calls: tuple[tuple[int, str], ...]  # (segment, name) of every call of an external function


@dataclass(frozen=True, slots=True)
class RunPlan:
    """A program that is ready to be profiled."""

    module: Module
    segments: Sequence[CodeSegment]
    tables: Mapping[str, Int32]  # arrays of the plan file, in its order
    facts: SegmentFacts  # what segments count
    num_registers: int  # registers of all functions

    def text(self) -> str:
        """The module with code that writes the segments it executes and the addresses that they access."""
        patches = {function.name: FunctionPatch() for function in self.module.functions}
        for number, segment in enumerate(self.segments):
            patch = patches[self.module.functions[segment.function].name]
            lines: list[str] = []
            room = patch.value(lines, f"call ptr @ca_profile_segment(i64 {number}, i64 {segment.words})")
            at = 0
            for access in segment.accesses:
                line = segment.instructions[access.instruction].first_line
                _write_words(patch, patch.before.setdefault(line, []), room, at, access)
                at += access.words
            if segment.behind is None:
                patch.tops.setdefault(segment.label, []).extend(lines)
            else:
                patch.after.setdefault(segment.behind.last_line, []).extend(lines)
        lines = patched(self.module, patches, self.module.lines)
        lines.append("declare ptr @ca_profile_segment(i64, i64)")
        return "\n".join(lines) + "\n"


def plan_run(module: Module) -> RunPlan:
    """Plan of a module's profile run."""
    segments = segments_of(module)
    kinds = [[kind_of(i) for i in s.instructions] for s in segments]
    builder = _Tables(module, segments, kinds)
    return RunPlan(module, segments, builder.build(), _facts(module, segments, kinds), builder.num_registers)


def _write_words(patch: FunctionPatch, lines: list[str], room: str, at: int, access: Access) -> None:
    slot = patch.value(lines, f"getelementptr inbounds i64, ptr {room}, i64 {at}")
    address = patch.value(lines, f"ptrtoint ptr {access.pointer} to i64")
    word = patch.value(lines, f"or i64 {address}, {access.bytes << _ADDRESS_BITS}")
    lines.append(f"  store i64 {word}, ptr {slot}, align 8")
    if access.bytes:
        return
    length = access.length
    if not length.startswith("i64 "):
        length = f"i64 {patch.value(lines, f'zext {length} to i64')}"
    slot = patch.value(lines, f"getelementptr inbounds i64, ptr {room}, i64 {at + 1}")
    lines.append(f"  store {length}, ptr {slot}, align 8")


class _Tables:
    """Builds the arrays of the plan file."""

    def __init__(
        self, module: Module, segments: Sequence[CodeSegment], kinds: Sequence[Sequence[Kind]]
    ) -> None:
        self._module, self._segments, self._kinds = module, segments, kinds
        self._registers = [_numbered(module, i) for i in range(len(module.functions))]
        offsets = np.concatenate([[0], np.cumsum([len(r) for r in self._registers])])
        self._offsets: list[int] = offsets.tolist()
        self.num_registers = self._offsets[-1]
        self._entry: dict[tuple[int, str], int] = {}  # segment that each block begins with
        self._block: dict[tuple[int, str], int] = {}
        self._edges = [split_edges(function) for function in module.functions]
        for number, segment in enumerate(segments):
            self._entry.setdefault((segment.function, segment.label), number)
            self._block[(segment.function, segment.label)] = segment.block
        self.operands: list[int] = []

    def build(self) -> dict[str, Int32]:
        """All arrays."""
        rows: list[tuple[int, ...]] = []
        instructions: list[tuple[int, ...]] = []
        address = 0
        for number, segment in enumerate(self._segments):
            first = len(instructions)
            instructions += self._of_segment(number)
            size = sum(len(kind.types) for kind in self._kinds[number])
            taken, end = self._end(segment)
            own = (first, len(instructions) - first, address, size, segment.block, segment.function)
            rows.append((*own, taken, end, int(segment.is_entry), segment.words))
            address += size
        functions = []
        for number, function in enumerate(self._module.functions):
            functions.append((len(self.operands), len(function.parameters)))
            self.operands += [self._register(number, p.text) for p in function.parameters]
        found = {
            "segments": np.array(rows),
            "instructions": np.array(instructions).reshape(-1, 6),
            "operands": np.array(self.operands),
            "functions": np.array(functions),
        }
        return {name: np.ascontiguousarray(table, dtype=np.int32) for name, table in found.items()}

    def _end(self, segment: CodeSegment) -> tuple[int, int]:
        last = segment.instructions[-1]
        if last.opcode == "br" and len(last.targets) == 2:
            target = followed(last.targets[0], self._edges[segment.function])
            return self._entry[(segment.function, target)], _BRANCH
        if last.opcode == "invoke" or ends_segment(last):
            return _NONE, _CALL
        return _NONE, _RETURN if last.opcode == "ret" else _PLAIN

    def _register(self, function: int, name: str) -> int:
        """Number of a register; of constants and global addresses that of one that is always ready."""
        place = self._registers[function].get(name)
        return self.num_registers if place is None else self._offsets[function] + place

    def _of_segment(self, number: int) -> list[tuple[int, ...]]:
        segment, kinds = self._segments[number], self._kinds[number]
        result: list[tuple[int, ...]] = []
        words = np.cumsum([0, *(a.words for a in segment.accesses)]).tolist()
        own = {a.instruction: at for a, at in zip(segment.accesses, words, strict=False)}
        for place, (instruction, kind) in enumerate(zip(segment.instructions, kinds, strict=True)):
            if not kind.types:
                continue
            code = _KINDS.get(instruction.opcode, 0)
            first = len(self.operands)
            count = self._add_operands(segment.function, instruction, code)
            held = instruction.name in self._registers[segment.function]
            result_register = self._register(segment.function, instruction.name) if held else _NONE
            result.append(
                (kind.parallelism_class, result_register, first, count, own.get(place, _NONE), code)
            )
        return result

    def _add_operands(self, function: int, instruction: Instruction, code: int) -> int:
        operands = instruction.operands
        if code == _PHI:
            for value, label in zip(operands, instruction.incoming, strict=True):
                label = followed(label, self._edges[function], 0)
                self.operands += [
                    self._block.get((function, label), _NONE),
                    self._register(function, value.text),
                ]
            return len(operands)
        names = [operand.text for operand in operands]
        if instruction.callee.startswith("%"):
            names.append(instruction.callee)
        if code != _KINDS["call"]:
            names = [name for name in names if name in self._registers[function]]
        self.operands += [self._register(function, name) for name in names]
        return len(names)


def _numbered(module: Module, number: int) -> dict[str, int]:
    """Registers of a function, numbered."""
    function = module.functions[number]
    names = [p.text for p in function.parameters]
    names += [i.name for block in function.blocks for i in block.instructions if i.name]
    return {name: place for place, name in enumerate(names)}


def _facts(module: Module, segments: Sequence[CodeSegment], kinds: Sequence[Sequence[Kind]]) -> SegmentFacts:
    used = [_used_registers(module, i) for i in range(len(module.functions))]
    external = {d.name for d in module.declarations}
    entries: list[tuple[int, int]] = []
    calls: list[tuple[int, str]] = []
    reads, writes = np.zeros(len(segments), np.int64), np.zeros(len(segments), np.int64)
    for number, segment in enumerate(segments):
        known = used[segment.function]
        for instruction, kind in zip(segment.instructions, kinds[number], strict=True):
            for type_ in kind.types:
                place = np.ravel_multi_index((type_, kind.length, kind.data), SHAPE)
                entries.append((number, int(place)))
            if kind.types:
                reads[number] += _reads(instruction)
                writes[number] += instruction.name in known
            name = library_name(instruction)
            if instruction.callee in external and not instruction.callee.startswith("@llvm."):
                name = instruction.callee[1:].strip('"')
            if name:
                calls.append((number, name))
    columns = np.array(entries, dtype=np.int64).reshape(-1, 2).T
    return SegmentFacts(columns[0], columns[1], reads, writes, tuple(calls))


def _used_registers(module: Module, number: int) -> set[str]:
    function = module.functions[number]
    found = {o.text for b in function.blocks for i in b.instructions for o in i.operands if o.is_local}
    return found | {i.callee for b in function.blocks for i in b.instructions if i.callee.startswith("%")}


def _reads(instruction: Instruction) -> int:
    """Registers that an instruction reads: a phi one, others those among their operands."""
    if instruction.opcode == "phi":
        return 1
    return sum(o.is_local for o in instruction.operands) + instruction.callee.startswith("%")
