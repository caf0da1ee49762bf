"""What decides how long loops go on (``while (sqrt(d) > tolerance)``, a flag), and what is only printed.

All who take part in such a loop have to know the value. So that it is recorded, each value that a condition
at the end of a round compares is stored, with its sign or bits changed so that it is a value of its own, to a
variable that nothing else uses. What that costs is counted by :mod:`commanalyzer.communication.totals`.

These are conditions of loops that contain other loops, or call functions that do (what decides about the
innermost ones belongs to one element), and that lead on in the program (not to its abort), but not counts
of rounds, or pointers. What is computed and printed is stored, too: somebody has to have it, not everybody.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from commanalyzer.program.frontend.guarded_stores import GUARD, with_guarded_stores
from commanalyzer.program.ir.cfg import ControlFlow, Loop, control_flow
from commanalyzer.program.ir.libcalls import CallKind, default_library
from commanalyzer.program.ir.model import Function, Instruction, IrType, Module, Operand
from commanalyzer.program.ir.parsing.parser import parse_module

DECISION = "commanalyzer.decision"
OUTPUT = "commanalyzer.output"
USES = DECISION, OUTPUT
_CONNECTIVES = frozenset({"and", "or", "xor", "freeze", "select"})
_COMPARISONS = frozenset({"icmp", "fcmp"})
_CASTS = frozenset({"fpext", "fptrunc", "sext", "zext", "trunc", "sitofp", "uitofp", "freeze"})
_STEPS = frozenset({"add", "sub"})
_CALLS = frozenset({"call", "invoke"})
_PLACE = re.compile(r", !dbg !\d+")


def with_decisions(module: Module) -> Module:
    """Module with the stores in front of ends of blocks and of calls, and the variables behind everything.

    What decides about stores of elements is in it as well (:func:`with_guarded_stores`).
    """
    module = with_guarded_stores(module)
    lines = list(module.lines)
    flows = {f.name: control_flow(f) for f in module.functions}
    looping, plain = _looping(module, flows), {g.name for g in module.globals if _is_number(g.type)}
    variables: list[str] = []
    for function in module.functions:
        decisions = _Decisions(function, flows[function.name], looping, plain)
        found = [(DECISION, *each) for each in decisions.found()]
        found += [(OUTPUT, *each) for each in decisions.printed()]
        for kind, reader, value in found:
            name, type_, is_real = f"{kind}.{len(variables)}", value.type.text, value.type.kind == "float"
            change = f"fneg {type_} {value.text}" if is_real else f"xor {type_} {value.text}, -1"
            place = "".join(_PLACE.findall(lines[reader.first_line])[:1])
            stored = f"  %{name} = {change}{place}\n  store {type_} %{name}, ptr @{name}{place}"
            lines[reader.first_line] = f"{stored}\n{lines[reader.first_line]}"
            variables.append(f"@{name} = internal global {type_} zeroinitializer")
    return parse_module("\n".join([*lines, *variables])) if variables else module


def _is_number(type_: IrType) -> bool:
    return type_.kind in ("int", "float") or (type_.kind == "array" and type_.count == 1)


def is_added(instruction: Instruction) -> bool:
    """The program does not have the instruction: it is no work."""
    names = (o.text for o in instruction.operands) if instruction.opcode == "store" else (instruction.name,)
    return any(name[1:].startswith((*USES, GUARD)) for name in names)


def _looping(module: Module, flows: dict[str, ControlFlow]) -> set[str]:
    """Functions with loops, or that call such."""
    calls = {f.name: {i.callee for i in f.instructions if i.opcode in _CALLS} for f in module.functions}
    found, fresh = set[str](), {name for name, cfg in flows.items() if cfg.loops}
    while fresh:
        found |= fresh
        fresh = {name for name, callees in calls.items() if name not in found and callees & found}
    return found


class _Decisions:
    """Conditions at the ends of rounds of one function."""

    def __init__(self, function: Function, cfg: ControlFlow, looping: set[str], plain: set[str]) -> None:
        self._cfg, self._looping, self._plain = cfg, looping, plain
        self._blocks = {block.label: block for block in function.blocks}
        self._defined = {i.name: (b.label, i) for b in function.blocks for i in b.instructions if i.name}

    def found(self) -> Iterator[tuple[Instruction, Operand]]:
        """Ends of blocks, and values that are compared there or before; each once."""
        seen: set[tuple[str, str]] = set()
        for loop in self._cfg.loops.values():
            if not self._contains_loops(loop):
                continue
            for label in (b for b in self._blocks if self._leaves(b, loop)):
                for block, value in self._compared(self._blocks[label].terminator.operands[0], loop):
                    if (block, value.text) not in seen:
                        seen.add((block, value.text))
                        yield self._blocks[block].terminator, value

    def printed(self) -> Iterator[tuple[Instruction, Operand]]:
        """Calls that print computed numbers, and these."""
        for call in (i for b in self._blocks.values() for i in b.instructions if i.opcode in _CALLS):
            known = default_library().fitting(call.callee[1:], len(call.operands))
            if known is not None and known.kind is CallKind.OUTPUT:
                yield from ((call, o) for o in dict.fromkeys(call.operands) if self._is_computed(o))

    def _is_computed(self, value: Operand) -> bool:
        """A number, possibly in another type, that memory does not hold, but for variables of the program."""
        _, made = self._defined.get(value.text, ("", None))
        while made is not None and made.opcode in _CASTS:
            _, made = self._defined.get(made.operands[0].text, ("", None))
        is_element = made is not None and made.opcode == "load" and made.operands[0].text not in self._plain
        return made is not None and not is_element and _is_number(value.type)

    def _contains_loops(self, loop: Loop) -> bool:
        called = {i.callee for b in loop.blocks for i in self._blocks[b].instructions if i.opcode in _CALLS}
        return bool(called & self._looping) or any(i.parent == loop.header for i in self._cfg.loops.values())

    def _leaves(self, label: str, loop: Loop) -> bool:
        """The block's condition ends the loop, and the program goes on."""
        if self._cfg.innermost_loop.get(label) != loop.header or len(self._cfg.successors[label]) != 2:
            return False
        outside = [s for s in self._cfg.successors[label] if s not in loop.blocks]
        return any(self._blocks[s].terminator.opcode != "unreachable" for s in outside)

    def _compared(self, condition: Operand, loop: Loop) -> Iterator[tuple[str, Operand]]:
        """Blocks in the loop that compare values which change in it, and these."""
        pending, seen = [condition.text], set[str]()
        while pending:
            name = pending.pop()
            block, instruction = self._defined.get(name, ("", None))
            if instruction is None or name in seen or self._cfg.innermost_loop.get(block) != loop.header:
                continue
            seen.add(name)
            if instruction.opcode in _CONNECTIVES or instruction.opcode == "phi":
                pending += [o.text for o in instruction.operands if o.type.text == "i1"]
            elif instruction.opcode in _COMPARISONS and not any(map(self._counts, instruction.operands)):
                yield from ((block, o) for o in instruction.operands if self._changes(o, loop))

    def _changes(self, value: Operand, loop: Loop) -> bool:
        kind, in_loop = value.type, self._defined.get(value.text, ("", None))[0] in loop.blocks
        return in_loop and (kind.kind == "float" or (kind.kind == "int" and kind.bits >= 8))

    def _counts(self, value: Operand) -> bool:
        """The number of a round, or what is a constant number of steps from it."""
        _, made = self._defined.get(value.text, ("", None))
        if made is not None and made.opcode in _STEPS and not made.operands[1].is_local:
            _, made = self._defined.get(made.operands[0].text, ("", None))
        if made is None or made.opcode != "phi" or made.type.kind != "int":
            return False
        for operand in made.operands:
            _, step = self._defined.get(operand.text, ("", None))
            if step is not None and step.opcode in _STEPS and step.operands[0].text == made.name:
                return not step.operands[1].is_local
        return False
