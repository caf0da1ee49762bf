"""Numbers in registers that loops make of constants alone: an integral before the loop that reads it.

Nothing in memory leads to such a number, but it takes work, which no reader should seem to do. It becomes a
value of its own, made once, where it ends a recurrence of an outermost loop of a function that runs once.
Counters and what else is affine (``t += dt``) are none: everyone can begin at any iteration.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Set
from itertools import chain

from commanalyzer.foundation.flows import Fold
from commanalyzer.program.ir.cfg import Loop, reached, strong_components
from commanalyzer.program.ir.model import Module
from commanalyzer.recording.instrument.labelling.recurrences import fold_of, taken_addresses
from commanalyzer.recording.instrument.labelling.values import FunctionValues

_AFFINE = frozenset({"add", "sub", "mul", "fadd", "fsub", "fmul", "zext", "sext", "trunc"})


def run_once(module: Module, facts: Mapping[str, FunctionValues]) -> frozenset[str]:
    """Functions that a run of the program calls once at most: outside of loops, from one place, by name."""
    calls = [i for function in module.functions for i in function.instructions if i.callee in facts]
    times = Counter(call.callee for call in calls)
    taken = {name for values in facts.values() for name in taken_addresses(module, values.calls)}

    def called(name: str) -> list[str]:
        values = facts[name]
        blocks = (b for b in values.function.blocks if b.label not in values.cfg.innermost_loop)
        found = (i.callee for block in blocks for i in block.instructions)
        return [callee for callee in found if times[callee] == 1 and callee not in taken]

    return frozenset(reached({"@main"} & facts.keys(), called))


def constant_results(values: FunctionValues) -> Mapping[str, Fold]:
    """Registers that become values, and how their terms are combined: ``NONE`` where one follows another."""
    found: dict[str, Fold] = {}
    for name, place in values.definitions.items():
        cfg, phi = values.cfg, place.instruction
        is_result = phi.opcode == "phi" and phi.type.kind == "float" and place.block not in cfg.innermost_loop
        last = {operand.text for operand in phi.operands}
        if not is_result or name in values.carrying or len(last) > 1 or not last <= values.definitions.keys():
            continue
        around = cfg.loops_around(values.block_of(register := last.pop()))
        uses = values.uses.get(name, ())
        goes_on = any(use.instruction.opcode == "phi" and cfg.is_loop_header(use.block) for use in uses)
        if around and not goes_on and (fold := _fold(values, register, around[-1])) is not None:
            found[name] = fold
    return found


def _fold(values: FunctionValues, register: str, loop: Loop) -> Fold | None:
    """How the recurrence of a loop that ends in a register combines terms; None where there are none."""

    def inputs(name: str) -> list[str]:
        block, made = values.block_of(name), values.definitions[name].instruction
        conditions = (values.selected.deciding.get((block, before), ()) for before in made.incoming)
        texts = {*(operand.text for operand in made.operands), *chain(*conditions)}
        return [n for n in sorted(texts & values.definitions.keys()) if values.block_of(n) in loop.blocks]

    def is_carried(members: Set[str]) -> bool:
        return any(_opcode(values, n) == "phi" and values.block_of(n) == loop.header for n in members)

    groups = map(frozenset, strong_components(reached([register], inputs), inputs))
    carried = [members for members in groups if is_carried(members)]
    own = next((members for members in carried if register in members), frozenset[str]())
    if not own or (_is_affine(values, own) and own.issuperset(n for name in own for n in inputs(name))):
        return None
    follows = any(members != own and not _is_affine(values, members) for members in carried)
    compared = {found.condition for name, found in values.selected.combined.items() if name in own}  # f < m
    folds = {_fold_of_member(values, name, own, loop) for name in own - compared} - {None}
    return Fold.NONE if follows or len(folds) != 1 else folds.pop() or Fold.NONE


def _fold_of_member(values: FunctionValues, name: str, members: Set[str], loop: Loop) -> Fold | None:
    """How a register changes the running value; None where it only takes one of its values, or begins."""
    data = [operand.text for operand in values.data_operands(name)]
    running = [text for text in data if text in members]
    if _opcode(values, name) in ("phi", "select") and name not in values.selected.combined:
        made = (values.definitions[n] for n in data if n in values.definitions and n not in members)
        is_begun = _opcode(values, name) == "phi" and not any(m.block in loop.blocks for m in made)
        return None if is_begun or len(running) == len(data) else Fold.NONE
    return fold_of(values, name, running[0]) if len(running) == 1 else Fold.NONE


def _is_affine(values: FunctionValues, members: Set[str]) -> bool:
    made = (values.definitions[name].instruction for name in members)
    return all(
        (i.opcode == "phi" and (len(i.operands) == 1 or values.cfg.is_loop_header(values.block_of(i.name))))
        or (i.opcode in _AFFINE and sum(o.text in members for o in i.operands) == 1)
        for i in made
    )


def _opcode(values: FunctionValues, name: str) -> str:
    return values.definitions[name].instruction.opcode
