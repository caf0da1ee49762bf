"""Values that the optimiser reads from a register although they are in memory.

``a[i] -= l[k] * u[k]`` in a loop over k reads and writes ``a[i]`` in every iteration. Where the compiler
cannot exclude that the stores are seen by other loads, it keeps them but forwards the stored value to the
next iteration in a register. What flows is the version of ``a[i]``, as the source says, not a value without a
home; and a sum in memory may be combined in any order. So the register becomes a load again, where memory
holds the same number whatever the pointers are; the code generator forwards it once more.

Likewise what is computed from a value that was stored before (``w[k] = v; sum += v * v``) is computed where
the value lives: the register is loaded behind its store, whether the source names it or the memory. That is
left out where all rounds of a loop store to one place: the value of a round does not live there for long.
What the next round goes on with is a running value, and what was stored is its copy.

Lanes of vectors that are carried from block to block, as registers of their own.

Two ``float`` results of a function, the parts of a ``std::complex<float>`` and the partial sums of a
vectorised loop share one register. Which values it carries is a question about each lane, so operations that
act lane by lane become one per lane, with the same results.

Freedom that the code generator has to round, taken back once the canonical form is reached.

Flags of ``-ffast-math`` such as ``reassoc`` allow every later pass to change results, and what it does with
them depends on the code around. Recording adds code, so the plain and the recorded program would round
differently. The canonical form keeps what the optimiser made of the flags; behind it, both compute the same.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import count

from commanalyzer.program.ir.cfg import ControlFlow, Loop, control_flow, reached
from commanalyzer.program.ir.loops.induction import loop_ends
from commanalyzer.program.ir.model import BINARY, CASTS, FAST_MATH, BasicBlock, Function, Instruction, Operand
from commanalyzer.program.ir.parsing.parser import parse_module

_CARRIED = re.compile(r"^ +%\S.* = phi (?:[a-z]+ )*<\d", re.MULTILINE)
_VECTOR = re.compile(r"<\d+ x ([^<>]+)>")
_LANEWISE = {*BINARY, *CASTS, "fneg", "freeze", "icmp", "fcmp", "select", "phi"}
_FUNCTION = re.compile(
    r"(@llvm\.(?:fabs|sqrt|fma|fmuladd|copysign|m(?:in|ax)(?:num|imum)|[su](?:min|max))\.)v\d+(?=[fi]\d)"
)


def with_lanes(ir_text: str) -> str:
    """Module text in which functions with phis of vectors compute lane by lane.

    Each vector is put together again under its name, and taken apart in front of each use; what is not
    needed of this, LLVM's combination of instructions removes. The module has no critical edges.
    """
    if not _CARRIED.search(ir_text):
        return ir_text
    module = parse_module(ir_text)
    lines = list(module.lines)
    for function in module.functions:
        kinds = ((i.opcode, i.type.kind) for block in function.blocks for i in block.instructions)
        if ("phi", "vector") in kinds:
            _take_apart(function, lines)
    return "\n".join(lines)


def _take_apart(function: Function, lines: list[str]) -> None:
    names = (f"%commanalyzer.lane{number}" for number in count())
    ends = {block.label: block.terminator for block in function.blocks}
    inserts: dict[int, list[str]] = defaultdict(list)  # both in front of lines
    extracts: dict[int, list[str]] = defaultdict(list)
    for block in function.blocks:
        body = next(i for i in block.instructions if i.opcode not in ("phi", "landingpad"))
        for i in block.instructions:
            if not _is_lanewise(i, ends):
                continue
            places = [ends[p].first_line for p in i.incoming] or [i.first_line] * len(i.operands)
            written, vector = list[str](), "poison"
            for k in range(i.type.count):
                rest, done = lines[i.first_line].partition(" = ")[2], ""
                for operand, place in zip(i.operands, places, strict=True):
                    if operand.type.kind == "vector":
                        whole = rf"(?<=[ (]){re.escape(operand.text)}(?![\w.$-])"
                        before, rest = re.split(whole, rest, maxsplit=1)
                        done += before + (part := next(names))
                        extracts[place].append(
                            f"  {part} = extractelement {operand.type} {operand.text}, i64 {k}"
                        )
                lane, name = next(names), i.name if k + 1 == i.type.count else next(names)
                written.append(f"  {lane} = " + _VECTOR.sub(r"\1", _FUNCTION.sub(r"\1", done + rest)))
                element = f"{i.type.elements[0]} {lane}"
                (inserts[body.first_line] if i.opcode == "phi" else written).append(
                    f"  {name} = insertelement {i.type} {vector}, {element}, i64 {k}"
                )
                vector = name
            lines[i.first_line] = "\n".join(written)
    for place in inserts.keys() | extracts.keys():
        lines[place] = "\n".join((*inserts[place], *extracts[place], lines[place]))


def _is_lanewise(i: Instruction, ends: Mapping[str, Instruction]) -> bool:
    """Each lane of the result is made of the same lanes of operands, which exist in front of it."""
    if i.type.kind != "vector" or not (i.opcode in _LANEWISE or _FUNCTION.match(i.callee)):
        return False
    counts = {o.type.count for o in i.operands if o.type.kind == "vector"}
    made_by_ends = any(o.text == ends[p].name for o, p in zip(i.operands, i.incoming, strict=False))
    return counts == {i.type.count} and not made_by_ends


_PLACE = re.compile(r", !dbg !\d+")
_WRITING = frozenset({"store", "atomicrmw", "cmpxchg", "fence", "invoke", "va_arg"})
_WRITING_INTRINSICS = ("@llvm.mem", "@llvm.masked.", "@llvm.va_", "@llvm.lifetime.")
_ALLOCATING = frozenset({"@malloc", "@calloc", "@aligned_alloc", "@_Znwm", "@_Znam"})
_INDEXING = frozenset({"getelementptr", "sext", "zext", "trunc", "switch", "inttoptr"})


def with_reloads(ir_text: str) -> str:
    """Text of a module in canonical form in which values that a round stored are loaded by the next round."""
    module = parse_module(ir_text)
    lines: list[str | None] = list(module.lines)
    for function in module.functions:
        cfg = control_flow(function)
        facts = _Facts(function, cfg)
        for loop in cfg.loops.values():
            for phi, store in facts.forwarded(loop):
                _reload(lines, facts.blocks[loop.header], phi, store)
        for store, readers in facts.read_again():
            _load_behind(lines, store, readers)
    return "\n".join(line for line in lines if line is not None)


def _reload(lines: list[str | None], header: BasicBlock, phi: Instruction, store: Instruction) -> None:
    """Replace the phi by a load behind the phis of its block, aligned like the store."""
    address = f"ptr {store.operands[1].text}"
    written, old = lines[store.first_line] or "", lines[phi.first_line] or ""
    details = _PLACE.sub("", written.rpartition(address)[2]) + "".join(_PLACE.findall(old))
    lines[phi.first_line] = None
    last = max(i.last_line for i in header.instructions if i.opcode == "phi")
    load = f"  {phi.name} = load {phi.type}, {address}{details}"
    lines[last] = "\n".join(line for line in (lines[last], load) if line is not None)


def _load_behind(lines: list[str | None], store: Instruction, readers: list[tuple[Instruction, str]]) -> None:
    """Load what was stored behind the store, for its readers; of a phi, on one edge."""
    value, address = store.operands[0], f"ptr {store.operands[1].text}"
    written = lines[store.last_line] or ""
    name = f'{value.text[:-1]}.stored"' if value.text.endswith('"') else f"{value.text}.stored"
    lines[store.last_line] = (
        f"{written}\n  {name} = load {value.type}, {address}{written.rpartition(address)[2]}"
    )
    register = re.escape(value.text) + r"(?![\w.$-])"
    for reader, edge in readers:
        pattern = rf"(?<=\[ ){register}(?=, {re.escape(edge)} )" if edge else register
        for line in range(reader.first_line, reader.last_line + 1):
            lines[line] = (old := lines[line]) and re.sub(pattern, lambda _: name, old)


class _Facts:
    """What decides which registers of a function are forwarded from memory."""

    def __init__(self, function: Function, cfg: ControlFlow) -> None:
        self.blocks = {block.label: block for block in function.blocks}
        self._function = function
        self._cfg = cfg
        self._defined = {i.name: (b, i) for b in function.blocks for i in b.instructions if i.name}
        self._users: dict[str, list[Instruction]] = {}
        self._block_of = {i.first_line: b.label for b in function.blocks for i in b.instructions}
        for instruction in function.instructions:
            for operand in instruction.operands:
                self._users.setdefault(operand.text, []).append(instruction)

    def forwarded(self, loop: Loop) -> Iterator[tuple[Instruction, Instruction]]:
        """Phis of a loop's header that are what a store in the round before left, first what was there."""
        ends = loop_ends(self._cfg, loop)
        if ends is None or ends.preheader not in self.blocks:
            return
        for phi in self.blocks[loop.header].instructions:
            if phi.opcode != "phi":
                return
            if not _may_be_data(phi) or len(phi.incoming) != 2:
                continue
            sides = dict(zip(phi.incoming, phi.operands, strict=True))
            store = self._stored_and_loaded(loop, phi, sides[ends.preheader], sides[loop.latches[0]])
            if store is not None:
                yield phi, store

    def read_again(self) -> Iterator[tuple[Instruction, list[tuple[Instruction, str]]]]:
        """Stores of computed values, and what reads these behind them: instructions, phis with the edge."""
        seen: set[str] = set()
        for block in self._function.blocks:
            for store in block.instructions:
                if not _is_plain(store, "store") or store.operands[0].text in seen:
                    continue
                if self._is_computed(store.operands[0]) and self._moves(block.label, store.operands[1].text):
                    seen.add(store.operands[0].text)
                    if readers := list(self._readers_behind(block.label, store)):
                        yield store, readers

    def _is_computed(self, value: Operand) -> bool:
        _, instruction = self._defined.get(value.text, (None, None))
        if instruction is None or not _may_be_data(instruction) or instruction.opcode in ("load", "phi"):
            return False
        return instruction.type.kind == "float" or not self._counts(instruction, value)

    def _moves(self, block: str, address: str) -> bool:
        """Whether rounds of the loop, or calls, store to places of their own."""
        loop, (home, made) = self._cfg.loop_of(block), self._defined.get(address, (None, None))
        if loop is None:
            return made is not None and any(o.is_local for o in made.operands[1:])
        return home is not None and home.label in loop.blocks

    def _readers_behind(self, block: str, store: Instruction) -> Iterator[tuple[Instruction, str]]:
        """Readers; what makes the next version of the same place is a step of one sum, and no reader."""
        value, address = store.operands[0].text, store.operands[1].text

        def made_of(name: str) -> list[str]:
            return [user.name for user in self._users.get(name, ())]

        for user in dict.fromkeys(self._users[value]):
            place = self._block_of[user.first_line]
            is_taken_over = user.opcode == "phi" and self._cfg.is_loop_header(place)
            if is_taken_over and value in reached([user.name], made_of):
                continue  # a running value: made of what the round before left in the register
            if user.opcode == "phi":
                sides = zip(user.operands, user.incoming, strict=True)
                edges = [p for o, p in sides if o.text == value and self._cfg.dominates(block, p)]
                yield from ((user, f"%{edge}") for edge in edges)
            elif user.opcode != "store" and not any(
                u.opcode == "store" and u.operands[1].text == address for u in self._users.get(user.name, ())
            ):
                is_behind = place != block or user.first_line > store.first_line
                if is_behind and self._cfg.dominates(block, place):
                    yield user, ""

    def _stored_and_loaded(
        self, loop: Loop, phi: Instruction, start: Operand, following: Operand
    ) -> Instruction | None:
        if phi.type.kind == "int" and self._counts(phi, following):
            return None
        for store in self._users.get(following.text, ()):
            if not _is_plain(store, "store") or store.operands[0].text != following.text:
                continue
            if self._held_before(loop, start, store) and self._is_last(loop, store):
                return store
        return None

    def _counts(self, phi: Instruction, following: Operand) -> bool:
        """An integer that is an index, or counts rounds: it has to stay a register."""
        users = self._users.get(phi.name, ())
        _, step = self._defined.get(following.text, (None, None))
        is_step = step is not None and step.opcode in ("add", "sub") and not step.operands[1].is_local
        return is_step or any(user.opcode in _INDEXING for user in users)

    def _held_before(self, loop: Loop, start: Operand, store: Instruction) -> bool:
        """Whether ``start`` lies at the address of ``store`` when the loop begins: loaded or stored there."""
        address, type_ = store.operands[1].text, store.operands[0].type
        if self._defined.get(address, (None, None))[0] in {self.blocks[label] for label in loop.blocks}:
            return False
        front = [p for p in self._cfg.predecessors[loop.header] if p not in loop.blocks]
        while len(front) == 1:
            for i in reversed(self.blocks[front[0]].instructions):
                if i.name == start.text:
                    return _is_plain(i, "load") and i.operands[0].text == address and i.type == type_
                if _may_write(i):
                    written = tuple(operand.text for operand in i.operands)
                    is_same = written == (start.text, address) and i.operands[0].type == type_
                    return _is_plain(i, "store") and is_same
            front = list(self._cfg.predecessors[front[0]])
        return False

    def _is_last(self, loop: Loop, store: Instruction) -> bool:
        """The store happens in every round, and none behind it in the round writes to its place."""
        block = next(b for b in self.blocks.values() if b.first_line <= store.first_line <= b.last_line)
        if self._cfg.innermost_loop.get(block.label) != loop.header:
            return False
        if not self._cfg.dominates(block.label, loop.latches[0]):
            return False
        later = [i for i in block.instructions if i.first_line > store.last_line]

        def following(label: str) -> list[str]:
            return [s for s in self._cfg.successors[label] if s in loop.blocks and s != loop.header]

        for label in reached(following(block.label), following):
            later += self.blocks[label].instructions
        return not any(_may_write(i) and not self._is_elsewhere(i, store) for i in later)

    def _is_elsewhere(self, other: Instruction, store: Instruction) -> bool:
        """A store to another object."""
        if not _is_plain(other, "store"):
            return False
        bases = {self._object(i.operands[1].text) for i in (other, store)}
        return len(bases) == 2 and "" not in bases

    def _object(self, pointer: str) -> str:
        """The variable or block of memory that an address lies in; empty if that is not known."""
        while pointer in self._defined:
            _, instruction = self._defined[pointer]
            if instruction.opcode == "alloca" or instruction.callee in _ALLOCATING:
                return pointer
            if instruction.opcode != "getelementptr":
                return ""
            pointer = instruction.operands[0].text
        return pointer if pointer.startswith("@") else ""


def _may_be_data(phi: Instruction) -> bool:
    return phi.type.kind == "float" or (phi.type.kind == "int" and phi.type.bits >= 32)


def _is_plain(instruction: Instruction, opcode: str) -> bool:
    return instruction.opcode == opcode and not instruction.flags & {"volatile", "atomic"}


def _may_write(instruction: Instruction) -> bool:
    if instruction.opcode == "call":
        is_intrinsic = instruction.callee.startswith("@llvm.")
        return not is_intrinsic or instruction.callee.startswith(_WRITING_INTRINSICS)
    return instruction.opcode in _WRITING


_UNFOLDED = ("-mllvm", "-disable-fp-call-folding")
_AS_IT_IS = ("-Xclang", "-disable-llvm-passes")
_FLAG = "|".join(sorted(FAST_MATH))
_NAME = r'%(?:"[^"\n]*"|[\w.$-]+)'
_OPCODE = (
    r"(?:(?:tail |musttail |notail )?call|f(?:add|sub|mul|div|rem|neg|cmp|ptrunc|pext)|phi|select|[su]itofp)"
)
_INSTRUCTION = re.compile(rf"^( +(?:{_NAME} = )?{_OPCODE}) (?:(?:{_FLAG}) )+", re.MULTILINE)
_ATTRIBUTE = re.compile(
    r' "(?:unsafe|no-infs|no-nans|no-signed-zeros|approx-func)-fp-math"="true"(?=[^\n]*\}$)', re.MULTILINE
)
# Calls with the types that the instructions know.
_FUSED = re.compile(r"^(?P<call> .*)@llvm\.fmuladd(?=\.(?:v\d+)?f(?:32|64)\()", re.MULTILINE)
_FUSING = re.compile(r'^attributes #\d+ = .*[",]\+(?:fma|fma4|avx512f)[",]', re.MULTILINE)
_CLASSES = re.compile(r"^(?:define|declare|  )[^\n]*\bnofpclass\([^\n]*$", re.MULTILINE)
_CLASS = re.compile(r"\bnofpclass\([a-z ]*\) ")


def without_relaxed_math(ir_text: str) -> str:
    """Text of a module, as LLVM prints it, whose floating-point operations have one result each."""
    text = _INSTRUCTION.sub(r"\1 ", ir_text)
    text = _ATTRIBUTE.sub("", text)
    return _CLASSES.sub(lambda line: _CLASS.sub("", line[0]), text)


def with_one_rounding(ir_text: str) -> tuple[str, tuple[str, ...]]:
    """Module text and flags of code generation that round in one way, whatever is found to be constant.

    LLVM folds the product of an ``llvm.fmuladd`` by itself, also where code would fuse it. It folds calls
    such as ``exp(1.5)`` otherwise than the library rounds. And it folds operations as if nobody set the
    rounding mode: programs of flang that do stay as they are; those of C have constrained operations.
    """
    text = _FUSED.sub(r"\g<call>@llvm.fma", ir_text) if _FUSING.search(ir_text) else ir_text
    return text, _UNFOLDED + (_AS_IT_IS if "@llvm.set.rounding(" in text else ())
