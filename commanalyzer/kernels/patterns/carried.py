"""Registers that loops carry from one iteration to the next, and sums that live in memory.

A register carried around a loop is an *induction* (a number or address that grows by the same amount), a
*copy* (nothing of the next one is computed from it), a *reduction* (combined by one associative operation,
partial results unread) or *forbids* that iterations are independent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Literal

from commanalyzer.program.ir.cfg import ControlFlow, Loop
from commanalyzer.program.ir.loops.selections import selections
from commanalyzer.program.ir.model import Function, Instruction

_OPERATIONS = {
    "fadd": "+", "fsub": "+", "add": "+", "sub": "+", "fmul": "*", "mul": "*",
    "and": "&", "or": "|", "xor": "^",
}  # fmt: skip
_CALLS = {
    "fmuladd": "+", "fma": "+", "minnum": "min", "minimum": "min", "umin": "min", "smin": "min",
    "maxnum": "max", "maximum": "max", "umax": "max", "smax": "max", "fmin": "min", "fmax": "max",
}  # fmt: skip
_NO_INVERSE = ("sub", "fsub")
_MOVES = frozenset({"phi", "select", "freeze"})
_COUNTS = frozenset({"add", "sub", "mul", "shl", "sext", "zext", "trunc", "phi", "select", "freeze"})
Kind = Literal["induction", "copy", "reduction", "forbids"]


@dataclass(frozen=True, slots=True)
class Carried:
    """A register that a loop carries."""

    register: str  # the phi of the loop's header
    kind: Kind  # see the module
    update: int  # line in the module where the next one is computed


class FunctionRegisters:
    """What registers of a function are computed from and used for."""

    def __init__(self, function: Function, cfg: ControlFlow) -> None:
        self._cfg = cfg
        self.block_of: dict[int, str] = {}
        self.definition: dict[str, Instruction] = {}
        self.users: dict[str, list[Instruction]] = {}
        for block in function.blocks:
            for instruction in block.instructions:
                self.block_of[instruction.first_line] = block.label
                if instruction.name:
                    self.definition[instruction.name] = instruction
                for operand in instruction.operands:
                    if operand.is_local:
                        self.users.setdefault(operand.text, []).append(instruction)
        found = selections(function, cfg)
        self._combined, self._kept = found.combined, found.kept
        self._function = function

    def carried(self, loop: Loop) -> tuple[Carried, ...]:
        """Registers that ``loop`` carries."""
        header = next(b for b in self._function.blocks if b.label == loop.header)
        return tuple(self._carried(phi, loop) for phi in header.instructions if phi.opcode == "phi")

    def _carried(self, phi: Instruction, loop: Loop) -> Carried:
        latches = [o for o, b in zip(phi.operands, phi.incoming, strict=True) if b in loop.blocks]
        behind = self._behind([o.text for o in latches], loop)
        update = self.definition[latches[0].text].first_line if latches[0].text in self.definition else -1
        if phi.name not in behind:
            return Carried(phi.name, "copy", update)
        if all(self._grows(o.text, phi.name, loop) for o in latches):
            return Carried(phi.name, "induction", update)
        members = self.ahead(phi.name, loop.blocks)
        is_reduction = self._is_reduction(phi.name, members, loop.blocks)
        return Carried(phi.name, "reduction" if is_reduction else "forbids", update)

    def _grows(self, name: str, phi: str, loop: Loop) -> bool:
        """``name`` is the phi plus what the loop does not change."""
        step = self.definition.get(name)
        if step is None or step.opcode not in ("add", "sub", "getelementptr"):
            return False
        texts = [operand.text for operand in step.operands]
        others = [t for t in texts if t != phi]
        return texts[0] == phi and phi not in texts[1:] and not any(self.is_inside(t, loop) for t in others)

    def is_inside(self, name: str, loop: Loop) -> bool:
        """Whether a register is computed in the loop."""
        instruction = self.definition.get(name)
        return instruction is not None and self.block_of[instruction.first_line] in loop.blocks

    def _behind(self, names: Iterable[str], loop: Loop) -> set[str]:
        """Registers of the loop that ``names`` are computed from, through addresses of loads, too."""
        found: set[str] = set()
        pending = list(names)
        while pending:
            name = pending.pop()
            if name in found or not self.is_inside(name, loop):
                continue
            found.add(name)
            pending += [o.text for o in self.definition[name].operands if o.is_local]
        return found

    def ahead(self, name: str, blocks: Set[str] | None) -> set[str]:
        """Registers that are computed from ``name`` in these blocks, itself included."""
        found: set[str] = set()
        pending = [name]
        while pending:
            register = pending.pop()
            if register in found:
                continue
            found.add(register)
            for user in self.users.get(register, ()):
                if user.name and (blocks is None or self.block_of[user.first_line] in blocks):
                    pending.append(user.name)
        return found

    def _is_reduction(self, start: str, members: set[str], blocks: Set[str]) -> bool:
        """All members combine the running value by one operation; in the blocks nobody else reads them."""
        selecting = {m for m in members if m in self._kept}
        choices = selecting | {m for m in members if m in self._combined}
        comparisons = {m for m in members if self.definition[m].opcode in ("icmp", "fcmp")}
        kinds = {self._operation(m, members) for m in members - comparisons - selecting - {start}}
        if None in kinds or len(kinds - {""}) > 1:
            return False
        users = {m: self.users.get(m, ()) for m in members}
        are_unread = all(
            user.name in members
            for m in members - comparisons
            for user in users[m]
            if self.block_of[user.first_line] in blocks
        )
        return are_unread and all(u.name in choices for c in comparisons for u in users[c] if u.name)

    def _operation(self, name: str, members: Set[str]) -> str | None:
        """Operation that adds to the running value; empty for moves, ``None`` for anything else."""
        instruction = self.definition[name]
        if name in self._combined:
            inside = [o for o in self._combined[name].operands if o.text in members]
            return self._combined[name].fold.name if len(inside) == 1 else None
        inside_at = [i for i, o in enumerate(instruction.operands) if o.text in members]
        if instruction.opcode in _MOVES:
            return None if instruction.opcode == "select" and 0 in inside_at else ""
        if len(inside_at) != 1:
            return None
        if instruction.opcode == "call":
            callee = instruction.callee.removeprefix("@llvm.").removeprefix("@").split(".")[0]
            operation = _CALLS.get(callee)
            return None if operation == "+" and inside_at != [2] else operation
        if instruction.opcode in _NO_INVERSE and inside_at != [0]:
            return None
        return _OPERATIONS.get(instruction.opcode)

    def updates(self) -> Mapping[int, tuple[int, ...]]:
        """Stores that combine a loaded value with others by one operation: line -> lines of such loads.

        Whether load and store are at one address is seen when the program runs.
        """
        stores = [
            i for b in self._function.blocks for i in b.instructions
            if i.opcode == "store" and i.operands[0].is_local
        ]  # fmt: skip
        loads = [i for i in self.definition.values() if i.opcode == "load"]
        found: dict[int, tuple[int, ...]] = {}
        for store in stores:
            value = store.operands[0].text
            same = [load for load in loads if load.type.text == store.operands[0].type.text]
            fitting = tuple(load.first_line for load in same if self._updates(load, value, store))
            if fitting:
                found[store.first_line] = fitting
        return found

    def _updates(self, load: Instruction, value: str, store: Instruction) -> bool:
        members = self.ahead(load.name, None)
        if value not in members or value == load.name:
            return False
        uses = [user for m in members for user in self.users.get(m, ()) if not user.name]
        if any(user is not store for user in uses):
            return False
        kinds = {self._operation(m, members) for m in members - {load.name}}
        return None not in kinds and len(kinds - {""}) == 1

    def index_loads(self) -> frozenset[int]:
        """Lines of loads that decide where and how often, but are no data: bounds, indices, addresses."""
        loads = [i for i in self.definition.values() if i.opcode == "load"]
        return frozenset(
            load.first_line
            for load in loads
            if load.type.kind == "ptr" or (load.type.kind == "int" and self._is_index(load.name))
        )

    def _is_index(self, name: str) -> bool:
        members = {name}
        pending = [name]
        while pending:
            for user in self.users.get(pending.pop(), ()):
                if user.opcode in ("getelementptr", "icmp"):
                    continue
                if user.opcode not in _COUNTS:
                    return False
                if user.name not in members:
                    members.add(user.name)
                    pending.append(user.name)
        return True

    def leaves_on_data(self, loop: Loop) -> int:
        """Line of a branch that leaves the loop on something that its iterations compute; -1 for none.

        Loads from addresses that the loop does not change do not count: a bound that is read every time.
        """
        for label in sorted(loop.blocks):
            outside = [t for t in self._cfg.successors[label] if t not in loop.blocks]
            if not outside or len(self._cfg.successors[label]) < 2:
                continue
            block = next(b for b in self._function.blocks if b.label == label)
            condition = block.terminator.operands[0].text
            for name in self._behind([condition], loop):
                if self._is_data(self.definition[name], loop):
                    return block.terminator.first_line
        return -1

    def _is_data(self, instruction: Instruction, loop: Loop) -> bool:
        if instruction.opcode == "load":
            return self.is_inside(instruction.operands[0].text, loop)
        return instruction.opcode in ("call", "invoke", "atomicrmw", "cmpxchg")
