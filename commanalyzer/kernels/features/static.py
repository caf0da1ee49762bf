"""Static counts of one work item of a kernel by Kofler's heuristic.

Every instruction counts once; those of a loop are multiplied by its number of rounds, 100 where that is not
known without running the program; of several paths, each count is that of the path where it is largest. The
counts of a work item are those of the whole nest over the items that the same rule gives it, so that what is
done once per row counts little; what only controls loops over items is left out, since a kernel is given its
item. The canonical module has its loops in simplified and closed-SSA form already.

Reference: K. Kofler et al., *An automatic input-sensitive approach for heterogeneous task partitioning*, ICS
2013; Stawinoga et al., Section 3.2.

Which instruction counts for which static feature.

Reference: N. Stawinoga et al., *A portable compiler-runtime approach for scalability prediction*, FGCS 2026,
Section 3.2 and Table 1. The section says "15 values" and lists 14; these are the 14.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from commanalyzer.kernels.features.nests import Nest, accessed
from commanalyzer.program.ir.cfg import ControlFlow, Loop, control_flow
from commanalyzer.program.ir.loops.induction import NestNumbers, loop_ends, round_number
from commanalyzer.program.ir.model import BasicBlock, Function, Instruction, IrType, Module
from commanalyzer.program.ir.types import alloc_size_bytes

Counts = NDArray[np.float64]  # float64[len(COUNTED)]

KINDS = (
    *("bitwise", "int_addsub", "int_mul"),
    *("f32_addsub", "f32_mul", "f32_div", "f64_addsub", "f64_mul", "f64_div"),
    *("load", "store", "other"),
)
TOTAL, COALESCED = "total", "coalesced"
# what is counted per kernel: instructions by kind, all of them, accesses that are coalesced
COUNTED = (*KINDS, TOTAL, COALESCED)
PLACE: Mapping[str, int] = {name: place for place, name in enumerate(COUNTED)}

_INTEGER = {
    **dict.fromkeys(("and", "or", "xor", "shl", "lshr", "ashr"), "bitwise"),
    **dict.fromkeys(("add", "sub"), "int_addsub"),
    "mul": "int_mul",
}
_FLOATING = {"fadd": "addsub", "fsub": "addsub", "fneg": "addsub", "fmul": "mul", "fdiv": "div"}
_FUSED = ("@llvm.fmuladd.", "@llvm.fma.")
# They make no code: remarks for the optimiser, and names of what the debugger shows.
_REMARKS = ("@llvm.dbg.", "@llvm.lifetime.", "@llvm.assume", "@llvm.experimental.noalias", "@llvm.invariant.")


def kinds_of(instruction: Instruction) -> tuple[str, ...]:
    """Kinds that an instruction counts for; none for jumps and remarks, two for a fused multiply and add."""
    opcode = instruction.opcode
    if opcode == "br" and len(instruction.targets) < 2:
        return ()  # blocks follow each other in memory; those of split edges exist in this form only
    if opcode in ("load", "store"):
        return (opcode,)
    if opcode in ("atomicrmw", "cmpxchg"):
        return ("load", "store")
    if opcode in _INTEGER:
        return (_INTEGER[opcode],)
    if opcode in _FLOATING:
        return (_width(instruction.type) + _FLOATING[opcode],)
    if opcode in ("call", "invoke"):
        return _of_call(instruction)
    return ("other",)


def counts_of(instruction: Instruction) -> Counts:
    """float64[len(COUNTED)], what one execution adds; every element of a vector operation counts."""
    found = np.zeros(len(COUNTED))
    for kind in kinds_of(instruction):
        found[PLACE[kind]] += max(instruction.type.count, 1) if instruction.type.kind == "vector" else 1
    found[PLACE[TOTAL]] = found.sum()
    return found


def _of_call(instruction: Instruction) -> tuple[str, ...]:
    if instruction.callee.startswith(_REMARKS):
        return ()
    if instruction.callee.startswith(_FUSED):
        width = _width(instruction.type)
        return (f"{width}mul", f"{width}addsub")
    return ("other",)


def _width(type_: IrType) -> str:
    """``f32_`` for numbers of up to 32 bits, ``f64_`` for longer ones."""
    element = type_.elements[0] if type_.kind == "vector" else type_
    return "f32_" if element.bits <= 32 else "f64_"


UNKNOWN_ROUNDS = 100
"""Rounds of a loop whose number is not known, by Kofler et al.; half or twice as many halve or double the
weight of what is inside, relative to what is outside."""


class StaticCounter:
    """Counts the instructions of kernels and of the functions that they call."""

    def __init__(self, module: Module) -> None:
        self._functions = {f.name: f for f in module.functions}
        self._known: dict[str, Counts] = {}

    def of_item(self, nest: Nest) -> Counts:
        """float64[len(COUNTED)], instructions of one work item."""
        items = math.prod(_factor(nest.cfg, loop, nest.numbers) for loop in nest.items)
        return _Body(self, nest.function, nest.cfg, nest).of_loop(nest.loop) / max(items, 1)

    def of_call(self, instruction: Instruction) -> Counts:
        """What a call adds beside itself: the called function, where the module defines it."""
        name = instruction.callee
        if name not in self._functions:
            return np.zeros(len(COUNTED))
        if name not in self._known:
            self._known[name] = np.zeros(len(COUNTED))  # a recursion counts once
            function = self._functions[name]
            self._known[name] = _Body(self, function, control_flow(function), None).of_function()
        return self._known[name]


def rounds_of(cfg: ControlFlow, loop: Loop, numbers: NestNumbers) -> int | None:
    """Number of rounds that is known without running the program."""
    ends = loop_ends(cfg, loop)
    rounds = None if ends is None else numbers.rounds(loop, ends)
    return None if rounds is None else rounds.constant


def _factor(cfg: ControlFlow, loop: Loop, numbers: NestNumbers) -> int:
    rounds = rounds_of(cfg, loop, numbers)
    return UNKNOWN_ROUNDS if rounds is None else rounds


def item_control(nest: Nest) -> set[int]:
    """Lines of what only controls loops over items: their numbers, the way out, and its condition."""
    blocks = {b.label: b for b in nest.function.blocks}
    found: set[int] = set()
    for loop in nest.items:
        ends = loop_ends(nest.cfg, loop)
        assert ends is not None  # else it is no loop over items
        branch = blocks[ends.exiting].terminator
        made = {i.name: i for label in loop.blocks for i in blocks[label].instructions if i.name}
        phis = [i for i in blocks[loop.header].instructions if i.opcode == "phi"]
        wanted = [*(o.text for i in phis for o in i.operands), *(o.text for o in branch.operands)]
        found |= {branch.first_line} | {i.first_line for i in phis}
        found |= {made[text].first_line for text in wanted if text in made}
    return found


class _Body:
    """Counts of one function, or of a nest in it."""

    def __init__(self, counter: StaticCounter, function: Function, cfg: ControlFlow, nest: Nest | None):
        self._counter, self._function, self._cfg, self._nest = counter, function, cfg, nest
        self._blocks: Mapping[str, BasicBlock] = {b.label: b for b in function.blocks}
        self._control = set() if nest is None else item_control(nest)
        self._numbers: dict[str, NestNumbers] = {}

    def of_function(self) -> Counts:
        return self._most(self._cfg.entry, frozenset(self._cfg.reverse_postorder), None)

    def of_loop(self, loop: Loop) -> Counts:
        once = self._most(loop.header, loop.blocks, loop.header)
        return once * _factor(self._cfg, loop, self._numbers_of(loop))

    def _most(self, entry: str, region: Collection[str], inside: str | None) -> Counts:
        """Largest counts on any way through the blocks of a region; inner loops are one step."""
        best: dict[str, Counts] = {}
        most = np.zeros(len(COUNTED))
        for label in self._cfg.reverse_postorder:
            if label not in region:
                continue
            step = self._step_of(label, inside)
            if step in best:
                continue  # in a loop that is counted already
            before = [p for p in self._cfg.predecessors[label] if p in region and label != entry]
            ways = [best[s] for s in (self._step_of(p, inside) for p in before) if s in best and s != step]
            start = np.max(ways, axis=0) if ways else np.zeros(len(COUNTED))
            is_loop = step in self._cfg.loops and step != inside
            own = self.of_loop(self._cfg.loops[step]) if is_loop else self._of_block(label)
            best[step] = start + own
            most = np.maximum(most, best[step])
        return most

    def _step_of(self, label: str, inside: str | None) -> str:
        """The outermost loop around a block that lies in the loop ``inside``, or the block itself."""
        for loop in reversed(self._cfg.loops_around(label)):
            if inside is None or (loop.header != inside and self._cfg.loops[inside].blocks >= loop.blocks):
                return loop.header
        return label

    def _of_block(self, label: str) -> Counts:
        total = np.zeros(len(COUNTED))
        for instruction in self._blocks[label].instructions:
            if instruction.first_line in self._control:
                continue
            total += counts_of(instruction)
            if instruction.opcode in ("call", "invoke"):
                total += self._counter.of_call(instruction)
            elif accessed(instruction) is not None and self._is_coalesced(instruction, label):
                total[PLACE[COALESCED]] += 1
        return total

    def _is_coalesced(self, instruction: Instruction, label: str) -> bool:
        """Neighbouring work items access neighbouring elements, or all of them the same one.

        Neighbours differ in the innermost loop over items; without one, in the innermost loop around.
        """
        around = self._cfg.loops_around(label)
        loop = self._nest.items[-1] if self._nest is not None and self._nest.items else None
        loop = loop or (around[0] if around else None)
        operand = accessed(instruction)
        if loop is None or operand is None:
            return False
        numbers = self._nest.numbers if self._nest is not None else self._numbers_of(loop)
        address = numbers.polynomial(operand)
        step = None if address is None else address.coefficient(round_number(loop.header))
        if step is None or not step.is_constant:
            return False
        stored = instruction.operands[0].type if instruction.opcode == "store" else instruction.type
        return abs(step.constant) in (0, alloc_size_bytes(stored))

    def _numbers_of(self, loop: Loop) -> NestNumbers:
        if self._nest is not None:
            return self._nest.numbers
        while loop.parent is not None:
            loop = self._cfg.loops[loop.parent]
        if loop.header not in self._numbers:
            self._numbers[loop.header] = NestNumbers(self._function, self._cfg, loop)
        return self._numbers[loop.header]
