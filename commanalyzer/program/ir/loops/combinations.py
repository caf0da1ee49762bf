"""Choices that are operations: minimum, maximum and logical connectives written as ``select`` or branch.

``if (x < m) m = x;`` is ``m = min(m, x)``: the result depends on both operands, whichever is taken. LLVM has
it as a ``select``, or as a phi when the branch does something else as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from commanalyzer.foundation.flows import Fold
from commanalyzer.program.ir.cfg import ControlFlow
from commanalyzer.program.ir.model import Function, Instruction, Operand

_LESS = frozenset({"slt", "sle", "ult", "ule", "olt", "ole"})
_GREATER = frozenset({"sgt", "sge", "ugt", "uge", "ogt", "oge"})
_TRUE, _FALSE = ("true", "1"), ("false", "0")


@dataclass(frozen=True, slots=True)
class Combination:
    """A register that combines two operands.

    Attributes:
        operands: What is combined.
        fold: The operation.
        condition: Register with the comparison; for connectives the first operand.
    """

    operands: tuple[Operand, Operand]
    fold: Fold
    condition: str


def combinations(function: Function, cfg: ControlFlow) -> dict[str, Combination]:
    """Selects and phis of ``function`` that are minima, maxima or connectives, by register."""
    definitions = {i.name: i for block in function.blocks for i in block.instructions if i.name}
    terminators = {block.label: block.terminator for block in function.blocks}
    found: dict[str, Combination] = {}
    for block in function.blocks:
        for instruction in block.instructions:
            choice = _choice(instruction, block.label, cfg, terminators)
            if choice is None:
                continue
            combination = _combination(choice, definitions, is_select=instruction.opcode == "select")
            if combination is not None:
                found[instruction.name] = combination
    return found


def _choice(
    instruction: Instruction, block: str, cfg: ControlFlow, terminators: Mapping[str, Instruction]
) -> tuple[Operand, Operand, Operand] | None:
    """Condition, operand if true, operand if false."""
    if instruction.opcode == "select":
        condition, yes, no = instruction.operands
        return (condition, yes, no) if condition.type.kind == "int" else None
    top = cfg.immediate_dominator.get(block)
    if instruction.opcode != "phi" or len(instruction.operands) != 2 or top is None:
        return None
    branch = terminators[top]
    same_loop = cfg.innermost_loop.get(top) == cfg.innermost_loop.get(block)
    if branch.opcode != "br" or len(set(branch.targets)) != 2 or not same_loop or cfg.is_loop_header(block):
        return None
    sides = [[cfg.dominates(t, p) for p in instruction.incoming] for t in branch.targets]
    if sides == [[True, False], [False, True]]:
        return branch.operands[0], instruction.operands[0], instruction.operands[1]
    if sides == [[False, True], [True, False]]:
        return branch.operands[0], instruction.operands[1], instruction.operands[0]
    return None


def _combination(
    choice: tuple[Operand, Operand, Operand], definitions: Mapping[str, Instruction], *, is_select: bool
) -> Combination | None:
    condition, yes, no = choice
    if yes.type.kind == "int" and yes.type.bits == 1 and (no.text in _FALSE or yes.text in _TRUE):
        if not is_select:  # the operand behind the branch need not be known at the join
            return None
        other = yes if no.text in _FALSE else no
        return Combination((condition, other), Fold.BITWISE, condition.text)
    comparison = definitions.get(condition.text)
    if comparison is None or comparison.opcode not in ("icmp", "fcmp"):
        return None
    compared = [o.text for o in comparison.operands]
    if compared not in ([yes.text, no.text], [no.text, yes.text]) or yes.text == no.text:
        return None
    fold = comparison_fold(comparison, yes.text)
    return None if fold is Fold.NONE else Combination((yes, no), fold, condition.text)


def comparison_fold(comparison: Instruction, taken: str) -> Fold:
    """Whether taking operand ``taken`` of a comparison that holds takes the smaller or the larger one."""
    is_first = comparison.operands[0].text == taken
    if comparison.predicate in _LESS:
        return Fold.MIN if is_first else Fold.MAX
    if comparison.predicate in _GREATER:
        return Fold.MAX if is_first else Fold.MIN
    return Fold.NONE
