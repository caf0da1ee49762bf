"""What decides how long loops go on (``while (sqrt(d) > tolerance)``, a flag), and what is only printed.

All who take part in such a loop have to know the value. So that it is recorded, each value that a condition
at the end of a round compares is stored, with its sign or bits changed so that it is a value of its own, to a
variable that nothing else uses. What that costs is counted by :mod:`commanalyzer.communication.totals`.

These are conditions of loops that contain other loops, or call functions that do (what decides about the
innermost ones belongs to one element), and that lead on in the program (not to its abort), but not counts
of rounds, or pointers. What is computed and printed is stored, too: somebody has to have it, not everybody.

What decides whether an element is stored at all (``if (n == 3) alive[i] = 1;``) is a source of it: its store
says what the condition selects, as in ``alive[i] = n == 3 ? 1 : alive[i]``. Why, and which conditions count,
is in ``docs/explanation/decisions/0049-guarded-stores.md``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from commanalyzer.program.ir.cfg import ControlFlow, Loop, control_flow, reached
from commanalyzer.program.ir.libcalls import CallKind, default_library
from commanalyzer.program.ir.loops.combinations import extremum_stores
from commanalyzer.program.ir.loops.induction import is_computed_place, loop_guards
from commanalyzer.program.ir.model import DESCRIPTOR, Function, Instruction, IrType, Module, Operand
from commanalyzer.program.ir.parsing.parser import parse_module

GUARD, KEPT = "commanalyzer.guard", "commanalyzer.guard.kept"
_BRANCHES = frozenset({"br", "switch"})
_CONNECTIVES = frozenset({"and", "or", "xor", "select", "freeze"})
_PURE = frozenset({"add", "sub", "mul", "shl", "and", "or", "xor", "zext", "sext", "trunc", "freeze"})


def with_guarded_stores(module: Module) -> Module:
    """Module in which stores under conditions on elements store what these select."""
    before: dict[int, list[str]] = defaultdict(list)
    stored: dict[int, tuple[str, str]] = {}
    for function in module.functions:
        _Guards(function, control_flow(function), module.lines, before, stored).write()
    if not stored:
        return module
    lines = list(module.lines)
    for line, (old, new) in stored.items():
        lines[line] = lines[line].replace(old, new, 1)
    for line, added in before.items():
        lines[line] = "\n".join([*added, lines[line]])
    return parse_module("\n".join(lines))


@dataclass(slots=True)
class _Guards:
    """Guarded stores of one function; lines are written ``before`` others, and operands ``stored``."""

    function: Function
    cfg: ControlFlow
    lines: Sequence[str]
    before: dict[int, list[str]]
    stored: dict[int, tuple[str, str]]
    blocks: Mapping[str, tuple[Instruction, ...]] = field(init=False)
    defined: Mapping[str, tuple[str, Instruction]] = field(init=False)
    trips: frozenset[str] = field(init=False)
    bits: dict[str, tuple[str, ...]] = field(default_factory=dict)  # of each block: registers that guard it

    def __post_init__(self) -> None:
        self.blocks = {block.label: block.instructions for block in self.function.blocks}
        self.defined = {i.name: (label, i) for label, code in self.blocks.items() for i in code if i.name}
        self.trips = loop_guards(self.function, self.cfg)

    def write(self) -> None:
        """Write all of them."""
        extrema = {e.store.first_line for e in extremum_stores(self.function, self.cfg)}
        for label in self.cfg.reverse_postorder:
            chosen = [s for s in self.blocks[label] if s.first_line not in extrema and self._is_plain(s)]
            if not chosen or not (bits := self._bits(label)):
                continue
            for store in chosen:
                value = store.operands[0]
                self.stored[store.first_line] = _typed(value), self._selected(store, bits, value)
            for other in self._otherwise(label):
                self._keep(chosen, label, other)

    def _is_plain(self, store: Instruction) -> bool:
        """A computed scalar is stored, no copy, and not added to what is there."""
        if store.opcode != "store" or store.flags & {DESCRIPTOR, "volatile", "atomic"}:
            return False
        value, pointer = store.operands
        _, made = self.defined.get(value.text, ("", None))
        goes_on = made is not None and made.opcode == "load"
        if made is not None and made.opcode not in ("select", "phi", "load"):
            others = [o for o in made.operands if not self._is_loaded(o, pointer)]
            is_sum = made.opcode in ("add", "fadd") or any(o.is_local for o in others)
            goes_on = is_sum and len(others) < len(made.operands)
        return value.type.kind in ("int", "float") and not goes_on

    def _is_loaded(self, value: Operand, pointer: Operand) -> bool:
        _, made = self.defined.get(value.text, ("", None))
        return made is not None and made.opcode == "load" and made.operands[0] == pointer

    def _bits(self, label: str) -> tuple[str, ...]:
        """Registers that say whether a block of a round is executed, as far as elements of arrays decide."""
        if label in self.bits:
            return self.bits[label]
        above, cfg = self.cfg.immediate_dominator[label], self.cfg
        inner, found = cfg.innermost_loop.get(label), tuple[str, ...]()
        if above is not None and not cfg.is_loop_header(label) and cfg.innermost_loop.get(above) == inner:
            found = self._bits(above)
            if not cfg.postdominates(label, above):
                found += self._decided(label, above)
        self.bits[label] = found
        return found

    def _decided(self, label: str, above: str) -> tuple[str, ...]:
        """Registers that say whether ``label`` is executed behind ``above``, its immediate dominator."""
        before = self.cfg.predecessors[label]
        conditions = self._asked(label, above)
        if not any(map(self._is_of_elements, conditions.values())):
            return ()
        place = self.blocks[label][0].first_line
        if len(before) == 1:
            condition = conditions[above]
            if condition.type.text == "i1":
                return (condition.text,)
            return (self._added(place, f"icmp eq {_typed(condition)}, 0"),)
        ways = ", ".join(f"[ {number}, %{p} ]" for number, p in enumerate(before))
        way = self._added(place, f"phi i32 {ways}")
        behind = next(i for i in self.blocks[label] if i.opcode != "phi")
        return (self._added(behind.first_line, f"icmp eq i32 {way}, 0"),)

    def _asked(self, label: str, above: str) -> dict[str, Operand]:
        """Conditions behind ``above`` that decide over which edge a block is entered, by their blocks."""
        found = dict[str, Operand]()
        for block in self.cfg.predecessors[label]:
            chain = self.cfg.dominator_chain(block)  # empty if it is never reached
            asked = filter(self._selects, chain[: chain.index(above) + 1] if chain else ())
            found |= {x: self.blocks[x][-1].operands[0] for x in asked}
        return found

    def _selects(self, label: str) -> bool:
        """The block's condition decides between two ways on in the round."""
        end, loop = self.blocks[label][-1], self.cfg.loop_of(label)
        return (
            end.opcode in _BRANCHES
            and len(set(end.targets)) > 1
            and label not in self.trips
            and (loop is None or loop.blocks.issuperset(end.targets))
            and all(self.blocks[target][-1].opcode != "unreachable" for target in end.targets)
        )

    def _is_of_elements(self, condition: Operand) -> bool:
        """It is computed from something that was loaded from a computed place."""
        found = (self.defined.get(name, ("", None))[1] for name in reached([condition.text], self._inputs))
        return any(
            i is not None
            and i.opcode == "load"
            and i.type.kind != "ptr"
            and is_computed_place(i.operands[0].text, self._made)
            for i in found
        )

    def _is_only_of_elements(self, condition: Operand) -> bool:
        """No part of it says whether the place exists: none compares pointers, or indices."""
        _, made = self.defined.get(condition.text, ("", None))
        if made is not None and made.opcode in _CONNECTIVES and condition.type.text == "i1":
            return all(map(self._is_only_of_elements, (o for o in made.operands if o.is_local)))
        is_of_numbers = made is not None and all(o.type.kind != "ptr" for o in made.operands)
        return is_of_numbers and self._is_of_elements(condition)

    def _made(self, name: str) -> Instruction | None:
        return self.defined.get(name, ("", None))[1]

    def _inputs(self, name: str) -> list[str]:
        made = self._made(name)
        return [] if made is None or made.opcode == "load" else [o.text for o in made.operands]

    def _otherwise(self, label: str) -> list[str]:
        """The empty blocks that are executed instead of a block, if all ways around it are such."""
        cfg, joins = self.cfg, self.cfg.successors[label]
        others = [p for p in cfg.predecessors[joins[0]] if p != label] if len(joins) == 1 else []
        inner = {cfg.innermost_loop.get(block) for block in (label, *others)}
        are_empty = all(len(self.blocks[p]) == 1 and cfg.successors[p] == joins for p in others)
        return others if are_empty and len(inner) == 1 else []

    def _keep(self, stores: list[Instruction], label: str, other: str) -> None:
        """Store in ``other`` what is where ``stores`` of a block would store, if that is known there."""
        bits, end = self._bits(other), self.blocks[other][-1]
        if not bits:
            return
        inner = self.cfg.innermost_loop.get(label)
        above = [b for b in self.cfg.dominator_chain(other) if self.cfg.innermost_loop.get(b) == inner]
        accessed = {i.operands[-1] for b in above for i in self.blocks[b] if i.opcode in ("load", "store")}
        (join,) = self.cfg.successors[label]
        asked = self._asked(join, self.cfg.immediate_dominator[join] or join)
        is_by_elements = all(map(self._is_only_of_elements, asked.values()))
        for pointer, type_ in {s.operands[1]: s.operands[0].type for s in stores}.items():
            if pointer not in accessed:
                if not is_by_elements or not self._is_regular(pointer, other):
                    continue
                pointer = Operand(pointer.type, self._made_again(pointer.text, other, end.first_line))
            held = Operand(
                type_, self._added(end.first_line, f"load {type_.text}, {_typed(pointer)}, align 1")
            )
            value = self._selected(end, bits, held, KEPT)
            self.before[end.first_line].append(f"  store {value}, {_typed(pointer)}, align 1")

    def _is_regular(self, pointer: Operand, other: str) -> bool:
        """The place only depends on counters of loops, in an array that the loop does not choose."""
        block, made = self.defined.get(pointer.text, ("", None))
        if made is None or self.cfg.innermost_loop.get(block) != self.cfg.innermost_loop.get(other):
            return True
        return (
            made.opcode == "getelementptr"
            and all(self._counts(index, other) for index in made.operands[1:])
            and self._is_regular(made.operands[0], other)
        )

    def _counts(self, index: Operand, other: str) -> bool:
        """It is computed from what rounds count on, whatever the data are, and can be so in ``other``."""
        found = [self.defined[name] for name in reached([index.text], self._inputs) if name in self.defined]
        return not self._is_of_elements(index) and all(
            self._counts_on(block, made)
            if made.opcode == "phi"
            else made.opcode in _PURE or self.cfg.dominates(block, other)
            for block, made in found
        )

    def _counts_on(self, block: str, phi: Instruction) -> bool:
        """In a loop, and not by another choice."""
        latches = self.cfg.loops[block].latches if self.cfg.is_loop_header(block) else ()
        again = [o for o, p in zip(phi.operands, phi.incoming, strict=True) if p in latches]
        steps = [self.defined.get(o.text, ("", None))[1] for o in again]
        return bool(latches) and all(step is not None and step.opcode != "phi" for step in steps)

    def _made_again(self, name: str, other: str, line: int) -> str:
        """Name of a register that has the same value in block ``other``."""
        block, made = self.defined.get(name, ("", None))
        if made is None or self.cfg.dominates(block, other):
            return name
        code = self.lines[made.first_line].partition(" = ")[2].partition(", !")[0]
        for operand in dict.fromkeys(o.text for o in made.operands if o.is_local):
            again = self._made_again(operand, other, line).replace("\\", r"\\")
            code = re.sub(re.escape(operand) + r"(?![\w.$-])", again, code)
        return self._added(line, code)

    def _selected(
        self, place: Instruction, bits: tuple[str, ...], value: Operand, prefix: str = GUARD
    ) -> str:
        """The value, in front of an instruction, as one that some bits select."""
        first, *rest = bits
        for bit in rest:
            first = self._added(place.first_line, f"xor i1 {first}, {bit}")
        either = f"select i1 {first}, {_typed(value)}, {_typed(value)}"
        return f"{value.type.text} {self._added(place.first_line, either, prefix)}"

    def _added(self, line: int, code: str, prefix: str = GUARD) -> str:
        """Name of a register that ``code`` in front of a line defines."""
        name = f"%{prefix}.{line}.{len(self.before[line])}"
        self.before[line].append(f"  {name} = {code}")
        return name


def _typed(operand: Operand) -> str:
    return f"{operand.type.text} {operand.text}"


DECISION = "commanalyzer.decision"
OUTPUT = "commanalyzer.output"
USES = DECISION, OUTPUT
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
    looping = (name for name, cfg in flows.items() if cfg.loops)
    return set(reached(looping, lambda callee: [name for name, called in calls.items() if callee in called]))


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
