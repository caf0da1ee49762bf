"""Activations of functions, what they count, whom they tell of it, and what is known of a function before.

*Selectors* of a phi are the conditions that decide which of its operands is taken, as opposed to how often
a loop runs. *Counts* are stores such as ``h[b[i]] += 1``, where nothing but the address varies.

Recording of dynamic slices while the program runs.

Every computed register remembers the execution that made it, so that the slice of a store is what can be
reached from the stored value. Loads end a slice (their values live in memory), addresses are left out: this
is the thin slice of paper Figure 5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from commanalyzer.program.ir.cfg import ControlFlow, control_flow
from commanalyzer.program.ir.libcalls import CallKind
from commanalyzer.program.ir.loops.combinations import (
    Combination,
    ExtremumStore,
    counting_stores,
    extremum_stores,
)
from commanalyzer.program.ir.loops.induction import loop_guards
from commanalyzer.program.ir.loops.selections import Selection, selections
from commanalyzer.program.ir.model import Function, Instruction, Operand
from commanalyzer.recording.interpreter.values import Chain, Home, Labels, Step, Value


@dataclass(frozen=True, slots=True)
class FunctionPlan:
    """A function, prepared."""

    function: Function
    blocks: Mapping[str, tuple[Instruction, ...]]
    # (block, predecessor) -> conditions whose sources select the phis of the block
    selectors: Mapping[tuple[str, str], tuple[Operand, ...]]
    # first line of a counting store -> the index operands of its address
    count_indices: Mapping[int, tuple[Operand, ...]]
    combined: Mapping[str, Combination]  # choices that are minima, maxima or connectives, by register
    kept: Mapping[str, Selection]  # registers that are chosen by a selecting reduction, with that reduction
    extremum_stores: Mapping[int, ExtremumStore]  # by first line of the store
    instead: Mapping[str, ExtremumStore]  # block that is executed instead of a store -> that store

    @property
    def entry(self) -> str:
        """Label of the entry block."""
        return self.function.blocks[0].label


def plan_function(function: Function) -> FunctionPlan:
    """Prepare ``function``."""
    flow = control_flow(function)
    blocks = {block.label: block.instructions for block in function.blocks}
    guards = loop_guards(function, flow)
    selectors: dict[tuple[str, str], tuple[Operand, ...]] = {}
    for label in flow.reverse_postorder:
        if blocks[label][0].opcode != "phi" or flow.is_loop_header(label):
            continue
        for predecessor in flow.predecessors[label]:
            selectors[label, predecessor] = _selectors(flow, blocks, guards, label, predecessor)
    found = selections(function, flow)
    counts = counting_stores(function, flow)
    extrema = extremum_stores(function, flow)
    known = function, blocks, selectors, counts, found.combined, found.kept
    by_line, instead = {e.store.first_line: e for e in extrema}, {e.otherwise: e for e in extrema}
    return FunctionPlan(*known, by_line, instead)


def _selectors(
    flow: ControlFlow,
    blocks: Mapping[str, tuple[Instruction, ...]],
    guards: frozenset[str],
    block: str,
    predecessor: str,
) -> tuple[Operand, ...]:
    """Return the conditions that select on the edge ``predecessor`` -> ``block``.

    Every branch between the immediate dominator of the block and the predecessor, in the same loop as the
    block, that does not inevitably lead to the predecessor and does more than guard a loop.
    """
    top = flow.immediate_dominator[block]
    loop = flow.innermost_loop.get(block)
    found: list[Operand] = []
    for x in flow.dominator_chain(predecessor):
        terminator = blocks[x][-1]
        decides = x not in guards and (x == predecessor or not flow.postdominates(predecessor, x))
        is_conditional = terminator.opcode in ("br", "switch") and bool(terminator.operands)
        if decides and is_conditional and flow.innermost_loop.get(x) == loop:
            found.append(terminator.operands[0])
        if x == top:
            break
    return tuple(found)


@dataclass(slots=True)
class Counts:
    """What was executed: instructions (debug records excluded), loads, stores, floating-point operations."""

    instructions: int = 0
    loads: int = 0
    stores: int = 0
    flops: int = 0


@dataclass(slots=True)
class Frame:
    """An activation: registers, position, and the call in the caller that waits for the result.

    ``path`` is the path of allocations that led here, of a function that hands out blocks.
    """

    plan: FunctionPlan
    depth: int
    stack_height: int
    registers: dict[str, Value]
    code: tuple[Instruction, ...]
    label: str
    is_root: bool
    path: str = ""
    index: int = 0
    selected: dict[str, Labels] = field(default_factory=dict)


class Observer:
    """Is told of control transfer and of accesses, in the order of execution, and ignores them."""

    def entered(self, frame: Frame) -> None:
        """An activation begins."""

    def left(self, frame: Frame) -> None:
        """An activation ends."""

    def jumped(self, frame: Frame, previous: str, target: str) -> None:
        """Control goes from one block to another."""

    def called(self, name: str, kind: CallKind, instruction: Instruction) -> None:
        """A library function is called; what it reads and writes is told afterwards."""

    def accessed(self, address: int, size_bytes: int, *, is_write: bool) -> None:
        """The instruction that is executed reads or writes memory."""


@dataclass(frozen=True, slots=True)
class RecordedStore:
    """An execution of a chosen store, with the home of the first word that is written.

    The chain is ``None`` when a value was replicated or a pointer stored.
    """

    function: str
    instruction: Instruction
    value: Value
    home: Home
    chain: Chain | None


class Recorder:
    """Keeps the ``occurrence``-th execution (1 is the first) of the stores on some lines of the module."""

    def __init__(self, lines: frozenset[int], occurrence: int) -> None:
        self._lines = lines
        self._occurrence = occurrence
        self.executions = 0  # of the chosen stores
        self._order = 0
        self.found: RecordedStore | None = None

    def computed(
        self, function: str, instruction: Instruction, result: Value, operands: Sequence[Value]
    ) -> Value:
        """Return ``result`` with the step that made it; addresses get none."""
        if instruction.type.kind == "ptr":
            return result
        self._order += 1
        homes = tuple(result.labels) if instruction.opcode == "load" else ()
        parents = tuple(v.step for v in operands if v.step is not None)
        step = Step(self._order, function, instruction.first_line, result.data, homes, parents)
        return result._replace(step=step)

    def stored(
        self, function: str, instruction: Instruction, value: Value, home: Home, chain: Chain | None
    ) -> None:
        """Note the execution of a store."""
        if instruction.first_line not in self._lines:
            return
        self.executions += 1
        if self.executions == self._occurrence:
            self.found = RecordedStore(function, instruction, value, home, chain)
