"""What the interpreter knows about a function before it runs: blocks, selectors, counts.

*Selectors* of a phi are the conditions that decide which of its operands is taken, as opposed to how often
a loop runs. *Counts* are stores such as ``h[b[i]] += 1``, where nothing but the address varies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from commanalyzer.ir.cfg import ControlFlow, control_flow
from commanalyzer.ir.loops.combinations import Combination
from commanalyzer.ir.loops.extremum_stores import ExtremumStore, extremum_stores
from commanalyzer.ir.loops.guards import loop_guards
from commanalyzer.ir.loops.selections import Selection, selections
from commanalyzer.ir.model import Function, Instruction, Operand

_COUNTING = frozenset({"add", "sub", "fadd", "fsub", "mul", "fmul", "or", "and", "xor"})
_EXTREMA = tuple(
    f"@llvm.{name}." for name in ("smin", "smax", "umin", "umax", "minnum", "maxnum", "minimum", "maximum")
)
_Defined = Mapping[str, tuple[str, Instruction]]
_NOWHERE: tuple[str, None] = ("", None)


@dataclass(frozen=True, slots=True)
class FunctionPlan:
    """A function, prepared.

    Attributes:
        function: The function.
        blocks: Instructions by label.
        selectors: (block, predecessor) -> conditions whose sources select the phis of the block.
        count_indices: First line of a counting store -> the index operands of its address.
        combined: Choices that are minima, maxima or connectives, by register.
        extremum_stores: By first line of the store.
        instead: Block that is executed instead of a store -> that store.
        kept: Registers that are chosen by a selecting reduction, with that reduction.
    """

    function: Function
    blocks: Mapping[str, tuple[Instruction, ...]]
    selectors: Mapping[tuple[str, str], tuple[Operand, ...]]
    count_indices: Mapping[int, tuple[Operand, ...]]
    combined: Mapping[str, Combination]
    kept: Mapping[str, Selection]
    extremum_stores: Mapping[int, ExtremumStore]
    instead: Mapping[str, ExtremumStore]

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
    counts = _count_indices(function, flow)
    extrema = extremum_stores(function, flow)
    return FunctionPlan(
        function,
        blocks,
        selectors,
        counts,
        found.combined,
        found.kept,
        {e.store.first_line: e for e in extrema},
        {e.otherwise: e for e in extrema},
    )


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


def _count_indices(function: Function, flow: ControlFlow) -> dict[int, tuple[Operand, ...]]:
    defined = {i.name: (block.label, i) for block in function.blocks for i in block.instructions if i.name}
    found: dict[int, tuple[Operand, ...]] = {}
    for block in function.blocks:
        for store in block.instructions:
            if store.opcode == "store" and _is_count(flow, block.label, store, defined):
                found[store.first_line] = _address_indices(store.operands[1], defined)
    return found


def _is_count(flow: ControlFlow, block: str, store: Instruction, defined: _Defined) -> bool:
    """The stored value is its own previous version, combined with a constant.

    The previous version must be read as often as the new one is written: in the same loop.
    """
    _, value = defined.get(store.operands[0].text, _NOWHERE)
    if value is None or not _combines(value):
        return False
    variable = [(k, operand) for k, operand in enumerate(value.operands) if operand.is_local]
    if len(variable) != 1 or (value.opcode in ("sub", "fsub") and variable[0][0] != 0):
        return False
    read_in, load = defined.get(variable[0][1].text, _NOWHERE)
    if load is None or load.opcode != "load" or load.operands[0].text != store.operands[1].text:
        return False
    return flow.innermost_loop.get(read_in) == flow.innermost_loop.get(block)


def _combines(value: Instruction) -> bool:
    if value.opcode != "call":
        return value.opcode in _COUNTING
    return value.callee.startswith(_EXTREMA)


def _address_indices(pointer: Operand, defined: _Defined) -> tuple[Operand, ...]:
    indices: list[Operand] = []
    _, address = defined.get(pointer.text, _NOWHERE)
    while address is not None and address.opcode == "getelementptr":
        indices.extend(operand for operand in address.operands[1:] if operand.is_local)
        _, address = defined.get(address.operands[0].text, _NOWHERE)
    return tuple(indices)
