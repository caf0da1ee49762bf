"""Operations: what instructions cost (paper Section 4.2.3, W), how often blocks run, what each works for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise

from commanalyzer.foundation.work import Operations
from commanalyzer.program.frontend.decisions import is_added
from commanalyzer.program.ir.cfg import ControlFlow, reached
from commanalyzer.program.ir.libcalls import CallKind
from commanalyzer.program.ir.loops.induction import is_computed_place, loop_guards
from commanalyzer.program.ir.model import DESCRIPTOR, BasicBlock, Instruction
from commanalyzer.program.ir.names.debug_info import is_library
from commanalyzer.recording.instrument.labelling.labels import LabelBook
from commanalyzer.recording.instrument.labelling.values import (
    MASKED_STORES,
    CallFacts,
    Flow,
    FunctionValues,
    Place,
    source_arguments,
)
from commanalyzer.recording.instrument.regions import Regions
from commanalyzer.recording.instrument.sites import BlockRecord

# A sign is no operation of its own: compilers write a - b * c as a + (-b) * c, fused, in which b is negated.
_FLOPS = frozenset({"fadd", "fsub", "fmul", "fdiv", "frem"})
_INTEGER = frozenset({"add", "sub", "mul", "udiv", "sdiv", "urem", "srem"})
_LOGIC = frozenset({"shl", "lshr", "ashr", "and", "or", "xor", "icmp", "fcmp"})
_FLOATING_UPDATES = frozenset({"fadd", "fsub", "fmax", "fmin"})
_ACCESSES = {"load": 1, "store": 1, "atomicrmw": 2, "cmpxchg": 2}


def flops_of(instruction: Instruction, calls: CallFacts) -> int:
    """Floating-point operations of one execution; vector lanes count, fused multiply-add is 2."""
    lanes = instruction.type.lanes
    if instruction.opcode in _FLOPS:
        return lanes
    if instruction.opcode in ("call", "invoke"):
        known = calls.effect(instruction)
        return 0 if known is None else known.flops * lanes
    if instruction.opcode == "atomicrmw" and instruction.predicate in _FLOATING_UPDATES:
        return 1
    return 0


def operations_of(instruction: Instruction, calls: CallFacts) -> Operations:
    """Operations of one execution, of every kind; vector lanes count.

    Comparisons are operations of logic, whatever they compare: they are no floating-point operations (nor do
    hardware counters take them for such), but a sort would do nothing without them.
    """
    if is_added(instruction):
        return Operations()
    opcode, flops = instruction.opcode, flops_of(instruction, calls)
    moved = instruction.operands[0].type if opcode == "store" else instruction.type
    return Operations(flops, _integer_of(instruction, calls, flops), _ACCESSES.get(opcode, 0) * moved.lanes)


def _integer_of(instruction: Instruction, calls: CallFacts, flops: int) -> int:
    lanes = instruction.type.lanes
    if instruction.opcode in _INTEGER or instruction.opcode in _LOGIC:
        return lanes
    if instruction.opcode in ("call", "invoke"):  # minimum, absolute value, bit counts, ...
        known = calls.effect(instruction)
        is_pure = known is not None and known.kind is CallKind.PURE and not known.reads_memory
        # an integer, several of them, or one with a flag (of an overflow)
        is_integer = (instruction.type.elements or (instruction.type,))[0].kind == "int"
        return lanes if is_pure and not flops and is_integer else 0
    is_update = instruction.opcode == "atomicrmw" and instruction.predicate != "xchg"
    return int(is_update and not flops)


@dataclass(frozen=True, slots=True)
class BlockCounters:
    """Which counter tells how often an instruction was executed inside the analysed region.

    ``behind`` has, per block in which the region can begin or end: (index of the instruction behind which
    another counter counts, counter), in program order.
    """

    of_block: Mapping[str, int]
    behind: Mapping[str, tuple[tuple[int, int], ...]]

    def counter_of(self, block: str, index: int) -> int | None:
        """Counter of the instruction at ``index`` of a block; ``None`` if it cannot be reached."""
        counter = self.of_block.get(block)
        for first, number in self.behind.get(block, ()):
            counter = number if index > first else counter
        return counter


def plan_blocks(book: LabelBook, regions: Regions) -> BlockCounters:
    """Count executions of every block.

    Blocks that always execute together share a counter, unless a marked region may begin or end between them;
    then what lies behind a mark in its block is counted by itself, too.
    """
    values, patch, sites = book.values, book.patch, book.sites
    cfg = values.cfg
    leader_of = {} if regions.marks else _leaders(cfg)
    leaders: dict[str, list[BasicBlock]] = {}
    for block in values.function.blocks:
        if block.label in cfg.immediate_dominator:
            leaders.setdefault(leader_of.get(block.label, block.label), []).append(block)
    counters: dict[str, int] = {}
    behind: dict[str, tuple[tuple[int, int], ...]] = {}
    for leader, blocks in leaders.items():
        number = len(sites.blocks)
        cuts = [k for k, i in enumerate(blocks[0].instructions) if regions.switches(i)]
        first = [blocks[0].instructions[: cuts[0] + 1]] if cuts else [b.instructions for b in blocks]
        sites.blocks.append(_record(values, leader, first))
        counters.update((block.label, number) for block in blocks)
        patch.call(patch.tops.setdefault(leader, []), "ca_count_block", number)
        pieces = []
        for cut, following in pairwise([*cuts, len(blocks[0].instructions)]):
            pieces.append((cut, len(sites.blocks)))
            piece = blocks[0].instructions[cut + 1 : following + 1]
            sites.blocks.append(_record(values, leader, [piece]))
            if piece:
                out = patch.after.setdefault(blocks[0].instructions[cut].last_line, [])
                patch.call(out, "ca_count_block", pieces[-1][1])
        behind[leader] = tuple(pieces)
    return BlockCounters(counters, behind)


def _leaders(cfg: ControlFlow) -> dict[str, str]:
    """Per block the first that executes exactly as often: it dominates, is post-dominated, shares the loop.

    The next block that always executes with a block is its immediate post-dominator, if it dominates that:
    otherwise there is a way past the block to there, and to all that lies behind.
    """
    first: dict[str, str] = {}  # of the blocks that always execute together, whatever their loops
    leaders: dict[tuple[str, str | None], str] = {}
    found: dict[str, str] = {}
    for block in cfg.reverse_postorder:
        together = first.setdefault(block, block)
        following = cfg.immediate_postdominator.get(block, "")
        if following and cfg.dominates(block, following):
            first[following] = together
        found[block] = leaders.setdefault((together, cfg.innermost_loop.get(block)), block)
    return found


def _record(values: FunctionValues, leader: str, parts: Sequence[Sequence[Instruction]]) -> BlockRecord:
    instructions = [i for part in parts for i in part]
    flops, opcodes = sum(flops_of(i, values.calls) for i in instructions), [i.opcode for i in instructions]
    counts = flops, opcodes.count("load"), opcodes.count("store"), len(instructions)
    return BlockRecord(values.function.name, leader, *counts, converges=_converges(values, leader))


def _converges(values: FunctionValues, block: str) -> bool:
    """Whether a block is in an innermost loop in another one that goes on by a comparison of numbers."""
    header = values.cfg.innermost_loop.get(block, "")
    loop, around = values.cfg.loops.get(header), {each.parent for each in values.cfg.loops.values()}
    if loop is None or loop.parent is None or header in around:
        return False

    def inputs(name: str) -> list[str]:
        return [n for n in _operands(values, name) if values.block_of(n) in loop.blocks]

    exits = {block for block in loop.blocks if not loop.blocks.issuperset(values.cfg.successors[block])}
    ends = (b.terminator for b in values.function.blocks if b.label in exits)
    conditions = (o.text for end in ends for o in end.operands if o.text in values.definitions)
    return any(values.definitions[n].instruction.opcode == "fcmp" for n in reached(conditions, inputs))


_Place = tuple[str, int]  # block, and index of the instruction in it
_STEPS = frozenset({"add", "sub", "zext", "sext", "trunc"})
_ENDS = frozenset({"load", "atomicrmw", "cmpxchg"})  # what they read was computed by other sites


def attribute_work(
    book: LabelBook, site_of_store: Mapping[int, int], counters: BlockCounters, first_site: int
) -> None:
    """Give every operation of a function to a site that its result flows into.

    Where it flows into several, floating-point operations are shared among these: each goes to the first of
    them, unless another has fewer so far (of a minimum and a maximum that two stores choose from, each gets
    one). Who computes what several need is the choice of a program; equal shares are the least assumption.
    A site that is reached in some of the rounds only gets the operations of these, and the next one the rest.

    Named registers come first, so that a reduction's work belongs to the reduced value. Floating-point
    operations that only decide control flow or leave through calls belong to no site (they are in W all the
    same). Integer operations, comparisons and accesses count where they lead from a value to a value:
    addresses, loop counters, and what is computed from these, parameters and constants alone (any node can
    do that for itself) are no work.
    """
    values, sites, site_of_register = book.values, book.sites.sites, book.site_of
    places: dict[int, _Place] = {}
    order, cfg = {block: i for i, block in enumerate(values.cfg.reverse_postorder)}, values.cfg
    back = ((a, b) for a in order for b in cfg.successors[a] if order[b] <= order[a])
    # counters of parts of blocks do not compare, nor do those of rounds without a loop (goto into its midst)
    is_comparable = not any(counters.behind.values()) and all(cfg.dominates(b, a) for a, b in back)
    known = values, site_of_register, places if is_comparable else {}
    flops, served = _Claims(*known, _operands, _flops), _Claims(*known)
    for name, site in site_of_register.items():
        flops.claim([name], site)
        served.claim([name], site)
    costs = _Costs(values, counters)
    for block in values.function.blocks:
        for index, instruction in enumerate(block.instructions):
            if instruction.first_line in site_of_store:
                site = site_of_store[instruction.first_line]
                places[site] = block.label, index
                if instruction.name:
                    flops.owner.setdefault(instruction.name, site)
                    served.owner.setdefault(instruction.name, site)
                else:
                    costs.add(site, instruction, places[site], (places[site], 1), of_values=True)
                flops.claim([o.text for o in instruction.operands if o.text in values.definitions], site)
                served.claim(_stored(values, instruction), site)
    costs.add_claims(flops, of_values=False)
    costs.add_claims(served, of_values=True)
    is_users = not is_library(book.debug.place(values.function.debug_subprogram).file)
    for found in costs.steering() if is_users else ():
        counter = counters.counter_of(found.block, found.index)
        if counter is not None:
            record = book.sites.blocks[counter]
            book.sites.blocks[counter] = replace(record, steering=record.steering + 1)
    for site, terms in costs.terms.items():
        assert site >= first_site
        readers = tuple(flops.readers.get(site, ()))
        sites[site] = replace(sites[site], cost_terms=tuple(sorted(terms.items())), readers=readers)


@dataclass(slots=True)
class _Claims:
    """Which site each register works for."""

    values: FunctionValues
    named: Mapping[str, int]  # registers that are values of their own, and their sites
    places: Mapping[int, _Place]  # where sites are that may share by rounds
    # what a register is computed from
    inputs: Callable[[FunctionValues, str], Iterable[str]] = FunctionValues.inputs
    # operations that are shared among several sites
    cost: Callable[[FunctionValues, str], int] = lambda _values, _name: 0
    owner: dict[str, int] = field(default_factory=dict)  # site per register
    # site of the other rounds per register whose owner is reached in some
    rest: dict[str, int] = field(default_factory=dict)
    load: Counter[int] = field(default_factory=Counter)  # operations of each site
    readers: dict[int, dict[int, None]] = field(default_factory=dict)  # sites that claim a named register

    def claim(self, names: Iterable[str], site: int) -> None:
        """Walk back from ``names`` to loads and other named registers."""
        pending = list(names)
        while pending:
            name = pending.pop()
            if (own := self.named.get(name, site)) != site:
                self.readers.setdefault(own, {})[site] = None
            elif self._takes(name, site):
                pending.extend(self.inputs(self.values, name))

    def _takes(self, name: str, site: int) -> bool:
        """Whether a register goes to a site; from another one where that is left with no less."""
        cost, before = self.cost(self.values, name), self.owner.get(name)
        if name in self.rest:
            return False
        if before is not None:
            if name not in self.named and self._are_apart(name, before, site):
                self.rest[name] = site
                return True
            if not cost or name in self.named or self.load[before] - cost < self.load[site] + cost:
                return False
            self.load[before] -= cost
        self.owner[name] = site
        self.load[site] += cost
        return True

    def _are_apart(self, name: str, site: int, other: int) -> bool:
        """Whether a site is reached in some of the rounds that compute a register, another without it."""
        found, cfg = self.values.definitions.get(name), self.values.cfg
        if found is None or not {site, other} <= self.places.keys():
            return False
        reached = self.places[site][0]
        within = cfg.innermost_loop.get(found.block) == cfg.innermost_loop.get(reached)
        sometimes = cfg.dominates(found.block, reached) and not cfg.postdominates(reached, found.block)
        return within and sometimes and not cfg.dominates(reached, self.places[other][0])


def _flops(values: FunctionValues, name: str) -> int:
    """Floating-point operations of the instruction that defines a register."""
    found = values.definitions.get(name)
    return operations_of(found.instruction, values.calls).flops if found is not None else 0


def _operands(values: FunctionValues, name: str) -> list[str]:
    found = values.definitions.get(name)
    if found is None or found.instruction.opcode in _ENDS:
        return []
    return [o.text for o in found.instruction.operands if o.text in values.definitions]


def _stored(values: FunctionValues, instruction: Instruction) -> list[str]:
    """Registers whose values an instruction stores, or makes values of."""
    operands = instruction.operands
    if instruction.opcode == "store" or instruction.callee.startswith(MASKED_STORES):
        operands = operands[:1]
    elif instruction.opcode in ("atomicrmw", "cmpxchg"):
        operands = operands[1:]
    elif (known := values.calls.effect(instruction)) is not None:
        operands = source_arguments(instruction, known)
    return [o.text for o in operands if o.text in values.carrying]


@dataclass(slots=True)
class _Costs:
    """Adds up operations: ``terms`` has, per site, those per count of each counter."""

    values: FunctionValues
    counters: BlockCounters
    terms: dict[int, dict[int, Operations]] = field(default_factory=dict)

    def add_claims(self, claims: _Claims, *, of_values: bool) -> None:
        """Add what registers do for their sites, and for those that have the other rounds."""
        for name, site in claims.owner.items():
            if found := self.values.definitions.get(name):
                what, place, rest = found.instruction, (found.block, found.index), claims.rest.get(name)
                here = place if rest is None else claims.places[site]
                self.add(site, what, place, (here, 1), of_values=of_values)
                if rest is not None:
                    self.add(rest, what, place, (place, 1), (here, -1), of_values=of_values)

    def add(
        self, site: int, what: Instruction, place: _Place, *counted: tuple[_Place, int], of_values: bool
    ) -> None:
        """Add floating-point operations, or what else is done for a value, as often as places are reached."""
        cost = operations_of(what, self.values.calls)
        is_choice = what.opcode in ("select", "phi")
        if is_choice and what.name in self.values.selected.combined:  # a minimum or maximum
            cost = Operations(integer=1)
        cost = replace(cost, flops=0) if of_values else Operations(cost.flops)
        if cost.integer and not self._varies(what.name, place[0]):
            cost = replace(cost, integer=0)
        for at, times in counted:
            counter = self.counters.counter_of(*at)
            if counter is not None and cost:
                terms = self.terms.setdefault(site, {})
                terms[counter] = terms.get(counter, Operations()) + cost.times(times)

    def steering(self) -> Iterator[Place]:
        """Comparisons of elements that only decide what is done; not of letters, rounds, or for an abort."""
        values, cfg = self.values, self.values.cfg
        trips, known = loop_guards(values.function, cfg), set[str]()
        known.update(*values.selected.deciding.values())
        known.update(*(found.conditions for found in values.selected.kept.values()))
        ends = {block.label: block.terminator.opcode for block in values.function.blocks}
        for name, found in values.definitions.items():
            if found.instruction.opcode not in ("icmp", "fcmp") or name in known or found.block in trips:
                continue
            operands, uses = _operands(values, name), values.uses.get(name, ())
            used = [use.instruction for n in operands for use in values.uses.get(n, ())]
            read = [values.definitions[n].instruction for n in reached(operands, partial(_operands, values))]
            if (
                all(use.instruction.opcode == "br" for use in uses)
                and not any(
                    ends[after] == "unreachable" for use in uses for after in cfg.successors[use.block]
                )
                and any(i.opcode == "load" and self._is_element(i) for i in read)
                and not any(map(is_added, used))
                and not any(map(self._counts_rounds, operands))
            ):
                yield found

    def _made(self, name: str) -> Instruction | None:
        found = self.values.definitions.get(name)
        return None if found is None else found.instruction

    def _is_element(self, load: Instruction) -> bool:
        """Whether it is a number, no letter, and from a place that is computed."""
        kind = load.type
        is_number = kind.kind != "ptr" and (kind.kind != "int" or kind.bits > 8)
        is_data = is_number and DESCRIPTOR not in load.flags
        return is_data and is_computed_place(load.operands[0].text, self._made)

    def _counts_rounds(self, name: str) -> bool:
        """Whether a register is a loop's counter, or a constant number of steps from it."""
        made = self.values.definitions[name]
        while made.instruction.opcode in _STEPS and not any(
            o.is_local for o in made.instruction.operands[1:]
        ):
            if (inner := self.values.definitions.get(made.instruction.operands[0].text)) is None:
                return False
            made = inner
        loop = self.values.cfg.loops.get(made.block)
        is_phi = made.instruction.opcode == "phi"
        return loop is not None and is_phi and self._is_counter(made.instruction, loop.blocks)

    def _varies(self, name: str, block: str) -> bool:
        """Whether a register depends on values that change from round to round of the loop around ``block``.

        What is computed from loop counters, parameters and what was loaded before the loop does not.
        """
        values, cfg = self.values, self.values.cfg
        header = cfg.innermost_loop.get(block)
        if header is None:
            return True
        inside = cfg.loops[header].blocks

        def is_carried(name: str) -> bool:
            return values.flows[name] is Flow.PHI and values.definitions[name].block == header

        def inputs(name: str) -> list[str]:
            found = () if is_carried(name) else values.inputs(name)
            return [n for n in found if values.block_of(n) in inside]

        return any(
            values.flows[n] is Flow.SOURCE
            or (is_carried(n) and not self._is_counter(values.definitions[n].instruction, inside))
            for n in reached([name] if values.block_of(name) in inside else [], inputs)
        )

    def _is_counter(self, phi: Instruction, inside: frozenset[str]) -> bool:
        """Whether the header of a loop adds the same in every round."""
        for operand in phi.operands:
            known = self.values.definitions.get(operand.text)
            if known is None or known.block not in inside or known.instruction.opcode not in ("add", "sub"):
                continue
            before, step = known.instruction.operands
            if before.text == phi.name and self.values.block_of(step.text) not in inside:
                return True
        return False
