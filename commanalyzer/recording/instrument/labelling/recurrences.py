"""Loop-carried registers: which ones grow a set of sources, and how to keep the cost linear.

Input: :class:`FunctionValues` and the registers whose labels are wanted. Output: the dependence components in
an order in which labels can be computed, each classified:

* ``plain``: a single register that does not depend on itself: its labels are known statically;
* ``rotation``: labels only move between registers (``t = a; a = b; b = t``);
* ``accumulator``: a reduction (``sum += a[i] * b[i]``) whose partial results nobody else reads: terms are
  collected while the loop runs and named once, behind it;
* ``chain``: any other growing recurrence (prefix sums, Fibonacci rotations): every partial result is named;
* ``result``: registers behind a reduction whose terms depend on them, an outer round later: what such a
  recurrence (a step size that the last step's error sets) has in inner loops is classified by itself;
* ``variable``: what else such a recurrence has: a value of its own with a version per round, as in memory.

A component grows if a register in it unites labels of the component with others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, KeysView, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from commanalyzer.foundation.flows import Fold
from commanalyzer.program.ir.cfg import Loop, reached, strong_components
from commanalyzer.program.ir.loops.selections import Selection
from commanalyzer.program.ir.model import Instruction, Module
from commanalyzer.recording.instrument.labelling.values import CallFacts, Flow, FunctionValues

# by instruction, by function, and by operation of an atomic update
FOLDS = {
    operation: fold
    for fold, operations in {
        Fold.SUM: "add sub fadd fsub @fma @llvm.fma @llvm.fmuladd",
        Fold.PRODUCT: "mul fmul",
        Fold.BITWISE: "and or xor",
        Fold.MIN: "min umin fmin @fmin @llvm.minnum @llvm.minimum @llvm.umin @llvm.smin",
        Fold.MAX: "max umax fmax @fmax @llvm.maxnum @llvm.maximum @llvm.umax @llvm.smax",
    }.items()
    for operation in operations.split()
}
_CALLED = re.compile(r"@(?:llvm\.)?[^.]*")  # a function without the types that it is made for
_SYMBOL = re.compile(r'@(?:[\w.$-]+|"[^"]*")')
_BLOCK_END = 1 << 30  # behind every instruction of a block


@dataclass(frozen=True, slots=True)
class Accumulator:
    """A reduction in a register."""

    members: frozenset[str]  # all registers that hold the running value
    updates: tuple[str, ...]  # registers computed as ``member op others``, in program order
    # phis that take one running value or another, selected by values from outside (conditional sums): the
    # selecting conditions are terms too
    choices: tuple[str, ...]
    # (predecessor block, register or constant) of every edge on which the reduction starts anew
    resets: tuple[tuple[str, str], ...]
    exits: tuple[str, ...]  # phis behind the loop that read the result
    fold: Fold  # the operation that combines terms; ``NONE`` when several kinds are mixed
    # updates that a ``select`` takes back when its condition fails, with that select
    tentative: Mapping[str, str] = field(default_factory=dict)
    # the selecting reduction that this is: its choices take candidates as terms
    selection: Selection | None = None
    # registers that change it by no term, where it can end without one: a copy of what it began with, but for
    # these; ``None`` where it cannot
    changes: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Component:
    """Registers that depend on each other; ``kind`` as in the module docstring."""

    kind: str
    members: tuple[str, ...]
    accumulator: Accumulator | None = None


def fold_of(values: FunctionValues, name: str, member: str) -> Fold:
    """Operation by which register ``name`` adds something to ``member``; ``NONE`` if it is not one.

    ``member - x`` is a sum of negated terms, ``x - member`` is not; of ``fma`` only the addend accumulates.
    """
    instruction = values.definitions[name].instruction
    texts = [operand.text for operand in values.data_operands(name)]
    if texts.count(member) != 1:
        return Fold.NONE
    if name in values.selected.combined:
        return values.selected.combined[name].fold
    called, position = _CALLED.match(instruction.callee), texts.index(member)
    fold = FOLDS.get(called[0] if called else instruction.opcode, Fold.NONE)
    is_fused = called is not None and fold is Fold.SUM
    if (is_fused and position != 2) or (instruction.opcode in ("sub", "fsub") and position != 0):
        return Fold.NONE
    return fold


def accumulated_load(values: FunctionValues, store: Instruction, block: str) -> str:
    """Register loaded from where ``store`` in ``block`` stores ``load op term``; empty if it does not.

    Load, update and store lie in the same loop, so that each update reads the version before it.
    """
    update, loops = values.definitions.get(store.operands[0].text), values.cfg.innermost_loop
    if update is None:
        return ""
    for operand in update.instruction.operands:
        load = values.definitions.get(operand.text)
        if (
            load is not None
            and load.instruction.opcode == "load"
            and len({loops.get(label) for label in (load.block, update.block, block)}) == 1
            and load.instruction.operands[0].text == store.operands[1].text
            and fold_of(values, store.operands[0].text, operand.text) is not Fold.NONE
        ):
            return operand.text
    return ""


def components(values: FunctionValues, wanted: Sequence[str]) -> list[Component]:
    """Classify what ``wanted``, which hooks read, depends on: each component comes behind its inputs."""
    demanded = reached((name for name in wanted if name in values.carrying), values.inputs)
    finder = _Classifier(values, demanded.keys(), frozenset(wanted))
    groups = strong_components(demanded, values.inputs)
    return [found for members in groups for found in finder.parts(members)]


def _components_among(
    values: FunctionValues, names: Sequence[str], named: Set[str] = frozenset()
) -> list[tuple[str, ...]]:
    """Components by what ``names`` depend on among each other; ``named`` ones depend on nothing."""
    inside = set(names)
    return strong_components(
        names, lambda name: () if name in named else [i for i in values.inputs(name) if i in inside]
    )


@dataclass(frozen=True, slots=True)
class _Classifier:
    """Tells what registers are that depend on each other.

    ``demanded`` are those whose labels are wanted, by hooks (``roots``) or for others.
    """

    values: FunctionValues
    demanded: Set[str]
    roots: Set[str]

    def parts(self, members: tuple[str, ...]) -> list[Component]:
        """Components of registers that depend on each other: with reductions in inner loops, several."""
        whole = self._classified(members)
        inner = self._inner_reductions(members) if whole.kind == "chain" else []
        if not inner:
            return [whole]
        named = {name for accumulator in inner for name in accumulator.exits}
        result = [Component("result", accumulator.exits, accumulator) for accumulator in inner]
        for part in _components_among(self.values, members, named):
            for found in self.parts(part):
                result.append(replace(found, kind="variable") if found.kind == "chain" else found)
        return result

    def _inner_reductions(self, members: tuple[str, ...]) -> list[Accumulator]:
        """Outermost reductions that run in inner loops of the loop that carries all of ``members``."""
        found = []
        for names in self.values.cfg.by_inner_loop(members, self.values.block_of):
            for part in _components_among(self.values, names):
                component = self._classified(part)
                if component.accumulator is not None:
                    found.append(component.accumulator)
                elif component.kind == "chain":
                    found += self._inner_reductions(part)
        return found

    def _classified(self, members: tuple[str, ...]) -> Component:
        values = self.values
        if len(members) == 1 and members[0] not in values.inputs(members[0]):
            return Component("plain", members)
        inside = dict.fromkeys(members).keys()
        selection = values.selected.kept.get(members[0]) if values.control_flows else None
        if selection is not None and selection.members.issuperset(members):
            return Component("accumulator", members, self._selecting(inside, selection))
        unions = [name for name in members if _unites(values, name, inside)]
        if not unions:
            return Component("rotation", members)
        accumulator = self._reduction(inside, unions)
        return Component("chain" if accumulator is None else "accumulator", members, accumulator)

    def _selecting(self, members: KeysView[str], selection: Selection) -> Accumulator:
        values = self.values
        exits = {
            use.instruction.name: None
            for name in members
            for use in values.uses.get(name, ())
            if use.instruction.name in self.demanded and use.instruction.name not in selection.members
        }
        resets = tuple((block, operand.text) for block, operand in selection.initial)
        updates = tuple(name for name in selection.choices if name in values.selected.combined)
        choices = tuple(name for name in selection.choices if name not in updates)
        found = selection.members, updates, choices, resets, tuple(exits)
        return self._with_changes(Accumulator(*found, Fold.SELECTION, {}, selection))

    def _with_changes(self, found: Accumulator) -> Accumulator:
        """The reduction, told what changes it if a way from its begin to its end adds nothing."""
        values, after, members = self.values, self.values.cfg.successors, found.members
        unions = {name for name in members if values.flows[name] is Flow.UNION}
        names = unions.union(found.updates, found.choices) - {*found.tentative.values()}
        changing = {name: values.block_of(name) for name in sorted(names)}
        is_adding = {n: not members >= {*values.data_inputs(n), *values.control_inputs(n)} for n in changing}
        adding = {block for name, block in changing.items() if is_adding[name]}
        begin, blocks = [after[p][0] for p, _ in found.resets], {*changing.values()}
        ways = reached(begin, lambda block: () if block in blocks else after[block])
        if ways.keys().isdisjoint(map(values.block_of, found.exits)):
            return found
        return replace(found, changes=tuple(n for n, block in changing.items() if block not in adding))

    def _reduction(self, members: KeysView[str], unions: list[str]) -> Accumulator | None:
        values, loop = self.values, self.values.cfg.common_loop(map(self.values.block_of, members))
        running = {  # what each update adds to
            name: [i for i in values.data_inputs(name) if i in members]
            for name in unions
            if values.flows[name] is Flow.UNION
        }
        tentative = {
            name: select
            for name, (first, *_) in running.items()
            if (select := self._taken_back(name, first, members))
        }
        choices = [
            name
            for name in unions
            if name in tentative.values() or _is_choice_from_outside(values, name, members)
        ]
        updates_are_linear = all(len(found) == 1 for found in running.values())
        # ``s = c ? 0 : s`` starts anew where no edge tells
        selects = (values.definitions[n].instruction for n in members if values.flows[n] is Flow.SELECT)
        is_replaced = any(not members >= {o.text for o in each.operands[1:]} for each in selects)
        if len(running) + len(choices) != len(unions) or not running or not updates_are_linear or is_replaced:
            return None
        phis = [values.block_of(name) for name in members if values.flows[name] is Flow.PHI]
        if loop is None or len(phis) != len(set(phis)):
            return None
        exits, resets = self._exit_phis(members, loop), _resets(values, members)
        if exits is None or resets is None:
            return None
        # a member that is still read after its accumulator was changed: one buffer cannot hold both
        edges = [p for p, _ in resets]
        edges += [p for name in choices for p in values.definitions[name].instruction.incoming]
        if any(_read_after(values, member, p, _BLOCK_END) for p in edges for member in members):
            return None
        for name, (before,) in running.items():
            changed = values.definitions[tentative.get(name, name)]
            if _read_after(values, before, changed.block, changed.index):
                return None
        folds = {fold_of(values, name, before) for name, (before,) in running.items()}
        # scaling or converting the running value forbids reordering
        is_pure = all(values.flows[n] is Flow.PHI for n in members - {*running, *tentative.values()})
        fold = next(iter(folds)) if len(folds) == 1 and is_pure else Fold.NONE
        updates = sorted(running, key=lambda name: values.definitions[name].instruction.first_line)
        registers = frozenset(members), tuple(updates), tuple(choices)
        return self._with_changes(Accumulator(*registers, resets, exits, fold, tentative))

    def _taken_back(self, name: str, running: str, members: Set[str]) -> str:
        """The select of an update that is computed in advance: ``t = s + x; s = c ? t : s``, or nothing."""
        values = self.values
        readers = [u for u in values.uses.get(name, ()) if u.instruction.name in self.demanded]
        if len(readers) != 1 or values.flows[readers[0].instruction.name] is not Flow.SELECT:
            return ""
        select, block = readers[0].instruction, readers[0].block
        outside = members.isdisjoint(values.control_inputs(select.name))
        sides = {o.text for o in select.operands[1:]}
        is_taken_back = sides == {name, running} and block == values.block_of(name) and outside
        return select.name if is_taken_back else ""

    def _exit_phis(self, members: KeysView[str], loop: Loop) -> tuple[str, ...] | None:
        """Phis that read the result behind the loop; ``None`` if anything else wants a running value."""
        exits: dict[str, None] = {}
        if not self.roots.isdisjoint(members):  # in loop-closed form such a hook stands inside the loop
            return None
        for use in (use for name in members for use in self.values.uses.get(name, ())):
            user = use.instruction.name
            if user in members or user not in self.demanded:
                continue
            is_exit = use.instruction.opcode == "phi" and use.block not in loop.blocks
            if not is_exit or not all(o.text in members for o in use.instruction.operands):
                return None
            exits[user] = None
        return tuple(exits)


def _unites(values: FunctionValues, name: str, members: Set[str]) -> bool:
    """The register combines labels of its own component with other labels."""
    data, control = values.data_inputs(name), values.control_inputs(name)
    if values.flows[name] in (Flow.PHI, Flow.SELECT):
        return bool(control) and not members.isdisjoint((*data, *control))
    return len(data) > 1 and not members.isdisjoint(data)


def _is_choice_from_outside(values: FunctionValues, name: str, members: Set[str]) -> bool:
    """A phi whose selecting conditions do not depend on the running value, on edges that can hold code."""
    if values.flows[name] is not Flow.PHI or not members.isdisjoint(values.control_inputs(name)):
        return False
    edges = values.definitions[name].instruction.incoming
    return all(len(values.cfg.successors[p]) == 1 for p in edges)


def _resets(values: FunctionValues, members: KeysView[str]) -> tuple[tuple[str, str], ...] | None:
    """Edges on which values from outside come in; ``None`` if one of them cannot hold code."""
    phis = (values.definitions[n].instruction for n in members if values.flows[n] is Flow.PHI)
    edges = (edge for phi in phis for edge in zip(phi.incoming, phi.operands, strict=True))
    found = dict.fromkeys((p, operand.text) for p, operand in edges if operand.text not in members)
    return tuple(found) if all(len(values.cfg.successors[p]) == 1 for p, _ in found) else None


def _read_after(values: FunctionValues, member: str, block: str, index: int) -> bool:
    """``member`` can be read behind (block, index) without being defined again in between."""
    defined_in, successors = values.block_of(member), values.cfg.successors

    def following(at: str) -> list[str]:
        return [s for s in successors[at] if s != defined_in]

    behind = reached(following(block), following)
    for use in values.uses.get(member, ()):
        if use.instruction.opcode == "phi":
            edges = zip(use.instruction.operands, use.instruction.incoming, strict=True)
            places = [p for operand, p in edges if operand.text == member]
            if any(p in behind or (p == block and index < _BLOCK_END) for p in places):
                return True
        elif use.block in behind or (use.block == block and use.index > index):
            return True
    return False


@dataclass(frozen=True, slots=True)
class Demand:
    """What is read of labels that travel through calls: parameters per function, and functions with a result.

    The comparison that only sorting calls is none of these: what it reads decides over order, flows nowhere.
    """

    parameters: Mapping[str, frozenset[int]]
    results: frozenset[str]


def demand(
    module: Module,
    facts: Mapping[str, FunctionValues],
    parts: Mapping[str, list[Component]],
    calls: CallFacts,
) -> Demand:
    """Find what is read, from the registers whose labels are computed (``parts``)."""
    parameters = {}
    results: set[str] = set()
    indirect: set[str] = set()  # types that are returned through function pointers
    for name, values in facts.items():
        members = {member for part in parts[name] for member in part.members}
        parameters[name] = frozenset(i for n, i in values.parameters.items() if n in members)
        for register in members & values.definitions.keys():
            instruction = values.definitions[register].instruction
            if instruction.opcode in ("call", "invoke"):
                if instruction.callee in calls.defined:
                    results.add(instruction.callee)
                else:
                    indirect.add(instruction.type.text)
    taken = set(taken_addresses(module, calls)) if indirect else set()
    returned = {f.name for f in module.functions if f.return_type.text in indirect and f.name in taken}
    return Demand(parameters, frozenset(results | returned))


def taken_addresses(module: Module, calls: CallFacts) -> Iterator[str]:
    """Symbols whose address may be called through a pointer."""
    for text in (*(variable.initializer for variable in module.globals), *module.aliases.values()):
        yield from _SYMBOL.findall(text)
    for instruction in (i for function in module.functions for i in function.instructions):
        known = calls.effect(instruction) if instruction.opcode in ("call", "invoke") else None
        called_back = () if known is None else known.calls
        for index, operand in enumerate(instruction.operands):
            if "@" in operand.text and index not in called_back:
                yield from _SYMBOL.findall(operand.text)
