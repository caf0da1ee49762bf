"""Branches that only control how often a loop runs.

LLVM rotates loops: ``for (i = 0; i < n; i++)`` becomes ``if (0 < n) do ... while (++i < n)``. The branch in
front is trip control like the one at the end, although it looks like one that selects between two values
behind the loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from commanalyzer.program.ir.cfg import ControlFlow, Loop, reached
from commanalyzer.program.ir.model import Function, Instruction

_ENDS = frozenset({"load", "phi", "atomicrmw", "cmpxchg", "alloca", "invoke", "va_arg", "landingpad"})


def loop_guards(function: Function, cfg: ControlFlow) -> frozenset[str]:
    """Blocks whose branch asks whether the loop behind it runs at all.

    One side leads straight to a loop, and everything that the condition is computed from also decides, from
    the start of its counters on, when that loop ends.
    """
    definitions = {i.name: i for i in function.instructions if i.name}
    terminators = {block.label: block.terminator for block in function.blocks}
    found = set()
    for block, terminator in terminators.items():
        if terminator.opcode != "br" or len(set(terminator.targets)) != 2:
            continue
        asked = _leaves([terminator.operands[0].text], definitions)
        for target in terminator.targets:
            loop = _loop_behind(cfg, target)
            if loop and block not in loop.blocks and asked <= _trip_leaves(loop, definitions, terminators):
                found.add(block)
    return frozenset(found)


def _loop_behind(cfg: ControlFlow, block: str) -> Loop | None:
    """The loop that ``block`` leads to without any further decision."""
    while not cfg.is_loop_header(block):
        if len(cfg.successors[block]) != 1 or len(cfg.predecessors[block]) != 1:
            return None
        block = cfg.successors[block][0]
    return cfg.loops[block]


def _trip_leaves(
    loop: Loop, definitions: Mapping[str, Instruction], terminators: Mapping[str, Instruction]
) -> frozenset[str]:
    conditions = [
        terminators[block].operands[0].text
        for block in loop.blocks
        if terminators[block].operands and any(t not in loop.blocks for t in terminators[block].targets)
    ]
    leaves = _leaves(conditions, definitions)
    starts = [
        operand.text
        for leaf in leaves
        if leaf in definitions and definitions[leaf].opcode == "phi"
        for operand, block in zip(definitions[leaf].operands, definitions[leaf].incoming, strict=True)
        if block not in loop.blocks
    ]
    return leaves | _leaves(starts, definitions)


def _leaves(names: Iterable[str], definitions: Mapping[str, Instruction]) -> frozenset[str]:
    """Registers that ``names`` are computed from: loaded, passed, chosen, or results of calls."""

    def is_leaf(name: str) -> bool:
        made = definitions.get(name)
        if made is None or made.opcode in _ENDS:
            return True
        return made.opcode == "call" and not made.callee.startswith("@llvm.")

    def operands(name: str) -> list[str]:
        return [] if is_leaf(name) else [o.text for o in definitions[name].operands if o.is_local]

    return frozenset(filter(is_leaf, reached((n for n in names if n.startswith("%")), operands)))
