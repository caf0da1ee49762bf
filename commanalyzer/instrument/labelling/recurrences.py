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
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from commanalyzer.instrument.labelling.values import CallFacts, Flow, FunctionValues
from commanalyzer.ir.graphs import strong_components
from commanalyzer.ir.loops.selections import Selection
from commanalyzer.ir.model import Instruction, Module
from commanalyzer.vcg.graph import Fold

_FOLDS = {
    "fadd": Fold.SUM,
    "fsub": Fold.SUM,
    "add": Fold.SUM,
    "sub": Fold.SUM,
    "fmul": Fold.PRODUCT,
    "mul": Fold.PRODUCT,
    "and": Fold.BITWISE,
    "or": Fold.BITWISE,
    "xor": Fold.BITWISE,
}
_CALL_FOLDS = {
    "@llvm.fmuladd": Fold.SUM,
    "@llvm.fma": Fold.SUM,
    "@fma": Fold.SUM,
    "@llvm.minnum": Fold.MIN,
    "@llvm.minimum": Fold.MIN,
    "@llvm.umin": Fold.MIN,
    "@llvm.smin": Fold.MIN,
    "@fmin": Fold.MIN,
    "@llvm.maxnum": Fold.MAX,
    "@llvm.maximum": Fold.MAX,
    "@llvm.umax": Fold.MAX,
    "@llvm.smax": Fold.MAX,
    "@fmax": Fold.MAX,
}

_SYMBOL = re.compile(r'@(?:[\w.$-]+|"[^"]*")')
_BLOCK_END = 1 << 30  # behind every instruction of a block


@dataclass(frozen=True, slots=True)
class Accumulator:
    """A reduction in a register.

    Attributes:
        members: All registers that hold the running value.
        updates: Registers computed as ``member op others``, in program order.
        choices: Phis that take one running value or another, selected by values from outside (conditional
            sums): the selecting conditions are terms too.
        resets: (predecessor block, register or constant) of every edge on which the reduction starts anew.
        exits: Phis behind the loop that read the result.
        fold: The operation that combines terms; ``NONE`` when several kinds are mixed.
        tentative: Updates that a ``select`` takes back when its condition fails, with that select.
        selection: The selecting reduction that this is: its choices take candidates as terms.
    """

    members: frozenset[str]
    updates: tuple[str, ...]
    choices: tuple[str, ...]
    resets: tuple[tuple[str, str], ...]
    exits: tuple[str, ...]
    fold: Fold
    tentative: Mapping[str, str] = field(default_factory=dict)
    selection: Selection | None = None


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
    position = texts.index(member)
    if name in values.selected.combined:
        return values.selected.combined[name].fold
    if instruction.opcode in ("call", "invoke"):
        name = instruction.callee
        for prefix, fold in _CALL_FOLDS.items():
            if name == prefix or name.startswith(prefix + "."):
                return Fold.NONE if fold is Fold.SUM and position != 2 else fold
        return Fold.NONE
    fold = _FOLDS.get(instruction.opcode, Fold.NONE)
    if instruction.opcode in ("sub", "fsub") and position != 0:
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
    """Classify the registers that ``wanted`` depends on.

    Args:
        values: Facts of the function.
        wanted: Registers that hooks read (stored, passed to calls, returned).

    Returns:
        Components, each behind all that it depends on.
    """
    demanded = _closure(values, wanted)
    roots = frozenset(wanted)
    result: list[Component] = []
    for members in strong_components(demanded, values.inputs):
        result += _parts(values, members, frozenset(demanded), roots)
    return result


def _parts(
    values: FunctionValues, members: tuple[str, ...], demanded: frozenset[str], roots: frozenset[str]
) -> list[Component]:
    """Components of registers that depend on each other: with reductions in inner loops, several."""
    whole = _classify(values, members, demanded, roots)
    inner = _inner_reductions(values, members, demanded, roots) if whole.kind == "chain" else []
    if not inner:
        return [whole]
    named = {name for accumulator in inner for name in accumulator.exits}
    result = [Component("result", accumulator.exits) for accumulator in inner]
    for part in _components_among(values, members, named):
        for found in _parts(values, part, demanded, roots):
            result.append(replace(found, kind="variable") if found.kind == "chain" else found)
    return result


def _inner_reductions(
    values: FunctionValues, members: tuple[str, ...], demanded: frozenset[str], roots: frozenset[str]
) -> list[Accumulator]:
    """Outermost reductions that run in inner loops of the loop that carries all of ``members``."""
    header = _common_loop(values, members)
    inner: dict[str, list[str]] = {}
    for name in members:
        around = [loop.header for loop in values.cfg.loops_around(values.block_of(name))]
        if header in around[1:]:
            inner.setdefault(around[around.index(header) - 1], []).append(name)
    found = []
    for names in inner.values():
        for part in _components_among(values, names):
            component = _classify(values, part, demanded, roots)
            if component.accumulator is not None:
                found.append(component.accumulator)
            elif component.kind == "chain":
                found += _inner_reductions(values, part, demanded, roots)
    return found


def _components_among(
    values: FunctionValues, names: Sequence[str], named: Set[str] = frozenset()
) -> list[tuple[str, ...]]:
    """Components by what ``names`` depend on among each other; ``named`` ones depend on nothing."""
    inside = set(names)
    return strong_components(
        names, lambda name: () if name in named else [i for i in values.inputs(name) if i in inside]
    )


def _closure(values: FunctionValues, wanted: Iterable[str]) -> list[str]:
    pending = [name for name in dict.fromkeys(wanted) if name in values.carrying]
    seen = dict.fromkeys(pending)
    while pending:
        for name in values.inputs(pending.pop()):
            if name not in seen:
                seen[name] = None
                pending.append(name)
    return list(seen)


def _classify(
    values: FunctionValues, members: tuple[str, ...], demanded: frozenset[str], roots: frozenset[str]
) -> Component:
    inside = set(members)
    if len(members) == 1 and members[0] not in values.inputs(members[0]):
        return Component("plain", members)
    selection = _selects(values, inside)
    if selection is not None:
        return Component("accumulator", members, _as_selection(values, members, selection, demanded))
    unions = [name for name in members if unites(values, name, inside)]
    if not unions:
        return Component("rotation", members)
    accumulator = _as_accumulator(values, members, unions, demanded, roots)
    return Component("chain" if accumulator is None else "accumulator", members, accumulator)


def unites(values: FunctionValues, name: str, inside: set[str]) -> bool:
    """The register combines labels of its own component with other labels."""
    data, control = values.data_inputs(name), values.control_inputs(name)
    if values.flows[name] in (Flow.PHI, Flow.SELECT):
        return bool(control) and (any(i in inside for i in data) or any(i in inside for i in control))
    return len(data) > 1 and any(i in inside for i in data)


def _selects(values: FunctionValues, inside: set[str]) -> Selection | None:
    """The selecting reduction that these registers are."""
    found = values.selected.kept.get(next(iter(inside))) if values.control_flows else None
    return found if found is not None and found.members.issuperset(inside) else None


def _as_selection(
    values: FunctionValues, members: tuple[str, ...], selection: Selection, demanded: frozenset[str]
) -> Accumulator:
    exits = {
        use.user.name: None
        for name in members
        for use in values.uses.get(name, ())
        if use.user.name in demanded and use.user.name not in selection.members
    }
    resets = tuple((block, operand.text) for block, operand in selection.initial)
    updates = tuple(name for name in selection.choices if name in values.selected.combined)
    choices = tuple(name for name in selection.choices if name not in updates)
    return Accumulator(
        selection.members, updates, choices, resets, tuple(exits), Fold.SELECTION, {}, selection
    )


def _as_accumulator(
    values: FunctionValues,
    members: tuple[str, ...],
    unions: list[str],
    demanded: frozenset[str],
    roots: frozenset[str],
) -> Accumulator | None:
    inside = set(members)
    loop = _common_loop(values, members)
    updates = [name for name in unions if values.flows[name] is Flow.UNION]
    tentative = _tentative(values, updates, inside, demanded)
    choices = [
        name for name in unions if name in tentative.values() or _is_choice_from_outside(values, name, inside)
    ]
    updates_are_linear = all(sum(i in inside for i in values.data_inputs(name)) == 1 for name in updates)
    if len(updates) + len(choices) != len(unions) or not updates or not updates_are_linear:
        return None
    if loop is None or _phis_share_block(values, members):
        return None
    exits = _exit_phis(values, members, inside, loop, demanded, roots)
    resets = _resets(values, members, inside)
    if exits is None or resets is None or _interferes(values, members, updates, choices, resets, tentative):
        return None
    ordered = sorted(updates, key=lambda name: values.definitions[name].instruction.first_line)
    fold = _common_fold(values, members, updates, tentative)
    return Accumulator(frozenset(members), tuple(ordered), tuple(choices), resets, exits, fold, tentative)


def _is_choice_from_outside(values: FunctionValues, name: str, inside: set[str]) -> bool:
    """A phi whose selecting conditions do not depend on the running value, on edges that can hold code."""
    if values.flows[name] is not Flow.PHI or any(i in inside for i in values.control_inputs(name)):
        return False
    edges = values.definitions[name].instruction.incoming
    return all(len(values.cfg.successors[p]) == 1 for p in edges)


def _tentative(
    values: FunctionValues, updates: Iterable[str], inside: set[str], demanded: frozenset[str]
) -> dict[str, str]:
    """Updates computed in advance: ``t = s + x; s = c ? t : s`` adds x only where c holds."""
    found = {}
    for name in updates:
        readers = [u for u in values.uses.get(name, ()) if u.user.name in inside or u.user.name in demanded]
        running = [i for i in values.data_inputs(name) if i in inside]
        if len(readers) != 1 or len(running) != 1 or values.flows[readers[0].user.name] is not Flow.SELECT:
            continue
        select, block = readers[0].user, readers[0].block
        sides = {o.text for o in select.operands[1:]}
        outside = not any(i in inside for i in values.control_inputs(select.name))
        if sides == {name, running[0]} and block == values.block_of(name) and outside:
            found[name] = select.name
    return found


def _common_fold(
    values: FunctionValues, members: tuple[str, ...], updates: list[str], tentative: Mapping[str, str]
) -> Fold:
    """How the terms of all updates combine; scaling or converting the running value forbids reordering."""
    inside = set(members)
    folds = {fold_of(values, name, i) for name in updates for i in values.data_inputs(name) if i in inside}
    passing = {*updates, *tentative.values()}
    pure = all(name in passing or values.flows[name] is Flow.PHI for name in members)
    return next(iter(folds)) if len(folds) == 1 and pure else Fold.NONE


def _common_loop(values: FunctionValues, members: tuple[str, ...]) -> str | None:
    """Header of the innermost loop that contains all members."""
    blocks = {values.block_of(name) for name in members}
    for loop in values.cfg.loops_around(next(iter(blocks))):
        if blocks <= loop.blocks:
            return loop.header
    return None


def _phis_share_block(values: FunctionValues, members: tuple[str, ...]) -> bool:
    blocks = [values.block_of(name) for name in members if values.flows[name] is Flow.PHI]
    return len(blocks) != len(set(blocks))


def _exit_phis(
    values: FunctionValues,
    members: tuple[str, ...],
    inside: set[str],
    header: str,
    demanded: frozenset[str],
    roots: frozenset[str],
) -> tuple[str, ...] | None:
    """Phis that read the result behind the loop; ``None`` if anything else wants a running value."""
    loop = values.cfg.loops[header]
    exits: dict[str, None] = {}
    for name in members:
        if name in roots:  # in loop-closed form a hook that reads a member stands inside the loop
            return None
        for use in values.uses.get(name, ()):
            user = use.user.name
            if user in inside or user not in demanded:
                continue
            is_exit = use.user.opcode == "phi" and use.block not in loop.blocks
            if not is_exit or not all(o.text in inside for o in use.user.operands):
                return None
            exits[user] = None
    return tuple(exits)


def _resets(
    values: FunctionValues, members: Iterable[str], inside: Set[str]
) -> tuple[tuple[str, str], ...] | None:
    resets: dict[tuple[str, str], None] = {}
    for name in members:
        definition = values.definitions[name]
        if values.flows[name] is not Flow.PHI:
            continue
        for operand, predecessor in zip(
            definition.instruction.operands, definition.instruction.incoming, strict=True
        ):
            if operand.text not in inside:
                if len(values.cfg.successors[predecessor]) != 1:
                    return None
                resets[predecessor, operand.text] = None
    return tuple(resets)


def _interferes(
    values: FunctionValues,
    members: tuple[str, ...],
    updates: list[str],
    choices: list[str],
    resets: tuple[tuple[str, str], ...],
    tentative: Mapping[str, str],
) -> bool:
    """A member is still read after its accumulator was changed: one buffer cannot hold both."""
    inside = set(members)
    edges = [p for p, _ in resets]
    edges += [p for name in choices for p in values.definitions[name].instruction.incoming]
    changes: list[tuple[str, int, str | None]] = [(p, _BLOCK_END, None) for p in edges]
    for name in updates:
        definition = values.definitions[tentative.get(name, name)]
        operand = next(i for i in values.data_inputs(name) if i in inside)
        changes.append((definition.block, definition.index, operand))
    return any(
        _read_after(values, member, block, index)
        for block, index, source in changes
        for member in (members if source is None else (source,))
    )


def _read_after(values: FunctionValues, member: str, block: str, index: int) -> bool:
    """``member`` can be read behind (block, index) without being defined again in between."""
    defined_in = values.block_of(member)
    reached = _reachable_without(values.cfg.successors, block, defined_in)
    for use in values.uses.get(member, ()):
        if use.user.opcode == "phi":
            places = [
                p for o, p in zip(use.user.operands, use.user.incoming, strict=True) if o.text == member
            ]
            if any(p in reached or (p == block and index < _BLOCK_END) for p in places):
                return True
        elif use.block in reached or (use.block == block and use.index > index):
            return True
    return False


def _reachable_without(successors: Mapping[str, tuple[str, ...]], start: str, stop: str) -> set[str]:
    reached: set[str] = set()
    pending = [s for s in successors[start] if s != stop]
    while pending:
        block = pending.pop()
        if block not in reached:
            reached.add(block)
            pending.extend(s for s in successors[block] if s != stop)
    return reached


@dataclass(frozen=True, slots=True)
class Demand:
    """What is read of labels that travel through calls.

    Attributes:
        parameters: Per function, parameters whose labels it reads.
        results: Functions whose result's label a caller reads. The comparison that only sorting calls is
            none of them: what it reads decides over order and flows nowhere.
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
    taken = set(_taken_addresses(module, calls)) if indirect else set()
    returned = {f.name for f in module.functions if f.return_type.text in indirect and f.name in taken}
    return Demand(parameters, frozenset(results | returned))


def _taken_addresses(module: Module, calls: CallFacts) -> Iterator[str]:
    """Symbols whose address may be called through a pointer."""
    for variable in module.globals:
        yield from _SYMBOL.findall(variable.initializer)
    for aliasee in module.aliases.values():
        yield from _SYMBOL.findall(aliasee)
    for function in module.functions:
        for block in function.blocks:
            for instruction in block.instructions:
                yield from _addresses_in(instruction, calls)


def _addresses_in(instruction: Instruction, calls: CallFacts) -> Iterator[str]:
    called_back: tuple[int, ...] = ()
    if instruction.opcode in ("call", "invoke"):
        known = calls.effect(instruction)
        called_back = () if known is None else known.calls
    for index, operand in enumerate(instruction.operands):
        if "@" in operand.text and index not in called_back:
            yield from _SYMBOL.findall(operand.text)
