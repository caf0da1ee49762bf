"""Kernels of a module: nests of loops whose iterations are work items.

A loop iterates over work items if nothing goes on in a register from one iteration to the next but numbers
that grow evenly, its number of rounds is decided before it begins, and every store goes to another address in
every iteration (memory that only the iterations themselves use does not count). The items of a nest are the
iterations of such loops inside each other, from the outermost one that is such a loop, as long as nothing is
stored around the inner one. A nest without one is one work item.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from commanalyzer.program.ir.cfg import ControlFlow, Loop, control_flow
from commanalyzer.program.ir.loops.induction import NestNumbers, Polynomial, loop_ends, round_number
from commanalyzer.program.ir.model import Function, Instruction, Module, Operand
from commanalyzer.program.ir.names.addresses import source_name
from commanalyzer.program.ir.names.debug_info import DebugInfo, SourcePlace, is_library
from commanalyzer.program.ir.names.source_text import function_at, loop_place


@dataclass(frozen=True, slots=True, eq=False)
class Nest:
    """A kernel."""

    function: Function
    cfg: ControlFlow
    loop: Loop  # outermost loop of the kernel
    items: tuple[Loop, ...]  # loops over work items, the outermost first; empty if the nest is one item
    numbers: NestNumbers  # polynomials of the registers of the outermost loop around it
    place: SourcePlace  # where it begins in the source
    owner: str  # function of the source that it was written in
    private: frozenset[str]  # stack slots that only its iterations use: each worker has a copy

    @property
    def name(self) -> str:
        """Function and line, ``update:12``."""
        return f"{self.owner}:{self.place.line}"


def find_nests(module: Module) -> tuple[Nest, ...]:
    """Kernels of the user's code in a module, in the order of their places."""
    debug = DebugInfo(module)
    found = [nest for f in _reachable(module) for nest in _NestFinder(module, debug, f).nests()]
    kept = [nest for nest in found if not is_library(nest.place.file)]
    return tuple(sorted(kept, key=lambda n: (n.place.file, n.place.line)))


def _reachable(module: Module) -> list[Function]:
    """Functions that may run: of those that are inlined everywhere, a copy of their own may be left over."""
    functions = {f.name: f for f in module.functions}
    waiting, seen = ["@main"] if "@main" in functions else list(functions), set[str]()
    while waiting:
        name = waiting.pop()
        if name in seen or name not in functions:
            continue
        seen.add(name)
        for block in functions[name].blocks:
            for instruction in block.instructions:
                waiting += [instruction.callee, *(o.text for o in instruction.operands)]
    return [f for f in module.functions if f.name in seen]


def accessed(instruction: Instruction) -> Operand | None:
    """Address of a load, store or atomic operation."""
    if instruction.opcode == "store":
        return instruction.operands[1]
    return instruction.operands[0] if instruction.opcode in ("load", "atomicrmw", "cmpxchg") else None


class _NestFinder:
    def __init__(self, module: Module, debug: DebugInfo, function: Function) -> None:
        self._module, self._debug, self._function = module, debug, function
        self._cfg = control_flow(function)
        self._blocks = {b.label: b for b in function.blocks}
        self._made = {i.name: i for b in function.blocks for i in b.instructions if i.name}
        self._users: dict[str, set[str]] = {}  # blocks that use what lives in a stack slot
        for block in function.blocks:
            for instruction in block.instructions:
                for operand in instruction.operands:
                    slot = self._slot(operand.text)
                    is_lifetime = instruction.callee.startswith("@llvm.lifetime.")
                    if slot and instruction.opcode != "getelementptr" and not is_lifetime:
                        self._users.setdefault(slot, set()).add(block.label)

    def nests(self) -> Iterator[Nest]:
        for loop in self._cfg.loops.values():
            if loop.parent is None:
                numbers = NestNumbers(self._function, self._cfg, loop)
                found = list(self._inside(loop, numbers))
                yield from found or [self._nest(loop, (), numbers)]

    def _inside(self, loop: Loop, numbers: NestNumbers) -> Iterator[Nest]:
        """Nests that begin with a loop over items."""
        if not self._is_over_items(loop, numbers):
            for child in self._children(loop):
                yield from self._inside(child, numbers)
            return
        items, inner = [loop], self._children(loop)
        while (
            len(inner) == 1
            and self._is_over_items(inner[0], numbers)
            and not self._stores(items[-1], inner[0])
        ):
            items.append(inner[0])
            inner = self._children(inner[0])
        yield self._nest(loop, tuple(items), numbers)

    def _stores(self, loop: Loop, inner: Loop) -> bool:
        """A loop stores something around its inner one: then its iterations are the items."""
        outside = [i for label in loop.blocks - inner.blocks for i in self._blocks[label].instructions]
        return any(i.opcode == "store" for i in outside)

    def _children(self, loop: Loop) -> list[Loop]:
        return [inner for inner in self._cfg.loops.values() if inner.parent == loop.header]

    def _nest(self, loop: Loop, items: tuple[Loop, ...], numbers: NestNumbers) -> Nest:
        place = loop_place(self._module, self._debug, self._function, loop.header)
        private = frozenset(slot for slot, users in self._users.items() if users <= loop.blocks)
        return Nest(self._function, self._cfg, loop, items, numbers, place, self._owner(loop), private)

    def _owner(self, loop: Loop) -> str:
        """Function of the source that a loop was written in: inlined ones keep their names."""
        ends = loop_ends(self._cfg, loop)
        labels = [*([ends.exiting] if ends is not None else []), *loop.latches]
        for label in labels:
            if name := function_at(self._debug, self._blocks[label].terminator.debug_location):
                return name
        return source_name(self._function.name)

    def _is_over_items(self, loop: Loop, numbers: NestNumbers) -> bool:
        ends = loop_ends(self._cfg, loop)
        if ends is None or numbers.rounds(loop, ends) is None:
            return False
        phis = [i for i in self._blocks[loop.header].instructions if i.opcode == "phi"]
        if not all(self._varies(numbers.polynomial(Operand(i.type, i.name)), loop) for i in phis):
            return False
        body = [i for label in loop.blocks for i in self._blocks[label].instructions]
        return all(self._goes_elsewhere(i, loop, numbers) for i in body)

    def _goes_elsewhere(self, instruction: Instruction, loop: Loop, numbers: NestNumbers) -> bool:
        """What an instruction stores is not stored over in the next iteration."""
        if instruction.opcode in ("call", "invoke"):
            return instruction.callee.startswith("@llvm.") or not self._may_write(instruction)
        if instruction.opcode != "store":
            return True
        slot = self._slot(instruction.operands[1].text)
        if slot and self._users.get(slot, set()) <= loop.blocks:
            return True  # only iterations use it: each worker has a copy
        address = instruction.operands[1]
        found = numbers.polynomial(address)
        return self._depends(address.text, loop) if found is None else self._varies(found, loop)

    def _depends(self, text: str, loop: Loop) -> bool:
        """A register is computed from what changes evenly with the loop, maybe through indices in memory."""
        waiting, seen = [text], set[str]()
        while waiting:
            made = self._made.get(waiting.pop())
            if made is None or made.name in seen:
                continue
            seen.add(made.name)
            waiting += [operand.text for operand in made.operands]
        return any(i.name in seen for i in self._blocks[loop.header].instructions if i.opcode == "phi")

    @staticmethod
    def _varies(found: Polynomial | None, loop: Loop) -> bool:
        return found is not None and round_number(loop.header) in found.symbols

    def _may_write(self, call: Instruction) -> bool:
        """A call of something that may write memory: it gets an address, or is no plain function."""
        return not call.callee.startswith("@") or any(o.type.kind == "ptr" for o in call.operands)

    def _slot(self, text: str) -> str:
        """Stack slot that an address lies in, empty for other memory."""
        for _ in range(len(self._made)):
            made = self._made.get(text)
            if made is None or made.opcode not in ("getelementptr", "alloca"):
                return ""
            if made.opcode == "alloca":
                return text
            text = made.operands[0].text
        return ""
