"""Reductions that select: flags, arguments of a minimum, last matches.

``if (d < best) { best = d; index = k; }`` keeps one of many candidates. Which one is the outcome of all
comparisons, so that the result behind the loop depends on everything that was compared, not only on what was
compared since the last change. Registers that decide about each other are one such reduction (a minimum over
several lists that is taken over where a place was found). This holds for registers that

* are carried around a loop, or a nest of loops, by nothing but selects, phis, minima and maxima,
* are read, as values, behind the loop only, and
* are chosen by something that the loop reads (``if (i == 3)`` picks a copy).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from commanalyzer.program.ir.cfg import ControlFlow, Loop, reached, strong_components
from commanalyzer.program.ir.loops.combinations import Combination, combinations
from commanalyzer.program.ir.loops.induction import loop_guards
from commanalyzer.program.ir.model import Function, Instruction, Operand

_NO_DATA = frozenset({"load", "getelementptr", "alloca", "call", "invoke", "landingpad"})
_COMPARISONS = frozenset({"icmp", "fcmp"})
_READS = frozenset({"load", "call", "invoke", "atomicrmw", "cmpxchg"})
_CASTS = frozenset({"sext", "zext", "trunc", "freeze"})
_CONNECTIVES = frozenset({"and", "or", "xor", "freeze"})


@dataclass(frozen=True, slots=True)
class Selection:
    """A reduction that keeps one of its candidates."""

    members: frozenset[str]  # all registers that hold a running choice
    header: str  # header of the loop that it runs in
    choices: tuple[str, ...]  # members that take a candidate or keep what they have, in program order
    candidates: tuple[str, ...]  # what the choices take from outside
    # (predecessor, operand) of every edge on which a choice begins anew
    initial: tuple[tuple[str, Operand], ...]
    # per condition, the registers that take part in the comparison, running values left out
    conditions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # (predecessor, initial value) of the running values that take part in comparisons
    rivals: tuple[tuple[str, Operand], ...] = ()
    # members, what compares them, and minima and selections that the same comparisons change
    running: frozenset[str] = frozenset()

    @property
    def inputs(self) -> tuple[str, ...]:
        """All that every member depends on."""
        compared = (operand for operands in self.conditions.values() for operand in operands)
        return (*self.candidates, *compared, *(o.text for _, o in (*self.initial, *self.rivals)))


@dataclass(frozen=True, slots=True)
class Selections:
    """What a function selects, and how."""

    # per (phi block, predecessor): conditions that select this operand
    deciding: Mapping[tuple[str, str], tuple[str, ...]]
    combined: Mapping[str, Combination]  # registers that are minima, maxima or connectives of two operands
    kept: Mapping[str, Selection]  # the reduction that selects a register, per member


def selections(function: Function, cfg: ControlFlow) -> Selections:
    """Find out what ``function`` selects."""
    known = Selections(_deciding_conditions(function, cfg), combinations(function, cfg), {})
    return replace(known, kept=_SelectionFinder(function, cfg, known).kept())


def _deciding_conditions(function: Function, cfg: ControlFlow) -> dict[tuple[str, str], tuple[str, ...]]:
    """Conditions that decide over which edge a block with phis is entered; loop headers have none.

    For the edge P -> B: the conditions of all blocks X with idom(B) dom X dom P that end in a conditional
    branch, lie in the same innermost loop as B, are P itself or not post-dominated by P, and do not only ask
    whether a loop runs at all.
    """
    terminators = {block.label: block.terminator for block in function.blocks}
    guards = loop_guards(function, cfg)
    result: dict[tuple[str, str], tuple[str, ...]] = {}
    for block in function.blocks:
        label = block.label
        first = cfg.immediate_dominator.get(label)
        if block.instructions[0].opcode != "phi" or cfg.is_loop_header(label) or first is None:
            continue
        for predecessor in cfg.predecessors[label]:
            found: list[str] = []
            for x in cfg.dominator_chain(predecessor):
                terminator = terminators[x]
                decides = len(set(terminator.targets)) > 1 and terminator.opcode in ("br", "switch")
                same_loop = cfg.innermost_loop.get(x) == cfg.innermost_loop.get(label)
                is_open = x == predecessor or not cfg.postdominates(predecessor, x)
                if decides and same_loop and is_open and x not in guards:
                    found.append(terminator.operands[0].text)
                if x == first:
                    break
            result[label, predecessor] = tuple(dict.fromkeys(found))
    return result


class _SelectionFinder:
    def __init__(self, function: Function, cfg: ControlFlow, known: Selections) -> None:
        self._cfg, self._combined, self._deciding = cfg, known.combined, known.deciding
        self._defined: dict[str, Instruction] = {}
        self._block: dict[str, str] = {}
        self._users: dict[str, list[tuple[Instruction, str]]] = {}
        for block in function.blocks:
            for instruction in block.instructions:
                if instruction.name:
                    self._defined[instruction.name] = instruction
                    self._block[instruction.name] = block.label
                for operand in instruction.operands:
                    if operand.is_local:
                        self._users.setdefault(operand.text, []).append((instruction, block.label))
        self._phis = {b.label: [i.name for i in b.instructions if i.opcode == "phi"] for b in function.blocks}
        self._cycles = self._carried(self._defined, self._data_inputs)

    def kept(self) -> dict[str, Selection]:
        """All selecting reductions, per member."""
        found = list(self._found(self._defined))
        while True:
            complete = [self._with_rivals(selection, found) for selection in found]
            valid = [s for s in complete if self._only_compared_among(s, complete)]
            if len(valid) == len(found):
                return {name: selection for selection in valid for name in selection.members}
            found = [s for s in found if any(s.members == v.members for v in valid)]

    def _found(self, names: Iterable[str]) -> Iterator[Selection]:
        """Reductions among ``names``: what is none over all rounds of a loop may be one in each of them."""
        for group in self._groups(names):
            selection = self._selection(group)
            inner = self._cfg.by_inner_loop(self._ordered(group), self._block.__getitem__)
            yield from (selection,) if selection else (s for part in inner for s in self._found(part))

    def _groups(self, names: Iterable[str]) -> list[frozenset[str]]:
        """Registers that decide about each other, with those that take what an inner loop of theirs chose."""
        takers: dict[str, list[str]] = {}
        cycles = self._carried(names, self._data_inputs)
        for group in map(frozenset, self._carried(names, self._inputs)):
            begun = group - self._kept_around(group)
            for name in (n for cycle in cycles for n in cycle if n not in group and self._is_choice(n)):
                for operand in begun.intersection(self._data_inputs(name)):
                    takers.setdefault(operand, []).append(name)
        found = self._carried(names, lambda name: self._inputs(name) + takers.get(name, []))
        return [frozenset(group) for group in found]

    def _kept_around(self, group: frozenset[str]) -> set[str]:
        """Registers of a group that its loop carries, not an inner one."""
        loop, cycles = self._common_loop(group), self._carried(group, self._data_inputs)
        return {name for cycle in cycles if self._common_loop(cycle) is loop for name in cycle}

    def _carried(self, names: Iterable[str], inputs: Callable[[str], list[str]]) -> list[tuple[str, ...]]:
        """Registers that depend on themselves by what ``names`` depend on among each other."""
        among = dict.fromkeys(names)
        components = strong_components(among, lambda name: [i for i in inputs(name) if i in among])
        return [c for c in components if len(c) > 1 or c[0] in inputs(c[0])]

    def _inputs(self, name: str) -> list[str]:
        return self._data_inputs(name) + [c for c in self._conditions(name) if c in self._defined]

    def _data_inputs(self, name: str) -> list[str]:
        if self._defined[name].opcode in _NO_DATA:
            return []
        return [o.text for o in self._data_operands(name) if o.text in self._defined]

    def _data_operands(self, name: str) -> tuple[Operand, ...]:
        instruction = self._defined[name]
        return instruction.operands[1:] if instruction.opcode == "select" else instruction.operands

    def _selection(self, group: frozenset[str]) -> Selection | None:
        """The reduction that registers are which decide about each other."""
        cycles = self._carried(group, self._data_inputs)
        members = frozenset(name for name in group if self._is_choice(name)).union(*cycles)
        loop = self._common_loop(group)
        others = (n for n in group - members if n not in self._combined)
        compare = all(self._defined[n].opcode in _COMPARISONS | _CONNECTIVES for n in others)
        if loop is None or not compare or not all(map(self._may_hold, members & group)):
            return None
        choices = self._ordered(name for name in members if self._takes_candidates(name, members, loop))
        own = [name for name in choices if name not in self._combined]
        if members & self._combined.keys() and not any(group.intersection(self._conditions(n)) for n in own):
            return None  # a minimum or maximum, at most under conditions from outside
        if not self._read_behind(members, self._kept_around(group), loop):
            return None
        if not any(self._is_read_in(loop, c) for name in choices for c in self._conditions(name)):
            return None
        if any(len(self._cfg.successors[p]) != 1 for n in choices for p in self._defined[n].incoming):
            return None
        headers = [name for name in self._ordered(members) if name not in choices]
        taken = {o.text: None for n in choices for o in self._data_operands(n) if o.text not in members}
        return Selection(
            members, loop.header, choices, tuple(taken), self._resets(headers, members), running=group
        )

    def _ordered(self, names: Iterable[str]) -> tuple[str, ...]:
        return tuple(sorted(names, key=lambda name: self._defined[name].first_line))

    def _is_choice(self, name: str) -> bool:
        instruction = self._defined[name]
        is_one = instruction.opcode == "select" and instruction.operands[0].type.kind == "int"
        return name not in self._combined and (is_one or instruction.opcode == "phi")

    def _may_hold(self, name: str) -> bool:
        is_scalar = self._defined[name].type.kind in ("int", "float")
        return is_scalar and (name in self._combined or self._is_choice(name))

    def _common_loop(self, names: Iterable[str]) -> Loop | None:
        return self._cfg.common_loop(self._block[name] for name in names)

    def _takes_candidates(self, name: str, members: frozenset[str], loop: Loop) -> bool:
        operands, is_header = self._defined[name].operands, self._block[name] == loop.header
        takes = bool(self._conditions(name)) or any(o.text not in members for o in operands)
        return self._defined[name].opcode == "select" or (takes and not is_header)

    def _conditions(self, name: str) -> tuple[str, ...]:
        instruction = self._defined[name]
        if instruction.opcode == "select":
            return (instruction.operands[0].text,)
        block = self._block[name]
        edges = [self._deciding.get((block, p), ()) for p in instruction.incoming]
        return tuple(dict.fromkeys(c for edge in edges for c in edge))

    def _read_behind(self, members: frozenset[str], carried: set[str], loop: Loop) -> bool:
        """Inside the loop, members are passed on, compared, or used in addresses; behind it, phis read.

        What an inner loop begins anew (not ``carried``) is read inside only.
        """
        for name in members:
            for user, block in self._users.get(name, ()):
                if user.name in members:
                    continue
                if block not in loop.blocks:
                    if user.opcode != "phi" or any(o.text not in carried for o in user.operands):
                        return False
                elif user.opcode not in _COMPARISONS and not self._only_addresses_loads(user):
                    return False
        return True

    def _only_addresses_loads(self, user: Instruction) -> bool:
        users = [u for u, _ in self._users.get(user.name, ())]
        if user.opcode == "getelementptr":
            return all(u.opcode == "load" for u in users)
        return user.opcode in _CASTS and all(self._only_addresses_loads(u) for u in users)

    def _is_read_in(self, loop: Loop, condition: str) -> bool:
        """The condition is computed from something that the loop loads or gets from a call."""

        def reads(made: Instruction) -> bool:
            return made.opcode in _READS and not (made.opcode == "call" and made.callee.startswith("@llvm."))

        def inputs(name: str) -> list[str]:
            made = self._defined[name]
            return [] if reads(made) else [o.text for o in made.operands if o.text in self._defined]

        found = (self._defined[n] for n in reached([condition] if condition in self._defined else [], inputs))
        return any(reads(i) and i.type.kind != "ptr" and self._block[i.name] in loop.blocks for i in found)

    # ---- what the conditions compare -----------------------------------------------------------------------

    def _comparisons(self, selection: Selection) -> dict[str, list[tuple[str, tuple[str, ...]]]]:
        return {c: self._compared(c) for name in selection.choices for c in self._conditions(name)}

    def _only_compared_among(self, selection: Selection, others: list[Selection]) -> bool:
        """The running choice is compared only to decide reductions that know it as a rival, or itself."""
        users = (user for name in selection.members for user, _ in self._users.get(name, ()))
        return all(self._decides_only(u.name, selection, others) for u in users if u.opcode in _COMPARISONS)

    def _decides_only(self, condition: str, selection: Selection, others: list[Selection]) -> bool:
        aware = selection.members.union(*(o.members for o in others if selection.members <= o.running))
        pending = [condition]
        while pending:
            name = pending.pop()
            for user, _ in self._users.get(name, ()):
                if user.opcode == "select" and user.operands[0].text == name and user.name in aware:
                    continue
                if user.opcode in _CONNECTIVES or user.name in self._combined:
                    pending.append(user.name)
                elif user.opcode != "br":
                    return False
            decided = {block for (block, _), conditions in self._deciding.items() if name in conditions}
            if any(phi not in aware for block in decided for phi in self._phis.get(block, ())):
                return False
        return True

    def _with_rivals(self, selection: Selection, others: list[Selection]) -> Selection:
        compared = self._comparisons(selection)
        comparisons = frozenset(c for many in compared.values() for c, _ in many)
        rivals = self._rivals(selection, comparisons)
        for other in others:
            theirs = frozenset(c for many in self._comparisons(other).values() for c, _ in many)
            is_other = other.header == selection.header and other.members != selection.members
            if is_other and theirs <= comparisons and self._compares_candidates(other):
                rivals.append((tuple(other.members), other.initial))
        running = selection.running.union(*(cycle for cycle, _ in rivals))
        leaves = {
            condition: tuple(dict.fromkeys(o for _, os in many for o in os if o not in running))
            for condition, many in compared.items()
        }
        read = {o for many in compared.values() for _, os in many for o in os}
        initial = tuple(dict.fromkeys(r for cycle, rs in rivals if read & set(cycle) for r in rs))
        return replace(selection, conditions=leaves, rivals=initial, running=running)

    def _compares_candidates(self, selection: Selection) -> bool:
        """Whatever the reduction takes was part of the comparison that made it take it."""
        for name in selection.choices:
            instruction = self._defined[name]
            for k, operand in enumerate(self._data_operands(name)):
                if not operand.is_local or operand.text in selection.members:
                    continue
                conditions = self._conditions(name)
                if instruction.incoming:
                    conditions = self._deciding.get((self._block[name], instruction.incoming[k]), ())
                if not any(operand.text in os for c in conditions for _, os in self._compared(c)):
                    return False
        return True

    def _resets(self, phis: Iterable[str], members: Container[str]) -> tuple[tuple[str, Operand], ...]:
        return tuple(
            (block, operand)
            for name in phis
            for operand, block in zip(self._defined[name].operands, self._defined[name].incoming, strict=True)
            if operand.text not in members
        )

    def _compared(self, condition: str) -> list[tuple[str, tuple[str, ...]]]:
        """(comparison, its operands) for all comparisons that a condition connects."""
        found = []
        pending, seen = [condition], {condition}
        while pending:
            name = pending.pop()
            instruction = self._defined.get(name)
            operands: tuple[str, ...] = (name,)
            if instruction is not None and instruction.opcode in _COMPARISONS:
                operands = tuple(o.text for o in instruction.operands)
            elif instruction is not None and (name in self._combined or instruction.opcode in _CONNECTIVES):
                fresh = [o.text for o in instruction.operands if o.is_local and o.text not in seen]
                seen.update(fresh)
                pending.extend(fresh)
                continue
            found.append((name, operands))
        return found

    def _rivals(
        self, selection: Selection, comparisons: frozenset[str]
    ) -> list[tuple[tuple[str, ...], tuple[tuple[str, Operand], ...]]]:
        """Minima and maxima of the same loop that these comparisons alone change, and their initial values.

        What such a minimum was compared with, the selection was compared with, too.
        """
        loop = self._cfg.loops[selection.header]
        found = []
        for cycle in self._cycles:
            inside = frozenset(cycle)
            own = self._common_loop(cycle)
            if own is None or own.header != loop.header or inside & selection.members:
                continue
            updates = [name for name in cycle if name in self._combined]
            phis = [name for name in cycle if self._defined[name].opcode == "phi" and name not in updates]
            if len(updates) + len(phis) != len(cycle) or not updates:
                continue
            resets = self._resets(phis, cycle)
            decided = all(self._combined[name].condition in comparisons for name in updates)
            if decided and all(block not in loop.blocks for block, _ in resets):
                found.append((cycle, resets))
        return found
