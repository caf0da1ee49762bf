"""What is enough to see that a round of a loop does what it did before.

All that a round of a previewed loop does follows from the integers that enter it in registers and from a few
values: its *roots*, the integers that it loads and the outcomes of comparisons and conversions of other
numbers. Where every round computes them without conditions, a preview begins with them (a *probe*), and looks
at addresses only in rounds whose roots are not those of the last run.

Input: a loop whose rounds are known apart. Output: :class:`RoundProbe`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from commanalyzer.instrument.inspectors.previews import DECIDING, Previewed
from commanalyzer.instrument.labelling.values import FunctionValues
from commanalyzer.ir.model import Instruction

_MOST_WATCHED = 64  # addresses, two numbers each: MOST_EXTREMES of rounds.c


@dataclass(frozen=True, slots=True)
class RoundProbe:
    """The beginning of a round of a preview.

    Attributes:
        roots: Registers that all that a round does follows from, beside the integers that enter it.
        first: Instructions that they and the next round's registers are computed by, in an order that works.
    """

    roots: tuple[str, ...]
    first: tuple[Instruction, ...]


def round_probe(values: FunctionValues, plan: Previewed) -> RoundProbe | None:
    """The probe of a loop; ``None`` if it has none.

    Args:
        values: Facts of the function.
        plan: The loop.
    """
    exiting, latch = plan.ends.exiting, plan.loop.latches[0]
    if latch != exiting and values.cfg.predecessors[latch] != (exiting,):
        return None
    roots = _roots(plan) if plan.reads is None and len(plan.watched) <= _MOST_WATCHED else ()
    if not roots:
        return None
    end = next(b.terminator for b in plan.blocks if b.label == exiting)
    needed = [*roots, *(o.text for o in end.operands)]
    needed += [
        o.text for phi in _phis(plan) for o, b in zip(phi.operands, phi.incoming, strict=True) if b == latch
    ]
    first = _in_front(values, plan, needed)
    return None if first is None else RoundProbe(roots, first)


def _phis(plan: Previewed) -> list[Instruction]:
    """Registers that enter a round."""
    header = next(b for b in plan.blocks if b.label == plan.loop.header)
    return [i for i in header.instructions if i.opcode == "phi" and i.name in plan.computed]


def _roots(plan: Previewed) -> tuple[str, ...]:
    """Registers that tell what a round does; none if what they leave open decides."""
    is_open = {name for name, type_ in plan.outside.items() if type_.kind == "float"}
    is_open |= {phi.name for phi in _phis(plan) if phi.type.kind == "float"}
    roots: dict[str, None] = {}
    is_growing = True
    while is_growing:
        is_growing = False
        for name, instruction in plan.computed.items():
            if name in is_open or name in roots or not _is_open(plan, instruction, is_open):
                continue
            is_growing = True
            if instruction.opcode in DECIDING and instruction.type.kind != "float":
                roots[name] = None
            else:
                is_open.add(name)
    decides = {name for name in is_open & plan.computed.keys() if plan.computed[name].type.kind != "float"}
    stored = {
        o.text
        for b in plan.blocks
        for i in b.instructions
        if i.opcode == "store" and i.first_line in plan.stores
        for o in i.operands
    }
    return () if decides or stored & is_open else tuple(roots)


def _is_open(plan: Previewed, instruction: Instruction, is_open: set[str]) -> bool:
    """Whether a value does not follow from what is known of the round. What lies in its local arrays does."""
    if instruction.opcode == "load" and instruction.operands[0].text not in plan.private.arrays:
        return True
    return any(o.text in is_open for o in instruction.operands)


def _in_front(
    values: FunctionValues, plan: Previewed, needed: Iterable[str]
) -> tuple[Instruction, ...] | None:
    """What registers are computed by, operands first; ``None`` if not every round does that alike."""
    entering = {phi.name for phi in _phis(plan)}
    found: dict[str, Instruction] = {}
    pending = [(name, False) for name in reversed(list(needed))]
    while pending:
        name, are_operands_found = pending.pop()
        instruction = plan.computed.get(name)
        if instruction is None or name in found or name in entering:
            continue
        if are_operands_found:
            found[name] = instruction
            continue
        if not _is_in_every_round(values, plan, instruction):
            return None
        pending.append((name, True))
        pending += [(o.text, False) for o in reversed(instruction.operands)]
    return tuple(found.values())


def _is_in_every_round(values: FunctionValues, plan: Previewed, instruction: Instruction) -> bool:
    block, header = values.block_of(instruction.name), plan.loop.header
    if instruction.opcode == "phi":
        return False
    if instruction.opcode == "load" and instruction.operands[0].text in plan.private.arrays:
        return False  # it is not filled yet
    return values.cfg.innermost_loop[block] == header and values.cfg.dominates(block, plan.ends.exiting)
