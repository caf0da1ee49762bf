"""Values that the optimiser carries from round to round in a register although they are in memory.

``a[i] -= l[k] * u[k]`` in a loop over k reads and writes ``a[i]`` in every round. Where the compiler cannot
exclude that the stores are seen by other loads, it keeps them but forwards the stored value to the next round
in a register. What flows is the version of ``a[i]``, as the source says, not a value that has no home. So the
register becomes a load again: the code generator forwards it once more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from commanalyzer.ir.cfg import ControlFlow, Loop, control_flow
from commanalyzer.ir.induction import loop_ends
from commanalyzer.ir.model import Block, Function, Instruction, Operand
from commanalyzer.ir.parser import parse_module

_WRITING = frozenset({"store", "atomicrmw", "cmpxchg", "fence", "invoke", "va_arg"})
_WRITING_INTRINSICS = ("@llvm.mem", "@llvm.masked.", "@llvm.va_", "@llvm.lifetime.")
_ALLOCATING = frozenset({"@malloc", "@calloc", "@aligned_alloc", "@_Znwm", "@_Znam"})
_INDEXING = frozenset({"getelementptr", "sext", "zext", "trunc", "switch", "inttoptr"})


def with_reloads(ir_text: str) -> str:
    """Module text in which values that a round stored are loaded by the next round.

    Args:
        ir_text: Module in canonical form.
    """
    module = parse_module(ir_text)
    lines: list[str | None] = list(module.lines)
    for function in module.functions:
        cfg = control_flow(function)
        if not cfg.loops:
            continue
        facts = _Facts(function, cfg)
        for loop in cfg.loops.values():
            for forwarded in facts.forwarded(loop):
                _reload(lines, facts.blocks[loop.header], forwarded)
    return "\n".join(line for line in lines if line is not None) + "\n"


@dataclass(frozen=True, slots=True)
class _Forwarded:
    """A phi that is the value which the round before stored where its first value was loaded.

    Attributes:
        phi: The register that carries it.
        first: Load of its first value.
    """

    phi: Instruction
    first: Instruction


def _reload(lines: list[str | None], header: Block, found: _Forwarded) -> None:
    """Replace the phi by a load behind the phis of its block."""
    phi, first = found.phi, found.first
    lines[phi.first_line] = None
    last = max(i.last_line for i in header.instructions if i.opcode == "phi")
    debug = f", !dbg !{first.debug_location}" if first.debug_location >= 0 else ""
    load = f"  {phi.name} = load {phi.type}, ptr {first.operands[0].text}{debug}"
    lines[last] = "\n".join(line for line in (lines[last], load) if line is not None)


class _Facts:
    """What decides which registers of a function are forwarded from memory."""

    def __init__(self, function: Function, cfg: ControlFlow) -> None:
        self.blocks = {block.label: block for block in function.blocks}
        self._function = function
        self._cfg = cfg
        self._defined = {i.name: (b, i) for b in function.blocks for i in b.instructions if i.name}
        self._users: dict[str, list[Instruction]] = {}
        for block in function.blocks:
            for instruction in block.instructions:
                for operand in instruction.operands:
                    self._users.setdefault(operand.text, []).append(instruction)

    def forwarded(self, loop: Loop) -> Iterator[_Forwarded]:
        """Phis of a loop's header that can be loaded again."""
        ends = loop_ends(self._cfg, loop)
        if ends is None or ends.preheader not in self.blocks:
            return
        for phi in self.blocks[loop.header].instructions:
            if phi.opcode != "phi":
                return
            if not _may_be_data(phi) or len(phi.incoming) != 2:
                continue
            sides = dict(zip(phi.incoming, phi.operands, strict=True))
            found = self._stored_and_loaded(loop, phi, sides[ends.preheader], sides[loop.latches[0]])
            if found is not None:
                yield found

    def _stored_and_loaded(
        self, loop: Loop, phi: Instruction, start: Operand, following: Operand
    ) -> _Forwarded | None:
        _, first = self._defined.get(start.text, (None, None))
        if first is None or not _is_plain(first, "load") or not self._is_unchanged(loop, first):
            return None
        if phi.type.kind == "int" and self._counts(phi, following):
            return None
        for user in self._users.get(following.text, ()):
            if not _is_plain(user, "store") or user.operands[0].text != following.text:
                continue
            if user.operands[1].text == first.operands[0].text and self._is_last(loop, user):
                return _Forwarded(phi, first)
        return None

    def _counts(self, phi: Instruction, following: Operand) -> bool:
        """An integer that is an index, or counts rounds: it has to stay a register."""
        users = self._users.get(phi.name, ())
        _, step = self._defined.get(following.text, (None, None))
        is_step = step is not None and step.opcode in ("add", "sub") and not step.operands[1].is_local
        return is_step or any(user.opcode in _INDEXING for user in users)

    def _is_unchanged(self, loop: Loop, first: Instruction) -> bool:
        """Nothing is written between the load and the loop."""
        block = self._defined[first.name][0]
        at = next(p for p in self._cfg.predecessors[loop.header] if p not in loop.blocks)
        while at != block.label:
            if any(_may_write(i) for i in self.blocks[at].instructions):
                return False
            before = self._cfg.predecessors[at]
            if len(before) != 1:
                return False
            at = before[0]
        return not any(_may_write(i) for i in block.instructions if i.first_line > first.last_line)

    def _is_last(self, loop: Loop, store: Instruction) -> bool:
        """The store happens in every round, and none behind it in the round writes to its place."""
        block = next(b for b in self.blocks.values() if b.first_line <= store.first_line <= b.last_line)
        if self._cfg.innermost_loop.get(block.label) != loop.header:
            return False
        if not self._cfg.dominates(block.label, loop.latches[0]):
            return False
        later = [i for i in block.instructions if i.first_line > store.last_line]
        pending, seen = list(self._cfg.successors[block.label]), {loop.header}
        while pending:
            label = pending.pop()
            if label in seen or label not in loop.blocks:
                continue
            seen.add(label)
            later += self.blocks[label].instructions
            pending += self._cfg.successors[label]
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
